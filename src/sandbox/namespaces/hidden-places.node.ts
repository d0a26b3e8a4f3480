/**
 * What is not there for a session within what it may read: the paths that `sandbox.hidden` names, with `*` in names, the
 * known places of secrets, and what in /etc looks like a key by its name. /etc is walked once and
 * again only where one of its directories has changed.
 * Reads names, and no file. A name is bytes: one that is no text is found as well, and told as escaped-path.ts has it.
 * Rules: docs/sandbox.md; docs/security.md (what is hidden).
 * @module
 */

import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { HIDDEN_PLACES, KEY_NAMES, SECRET_HOME_PLACES, SECRET_PLACES } from '../../base/secret-places.ts'
import { escapedText } from '../../base/text/escaped-path.ts'
import { isWithin } from '../../base/text/lexical-path.ts'
import { ERRNO } from '../kernel/syscalls.node.ts'
import { HIDDEN_PLACES_MAX, WALKED_DIRECTORIES_MAX } from '../limits.ts'
import { Refused } from './kernel.node.ts'
import type { NamespacePlan } from './namespace-plan.ts'

import { kernelPath, seenFile } from './seen-file.node.ts'

const ETC = '/etc'
const SYSTEM_PLACES = [...SECRET_PLACES, ...HIDDEN_PLACES]

function exists(path: string): boolean {
  return seenFile(path) !== undefined
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(kernelPath(directory), { encoding: 'buffer' }).map(escapedText)
  } catch {
    return []
  }
}

/** `*` stands for any characters. */
function patternOf(name: string): RegExp {
  const parts = name.split('*').map((text) => text.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}

const KEYS = KEY_NAMES.map(patternOf)

/**
 * The paths that fit; `*` stands for any characters of a name, and for no leading dot. A path without one counts where its
 * directory is there: what is made later must not be there either.
 */
function expand(pattern: string): string[] {
  let found = ['']
  for (const part of pattern.split('/').slice(1)) {
    if (!part.includes('*')) {
      found = found.map((path) => `${path}/${part}`)
      continue
    }
    const fits = patternOf(part)
    found = found.flatMap((path) =>
      namesIn(path === '' ? '/' : path)
        .filter((name) => (part.startsWith('.') || !name.startsWith('.')) && fits.test(name))
        .map((name) => `${path}/${name}`),
    )
  }
  return found.filter(pattern.includes('*') ? exists : (path) => exists(dirname(path)))
}

type Walk = {
  /** When each directory was changed last: lstat's ctimeMs. */
  readonly directories: ReadonlyMap<string, number>
  readonly found: readonly string[]
}

const changeOf = (path: string): number => seenFile(path)?.ctimeMs ?? 0

/** What of /etc is known as secret or looks like a key by its name. */
function walkEtc(): Walk {
  const directories = new Map<string, number>()
  const found = SYSTEM_PLACES.filter((place) => isWithin(ETC, place)).flatMap(expand)
  const open = [ETC]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (directories.size >= WALKED_DIRECTORIES_MAX) break
    directories.set(path, changeOf(path))
    try {
      for (const entry of readdirSync(kernelPath(path), { encoding: 'buffer', withFileTypes: true })) {
        const name = escapedText(entry.name)
        const inner = `${path}/${name}`
        if (entry.isDirectory()) open.push(inner)
        else if (KEYS.some((fits) => fits.test(name))) found.push(inner)
      }
    } catch {
      // Nobody else of this user reads it either.
    }
  }
  return { directories, found }
}

export type HiddenWish = Pick<NamespacePlan, 'hidden' | 'hidesSecrets'>

export interface HiddenPlaces {
  /**
   * Absolute paths (escaped-path.ts) that are there, each once, the outer ones first and none beneath another one.
   * `homes`: of the users that commands run as.
   */
  find(wanted: HiddenWish, read: readonly string[], homes: readonly string[]): readonly string[]
}

export function createHiddenPlaces(): HiddenPlaces {
  let walk: Walk | undefined

  function secretsOfEtc(): readonly string[] {
    const isOld =
      walk === undefined || [...walk.directories].some(([path, change]) => changeOf(path) !== change)
    if (isOld) walk = walkEtc()
    return walk?.found ?? []
  }

  function secrets(read: readonly string[], homes: readonly string[]): string[] {
    const places = SYSTEM_PLACES.filter((place) => !isWithin(ETC, place)).flatMap(expand)
    // A home is looked into where something of it can be read.
    const all = new Set([...homes, '/root', ...namesIn('/home').map((name) => `/home/${name}`)])
    for (const home of all) {
      if (!read.some((path) => isWithin(path, home) || isWithin(home, path))) continue
      places.push(...SECRET_HOME_PLACES.flatMap((place) => expand(`${home}/${place}`)))
    }
    return read.some((path) => isWithin(path, ETC)) ? [...places, ...secretsOfEtc()] : places
  }

  return {
    find({ hidden, hidesSecrets }, read, homes) {
      const wanted = [...hidden.flatMap(expand), ...(hidesSecrets ? secrets(read, homes) : [])]
      const found: string[] = []
      for (const path of [...new Set(wanted)].sort((a, b) => a.length - b.length)) {
        if (!read.some((place) => isWithin(place, path))) continue
        if (found.some((outer) => isWithin(outer, path))) continue
        if (found.length >= HIDDEN_PLACES_MAX) throw new Refused('so many hidden places', ERRNO.E2BIG)
        found.push(path)
      }
      return found
    },
  }
}
