/**
 * Words that the request computes: the output of a substitution, what a loop reads. What such a word is cannot be known,
 * but where the names come from can: `for f in $(find /etc -type f); do : > $f; done` writes beneath `/etc`. So a use of
 * a word that is not known at all counts as the same use of all that the request has listed, and is judged by it.
 * @module
 */

import { spend, type Work } from '../../work.ts'
import type { CommandSurroundings, UsedPath } from '../effective.ts'
import { joinPath } from '../join-path.ts'
import { addElsewhere, LISTED, UNKNOWN_ELSEWHERE } from './elsewhere.ts'
import { goesBy } from './names.ts'
import type { Draft } from './pipeline.ts'
import { addRequestCalls } from './request-calls.ts'
import { decodes } from './stream.ts'
import { placeTold } from './told-places.ts'

/** Programs that put out names of files beneath what they are given, or what a link stands for. */
const LISTERS: ReadonlySet<string> = new Set(
  'find fd ls dir vdir tree locate plocate du stat readlink realpath dirname git lsof compgen exa eza lsd namei wc'.split(
    ' ',
  ),
)
/** These do where an option says so. */
const SEARCHERS: ReadonlySet<string> = new Set(['grep', 'rg', 'ag', 'ack', 'ugrep'])
const NAMES_ONLY: readonly string[] = Object.freeze([
  '-l',
  '-L',
  '--files-with-matches',
  '--files-without-match',
])
const NUMBERS: ReadonlySet<string> = new Set(['seq', 'jot', 'shuf', 'gseq'])

/** What stands for many numbers among the operands of `kill`, and for a path that was decoded. */
const RANGE = '<range>'
const DECODED = '<decoded>'

/** Listings of one request that are looked at, and paths of each. */
const SOURCES_MAX = 8
const PLACES_MAX = 8

function lists(draft: Draft): boolean {
  const { names, options } = draft
  if (placeTold(draft) !== undefined) return true
  if (names.some((name) => LISTERS.has(name) || PRINTERS.has(name) || READERS.has(name))) return true
  return goesBy(names, SEARCHERS) && NAMES_ONLY.some((option) => options.includes(option))
}

/** Its output goes into a word, or to what reads it. */
function isTaken({ via, pipedTo, names }: Draft): boolean {
  return pipedTo.length > 0 || via.includes('$()') || goesBy(names, READERS)
}

/** The part of a name that a search is for; `*` where it is for any. */
function nameOf({ names, optionValues }: Draft): string {
  if (!names.includes('find')) return '*'
  const found = optionValues.find(({ option }) => option === '-name' || option === '-iname')?.value ?? '*'
  return found.includes('/') ? '*' : found
}

/** They put out the words that they are given. */
const PRINTERS: ReadonlySet<string> = new Set(['echo', 'printf', 'print'])
/** They put what they are given into a variable. */
const READERS: ReadonlySet<string> = new Set(['read', 'mapfile', 'readarray'])

/** Of a word that is printed, the path that it begins with: `/etc/shadow\0`, `/etc/%s\n`. */
function pathPrinted(word: string, cwd: string | undefined): UsedPath['path'] | undefined {
  const [path = ''] = word.split(/[\\%\s<]/, 1)
  if (path.startsWith('/')) return joinPath('/', path)
  return cwd === undefined || path === '' || path.startsWith('-') ? undefined : joinPath(cwd, path)
}

