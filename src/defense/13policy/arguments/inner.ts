/**
 * What a command runs in its turn, as data: wrappers, shells and interpreters give it, unwrap.ts follows it.
 * @module
 */
import type { Work } from '../../work.ts'
import type { Opaque, PathUse } from '../effective.ts'
import type { ShellWord } from '../shell/shell.ts'
import type { ParsedArguments } from './options.ts'

export type Assignment = { readonly name: string; readonly value: ShellWord }

/** Where a command's standard input comes from. */
export type Stdin =
  /** Its own end, a file, or nothing: no program can come that way. */
  | { readonly kind: 'closed' }
  /** What the caller or the terminal gives. */
  | { readonly kind: 'caller' }
  | { readonly kind: 'text'; readonly word: ShellWord }
  | { readonly kind: 'pipe'; readonly output: string | undefined }

export type Inner =
  | {
      readonly kind: 'argv'
      readonly words: readonly ShellWord[]
      readonly via: string
      readonly assignments?: readonly Assignment[]
      /** A directory that it changes to first. */
      readonly directory?: ShellWord
      readonly stdin?: Stdin
    }
  | {
      readonly kind: 'shell'
      readonly word: ShellWord
      readonly via: string
      /** `$0`, `$1`... */
      readonly positional?: readonly ShellWord[]
      readonly stdin?: Stdin
    }
  /** `filter`: the language, where it is read; undefined: nobody reads it. */
  | {
      readonly kind: 'code'
      readonly filter: 'awk' | 'sed' | undefined
      readonly word: ShellWord
      readonly via: string
    }
  | { readonly kind: 'opaque'; readonly opaque: Opaque }
  | { readonly kind: 'path'; readonly word: ShellWord; readonly use: PathUse }

/** A command as its wrapper sees it. */
export type Call = {
  readonly names: readonly string[]
  /** The name in `names` that the tables know it by. */
  readonly name: string
  readonly words: readonly ShellWord[]
  readonly parsed: ParsedArguments
  readonly stdin: Stdin
  readonly terminal: boolean
  /** What the decision has cost; whoever goes over the words more than once pays for it. */
  readonly work: Work
}

export function literal(text: string): ShellWord {
  return { text, isGlob: false, opaque: undefined }
}

/** The words that are not known because an input gives them. */
export const UNKNOWN_INPUT: ShellWord = Object.freeze({ text: '', isGlob: false, opaque: 'expansion' })

/** The first value of one of `options`. */
export function optionValue(parsed: ParsedArguments, ...options: readonly string[]): ShellWord | undefined {
  return parsed.values.find(({ option }) => options.includes(option))?.word
}

export function has(parsed: ParsedArguments, ...options: readonly string[]): boolean {
  return parsed.options.some((option) => options.includes(option))
}

/** What rsync gives the one that it has started at the other end: there `-e` is about the protocol, and starts nothing. */
export function isOfProtocol({ names, parsed }: Call, option: string): boolean {
  return option === '-e' && names.includes('rsync') && parsed.options.includes('--server')
}

/** What a program runs in its turn. */
export type Unwrap = (call: Call) => readonly Inner[]

/** The word from a place in it on. */
export function tail(word: ShellWord, from: number): ShellWord {
  return { ...word, text: word.text.slice(from) }
}

export function shell(word: ShellWord, via: string): Inner {
  return { kind: 'shell', word, via }
}

export function argv(words: readonly ShellWord[], via: string): readonly Inner[] {
  return words.length === 0 ? [] : [{ kind: 'argv', words, via }]
}

/** Words joined with spaces and given to a shell, as `watch`, `ssh` and `eval` do. */
export function joined(words: readonly ShellWord[]): ShellWord {
  const [only] = words
  if (words.length === 1 && only !== undefined) return { ...only, isGlob: false }
  const opaque = words.find((word) => word.opaque !== undefined)?.opaque
  return { text: words.map(({ text }) => text).join(' '), isGlob: false, opaque }
}

/** The words from the first operand on, without `skipped` of them. */
export function rest(call: Call, skipped = 0): readonly ShellWord[] {
  return call.words.slice(call.parsed.firstOperand + skipped)
}

/** Lines of one text that are followed; what people write has fewer. */
export const LINES_MAX = 4_096

/** What the lines of a text run, and that there are more where there are too many. */
export function eachLine(
  text: string,
  read: (line: string) => readonly Inner[],
  separator = '\n',
): readonly Inner[] {
  const lines = text.split(separator, LINES_MAX + 1)
  const inner = lines.slice(0, LINES_MAX).flatMap(read)
  return lines.length > LINES_MAX ? [...inner, { kind: 'opaque', opaque: 'limit' }] : inner
}
