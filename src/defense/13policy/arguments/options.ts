/**
 * The arguments of a program, told apart: options as a set, the values they are given, and operands. How a program
 * reads its arguments comes from the table of programs; what is not there is read by the habits of getopt_long, where
 * no option takes the next word. Nothing is refused, nothing is dropped: a token is always there as it was written.
 * Rules: POSIX.1-2024, XBD 12.2 Utility Syntax Guidelines; getopt_long(3).
 * @module
 */

import type { OptionUse, ProgramForm } from '../programs/programs.ts'
import type { ShellWord } from '../shell/shell.ts'
import { looksLikePath } from './used-paths.ts'

export type OptionValue = { readonly option: string; readonly word: ShellWord; readonly use: OptionUse }

export type ParsedArguments = {
  readonly options: readonly string[]
  readonly values: readonly OptionValue[]
  readonly operands: readonly ShellWord[]
  /** Where in the words the first operand stands; the number of words where there is none. */
  readonly firstOperand: number
}

/** The end of a word, which is `text` as far as it is known; what is known of the whole is known of the end. */
export function partOf(word: ShellWord, text: string): ShellWord {
  const { isGlob, opaque, stands } = word
  const from = word.text.length - text.length
  return stands?.startsWith(word.text) && from >= 0
    ? { text, isGlob, opaque, stands: stands.slice(from) }
    : { text, isGlob, opaque }
}

