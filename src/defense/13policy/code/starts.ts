/**
 * How code starts a program beside its words: in which directory, through which shell, with which variables. A
 * directory that is known belongs to the command; any other setting that could make another command of it is unknown.
 * From the references of Python's subprocess and Node's child_process.
 * @module
 */

import { addCall, mark, nameAt, type Reading, type Value, wordOf } from './reading.ts'
import { UNKNOWN_USE } from './unknown-uses.ts'
import { closing, readValue } from './values.ts'

/** Settings that change what is captured, waited for or decoded. */
const HARMLESS: ReadonlySet<string> = new Set(
  'stdout stderr stdin stdio capture_output text check shell timeout input encoding universal_newlines errors bufsize close_fds maxBuffer windowsHide killSignal args'.split(
    ' ',
  ),
)
const DIRECTORY = 'cwd'
/** The same in Ruby, of which the other settings are about files. */
const RUBY_DIRECTORY = 'chdir'

type Setting = { readonly name: string; readonly at: number }

/** Names with a value: `name=` among the arguments, `name:` in an object that is one of them. */
function settingsOf(reading: Reading, open: number, close: number): readonly Setting[] {
  const settings: Setting[] = []
  const joint = reading.language === 'python' ? '=' : ':'
  const level = reading.language === 'javascript' ? 2 : 1
  let depth = 0
  for (let at = open; at < close; at++) {
    const text = mark(reading, at)
    if (text === '(' || text === '[' || text === '{') depth += 1
    else if (text === ')' || text === ']' || text === '}') depth -= 1
    const name = nameAt(reading, at)
    if (depth === level && name !== '' && mark(reading, at + 1) === joint) settings.push({ name, at: at + 2 })
  }
  return settings
}

/** Takes down the settings of the call with the mark at `open`, of which what it starts stands from `from` on. */
export function noteSettings(reading: Reading, open: number, from: number): void {
  const { language, inner } = reading
  const isRuby = language === 'ruby'
  if ((language !== 'python' && language !== 'javascript' && !isRuby) || mark(reading, open) !== '(') return
  for (const { name, at } of settingsOf(reading, open, closing(reading, open))) {
    const { value } = readValue(reading, at)
    // As a text it is the shell itself.
    const isFlag = name !== 'shell' || value.kind !== 'text'
    if (isRuby ? name !== RUBY_DIRECTORY : HARMLESS.has(name) && isFlag) continue
    if ((name !== DIRECTORY && !isRuby) || value.kind !== 'text' || value.isOpaque) {
      addCall(reading, `${UNKNOWN_USE}start.${name}`)
      continue
    }
    const quoted = `'${value.text.replaceAll("'", `'\\''`)}'`
    for (let place = from; place < inner.length; place++) {
      const one = inner[place]
      if (one?.kind === 'argv') inner[place] = { ...one, directory: wordOf(value) }
      else if (one?.kind === 'shell')
        inner[place] = { ...one, word: { ...one.word, text: `cd ${quoted} && ${one.word.text}` } }
    }
  }
}

/** A mode by which a program runs as its owner or group. */
const SET_ID = /^0?o?[2-7][0-7]{3}$/

/** Takes down that the call with the mark at `open` gives a file such a mode. */
export function noteMode(reading: Reading, name: string, open: number): void {
  if (!name.includes('chmod')) return
  const close = mark(reading, open) === '(' ? closing(reading, open) : open + MODE_TOKENS
  for (let at = open; at < close; at++) {
    const token = reading.tokens[at]
    if (token?.kind === 'number' && SET_ID.test(token.text)) addCall(reading, `${UNKNOWN_USE}set-id`)
  }
}

/** Without brackets, so far its arguments are looked at. */
const MODE_TOKENS = 4

/** `execl`, `execve` and their kin, whose arguments begin with the name of the program. */
export const EXEC_OF_C = /(?:^|\.)exec[lv]p?e?$/

/** What such a call is given as texts, also those of a list in braces; `values` where it has none. */
export function execWords({ tokens }: Reading, open: number, values: readonly Value[]): readonly Value[] {
  const close = Math.min(tokens.length, open + EXEC_TOKENS)
  const texts: Value[] = []
  for (let at = open + 1, depth = 1; at < close && depth > 0; at++) {
    const { kind, text = '', isOpaque = false } = tokens[at] ?? {}
    if (kind === 'mark') depth += text === '(' ? 1 : text === ')' ? -1 : 0
    if (kind === 'string') texts.push({ kind: 'text', text, isOpaque })
  }
  const [program, , ...rest] = texts
  return program === undefined || texts.length < 2 ? values : [program, ...rest]
}

const EXEC_TOKENS = 64
