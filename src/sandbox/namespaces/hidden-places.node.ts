/**
 * What is not there for a session within what it may read: the paths that `sandbox.hidden` names, with `*` in names, the
 * known places of secrets, what in /etc looks like a key by its name, and where that is wanted what in the branched
 * directories does. A directory is read once, and again only where it has changed.
 * Reads names, and no file. A name is bytes: one that is no text is found as well, and told as escaped-path.ts has it.
 * Rules: docs/sandbox.md; docs/security.md (what is hidden).
 * @module
 */

import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { HIDDEN_PLACES, KEY_NAMES, SECRET_HOME_PLACES, SECRET_PLACES } from '../../base/secret-places.ts'
import { escapedText } from '../../base/text/escaped-path.ts'
import { baseName, isWithin } from '../../base/text/lexical-path.ts'
import { WORKSPACE_SECRETS_WORD } from '../../config/caller-fields.ts'
import { isSensitive } from '../../defense/sensitive-file.ts'
import { ERRNO } from '../kernel/syscalls.node.ts'
import { DIRECTORY_SETTLED_MS, HIDDEN_PLACES_MAX, LISTED_NAMES_KEPT, WALKED_NAMES_MAX } from '../limits.ts'
import { Refused } from './kernel.node.ts'
import type { NamespacePlan } from './namespace-plan.ts'
import { kernelPath, seenFile, seenOnce } from './seen-file.node.ts'

const ETC = '/etc'
const SYSTEM_PLACES = [...SECRET_PLACES, ...HIDDEN_PLACES]

/** What a directory's listing is good for: as long as its time is that. NaN, which nothing is equal to: for this once. */
function goodUntilChanged(changeMs: number): number {
  return changeMs + DIRECTORY_SETTLED_MS < Date.now() ? changeMs : Number.NaN
}

type Listing = (directory: string) => readonly string[]
type Listed = { readonly change: number; readonly names: readonly string[] }

/** Gives the names in directories for one search after the other; what the one before has read counts where it can. */
function createListing(): (seen: typeof seenFile) => Listing {
  let known: ReadonlyMap<string, Listed> = new Map()
  return (seen) => {
    const before = known
    const now = new Map<string, Listed>()
    known = now
    return (directory) => {
      const file = seen(directory)
      // The time of a link is its own.
      const change = file?.isDirectory() === true ? file.ctimeMs : Number.NaN
      const there = now.get(directory) ?? before.get(directory)
      const listed = there?.change === change ? there : readNames(directory, change)
      if (listed.names.length <= LISTED_NAMES_KEPT) now.set(directory, listed)
      return listed.names
    }
  }
}

function readNames(directory: string, change: number): Listed {
  const good = goodUntilChanged(change)
  try {
    const names = readdirSync(kernelPath(directory), { encoding: 'buffer' }).map(escapedText)
    return { change: good, names }
  } catch {
    return { change: Number.NaN, names: [] }
  }
}

