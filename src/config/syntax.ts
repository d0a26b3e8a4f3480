/**
 * What is wrong with a configuration that is not JSON, all of it where that can be told: after a comma too many, a
 * comment or a key that stands twice the rest is read as if it were not there, and its own problems are told as well.
 * Nothing that was read so is ever used. Every problem says what to write instead.
 * Rules: RFC 8259; docs/configuration.md.
 * @module
 */
import { type Json, parseStrictJson } from '../base/encoding/strict-json.ts'
import { decodeUtf8 } from '../base/encoding/utf8.ts'
import { visible } from '../base/text/visible.ts'
import { CONFIG_BYTES } from '../limits.ts'
import { type Place, placeAt } from './places.ts'

export type SyntaxProblem = Place & { readonly problem: string; readonly hint: string }
/** `value`: what is left when all of it is mended, as in `text`, line by line; undefined where that cannot be known. */
export type Diagnosis = {
  readonly problems: readonly SyntaxProblem[]
  readonly text: string
  readonly value: Json | undefined
}

/** Mistakes of the grammar that are told of one file. */
const MISTAKES = 20
/** Stands for keys that stood there already, so that what follows them can be read. */
const AGAIN = '\uE000'

/** Of one that goes to a peer or into a log. */
const HINT_CHARS = 120
/** Where nothing better is known. */
const CORRECT = 'correct it as RFC 8259 has it'

/** A mistake; `mend` puts as many other characters in the place of [from, to). */
type Mistake = {
  readonly problem?: string
  readonly hint: string
  readonly mend?: undefined | { readonly from: number; readonly to: number; readonly by: string }
}

/** Words of other languages, by what they are in JSON. */
const WORDS: Readonly<Record<string, string>> = {
  True: 'true',
  TRUE: 'true',
  yes: 'true',
  on: 'true',
  False: 'false',
  FALSE: 'false',
  no: 'false',
  off: 'false',
  None: 'null',
  undefined: 'null',
  nil: 'null',
  NaN: 'null',
  Infinity: 'null',
  NULL: 'null',
}

function blank(from: number, to: number): Mistake['mend'] {
  return { from, to, by: ' '.repeat(to - from) }
}

/** The comment that begins at `at`, with its end. */
function commentEnd(text: string, at: number): number | undefined {
  if (text.startsWith('/*', at)) {
    const end = text.indexOf('*/', at + 2)
    return end === -1 ? text.length : end + 2
  }
  if (!text.startsWith('//', at) && text[at] !== '#') return undefined
  const end = text.indexOf('\n', at)
  return end === -1 ? text.length : end
}

/** What a value of another language would be here. */
function strangeValue(word: string, at: number): Mistake | undefined {
  const meant = WORDS[word.replace(/^[-+]/, '')]
  if (meant !== undefined) {
    const fits = meant.length <= word.length
    return {
      problem: `${word} is not a JSON value`,
      hint: `write ${meant}`,
      ...(fits ? { mend: { from: at, to: at + word.length, by: meant.padEnd(word.length) } } : {}),
    }
  }
  if (/^[-+]?(?:0x[0-9a-f]+|0[0-7]+|[0-9][0-9_]*|\.[0-9]+|[0-9]+\.)$/i.test(word)) {
    const plain = Number(
      word
        .replaceAll('_', '')
        .replace(/^\+/, '')
        .replace(/^(-?)0+(?=[0-9])/, '$1'),
    )
    if (Number.isFinite(plain) && String(plain).length <= word.length)
      return {
        problem: `${word} is not how JSON writes a number`,
        hint: `write ${plain}`,
        mend: { from: at, to: at + word.length, by: String(plain).padEnd(word.length) },
      }
  }
  return /^[A-Za-z_]/.test(word) ? { hint: `write "${word}", in quotes` } : undefined
}

