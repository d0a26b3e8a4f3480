/**
 * Whether a value of which no shape is known is a secret: by the name that it is assigned to, by what it is made of, and
 * by how random it is. Integer arithmetic, so that every machine answers the same.
 * Refused, since they are in every project and tell nothing: places for a value (`${TOKEN}`, `<token>`, `{{ .Token }}`),
 * words that stand for one (example, changeme, xxxx), code that would compute one, paths and addresses.
 * Rules: docs/firewall.md, "Secrets"; jerry.md L4-C03.
 * @module
 */
import { decodeBase64Url } from '../../../base/encoding/base64.ts'
import { isUtf8 } from '../../../base/encoding/utf8.ts'
import { buildKeyWords, KEY_WORD_START } from '../key-words.ts'
import { JSON_HEAD_BYTES, PASSWORD_LEAST_BYTES, SECRET_LEAST_BYTES, VALUE_BYTES } from '../limits.ts'
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
/** Of each byte the classes that are counted, a bit each. */
const MEMBERSHIP = Uint8Array.from({ length: 256 }, (_, byte) =>
  [LETTER, DIGIT, WORD, CODE, TOKEN, byteClass(' ')].reduce(
    (sum, of, bit) => sum | ((of[byte] ?? 0) << bit),
    0,
  ),
)
const CONTROL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === 0x7f || (byte < 0x20 && byte !== 0x09) ? 1 : 0,
)
/** RFC 3629: the bytes of a character behind its first. */
const [CONTINUATION_MASK, CONTINUATION] = [0xc0, 0x80]
const IDENTIFIER = byteClass('0-9a-zA-Z_$')
const CALLING = byteClass('([|')
const [POINT, GREATER, COLON] = [0x2e, 0x3e, 0x3a]
/** `->`, `::`, `?.`, `!.`: what stands before the second sign. */
const BEFORE_SIGN: Readonly<Record<number, number>> = { 45: GREATER, 58: COLON, 63: POINT, 33: POINT }
const [ZERO, LOWER_X, SLASH] = [0x30, 0x78, 0x2f]
/** The third letter of `{"` in Base64. */
const JSON_LETTER = 0x4a
const CLOSING_BRACE = 0x7d
/** How a place for a value begins. */
const PLACE = byteClass('$<%{[(&*')
const SEMICOLON = 0x3b
const DOLLAR = 0x24
const COUNTS = 256
/** No word that stands for a value is so long. */
const CERTAIN_BYTES = 48
/** The first of the words. */
const ADDRESS = 0

/** What an address has, and parts of values that stand for another one. */
const STANDING_WORDS = buildKeyWords([
  '://', 'enc[',
  'example', 'changeme', 'change_me', 'change-me', 'placeholder', 'insert', 'your', 'xxxx', '****', '....', 'fake',
  'dummy', 'sample', 'redacted', 'undefined', 'password', 'passwd', 'secret', 'not_', 'none', 'null', 'process.env',
  'environ', 'getenv', '_key_here', 'todo', 'foobar', 'username', '0000000', '1234567', 'abcdefg', 'a_token', 'the_',
]) // biome-ignore format: a list of words

/** round(1000 * n * log2(n)) for the counts of a value. */
const WEIGHTED = Uint32Array.from({ length: COUNTS + 1 }, (_, count) =>
  count < 2 ? 0 : Math.round(1_000 * count * Math.log2(count)),
)
/** How often each byte is in a value: all 0 between two calls. */
const counts = new Uint16Array(COUNTS)

/** Shannon's entropy of the bytes, in thousandths of a bit for each; of the first 256. */
export function milliBits(bytes: Uint8Array, start: number, end: number): number {
  const length = Math.min(end - start, COUNTS)
  if (length <= 0) return 0
  let sum = 0
  for (let at = start; at < start + length; at++) {
    const byte = bytes[at] ?? 0
    const count = counts[byte] ?? 0
    counts[byte] = count + 1
    sum += (WEIGHTED[count + 1] ?? 0) - (WEIGHTED[count] ?? 0)
  }
  for (let at = start; at < start + length; at++) counts[bytes[at] ?? 0] = 0
  return Math.floor(((WEIGHTED[length] ?? 0) - sum) / length)
}

/** Whether one of those words is in it; of a long value only whether it is an address. */
function standsForAnother(bytes: Uint8Array, start: number, end: number): boolean {
  const { columns, next, firstAccepting, width, found } = STANDING_WORDS
  const isCertain = end - start >= CERTAIN_BYTES
  let state = KEY_WORD_START
  for (let at = start; at < end; at++) {
    state = next[state + (columns[bytes[at] ?? 0] ?? 0)] ?? 0
    if (state < firstAccepting) continue
    if (!isCertain || found[(state - firstAccepting) / width]?.includes(ADDRESS) === true) return true
  }
  return false
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
  let [letters, digits, words, code, tokens, spaces] = [0, 0, 0, 0, 0, 0]
  for (let at = start; at < end; at++) {
    const of = MEMBERSHIP[bytes[at] ?? 0] ?? 0
    letters += of & 1
    digits += (of >> 1) & 1
    words += (of >> 2) & 1
    code += (of >> 3) & 1
    tokens += (of >> 4) & 1
    spaces += of >> 5
  }
  return { letters, digits, others: end - start - letters - digits, words, code, tokens, spaces }
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

/** What people type and machines make for a secret is text. Of an archive's bytes some look like the rest of a value. */
function isText(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (CONTROL[bytes[at] ?? 0] === 1) return false
  let stop = end
  // One that goes on beyond what is looked at may end within a character.
  if (end - start === VALUE_BYTES) {
    while (((bytes[stop - 1] ?? 0) & CONTINUATION_MASK) === CONTINUATION) stop--
    if ((bytes[stop - 1] ?? 0) > CONTINUATION_MASK) stop--
  }
  return isUtf8(bytes, start, stop)
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
  if (bytes[start] === SLASH || (bytes[start] === POINT && bytes[start + 1] === SLASH)) return false
  // Without quotes it is nothing but letters, digits and signs.
  return (found.quote === 0 || isText(bytes, start, end)) && !standsForAnother(bytes, start, end)
}

/** RFC 7519: where the first part begins as JSON does in Base64, it ends as JSON does, and is text in between. */
export function isJsonHead(bytes: Uint8Array, start: number, stop: number): boolean {
  if (bytes[start + 2] !== JSON_LETTER) return true
  const end = bytes.indexOf(POINT, start)
  const text = decodeBase64Url(bytes.subarray(start, Math.min(end, stop)), JSON_HEAD_BYTES)
  if (text?.at(-1) !== CLOSING_BRACE) return false
  return text.every((byte) => byte >= 0x20 || byte === 0x0a || byte === 0x0d)
}