/** `*` stands for any characters. */
function patternOf(name: string): RegExp {
  const parts = name.split('*').map((text) => text.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}

/** The places of homes have their own list. */
const NO_HOME = '/'
const KEYS = KEY_NAMES.map(patternOf)
const isKey = (path: string): boolean => KEYS.some((fits) => fits.test(baseName(path)))

/**
 * The paths that fit; `*` stands for any characters of a name, and for no leading dot. A path without one counts where its
 * directory is there: what is made later must not be there either.
 */
function expand(pattern: string, seen: typeof seenFile, namesIn: Listing): string[] {
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
  return found.filter((path) => seen(pattern.includes('*') ? path : dirname(path)) !== undefined)
}

/** A directory as it was read. */
type Looked = {
  /** When it was changed last, lstat's ctimeMs; NaN where it may have changed again at the same time. */
  readonly change: number
  readonly names: number
  readonly directories: readonly string[]
  readonly found: readonly string[]
}

function lookAt(directory: string, change: number, isSecret: (path: string) => boolean): Looked {
  const [directories, found]: [string[], string[]] = [[], []]
  const good = goodUntilChanged(change)
  let names = 0
  try {
    for (const entry of readdirSync(kernelPath(directory), { encoding: 'buffer', withFileTypes: true })) {
      const path = `${directory}/${escapedText(entry.name)}`
      names++
      if (entry.isDirectory()) directories.push(path)
      else if (isSecret(path)) found.push(path)
    }
  } catch {
    // Nobody else of this user reads it either.
  }
  return { change: good, names, directories, found }
}

/**
 * Gives what beneath a directory has the name of a secret, as it is now.
 * @throws Refused with more names than can be looked at: what was not looked at would not be hidden
 */
function createWalk(top: string, most: number, isSecret: (path: string) => boolean): () => readonly string[] {
  let known: ReadonlyMap<string, Looked> = new Map()
  return () => {
    const now = new Map<string, Looked>()
    const open = [top]
    let names = 0
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      const change = seenFile(path)?.ctimeMs ?? 0
      const before = known.get(path)
      const looked = before?.change === change ? before : lookAt(path, change, isSecret)
      now.set(path, looked)
      names += looked.names
      if (names > most) throw new Refused(`so many names in ${top}`, ERRNO.E2BIG)
      open.push(...looked.directories)
    }
    known = now
    return [...now.values()].flatMap(({ found }) => found)
  }
}

export type HiddenWish = Pick<NamespacePlan, 'hidden' | 'hidesSecrets' | 'roots' | 'read'>

export interface HiddenPlaces {
  /**
   * Absolute paths (escaped-path.ts) that are there, each once, the outer ones first and none beneath another one.
   * `homes`: of the users that commands run as.
   */
  find(
    wanted: HiddenWish,
    read: readonly string[],
    homes: readonly string[],
    seen?: typeof seenFile,
  ): readonly string[]
}

/** `most`: names that are looked at beneath each directory. */
export function createHiddenPlaces(most = WALKED_NAMES_MAX): HiddenPlaces {
  const etcKeys = createWalk(ETC, most, isKey)
  const walks = new Map<string, () => readonly string[]>()
  const listing = createListing()

  function secretsOf(root: string): readonly string[] {
    const walk = walks.get(root) ?? createWalk(root, most, (path) => isSensitive(path, NO_HOME))
    walks.set(root, walk)
    return walk()
  }

  function secrets(
    read: readonly string[],
    homes: readonly string[],
    namesIn: Listing,
    fitting: (pattern: string) => string[],
  ): string[] {
    const places = SYSTEM_PLACES.filter((place) => !isWithin(ETC, place)).flatMap(fitting)
    // A home is looked into where something of it can be read.
    const all = new Set([...homes, '/root', ...namesIn('/home').map((name) => `/home/${name}`)])
    for (const home of all) {
      if (!read.some((path) => isWithin(path, home) || isWithin(home, path))) continue
      places.push(...SECRET_HOME_PLACES.flatMap((place) => fitting(`${home}/${place}`)))
    }
    if (!read.some((path) => isWithin(path, ETC))) return places
    const known = SYSTEM_PLACES.filter((place) => isWithin(ETC, place)).flatMap(fitting)
    return [...places, ...known, ...etcKeys()]
  }

  return {
    find({ hidden, hidesSecrets, roots, read: listed }, read, homes, seen = seenOnce()) {
      const ofBranches = hidden.includes(WORKSPACE_SECRETS_WORD) ? roots : []
      const namesIn = listing(seen)
      const fitting = (pattern: string): string[] => expand(pattern, seen, namesIn)
      const wanted = [
        ...hidden.filter((path) => path !== WORKSPACE_SECRETS_WORD).flatMap(fitting),
        // What is listed by its very name is meant to be read.
        ...ofBranches.flatMap(({ path }) => secretsOf(path)).filter((path) => !listed.includes(path)),
        ...(hidesSecrets ? secrets(read, homes, namesIn, fitting) : []),
      ]
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