function mistakeAt(text: string, at: number, problem: string): Mistake {
  if (text.charCodeAt(at) === 0xfeff && at === 0) {
    return {
      hint: 'save it as UTF-8 without one, or run sed -i "1s/^\\xEF\\xBB\\xBF//" on it',
      mend: blank(0, 1),
    }
  }
  if (text.trim() === '') return { problem: 'the file is empty', hint: 'write {} for all defaults' }
  const end = commentEnd(text, at)
  if (end !== undefined)
    return { problem: 'there are no comments in JSON', hint: 'take it out', mend: blank(at, end) }
  const before = text.slice(0, at).trimEnd()
  const unit = text[at]
  if ((unit === '}' || unit === ']') && before.endsWith(',')) {
    return {
      problem: `a comma stands before the closing ${unit}`,
      hint: 'take the comma out',
      mend: blank(before.length - 1, before.length),
    }
  }
  if (at >= text.length)
    return { hint: 'the file is cut off: write what is missing, or restore it from a copy' }
  if (problem.startsWith('the key stands twice')) {
    const key = /"(?:[^"\\]|\\.)*"/y
    key.lastIndex = at
    const written = key.exec(text)?.[0] ?? '""'
    return {
      problem: `the key stands twice in one object: ${written.slice(0, 66)}`,
      hint: 'keep one of the two',
      ...(written.length > 2
        ? { mend: { from: at, to: at + written.length, by: `"${AGAIN.repeat(written.length - 2)}"` } }
        : {}),
    }
  }
  if (unit === "'") {
    const close = text.indexOf("'", at + 1)
    const inner = text.slice(at + 1, close)
    return {
      problem: 'a text stands in single quotes',
      hint: 'write it in double quotes',
      ...(close !== -1 && !/["\\\n]/.test(inner)
        ? { mend: { from: at, to: close + 1, by: `"${inner}"` } }
        : {}),
    }
  }
  if (unit === '=' && problem.startsWith('a colon'))
    return { hint: 'write : instead of =', mend: { from: at, to: at + 1, by: ':' } }
  const word = /[^\s,:{}[\]"]*/y
  word.lastIndex = at
  const written = word.exec(text)?.[0] ?? ''
  if (problem === 'a key in quotes must stand here')
    return {
      hint: written === '' ? 'write a key in double quotes, or take the comma out' : `write "${written}"`,
    }
  if (problem.startsWith('a comma or the end')) {
    // `0x10` and `0080` begin with a number that is over after its first digit.
    const begin = at - (/[\w.+-]*$/.exec(text.slice(Math.max(0, at - 32), at))?.[0].length ?? 0)
    const run = /^[\w.+-]*/.exec(text.slice(begin, begin + 64))?.[0] ?? ''
    const strange = begin < at ? strangeValue(run, begin) : undefined
    if (strange !== undefined) return strange
    // Where a comma was forgotten there is the end of a line, or a blank, to hold one.
    const gap = at - before.length
    return {
      hint:
        unit === '"' || unit === '{' || unit === '['
          ? 'put a comma before it'
          : 'put a comma or the closing bracket before it',
      ...(gap > 0 && unit === '"' ? { mend: { from: at - gap, to: at - gap + 1, by: ',' } } : {}),
    }
  }
  if (problem.startsWith('this is not a JSON value'))
    return (
      strangeValue(written, at) ?? {
        hint: 'write a value: a text in quotes, a number, true, false, null, {} or []',
      }
    )
  if (problem.startsWith('something follows'))
    return { hint: 'take out what follows: one file holds one object' }
  if (problem.startsWith('a control character'))
    return { hint: 'close the text before it, or write \\n or \\t' }
  if (problem.startsWith('the number') || problem.startsWith('the integer'))
    return { hint: 'write a smaller number' }
  if (problem.includes('nested deeper')) return { hint: 'no key of this file lies so deep: take it out' }
  return { hint: CORRECT }
}

/**
 * Why strict JSON has refused a text that is no configuration, as a clause with where it is and what to write instead;
 * nothing in it steers a terminal.
 * @param refusal of `parseStrictJson` for that very input
 */
export function mistakeText(
  input: string | Uint8Array,
  { problem, offset }: { readonly problem: string; readonly offset: number },
): string {
  const text = typeof input === 'string' ? input : decodeUtf8(input)
  // Of the input as a whole there is no place to tell.
  if (text === undefined || problem.startsWith('the JSON text')) return problem
  if (text.trim() === '') return 'it is empty'
  const mistake = mistakeAt(text, offset, problem)
  const { line, column } = placeAt(text, mistake.mend?.from ?? offset)
  // A hint may hold a word of the text, however long that is.
  const isTold = mistake.hint !== CORRECT && mistake.hint.length <= HINT_CHARS
  const hint = isTold ? ` (${mistake.hint})` : ''
  return visible(`at line ${line}, column ${column} ${mistake.problem ?? problem}${hint}`)
}

/** The first byte that is not UTF-8, as an offset into the text that it decodes to. */
function firstForeign(text: string): number {
  return Math.max(0, text.indexOf('\uFFFD'))
}

/** True for a key that stood twice and was told already. */
export function isAgain(path: string): boolean {
  return path.includes(AGAIN)
}

/**
 * Everything wrong with the bytes, which strict JSON has refused.
 * @param decoded the same as text, with U+FFFD for what is not UTF-8
 */
export function diagnose(bytes: Uint8Array, decoded: string): Diagnosis {
  const first = parseStrictJson(bytes, { size: CONFIG_BYTES })
  if (!first.ok && first.problem.includes('UTF-8')) {
    const hint = 'save it as UTF-8: most likely it is in another encoding, or no text at all'
    const place = placeAt(decoded, firstForeign(decoded))
    return { problems: [{ ...place, problem: first.problem, hint }], text: decoded, value: undefined }
  }
  const problems: SyntaxProblem[] = []
  let text = decoded
  while (problems.length < MISTAKES) {
    const parsed = parseStrictJson(text, { size: CONFIG_BYTES })
    if (parsed.ok) return { problems, text, value: parsed.value }
    const mistake = mistakeAt(text, parsed.offset, parsed.problem)
    const place = placeAt(text, mistake.mend?.from ?? parsed.offset)
    problems.push({ ...place, problem: mistake.problem ?? parsed.problem, hint: mistake.hint })
    if (mistake.mend === undefined) break
    const { from, to, by } = mistake.mend
    text = text.slice(0, from) + by + text.slice(to)
  }
  return { problems, text, value: undefined }
}
