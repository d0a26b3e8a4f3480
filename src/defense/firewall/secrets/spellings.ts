/**
 * How programs write one text in addresses and in JSON. What must be escaped is everywhere, what may be is another set for
 * each program: JavaScript leaves `!` in an address and Python does not, Go writes `&` in JSON as `\\u0026`, PHP `/` as `\\/`.
 * So what is there is decoded step by step and compared with the text. Only its first bytes are known for each way, to be
 * key words.
 * Rules: RFC 3986 section 2.1; RFC 8259 section 7; docs/firewall.md, "Known secrets".
 * @module
 */
import { decodeUtf8, encodeUtf8 } from '../../../base/encoding/utf8.ts'
import { KNOWN_KEY_BYTES } from '../limits.ts'
import { MORE, NO } from './shape.ts'

export type Spelling = 'address' | 'json'

/** What no program escapes in that spelling. */
const ALWAYS_PLAIN: Readonly<Record<Spelling, RegExp>> = {
  address: /^[A-Za-z0-9_.-]*$/,
  json: /^[A-Za-z0-9 !#$%()*,.:;=?@^_`{|}~[\]-]*$/,
}
const KEY_WORD = /^[ -~]+$/
const [PERCENT, PLUS, SPACE, BACKSLASH, SMALL_U] = [0x25, 0x2b, 0x20, 0x5c, 0x75]
/** RFC 8259: the letters that stand for control characters. */
const SHORT: Readonly<Record<number, number>> = { 98: 0x08, 102: 0x0c, 110: 0x0a, 114: 0x0d, 116: 0x09 }
const [HIGH_SURROGATE, LOW_SURROGATE] = [0xd800, 0xdc00]

const hexOf = (code: number, digits: number): string => code.toString(16).padStart(digits, '0')
const escapedAll = (text: string, which: RegExp, begin: string, digits: number): string =>
  text.replace(which, (sign) => `${begin}${hexOf(sign.charCodeAt(0), digits)}`)

/** Each way to write it, as far as programs differ: the word that it begins with is what counts. */
const WAYS: Readonly<Record<Spelling, (text: string) => readonly string[]>> = {
  address(text) {
    const least = encodeURIComponent(text)
    const most = escapedAll(least, /[!'()*~]/g, '%', 2)
    const ways = [least, most, most.replaceAll('%7e', '~'), escapedAll(least, /[!'()~]/g, '%', 2)]
    return ways.flatMap((way) => [way, way.replaceAll('%2F', '/'), way.replaceAll('%20', '+')])
  },
  json(text) {
    const least = JSON.stringify(text).slice(1, -1)
    const ways = [least, escapedAll(least, /[<>&]/g, '\\u', 4), least.replaceAll('/', '\\/')]
    return ways.flatMap((way) => [way, escapedAll(way, /[\u0080-\uffff]/g, '\\u', 4)])
  },
}

/** In which spellings the text may look otherwise than it is. */
export function spelledOtherwise(text: string): Spelling[] {
  return (['address', 'json'] as const).filter((spelling) => !ALWAYS_PLAIN[spelling].test(text))
}

/** What it begins with, each way once whatever the case of its letters. */
export function keyWordsOf(value: Uint8Array, spelling: Spelling): string[] {
  const ways = WAYS[spelling](decodeUtf8(value) ?? '')
  const words = ways.map((way) => way.slice(0, KNOWN_KEY_BYTES)).filter((word) => KEY_WORD.test(word))
  return [...new Map(words.map((word) => [word.toLowerCase(), word])).values()]
}

/** The number that so many hexadecimal digits say; NaN: they are none. */
function readHex(bytes: Uint8Array, at: number, digits: number): number {
  const text = String.fromCharCode(...bytes.subarray(at, at + digits))
  return /^[0-9a-fA-F]+$/.test(text) ? Number.parseInt(text, 16) : Number.NaN
}

function isAt(wanted: Uint8Array, at: number, bytes: Uint8Array): boolean {
  return bytes.every((byte, index) => wanted[at + index] === byte)
}

/** How many bytes a character of JSON has that begins with a backslash; it is compared as UTF-8. */
function stepEscape(
  bytes: Uint8Array,
  end: number,
  wanted: Uint8Array,
  at: { text: number; value: number },
): number {
  if (at.text + 2 > end) return MORE
  const letter = bytes[at.text + 1] ?? 0
  if (letter !== SMALL_U) {
    if ((SHORT[letter] ?? letter) !== wanted[at.value]) return NO
    at.text += 2
    at.value++
    return 1
  }
  if (at.text + 6 > end) return MORE
  const first = readHex(bytes, at.text + 2, 4)
  const isPair = first >= HIGH_SURROGATE && first < LOW_SURROGATE
  if (isPair && at.text + 12 > end) return MORE
  const units = isPair ? [first, readHex(bytes, at.text + 8, 4)] : [first]
  if (units.some(Number.isNaN)) return NO
  const sign = encodeUtf8(String.fromCharCode(...units))
  if (!isAt(wanted, at.value, sign)) return NO
  at.text += 6 * units.length
  at.value += sign.length
  return 1
}

/** Whether what is written next says what is wanted next: `at` is moved behind both. 1, `NO` or `MORE`. */
export function stepSpelled(
  bytes: Uint8Array,
  end: number,
  wanted: Uint8Array,
  spelling: Spelling,
  at: { text: number; value: number },
): number {
  if (at.text >= end) return MORE
  const byte = bytes[at.text] ?? 0
  if (spelling === 'json' && byte === BACKSLASH) return stepEscape(bytes, end, wanted, at)
  const isEscape = spelling === 'address' && byte === PERCENT
  if (isEscape && at.text + 3 > end) return MORE
  const said = isEscape ? readHex(bytes, at.text + 1, 2) : byte
  const isSpace = spelling === 'address' && byte === PLUS && wanted[at.value] === SPACE
  if (said !== wanted[at.value] && !isSpace) return NO
  at.text += isEscape ? 3 : 1
  at.value++
  return 1
}
