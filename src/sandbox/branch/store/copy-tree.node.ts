/**
 * Copies a tree as it is, marks of the overlay, whiteouts, links and holes included, within one file system as reflinks
 * where it can. Nothing in it is followed.
 * @module
 */

import { closeSync } from 'node:fs'
import { closing } from '../../../base/closing.node.ts'
import {
  type Files,
  must,
  nameBytes,
  namesIn,
  openDirectory,
  statDirectory,
  statName,
  withDirectory,
} from '../files/files.node.ts'
import type { Node } from '../files/finding.ts'
import { nodeOf, readAttributes } from '../files/inspect.node.ts'
import { type BytePath, joinPath, namePath, parentPath } from '../files/paths.ts'
import { applyAttributes, attributesOfNode, copyFile, makeSpecial } from './stage.node.ts'

const OWN_MODE = 0o700

/** Whoever looks at each entry before it is copied: `linkedTo` is the other name of a file that was copied before. */
export type Look = (
  directory: number,
  name: BytePath,
  path: BytePath,
  node: Node,
  linkedTo?: BytePath,
) => void

export type Copied = { readonly files: number; readonly sizeBytes: number }

/**
 * Copies what is in one open directory into another one, which is empty, and makes that one like the first.
 * @param linked places of files that have been copied already, by inode and beneath `to`'s parent; they are linked again
 */
export function copyTree(
  files: Files,
  from: number,
  to: number,
  linked: Map<bigint, { readonly root: number; readonly path: BytePath }>,
  look?: Look,
): Copied {
  const counts = { files: 0, sizeBytes: 0 }
  const finished: { path: BytePath; node: Node }[] = []
  const waiting: BytePath[] = ['']
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const path = next
    withDirectory(files, from, path, (source) => {
      const target = must(openDirectory(files, to, path), 'opened', path)
      using _target = closing(target)
      const own = nodeOf(source, '.', path, statDirectory(source), rawAttributes(files, source, '.', path))
      finished.push({ path, node: own })
      look?.(source, '.', path, own)
      for (const name of namesIn(source, path)) {
        const inner = joinPath(path, name)
        const stats = statName(source, name)
        if (stats === undefined) continue
        if (stats.isDirectory()) {
          must(files.at.makeDirectory(target, nameBytes(name), OWN_MODE), 'made', inner)
          waiting.push(inner)
          continue
        }
        counts.files++
        const known = linked.get(stats.ino)
        const node = nodeOf(source, name, inner, stats, rawAttributes(files, source, name, inner))
        look?.(source, name, inner, node, known?.path)
        if (known !== undefined) {
          const result = withDirectory(files, known.root, parentPath(known.path), (directory) =>
            files.at.link(directory, nameBytes(namePath(known.path)), target, nameBytes(name)),
          )
          must(result ?? -2, 'linked', inner)
          continue
        }
        if (node.type === 'file') copyFile(files, [source, name], [target, name], node, inner)
        else makeSpecial(files, target, name, node, inner)
        applyAttributes(files, target, name, attributesOfNode(node), node.type === 'symlink', inner, true)
        if (stats.isFile()) counts.sizeBytes += node.sizeBytes
        if (stats.nlink > 1n) linked.set(stats.ino, { root: to, path: inner })
      }
    })
  }
  // From the bottom up: what is put into a directory changes its time.
  for (const { path, node } of finished.reverse()) {
    const directory = path === '' ? to : must(openDirectory(files, to, parentPath(path)), 'opened', path)
    try {
      applyAttributes(files, directory, namePath(path), attributesOfNode(node), false, path)
    } finally {
      if (path !== '') closeSync(directory)
    }
  }
  return counts
}

function rawAttributes(files: Files, directory: number, name: BytePath, path: BytePath) {
  return readAttributes(files, directory, name, path, undefined).shown
}
