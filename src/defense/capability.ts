/**
 * Capability sets: which commands and paths an agent may use. Deny first, and what nothing allows is denied.
 * A command pattern is split at spaces; its first word is a program by base name or absolute path, each further one
 * must equal the argument at its place; `*` inside a word stands for any run of characters, and a pattern of `*`
 * alone for every command. A path pattern covers the path itself and everything beneath; `*` alone covers all.
 * What is judged are the effective commands: each program that would really run must be allowed, and none denied,
 * whatever it was reached through. Matching is linear in the input and builds no regular expression.
 * Rules: docs/responses.md, section 1 (layer 7); docs/configuration.md for absent, empty and full.
 * @module
 */

import { sha256 } from '../base/crypto/hash.ts'
import { canonicalize } from '../base/encoding/canonical-json.ts'
import { encodeUtf8 } from '../base/encoding/utf8.ts'
import { baseName, isWithin } from '../base/text/lexical-path.ts'
import type { EgressItem } from '../config/egress-fields.ts'
import type { EffectiveCommand } from './13policy/effective.ts'

export type CapabilitySet = {
  readonly allowed_commands: readonly string[]
  readonly denied_commands: readonly string[]
  /** One try contains the agent; absent: none. */
  readonly forbidden_commands?: readonly string[]
  readonly allowed_paths: readonly string[]
  readonly denied_paths: readonly string[]
  readonly max_concurrent: number
  readonly timeout_seconds: number | null
  readonly max_file_size_bytes: number
  readonly allowed_env: readonly string[]
  readonly output_bytes: number | null
  /** The commands of its task; null: nobody has said. It allows nothing. */
  readonly plan?: readonly string[] | null
  /** What may come together in a session; null: nobody has said. It allows nothing. */
  readonly combinations?: readonly string[] | null
  /** Null: the user of the daemon. */
  readonly run_as?: string | null
  /** What runs only as a call of a signed plan; absent: nothing. */
  readonly require_plan?: 'never' | 'restricted' | 'always'
  readonly network?: 'default' | 'gate' | 'none' | 'host'
  /** What its commands may reach; null: what the device lists. */
  readonly egress?: readonly EgressItem[] | null
}

/** It allows and denies nothing: what a caller without a set has. */
export const NO_CAPABILITY: CapabilitySet = Object.freeze({
  allowed_commands: [],
  denied_commands: [],
  allowed_paths: [],
  denied_paths: [],
  max_concurrent: 0,
  timeout_seconds: null,
  max_file_size_bytes: 0,
  allowed_env: [],
  output_bytes: null,
})

/** SHA-256 of the RFC 8785 JSON of the set, 32 bytes: what AuthResponse carries. */
export function capabilityHash(set: CapabilitySet): Uint8Array {
  return sha256(encodeUtf8(canonicalize(set)))
}

/**
 * True where `word` fits `pattern`, in which `*` stands for any run of characters. Greedy with one point of return,
 * which is enough for `*` alone and keeps the cost at the product of both lengths at worst.
 */
