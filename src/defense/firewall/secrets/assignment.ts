/**
 * What follows a name: `name = "value"`, in the spellings of programming languages, configurations, command lines and
 * markup. Only bytes are looked at, forward, each a bounded number of times.
 * Refuses to guess: without an operator, or a quote, or the hyphens of an option, there is no value.
 * Rules: docs/firewall.md, "Secrets".
 * @module
 */
import { NAME_REST_BYTES, VALUE_BYTES } from '../limits.ts'
import { byteClass, MORE, NO, run } from './shape.ts'

export type Assignment = {
  /** Where the rest of the name ends. */
  nameEnd: number
  /** Where the value begins, also where its end is yet to come; -1 before that is known. */
  start: number
  end: number
  /** The byte that encloses it; 0 where none does. */
  quote: number
  /** How the value ends: the byte behind it; -1 where nothing follows. */
  after: number
}

const NAME = byteClass('0-9a-zA-Z_.-')
const BLANK = byteClass(' \t')
const SPACE = byteClass(' \t\r\n')
const OPERATOR = byteClass('=:>|?!.,~+')
/** One of them at least, so that commas and points alone assign nothing. */
const ASSIGNING = byteClass('=:>|')
const VALUE = byteClass('!-~')
const QUOTES = byteClass('"\'`')
const CLOSING = byteClass('"\'`)]')
const ENDING = byteClass('"\'`,;<&\\')
const [PARENTHESIS, BRACKET, AT, BACKSLASH, COMMA] = [0x28, 0x5b, 0x40, 0x5c, 0x2c]
const [LF, CR] = [0x0a, 0x0d]
const OPERATOR_BYTES = 4
const SPACES = 3
const INDENT = 40

/** `[]` or `[25]` behind a name. */
function skipIndex(bytes: Uint8Array, at: number, end: number): number {
  if (at < end && bytes[at] !== BRACKET) return at
  const next = run(bytes, at + 1, end, NAME, 8)
  if (next >= end) return MORE
  return bytes[next] === 0x5d ? next + 1 : at
}

/**
 * Behind the rest of the name: past the operator, or `NO`, or `MORE`.
 * @param start where the key word begins: an option has two hyphens before it
 */
function skipOperator(bytes: Uint8Array, at: number, end: number, isOption: boolean): number {
  let next = run(bytes, at, end, CLOSING, 2)
  const beforeSpace = next
  const isQuoted = next > at
  const quote = run(bytes, next, end, BLANK, SPACES)
  next = run(bytes, quote, end, CLOSING, 1)
  if (next >= end) return MORE
  const from = next
  let assigns = false
  while (next < end && next < from + OPERATOR_BYTES && OPERATOR[bytes[next] ?? 0] === 1) {
    assigns ||= ASSIGNING[bytes[next] ?? 0] === 1
    next++
  }
  if (next >= end) return MORE
  if (assigns) return next
  // Arguments of a call, `("name", "value")`.
  if (next === from + 1 && isQuoted && bytes[from] === COMMA) {
    const value = run(bytes, next, end, BLANK, SPACES)
    if (value >= end) return MORE
    return QUOTES[bytes[value] ?? 0] === 1 ? next : NO
  }
  // A quote after a blank, `name "value"`; an option, `--name value`; a call, `name("value")`.
  if (quote > beforeSpace && (isOption || QUOTES[bytes[quote] ?? 0] === 1)) return quote
  return next === from && next === beforeSpace && bytes[next] === PARENTHESIS ? next + 1 : NO
}

/**
 * Reads what is assigned to the name whose key word ends at `at`, into `found`.
 * @returns `NO`, `MORE` where it depends on bytes after `end`, or 1
 */
export function readAssignment(
  bytes: Uint8Array,
  at: number,
  end: number,
  isLast: boolean,
  isOption: boolean,
  found: Assignment,
): number {
  const more = isLast ? NO : MORE
  let next = run(bytes, at, end, NAME, NAME_REST_BYTES)
  found.nameEnd = next
  found.start = -1
  // `var nameToken string = "value"`: one more word.
  const word = run(bytes, next, end, BLANK, SPACES)
  if (word > next && !isOption) {
    const after = run(bytes, word, end, NAME, 12)
    const blank = run(bytes, after, end, BLANK, SPACES)
    if (blank >= end) return more
    if (after > word && blank > after && (bytes[blank] === 0x3d || bytes[blank] === 0x3a)) next = after
  }
  next = skipIndex(bytes, next, end)
  if (next === MORE) return more
  next = skipOperator(bytes, next, end, isOption)
  if (next < 0) return next === MORE ? more : NO
  next = run(bytes, next, end, SPACE, INDENT)
  if (next < end && bytes[next] === AT) next++
  while (next + 1 < end && bytes[next] === BACKSLASH && QUOTES[bytes[next + 1] ?? 0] === 1) next++
  const quote = next < end && QUOTES[bytes[next] ?? 0] === 1 ? (bytes[next] ?? 0) : 0
  if (quote !== 0) next = run(bytes, next, end, QUOTES, 3)
  if (next >= end) return more
  const limit = Math.min(end, next + VALUE_BYTES)
  let last = next
  while (last < limit) {
    const byte = bytes[last] ?? 0
    if (quote === 0 ? VALUE[byte] === 0 || ENDING[byte] === 1 : byte === quote || byte === LF || byte === CR)
      break
    if (byte === BACKSLASH) break
    last++
  }
  found.start = next
  if (last === end && last < next + VALUE_BYTES && !isLast) return MORE
  if (last === next) return NO
  found.end = last
  found.quote = quote
  found.after = last < end ? (bytes[last] ?? -1) : -1
  return 1
}
