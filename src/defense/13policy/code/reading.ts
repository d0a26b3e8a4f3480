/**
 * The state of reading code: what was found in it so far, and how paths, commands and calls are put down. A value of the
 * code is a text, of which a part may not be known, or a list of values; what is anything else is unknown.
 * @module
 */

import type { Opaque, PathUse } from '../effective.ts'
import type { ShellWord } from '../shell/shell.ts'
import type { Inner, Language } from '../unwrap/inner.ts'
import { HOLE, tellsMore } from './holes.ts'
import type { Token } from './lexer.ts'

export const ARGUMENT_TOKENS = 256

/** Names of one text; and how far the arguments of a call are read. */
const CALLS_MAX = 512

const INNER_MAX = 512

export type Value =
  | {
      readonly kind: 'text'
      /** Of one that is opaque, what stands before the first part that is not known. */
      readonly text: string
      readonly isOpaque: boolean
      /** Of one that is opaque, all of it, with a `*` for each part that is not known. */
      readonly pattern?: string
    }
  | { readonly kind: 'list'; readonly items: readonly Value[] }
  | { readonly kind: 'unknown' }

export const UNKNOWN: Value = Object.freeze({ kind: 'unknown' })

export type Reading = {
  readonly tokens: readonly Token[]
  readonly language: Language
  readonly via: string
  readonly calls: Set<string>
  readonly inner: Inner[]
  readonly opaque: Set<Opaque>
  /** What a name stands for. */
  readonly aliases: Map<string, string>
  readonly values: Map<string, Value>
  /** Modules of which every name was taken in (`from os import *`). */
  readonly stars: string[]
  /** After a closing mark: the name of what the call before it gives. */
  readonly results: Map<number, { readonly name: string } | { readonly path: Value }>
  /** Strings that a call has already accounted for. */
  readonly used: Set<number>
  /** The files of databases that are opened. */
  readonly databases: Value[]
  /** How paths are used that the text does not tell. */
  readonly unknownUses: Set<PathUse>
  /** Of such paths, what is known behind their beginnings, with a `*` for each part that is not. */
  readonly ends: Set<string>
  /** Modules that are brought in, by the first part of their names. */
  readonly modules: Map<string, string>
  /** Modules that nobody knows and that are looked for among the files of the request. */
  readonly followed: Set<string>
  /** Where the code has gone to (`os.chdir`). */
  place: string | undefined
  /** Names that the code itself defines; read where they are first asked for. */
  defined: ReadonlySet<string> | undefined
}

export function wordOf(value: Value): ShellWord {
  if (value.kind !== 'text') return { text: '', isGlob: false, opaque: 'expansion' }
  // What a program is given by code is no pattern but to what finds files: a whole path with a star.
  const isGlob = /^[/~]/.test(value.text) && value.text.includes('*')
  return { text: value.text, isGlob, opaque: value.isOpaque ? 'expansion' : undefined }
}

export function addInner(reading: Reading, inner: Inner): void {
  if (reading.inner.length < INNER_MAX) reading.inner.push(placed(reading, inner))
  else reading.opaque.add('limit')
}

/** What is started where the code has gone to. */
function placed({ place }: Reading, inner: Inner): Inner {
  if (place === undefined) return inner
  if (inner.kind === 'argv') return { directory: { text: place, isGlob: false, opaque: undefined }, ...inner }
  if (inner.kind !== 'shell' || place.includes("'")) return inner
  return { ...inner, word: { ...inner.word, text: `cd '${place}' && ${inner.word.text}` } }
}

/** Takes down that the code goes to a directory. */
export function goTo(reading: Reading, value: Value | undefined): void {
  if (value?.kind !== 'text' || value.isOpaque || value.text === '') return
  reading.place = fromPlace(reading, value.text)
}

/** A relative path from where the code has gone to. */
function fromPlace({ place }: Reading, path: string): string {
  return place === undefined || path.startsWith('/') || path.startsWith('~') ? path : `${place}/${path}`
}

/** Before the whole path of a file, where that is an address. */
const FILE = 'file://'
/** What PHP writes before the path of a file that it sends through a filter. */
const STREAM = /^(?:php:\/\/filter\/\S{0,256}?resource=|(?:compress\.\w{1,8}|zip|phar|glob):\/\/)/

/** The path of a file in a text that names it in another way. */
function plainFile({ language }: Reading, value: Value): Value {
  if (value.kind !== 'text' || !value.text.includes('://')) return value
  if (value.text.startsWith(FILE)) return { ...value, text: value.text.slice(FILE.length) }
  if (language !== 'php') return value
  return { ...value, text: value.text.replace(STREAM, '') }
}

export function addPath(reading: Reading, given: Value, use: PathUse): void {
  const value = plainFile(reading, given)
  if (value.kind === 'list') {
    for (const item of value.items) addPath(reading, item, use)
    return
  }
  const pattern = value.kind === 'text' && value.isOpaque ? patternOf(value) : ''
  const isUnknown = value.kind === 'unknown' || (value.isOpaque && value.text === '')
  if (isUnknown && use !== 'mention') {
    reading.unknownUses.add(use)
  }
  if (isUnknown && tellsMore(pattern) && reading.ends.size < ENDS_MAX) reading.ends.add(pattern)
  if (isUnknown && use !== 'mention') return
  addInner(reading, { kind: 'path', word: wordOf(value), use })
  if (value.kind === 'text' && reading.place !== undefined && use !== 'mention')
    addInner(reading, { kind: 'path', word: wordOf({ ...value, text: fromPlace(reading, value.text) }), use })
  if (tellsMore(pattern)) addHoledPath(reading, pattern, use)
}

/** A path with a `*` for each part that is not known. */
export function addHoledPath(reading: Reading, pattern: string, use: PathUse): void {
  addInner(reading, { kind: 'path', word: { text: pattern, isGlob: true, opaque: undefined }, use })
}

/** What people write has one or two. */
const ENDS_MAX = 8

/** All that is known of a text, with a `*` for each part that is not. */
export function patternOf(value: Value): string {
  if (value.kind !== 'text') return HOLE
  return value.isOpaque ? (value.pattern ?? value.text + HOLE) : value.text
}

/** A path that could be any. */
export function addUnknownPath(reading: Reading, use: PathUse): void {
  addInner(reading, { kind: 'path', word: wordOf(UNKNOWN), use })
}

export function addCall(reading: Reading, name: string): void {
  if (name.length <= 128 && reading.calls.size < CALLS_MAX) reading.calls.add(name)
}

export function mark(reading: Reading, index: number): string {
  const token = reading.tokens[index]
  return token?.kind === 'mark' ? token.text : ''
}

export function nameAt(reading: Reading, index: number): string {
  const token = reading.tokens[index]
  return token?.kind === 'name' ? token.text : ''
}

/** A string that is meant as a path in code, where a lone slash is a separator. */
export function looksAbsolute(text: string): boolean {
  if (text.length < 2 || text.length > 4_096 || text.includes('\n') || text.includes(' ')) return false
  return (text.startsWith('/') && !text.startsWith('//')) || text.startsWith('~/') || text.startsWith('../')
}
