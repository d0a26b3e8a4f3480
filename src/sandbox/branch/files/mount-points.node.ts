/**
 * What is mounted on this device, as this process sees it.
 * Source: proc_pid_mountinfo(5).
 * @module
 */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { MountPoint } from './roots.ts'

/** Blanks and the like are written in octal there. */
function unescaped(text: string): string {
  return Buffer.from(
    text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))),
    'latin1',
  ).toString('utf8')
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Each place once: what is mounted over something hides it. */
export function mountPoints(): readonly MountPoint[] {
  const found = new Map<string, MountPoint>()
  for (const line of readFileSync('/proc/self/mountinfo', 'latin1').split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const point = before.split(' ')[4]
    const type = after.split(' ')[0]
    if (point === undefined || type === undefined) continue
    const path = unescaped(point)
    found.set(path, { path, type, isDirectory: isDirectory(path) })
  }
  return [...found.values()]
}

/** Directories of `/`, by name; links to them are none. */
export function topDirectories(): readonly string[] {
  return readdirSync('/', { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
}