export function matchesWord(pattern: string, word: string): boolean {
  let p = 0
  let w = 0
  let star = -1
  let mark = 0
  while (w < word.length) {
    if (pattern[p] === '*') {
      star = p++
      mark = w
    } else if (p < pattern.length && pattern[p] === word[w]) {
      p++
      w++
    } else if (star !== -1) {
      p = star + 1
      w = ++mark
    } else return false
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}

/** True where the pattern names this command. `resolved` is the absolute path of the program, where one was found. */
export function matchesCommand(
  pattern: string,
  argv: readonly string[],
  resolved: string | undefined,
): boolean {
  if (pattern === '*') return true
  const words = pattern.split(' ').filter((word) => word !== '')
  const [program, ...rest] = words
  if (program === undefined) return false
  if (program === '*' && rest.length === 0) return true
  const command = argv[0] ?? ''
  // A pattern with a directory means that very file; without one it means the program by its name, however called.
  const candidates = program.includes('/')
    ? [resolved ?? command]
    : [baseName(command), baseName(resolved ?? command)]
  if (!candidates.some((candidate) => matchesWord(program, candidate))) return false
  return rest.every((word, index) => matchesWord(word, argv[index + 1] ?? '') && index + 1 < argv.length)
}

/** True where the pattern covers the absolute, normalised path. */
export function matchesPath(pattern: string, path: string): boolean {
  return pattern === '*' || isWithin(pattern, path)
}

export type Permission = 'allowed' | 'denied' | 'unlisted'

/** Deny first; a missing match is `unlisted`. */
export function permitsCommand(
  set: CommandSet,
  argv: readonly string[],
  resolved: string | undefined,
): Permission {
  // Denied by either path: what was asked for, and the file that it resolves to. Allowed only by the latter.
  const { denied_commands: denied, allowed_commands: allowed } = set
  if (isNamed(denied, argv, resolved) || isNamed(denied, argv, undefined)) return 'denied'
  return isNamed(allowed, argv, resolved) ? 'allowed' : 'unlisted'
}

function isNamed(
  patterns: readonly string[],
  argv: readonly string[],
  resolved: string | undefined,
): boolean {
  for (let at = 0; at < patterns.length; at++)
    if (matchesCommand(patterns[at] ?? '', argv, resolved)) return true
  return false
}

/** What of a set is about commands. */
export type CommandSet = Pick<CapabilitySet, 'allowed_commands' | 'denied_commands'>

export function permitsPath(set: CapabilitySet, path: string): Permission {
  if (set.denied_paths.some((pattern) => matchesPath(pattern, path))) return 'denied'
  return set.allowed_paths.some((pattern) => matchesPath(pattern, path)) ? 'allowed' : 'unlisted'
}

/** What a shell does by itself; harmless, and judged by what it leads to. */
const BUILTINS: ReadonlySet<string> = new Set(
  (
    '[ : . alias bg break cd command continue declare dirs echo eval exec exit export false fg getopts hash jobs let ' +
    'local mapfile popd printf pushd pwd read readonly return set shift shopt source test times trap true type ' +
    'typeset ulimit umask unalias unset wait'
  ).split(' '),
)

/** What reads a text as a shell does, so that a builtin's name means the builtin. To any other it means a file. */
const SHELL_WAYS: ReadonlySet<string> = new Set(['sh -c', '$()', 'eval', 'trap', 'alias'])

export function isBuiltin({ argv, names, via }: EffectiveCommand): boolean {
  return SHELL_WAYS.has(via.at(-1) ?? '') && names.length === 1 && BUILTINS.has(argv[0] ?? '')
}

function isSameArgv(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false
  return true
}

/**
 * Whether a denied pattern names the command. Of a program without a directory the file is not known, and a pattern
 * with one is taken to mean it where the names fit.
 */
function deniesEffective(pattern: string, { argv, names, path }: EffectiveCommand): boolean {
  const [, ...rest] = argv
  const bare = path === undefined ? nameOfPattern(pattern) : pattern
  return names.some(
    (name) => matchesCommand(pattern, [name, ...rest], path) || matchesCommand(bare, [name, ...rest], path),
  )
}

/** The pattern with its program's base name; unchanged where that would be every program. */
function nameOfPattern(pattern: string): string {
  const [program = '', ...rest] = pattern.split(' ').filter((word) => word !== '')
  const name = baseName(program)
  return name === '*' ? pattern : [name, ...rest].join(' ')
}

/** Deny first over all of them; one that nothing allows makes the whole unlisted. */
export function permitsEffective(
  set: CommandSet,
  argv: readonly string[],
  resolved: string | undefined,
  commands: readonly EffectiveCommand[],
): Permission {
  const outer = permitsCommand(set, argv, resolved)
  if (outer === 'denied') return 'denied'
  let isAllowed = outer === 'allowed'
  const { denied_commands: denied } = set
  for (let at = 0; at < commands.length; at++) {
    const command = commands[at] as EffectiveCommand
    for (let number = 0; number < denied.length; number++)
      if (deniesEffective(denied[number] ?? '', command)) return 'denied'
    // What the caller asked for is judged above, with the file that it resolves to.
    if (command.via.length === 0 || isSameArgv(command.argv, argv) || isBuiltin(command)) continue
    isAllowed &&= permitsCommand(set, command.argv, command.path) === 'allowed'
  }
  return isAllowed ? 'allowed' : 'unlisted'
}

const SHELL_SIGNS = /[(){}|;&<>]/

/**
 * A blocked command as the tokens that must be in a command, in any order of its options: `rm -rf` also stops
 * `rm -r -f x` and `rm --recursive --force x`. What is no simple command (`:(){:|:&};:`) is looked for in the words.
 */
export function blocksCommand(text: string, command: EffectiveCommand): boolean {
  if (SHELL_SIGNS.test(text)) {
    const bare = text.replaceAll(' ', '')
    return command.argv.some((word) => word.replaceAll(' ', '').includes(bare))
  }
  const [program, ...rest] = text.split(' ').filter((word) => word !== '')
  if (program === undefined || !command.names.some((name) => matchesWord(baseName(program), name)))
    return false
  let place = 0
  return rest.every((word) => {
    if (word.startsWith('-')) return hasOption(command.options, word)
    const at = command.operands.indexOf(word, place)
    place = at + 1
    return at !== -1
  })
}

/** Long names of the letters that people block; others are compared as they are. */
const LONG_FORMS: Readonly<Record<string, readonly string[]>> = Object.freeze({
  r: ['R', '-recursive'],
  R: ['r', '-recursive'],
  f: ['-force'],
})

function hasOption(options: readonly string[], word: string): boolean {
  if (word.startsWith('--') || options.includes(word)) return isGiven(word, options)
  return [...word.slice(1)].every((letter) =>
    [letter, ...(LONG_FORMS[letter] ?? [])].some((form) => isGiven(`-${form}`, options)),
  )
}

/** Long options are also known by their beginnings. */
function isGiven(option: string, options: readonly string[]): boolean {
  return options.some(
    (given) => given === option || (given.length > 2 && given.startsWith('--') && option.startsWith(given)),
  )
}
