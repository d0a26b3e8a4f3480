/**
 * The fields of `argv` in a rule and the named sets, from JSON. What can never fit is refused: an option without a
 * dash, a program with a directory, a path that is not absolute.
 * Rules: docs/policy.md, "Fields".
 * @module
 */
import type { Opaque } from '../effective.ts'
import { pathPatternProblem } from './path-pattern.ts'
import type { CommandMatch } from './rule.ts'
import { choiceOf, type Reader, readMembers, readSetName, readStrings } from './rules-reader.ts'

/** Of one field, names of sets replaced; and of one set. */
const PATTERNS_A_FIELD = 512
const PATTERN_CHARS = 256
const SETS_MAX = 256
/** `|` between alternatives of an option. */
const ALTERNATIVES_MAX = 64

type Problem = { readonly problem: string; readonly hint: string }
type FieldKind = 'words' | 'programs' | 'options' | 'option_values' | 'paths' | 'opaque' | 'boolean'

const FIELDS = Object.freeze({
  program: 'programs',
  subcommand: 'words',
  not_subcommand: 'words',
  options: 'options',
  not_options: 'options',
  other_options: 'options',
  option_values: 'option_values',
  operands: 'words',
  not_operands: 'words',
  paths: 'paths',
  writes: 'paths',
  reads: 'paths',
  not_paths: 'paths',
  assigns: 'words',
  via: 'words',
  piped_from: 'programs',
  piped_to: 'programs',
  opaque: 'opaque',
  opaque_path: 'boolean',
  terminal: 'boolean',
  has_operands: 'boolean',
} as const satisfies Record<keyof CommandMatch, FieldKind>)
const FIELD_NAMES = Object.freeze(Object.keys(FIELDS) as (keyof CommandMatch)[])

const OPAQUE: readonly (Opaque | '*')[] = Object.freeze([
  'expansion',
  'substitution',
  'program',
  'eval',
  'piped',
  'stdin',
  'syntax',
  'limit',
  '*',
])

export type MatchReading = {
  readonly reader: Reader
  readonly sets: ReadonlyMap<string, readonly string[]>
  /** Equal lists are one list in memory. */
  readonly lists: Map<string, readonly string[]>
  patternsLeft: number
}

/** A set's name after `@`; anything else that begins with it is a word. */
const SET_NAME = /^[a-z][a-z0-9_-]{0,63}$/

/** What is wrong with a pattern of words. */
export function wordProblem(pattern: string): Problem | undefined {
  if (pattern === '') return { problem: 'is empty', hint: 'write something' }
  if (pattern.length > PATTERN_CHARS)
    return { problem: `is longer than ${PATTERN_CHARS} characters`, hint: 'shorten it, with * for the rest' }
  return undefined
}

function optionProblem(entry: string): Problem | undefined {
  const isOption = (text: string) => text.startsWith('-') && text !== '-' && text !== '--'
  if (entry.split('|').every(isOption)) return undefined
  return {
    problem: 'has something that is not an option',
    hint: 'write -r|--recursive, with dashes and no spaces',
  }
}

function entryProblem(kind: FieldKind, entry: string): Problem | undefined {
  switch (kind) {
    case 'programs':
      return entry.includes('/')
        ? { problem: 'has a directory', hint: 'a program goes by its base name' }
        : undefined
    case 'options':
      return optionProblem(entry)
    case 'option_values':
      return entry.indexOf('=') > 0
        ? undefined
        : { problem: 'is not option=value', hint: 'write -o=ProxyCommand*' }
    case 'paths':
      return pathPatternProblem(entry)
    case 'words':
    case 'opaque':
    case 'boolean':
      return undefined
  }
}

/** An entry with the sets that it names put in, each result a pattern. */
function expand(reading: MatchReading, kind: FieldKind, entry: string, path: string): readonly string[] {
  const setOf = (text: string) =>
    text.startsWith('@') && SET_NAME.test(text.slice(1))
      ? (readSetName(reading.reader, text.slice(1), path, reading.sets) ?? [])
      : undefined
  if (kind !== 'options') return setOf(entry) ?? [entry]
  // A set of options is alternatives, like `|`.
  const alternatives = entry.split('|').flatMap((text) => setOf(text) ?? [text])
  if (alternatives.length > ALTERNATIVES_MAX)
    reading.reader.problem(path, `has more than ${ALTERNATIVES_MAX} alternatives`, 'use *')
  return alternatives.length === 0 ? [] : [alternatives.join('|')]
}

