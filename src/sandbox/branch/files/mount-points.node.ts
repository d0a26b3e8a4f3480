/**
 * What is mounted on this device, as this process sees it.
 * Source: proc_pid_mountinfo(5).
 * @module
 */

import { readdirSync, readFileSync } from 'node:fs'
import { statOf } from '../../../base/files.node.ts'
import { parseMounts } from '../../namespaces/mount-table.ts'
import type { MountPoint } from './roots.ts'

const isDirectory = (path: string): boolean => statOf(path)?.isDirectory() === true

/** Each place once: what is mounted over something hides it. */
export function mountPoints(): readonly MountPoint[] {
  return parseMounts(readFileSync('/proc/self/mountinfo', 'latin1')).map(({ point, type }) => {
    const path = Buffer.from(point, 'latin1').toString('utf8')
    return { path, type, isDirectory: isDirectory(path) }
  })
}

/** Directories of `/`, by name; links to them are none. */
export function topDirectories(): readonly string[] {
  return readdirSync('/', { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
}