/** What the names that `source` puts out can be, as paths that are used so. */
function placesOf(source: Draft, use: UsedPath['use'], home: string): readonly UsedPath[] {
  const told = placeTold(source)
  if (told !== undefined)
    return [{ path: joinPath(home, told), use, isGlob: false, isOpaque: use === 'write' }]
  const isReader = goesBy(source.names, READERS)
  if (isReader || goesBy(source.names, PRINTERS))
    return (isReader ? (source.output ?? '').split(/\s+/) : source.operands)
      .slice(0, PLACES_MAX)
      .flatMap((word) => pathPrinted(word, source.cwd) ?? [])
      .map((path) => ({ path, use, isGlob: false, isOpaque: use === 'write' }))
  const name = nameOf(source)
  const given = source.paths.filter((path) => path.use !== 'write' && !path.isOpaque)
  return (given.length > 0 || source.paths.length > 0 ? given : hereOf(source))
    .slice(0, PLACES_MAX)
    .map(({ path, isGlob: isExpanded }) => {
      // What the shell has left alone, `compgen` expands.
      const isGlob = isExpanded || (source.names.includes('compgen') && /[*?[]/.test(path))
      return use === 'write'
        ? { path: isGlob ? withoutGlob(path) : path, use, isGlob: false, isOpaque: true }
        : { path: isGlob ? path : joinPath(path, name), use, isGlob: true, isOpaque: false }
    })
}

/** These list what lies anywhere. */
const EVERYWHERE: ReadonlySet<string> = new Set(['locate', 'plocate', 'lsof'])
const ROOT: UsedPath = Object.freeze({ path: '/', use: 'read', isGlob: false, isOpaque: false })

/** Without a place of its own, a listing is of where it runs. */
function hereOf({ names, cwd }: Draft): readonly UsedPath[] {
  if (names.some((name) => EVERYWHERE.has(name))) return [ROOT]
  return cwd === undefined ? [] : [{ path: cwd, use: 'read', isGlob: false, isOpaque: false }]
}

/** The directory before the first wild character. */
function withoutGlob(path: string): string {
  const end = path.slice(0, path.search(/[*?[]/)).lastIndexOf('/')
  return end <= 0 ? '/' : path.slice(0, end)
}

function isUnknown({ path, isOpaque, use }: UsedPath): boolean {
  return path.startsWith(LISTED) || (isOpaque && path === '/' && use !== 'mention')
}

/** All that lies in a directory, or the directory itself. */
const WHOLE: ReadonlySet<string> = new Set([
  '*',
  '.',
  './',
  './*',
  '..',
  '../',
  '../*',
  '.*',
  './.*',
  '{*,.*}',
])

/**
 * What is written beneath the root, by a name that is not known, is as wide as a word that is not known at all:
 * `cd / && rm -rf ./$X`. So is all that lies in a directory that is not known: `cd $UNSET && rm -rf *`. What has a name
 * there is not: `cd "$(git rev-parse --show-toplevel)" && rm -rf build`.
 */
function widen(draft: Draft): void {
  if (!draft.paths.some((path) => path.use === 'write' && isUnknown(path))) return
  if (draft.operands.some((word) => word.startsWith(UNKNOWN))) return
  const isWide =
    draft.cwd === undefined || draft.cwd.startsWith(LISTED)
      ? draft.operands.some((word) => WHOLE.has(word))
      : draft.cwd === '/' && draft.operands.some((word) => word.includes(UNKNOWN))
  if (isWide) draft.operands = [...draft.operands, UNKNOWN]
}

const UNKNOWN = '<unknown>'

/** Adds to each command what its unknown words may be, and where what it writes lies. */
export function addComputed(drafts: readonly Draft[], surroundings: CommandSurroundings, work: Work): void {
  for (const { paths, operands } of drafts) spend(work, 1 + paths.length + operands.length)
  addRequestCalls(drafts)
  addSources(drafts, surroundings.home, work)
  for (const { paths } of drafts) addElsewhere(paths, surroundings)
}

/** Programs that do something with each of the names that they read. */
const CONSUMERS: ReadonlySet<string> = new Set(['xargs', 'parallel', 'read', 'mapfile', 'readarray'])

function isHandedOn({ via, pipedTo }: Draft): boolean {
  return via.includes('$()') || pipedTo.some((name) => CONSUMERS.has(name))
}

/** Programs that put something before the names that they pass on, and how a place elsewhere is written there. */
const BENDERS: ReadonlySet<string> = new Set(['sed', 'awk', 'perl', 'printf', 'xargs'])
const PLACE_WRITTEN = /\.\.\/|[#|,@!:"'\s^]\/\w|\\\/\w|^\/\w/
/** What of git puts out something else than names of files. */
const GIT_TELLS: ReadonlySet<string> = new Set(['config', 'cat-file', 'var', 'remote', 'worktree'])

/** Whether the names do not come through as they were listed. */
function isBent({ names, operands, optionValues }: Draft, drafts: readonly Draft[]): boolean {
  if (names.includes('git') && GIT_TELLS.has(operands[0] ?? '')) return true
  if (optionValues.some(({ option, value }) => option === '-printf' && PLACE_WRITTEN.test(value))) return true
  const [name = ''] = names
  return drafts.some(
    (draft) =>
      goesBy(draft.names, BENDERS) &&
      draft.pipedFrom.includes(name) &&
      draft.operands.some((word) => PLACE_WRITTEN.test(word)),
  )
}

/** In the place of names that were looked for: some files, and not all that lie in a directory. */
const SELECTED = '<selected>'

function selects(source: Draft): boolean {
  if (source.names.includes('find')) return nameOf(source) !== '*'
  return goesBy(source.names, SEARCHERS) || source.names.includes('git')
}

/** A change of case, or of one character, hides nothing. */
const PLAIN_SET = /^(?:\[?(?:A-Z|a-z|:upper:|:lower:)\]?|[ _.,:;-]|\\[n0rt])$/

function hides(draft: Draft): boolean {
  const isPlain = draft.names.includes('tr') && draft.operands.every((word) => PLAIN_SET.test(word))
  return decodes(draft) && !isPlain
}

function addSources(drafts: readonly Draft[], home: string, work: Work): void {
  const users = drafts.filter(({ paths }) => paths.some(isUnknown))
  for (const user of users) widen(user)
  if (users.length > 0) {
    const sources = drafts.filter((draft) => lists(draft) && isTaken(draft)).slice(0, SOURCES_MAX)
    spend(work, Math.floor((users.length * sources.length * drafts.length) / 8))
    for (const user of users) {
      let isShown = false
      let isNarrow = true
      let isAll = false
      for (const use of new Set(user.paths.filter(isUnknown).map((path) => path.use)))
        for (const source of sources) {
          if (source === user) continue
          const places = placesOf(source, use, home)
          if (places.length > 0 && isHandedOn(source) && !isBent(source, drafts)) isShown = true
          if (places.some(({ path }) => path === ROOT.path)) isAll = true
          if (!selects(source)) isNarrow = false
          user.paths.push(...places)
        }
      // A listing of everything shows nothing.
      isShown &&= !isAll
      if (isShown && isNarrow && user.paths.every(({ path }) => path !== UNKNOWN_ELSEWHERE))
        user.operands = user.operands.map((word) => (word === UNKNOWN ? SELECTED : word))
      if (!isShown && user.paths.some(({ path, use }) => use === 'write' && path.startsWith(LISTED)))
        user.paths.push({ path: UNKNOWN_ELSEWHERE, use: 'write', isGlob: false, isOpaque: true })
    }
    if (drafts.some((draft) => isTaken(draft) && hides(draft)))
      for (const user of users) user.operands = [...user.operands, DECODED]
  }
  if (!drafts.some(({ names, via }) => via.includes('$()') && goesBy(names, NUMBERS))) return
  for (const draft of drafts)
    if (draft.names.includes('kill') && draft.operands.some((word) => word.startsWith(UNKNOWN)))
      draft.operands = [...draft.operands, RANGE]
}
