/**
 * Whether a value of which no shape is known is a secret: by the name that it is assigned to, by what it is made of, and
 * by how random it is. Integer arithmetic, so that every machine answers the same.
 * Refused, since they are in every project and tell nothing: places for a value (`${TOKEN}`, `<token>`, `{{ .Token }}`),
 * words that stand for one (example, changeme, xxxx), code that would compute one, paths and addresses.
 * Rules: docs/firewall.md, "Secrets"; jerry.md L4-C03.
 * @module
 */
import { PASSWORD_LEAST_BYTES, SECRET_LEAST_BYTES } from '../limits.ts'
import type { Assignment } from './assignment.ts'
import { byteClass } from './shape.ts'

/** How sure a name is: `password` takes what a person types, `token` what a machine made, `key` only what is random. */
export type NameStrength = 'password' | 'token' | 'key'

/** In thousandths of a bit for each byte: what English identifiers do not reach, and what hexadecimal does. */
const LEAST_MILLIBITS: Readonly<Record<NameStrength, number>> = { password: 2_000, token: 2_900, key: 3_000 }
const LETTER = byteClass('a-zA-Z')
const DIGIT = byteClass('0-9')
const TOKEN = byteClass('0-9a-zA-Z_.~+/=:@!#$%^&*-')
const WORD = byteClass('a-zA-Z_.-')
const CODE = byteClass('(){}[]<>')
const IDENTIFIER = byteClass('0-9a-zA-Z_$')
const CALLING = byteClass('([|')
const [POINT, GREATER, COLON] = [0x2e, 0x3e, 0x3a]
/** `->`, `::`, `?.`, `!.`: what stands before the second sign. */
const BEFORE_SIGN: Readonly<Record<number, number>> = { 45: GREATER, 58: COLON, 63: POINT, 33: POINT }
const [ZERO, LOWER_X] = [0x30, 0x78]
/** How a place for a value begins. */
const PLACE = byteClass('$<%{[(&*')
const SEMICOLON = 0x3b
const DOLLAR = 0x24
const SPACE = 0x20
const COUNTS = 256
/** No word that stands for a value is so long. */
const CERTAIN_BYTES = 48

/** Values that stand for another one, as parts of it; lower case. */
const STANDING_FOR = [
  'example', 'changeme', 'change_me', 'change-me', 'placeholder', 'insert', 'your', 'xxxx', '****', '....', 'fake',
  'dummy', 'sample', 'redacted', 'undefined', 'password', 'passwd', 'secret', 'not_', 'none', 'null', 'process.env',
  'environ', 'getenv', '_key_here', 'todo', 'foobar', 'username', '0000000', '1234567', 'abcdefg', 'a_token', 'the_',
] // biome-ignore format: a list of words

/** round(1000 * n * log2(n)) for the counts of a value. */
const WEIGHTED = Uint32Array.from({ length: COUNTS + 1 }, (_, count) =>
  count < 2 ? 0 : Math.round(1_000 * count * Math.log2(count)),
)
const counts = new Uint16Array(COUNTS)

/** Shannon's entropy of the bytes, in thousandths of a bit for each; of at most 256 bytes. */
export function milliBits(bytes: Uint8Array, start: number, end: number): number {
  const length = Math.min(end - start, COUNTS)
  if (length <= 0) return 0
  counts.fill(0)
  for (let at = start; at < start + length; at++) {
    const byte = bytes[at] ?? 0
    counts[byte] = (counts[byte] ?? 0) + 1
  }
  let sum = 0
  for (let at = 0; at < COUNTS; at++) sum += WEIGHTED[counts[at] ?? 0] ?? 0
  return Math.floor(((WEIGHTED[length] ?? 0) - sum) / length)
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; at++) text += String.fromCharCode(bytes[at] ?? 0)
  return text.toLowerCase()
}

/**
 * Whether a value without quotes is an expression of a program: a name, and behind it a member, a call or an index; or a
 * number in hexadecimal.
 */
function isExpression(bytes: Uint8Array, { start, end, quote }: Assignment): boolean {
  if (quote !== 0) return false
  if (bytes[start] === ZERO && bytes[start + 1] === LOWER_X) return true
  let at = start
  while (at < end && IDENTIFIER[bytes[at] ?? 0] === 1) at++
  if (at === start || DIGIT[bytes[start] ?? 0] === 1) return false
  const [next, then] = [bytes[at] ?? 0, bytes[at + 1] ?? 0]
  if (at >= end) return false
  return CALLING[next] === 1 || (next === POINT && IDENTIFIER[then] === 1) || BEFORE_SIGN[next] === then
}

type Makeup = {
  letters: number
  digits: number
  others: number
  words: number
  code: number
  tokens: number
  spaces: number
}

function makeupOf(bytes: Uint8Array, start: number, end: number): Makeup {
  const made: Makeup = { letters: 0, digits: 0, others: 0, words: 0, code: 0, tokens: 0, spaces: 0 }
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0
    if (LETTER[byte] === 1) made.letters++
    else if (DIGIT[byte] === 1) made.digits++
    else made.others++
    made.words += WORD[byte] ?? 0
    made.code += CODE[byte] ?? 0
    made.tokens += TOKEN[byte] ?? 0
    if (byte === SPACE) made.spaces++
  }
  return made
}

function isPassword(made: Makeup, { quote, after }: Assignment, length: number): boolean {
  if (length < PASSWORD_LEAST_BYTES || made.spaces > 0) return false
  if (quote !== 0) return made.letters + made.digits > 0 && made.words < length
  // A statement of a program ends so; a configuration does not.
  if (after === SEMICOLON) return made.digits > 0 && made.letters > 0 && made.code === 0
  return made.words < length && made.letters > 0 && (made.digits > 0 || made.others > 2)
}

function isRandom(made: Makeup, found: Assignment, length: number): boolean {
  if (length < SECRET_LEAST_BYTES) return false
  // What nobody types as a word: a password by another name.
  if (made.others > 4 && made.others < length - 2) return isPassword(made, found, length)
  return made.tokens === length && made.letters > 0 && made.digits > 0
}

/** Whether what is assigned to a name of that strength is to be hidden. */
export function isSecretValue(bytes: Uint8Array, found: Assignment, strength: NameStrength): boolean {
  const { start, end } = found
  const length = end - start
  if (PLACE[bytes[start] ?? 0] === 1 && strength !== 'password') return false
  if (PLACE[bytes[start] ?? 0] === 1 && length < 40 && CODE[bytes[end - 1] ?? 0] === 1) return false
  if (bytes[start] === DOLLAR || isExpression(bytes, found)) return false
  const made = makeupOf(bytes, start, end)
  const fits = strength === 'password' ? isPassword(made, found, length) : isRandom(made, found, length)
  if (!fits || milliBits(bytes, start, end) < LEAST_MILLIBITS[strength]) return false
  if (strength === 'key' && length < 20) return false
  const text = textOf(bytes, start, end)
  if (text.includes('://') || text.startsWith('/') || text.startsWith('enc[') || text.startsWith('./'))
    return false
  return length >= CERTAIN_BYTES || !STANDING_FOR.some((word) => text.includes(word))
}