function isAlphanumeric(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

/**
 * `words` are the program and its arguments. `from` is where its arguments begin. With a form that stops at the first
 * operand, everything from there on is an operand.
 */
export function parseArguments(words: readonly ShellWord[], form: ProgramForm, from = 1): ParsedArguments {
  const options: string[] = []
  const values: OptionValue[] = []
  const operands: ShellWord[] = []
  let firstOperand = words.length
  let isEnded = false
  for (let index = from; index < words.length; index++) {
    const word = words[index]
    if (word === undefined) break
    const { text } = word
    if (isEnded || !isOption(text, form)) {
      if (operands.length === 0) firstOperand = index
      if (form.stops) isEnded = true
      operands.push(word)
      continue
    }
    if (text === '--') {
      isEnded = true
      continue
    }
    const taken = readOption(word, words[index + 1], form, options, values)
    if (taken === undefined) continue
    if (taken.ends) isEnded = true
    const next = words[index + 1]
    if (taken.wants === undefined || next === undefined) continue
    values.push({ option: taken.wants, word: next, use: taken.use })
    index += 1
  }
  return { options: once(options), values, operands, firstOperand }
}

/** Few enough to look for each among those before it. */
const FEW = 8

/** Each of them once, in their order. */
function once(words: readonly string[]): readonly string[] {
  if (words.length > FEW) return [...new Set(words)]
  return words.every((word, at) => words.indexOf(word) === at) ? words : [...new Set(words)]
}

function isOption(text: string, form: ProgramForm): boolean {
  if (form.plain) return false
  const first = text.charCodeAt(0)
  if (first === 43) return form.plus && text.length > 1
  return first === 45 && text.length > 1
}

type Taken = { readonly wants: string | undefined; readonly use: OptionUse; readonly ends: boolean }

/** Puts one token among the options; says which option takes the next word as its value. */
function readOption(
  word: ShellWord,
  next: ShellWord | undefined,
  form: ProgramForm,
  options: string[],
  values: OptionValue[],
): Taken | undefined {
  const { text } = word
  if (text.startsWith('--') || form.words) {
    const equals = text.indexOf('=')
    const name = equals < 0 ? text : text.slice(0, equals)
    options.push(name)
    const option = findLong(name, form)
    const use = form.options.get(option) ?? undefined
    const ends = form.ends.has(option)
    // The value is attached, and nothing is known of it: `-o"$X"`.
    if (equals < 0 && use !== undefined && word.opaque !== undefined) {
      values.push({ option: name, word: partOf(word, ''), use: use.use })
      return undefined
    }
    const length = form.words && use === undefined ? lettersOf(text, form) : 0
    if (length > 0) {
      // `-o/bin/x`, `-FE/bin`: a letter or two with their value, among programs that also have words.
      const letters = text.slice(0, length)
      options.push(text)
      values.push({
        option: letters,
        word: partOf(word, text.slice(length)),
        use: form.options.get(letters)?.use ?? 'text',
      })
      return undefined
    }
    if (equals >= 0) {
      if (form.words && !text.startsWith('--')) options.push(text)
      const value = partOf(word, text.slice(equals + 1))
      values.push({ option: name, word: value, use: use?.use ?? writtenBy(name) })
      return ends ? { wants: undefined, use: 'text', ends } : undefined
    }
    if (use === undefined && next !== undefined && writtenBy(name) === 'write' && looksLikePath(next.text))
      return { wants: name, use: 'write', ends }
    // It may be a switch, and the place behind it an operand.
    if (use === undefined && next !== undefined && form.operands?.repeated !== 'write' && isWhole(next.text))
      values.push({ option: name, word: next, use: 'unknown' })
    if (use === undefined || use.isAttached) return ends ? { wants: undefined, use: 'text', ends } : undefined
    return { wants: name, use: use.use, ends }
  }
  options.push(text)
  // A long name after a single dash, as some programs also take it (`-exec` of fd, `-Xmx` of java).
  const whole = text.length > 2 ? form.options.get(text) : undefined
  if (whole !== undefined)
    return whole.isAttached ? undefined : { wants: text, use: whole.use, ends: form.ends.has(text) }
  return readCluster(word, form, options, values)
}

/** What is longer may be a name behind a single dash. */
const LETTERS_MAX = 3

/** How much of `-FE/x` is an option that the program has, with its dash; 0 where nothing is. */
function lettersOf(text: string, form: ProgramForm): number {
  if (text.startsWith('--')) return 0
  if (text.length > LETTERS_MAX && form.options.has(text.slice(0, LETTERS_MAX))) return LETTERS_MAX
  return form.options.has(text.slice(0, 2)) ? 2 : 0
}

/** Long names that say of a file or a directory that it is written, whatever the program. */
const OUTPUT =
  /^--?(?:out|output|log|report|results?|dest|destination|target|artifacts?|export|save|build|cache|state|install)(?:[-_]?(?:file|dir|directory|path|folder|root|to))?$/i

function writtenBy(name: string): 'write' | 'unknown' {
  return OUTPUT.test(name) ? 'write' : 'unknown'
}

/** It leads out of where the request runs, or may. */
function isWhole(text: string): boolean {
  return text.startsWith('/') || text.startsWith('~') || text.startsWith('..')
}

/** A long name, or the one known name that it is the beginning of. */
function findLong(name: string, form: ProgramForm): string {
  if (form.options.has(name) || name.length < 4 || !name.startsWith('--')) return name
  let found: string | undefined
  for (const known of form.options.keys()) {
    if (!known.startsWith(name)) continue
    if (found !== undefined) return name
    found = known
  }
  return found ?? name
}

function readCluster(
  word: ShellWord,
  form: ProgramForm,
  options: string[],
  values: OptionValue[],
): Taken | undefined {
  const { text } = word
  const sign = text.charAt(0)
  let ends = false
  for (let at = 1; at < text.length; at++) {
    const option = sign + text.charAt(at)
    const known = form.options.get(option)
    if (known === undefined && !isAlphanumeric(text.charCodeAt(at))) {
      // Not a letter: what follows the option before it is its value (`-I/usr/include`, `-k1,2`).
      if (at > 1)
        values.push({
          option: sign + text.charAt(at - 1),
          word: partOf(word, text.slice(at)),
          use: 'unknown',
        })
      return ends ? { wants: undefined, use: 'text', ends } : undefined
    }
    options.push(option)
    if (form.ends.has(option)) ends = true
    if (known === undefined) continue
    const rest = text.slice(at + 1)
    // The value is attached, and nothing is known of it: `-o"$X"`.
    if (rest === '' && word.opaque !== undefined) {
      values.push({ option, word: partOf(word, ''), use: known.use })
      return ends ? { wants: undefined, use: 'text', ends } : undefined
    }
    if (rest === '') return known.isAttached ? undefined : { wants: option, use: known.use, ends }
    values.push({ option, word: partOf(word, rest), use: known.use })
    return ends ? { wants: undefined, use: 'text', ends } : undefined
  }
  return ends ? { wants: undefined, use: 'text', ends } : undefined
}