function readPatterns(
  reading: MatchReading,
  kind: FieldKind,
  value: unknown,
  path: string,
): readonly string[] {
  const { reader } = reading
  const chars = kind === 'options' ? PATTERN_CHARS * ALTERNATIVES_MAX : PATTERN_CHARS
  const entries = readStrings(reader, value, path, PATTERNS_A_FIELD, chars)
  const patterns = entries.flatMap((entry, index) => {
    const at = `${path}[${index}]`
    const expanded = expand(reading, kind, entry, at)
    for (const pattern of expanded) {
      const found = entryProblem(kind, pattern)
      if (found === undefined) continue
      reader.problem(
        at,
        pattern === entry ? found.problem : `stands for ${pattern}, which ${found.problem}`,
        found.hint,
      )
      break
    }
    return expanded
  })
  if (patterns.length > PATTERNS_A_FIELD)
    reader.problem(path, `stands for more than ${PATTERNS_A_FIELD} patterns`, 'use * or fewer sets')
  return shareList(reading, patterns, path)
}

function shareList(reading: MatchReading, patterns: readonly string[], path: string): readonly string[] {
  const key = patterns.join('\0')
  const known = reading.lists.get(key)
  if (known !== undefined) return known
  reading.patternsLeft -= patterns.length
  if (reading.patternsLeft < 0) {
    reading.reader.problem(path, 'is one pattern too many in the file', 'use * or fewer sets')
    return []
  }
  reading.lists.set(key, patterns)
  return patterns
}

function readOpaque(reader: Reader, value: unknown, path: string): readonly (Opaque | '*')[] {
  return readStrings(reader, value, path, OPAQUE.length, PATTERN_CHARS).flatMap((entry, index) => {
    const reason = choiceOf(reader, entry, `${path}[${index}]`, OPAQUE)
    return reason === undefined ? [] : [reason]
  })
}

/** The conditions of a rule; fields with a problem are left out. */
export function readMatch(reading: MatchReading, value: unknown, path: string): CommandMatch {
  const { reader } = reading
  const members = readMembers(reader, value, path, FIELD_NAMES)
  if (members === undefined) return {}
  if (Object.keys(members).length === 0)
    reader.problem(path, 'asks for nothing', 'give it a field, such as program')
  const match: Record<string, unknown> = {}
  for (const field of FIELD_NAMES) {
    const given = members[field]
    if (given === undefined) continue
    const at = `${path}.${field}`
    const kind = FIELDS[field]
    if (kind === 'opaque') match[field] = readOpaque(reader, given, at)
    else if (kind !== 'boolean') match[field] = readPatterns(reading, kind, given, at)
    else if (typeof given === 'boolean') match[field] = given
    else reader.problem(at, 'is not true or false', 'write true or false')
  }
  return match as CommandMatch
}

/** The named sets of a file; a file may have none. */
export function readSets(reader: Reader, value: unknown): ReadonlyMap<string, readonly string[]> {
  const sets = new Map<string, readonly string[]>()
  if (value === undefined) return sets
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const members = readMembers(reader, value, 'sets', names)
  if (members === undefined) return sets
  if (names.length > SETS_MAX) {
    reader.problem('sets', `has more than ${SETS_MAX} sets`, 'leave out what no rule names')
    return sets
  }
  for (const name of names) {
    const path = `sets.${name.slice(0, 64)}`
    if (!SET_NAME.test(name))
      reader.problem(path, 'is not a name for a set', 'use small letters, digits, - and _, a letter first')
    const entries = readStrings(reader, members[name], path, PATTERNS_A_FIELD, PATTERN_CHARS)
    entries.forEach((entry, index) => {
      if (entry.startsWith('@') && SET_NAME.test(entry.slice(1)))
        reader.problem(`${path}[${index}]`, 'names another set', 'name both sets in the rule')
    })
    sets.set(name, entries)
  }
  return sets
}
