/**
 * Where the programs of whoever makes an installation lie, beside what is listed to be read: a Node or a Rust of the
 * user's own. Of `.../bin` it is the directory that holds it, so that its libraries are there too.
 * Never a home itself or a directory around one, nothing in memory, and nothing that anybody can write: programs from
 * there would be whatever somebody has put there.
 * Rules: docs/sandbox.md (what a command sees).
 * @module
 */

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isWithin } from '../../base/text/lexical-path.ts'
import { CALLER_PLACES_MAX } from '../../limits.ts'

/** A session has its own, or none. */
const OWN_TO_SESSIONS: readonly string[] = [
  ...['/dev', '/proc', '/sys', '/run', '/tmp', '/var/tmp', '/var/run'],
]
const WORLD_WRITE = 0o002
/** Directories of programs within what they need. */
const PROGRAMS: ReadonlySet<string> = new Set(['bin', 'sbin'])
/** Beside programs there lies what people keep (XDG base directories): only these of it. */
const LOCAL = '.local'
const OF_LOCAL: readonly string[] = ['bin', 'lib']
/** What stands in one directory starts what lies in another one: rustup. */
const ELSEWHERE: readonly (readonly [directory: string, other: string])[] = [['.cargo', '.rustup']]

/** Of everybody: passwd(5). */
function homes(environmentHome: string | undefined): readonly string[] {
  let users = ''
  try {
    users = readFileSync('/etc/passwd', 'utf8')
  } catch {
    // Then it is the caller's own that counts.
  }
  const all = users.split('\n').map((line) => line.split(':')[5] ?? '')
  return [...all, homedir(), environmentHome ?? '', '/root', '/home'].filter(
    (path) => path.startsWith('/') && path !== '/',
  )
}

function realDirectory(path: string): string | undefined {
  try {
    const real = realpathSync(path)
    return statSync(real).isDirectory() ? real : undefined
  } catch {
    return undefined
  }
}

/** True where it or a directory on the way to it can be written by anybody. */
function isOpenToAll(path: string): boolean {
  for (let at = path; at !== '/'; at = dirname(at)) if ((statSync(at).mode & WORLD_WRITE) !== 0) return true
  return false
}

/**
 * Real paths, at most CALLER_PLACES_MAX, none within another one or within `listed`.
 * `searchPath`: the caller's PATH; `environmentHome`: its HOME.
 */
export function callerPlaces(
  searchPath: string,
  listed: readonly string[],
  environmentHome?: string,
): readonly string[] {
  const known = listed.flatMap((path) => realDirectory(path) ?? [])
  const nobodys = homes(environmentHome).flatMap((path) => realDirectory(path) ?? [])
  const found: string[] = []
  const isRefused = (path: string): boolean =>
    path === '/' ||
    nobodys.some((home) => isWithin(path, home)) ||
    OWN_TO_SESSIONS.some((place) => isWithin(place, path)) ||
    isOpenToAll(path)
  const isKnown = (path: string): boolean => [...known, ...found].some((place) => isWithin(place, path))
  const add = (path: string): void => {
    if (isRefused(path) || isKnown(path) || found.length >= CALLER_PLACES_MAX) return
    found.splice(0, found.length, ...found.filter((inner) => !isWithin(path, inner)), path)
  }
  for (const entry of searchPath.split(':')) {
    const directory = entry.startsWith('/') ? realDirectory(entry) : undefined
    // Those of a package are put there by the program that started this one, for its own.
    if (directory === undefined || isKnown(directory) || directory.includes('/node_modules')) continue
    if (isOpenToAll(directory)) continue
    const around = dirname(directory)
    if (!PROGRAMS.has(basename(directory))) add(directory)
    else if (basename(around) === LOCAL)
      for (const name of OF_LOCAL.map((one) => join(around, one))) {
        if (existsSync(name)) add(name)
      }
    else add(isRefused(around) ? directory : around)
    for (const [one, other] of ELSEWHERE) {
      const path = join(dirname(around), other)
      if (basename(around) === one && existsSync(path)) add(path)
    }
  }
  return found
}
