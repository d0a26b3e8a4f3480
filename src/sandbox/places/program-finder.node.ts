/**
 * Finds a program as execvp does, and says which inode was looked at. Reads the file system, opens nothing.
 * @module
 */
import { accessSync, constants, readlinkSync, realpathSync, statSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'
import { errnoOf } from '../../base/files.node.ts'
import { resolvePath } from '../../base/text/lexical-path.ts'
import { createPinLook } from '../launcher/pinned.node.ts'
import type { FoundProgram, ProgramFinder } from './found-program.ts'

/**
 * Errors of a single place (no permission to search it, a loop of links) mean: not here. Looked at before asked for its
 * right: most places of a search path hold nothing of the name, and an error costs ten times a look.
 */
function tryLook(path: string, mustBeExecutable: boolean): FoundProgram | undefined {
  try {
    const status = statSync(path, { bigint: true, throwIfNoEntry: false })
    if (status === undefined || !status.isFile()) return undefined
    if (mustBeExecutable) accessSync(path, constants.X_OK)
    const realPath = realpathSync.native(path)
    return { path, realPath, device: String(status.dev), inode: String(status.ino) }
  } catch {
    return undefined
  }
}

/** As many links as the kernel follows for one path (path_resolution(7)), and more parts than a path can have. */
const LINKS_MOST = 40
const PARTS_MOST = 4_096

/** What a symbolic link holds; undefined where there is no link, `missing` where there is nothing that can be seen. */
export type ReadLink = (path: string) => { readonly target: string } | 'missing' | undefined

const readLink: ReadLink = (path) => {
  try {
    return { target: readlinkSync(path) }
  } catch (cause) {
    return errnoOf(cause) === 'EINVAL' ? undefined : 'missing'
  }
}

/**
 * Where a path leads that does not exist whole: part by part as the kernel goes, up to the first part that is not
 * there, with the rest behind it. A link to what does not exist is followed as well: whoever writes there makes it.
 */
export function walkLinks(path: string, read: ReadLink): string {
  let real = ''
  let left = path.split('/').reverse()
  let links = 0
  for (let step = 0; left.length > 0 && step < PARTS_MOST; step++) {
    const part = left.pop() ?? ''
    if (part === '' || part === '.') continue
    if (part === '..') {
      real = real.slice(0, Math.max(0, real.lastIndexOf('/')))
      continue
    }
    const link = read(`${real}/${part}`)
    if (link === 'missing' || (link !== undefined && ++links > LINKS_MOST)) {
      left.push(part)
      break
    }
    if (link === undefined) {
      real = `${real}/${part}`
      continue
    }
    if (link.target.startsWith('/')) real = ''
    left = [...left, ...link.target.split('/').reverse()]
  }
  return resolvePath(real === '' ? '/' : real, `./${left.reverse().join('/')}`)
}

/** realpath(3), also of what does not exist yet. */
function realBeginning(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return walkLinks(path, readLink)
  }
}

/** As execvp looks: by `look`, with whether it must be executable. */
export function findIn(
  look: (path: string, mustBeExecutable: boolean) => FoundProgram | undefined,
): ProgramFinder['find'] {
  return (program, cwd, searchPath) => {
    if (program.includes('\0')) return undefined
    if (program.includes('/')) return look(resolvePath(cwd, program), false)
    for (const directory of searchPath.split(':')) {
      // An empty or relative entry means the working directory, which the agent can write: it is skipped.
      const found = directory.startsWith('/') ? look(`${directory}/${program}`, true) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
}

export function createProgramFinder(): ProgramFinder {
  const pin = createPinLook()
  return {
    pin,
    realPath: (path) => (path.startsWith('/') && !path.includes('\0') ? realBeginning(path) : path),
    find: findIn(tryLook),
    realDirectory(path) {
      return attempt(() => realpathSync.native(path), path)
    },
  }
}
