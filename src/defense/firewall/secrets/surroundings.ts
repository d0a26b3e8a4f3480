/**
 * Secrets that a shape alone does not tell: by what stands around them. One function for each, of the bytes around a key
 * word; each looks at a bounded number of them and says `NO`, `MORE`, or 1 with the secret in `found`.
 * Rules: docs/firewall.md, "Secrets"; RFC 3986 section 3.2.1 (userinfo), curl(1), Kubernetes v1
 * Secret.
 * @module
 */
import { NAME_REST_BYTES, WORD_KEPT_BYTES } from '../limits.ts'
import { byteClass, isOpen, MORE, NO, run, WORD } from './shape.ts'
import { isSecretValue, type NameStrength } from './value.ts'

/** Where a secret begins and ends, within the bytes that were given. */
export type Place = { start: number; end: number }

const BASE64 = byteClass('0-9a-zA-Z+/=')
const PRINTABLE = byteClass('!-~')
const NAME = byteClass('0-9a-zA-Z_."\'-')
const BLANK = byteClass(' \t')
const SPACE = byteClass(' \t\r\n')
const VALUE_GAP = byteClass(' \t"\'')
/** How a place for a password begins. */
const PLACE = byteClass('$<{%')
const [SPACE_BYTE, QUOTE, APOSTROPHE, AT_SIGN, SLASH, COLON, EQUALS] = [
  0x20, 0x22, 0x27, 0x40, 0x2f, 0x3a, 0x3d,
]
const USERINFO_BYTES = 256
const INDENT_BYTES = 16
const DATA_NAME_BYTES = 128
/** Of one line of data: a certificate is one. */
const DATA_BYTES = 2_048
const DATA_LEAST_BYTES = 12

/** Behind `://`: the password of `user:password@`. */
export function readUserinfo(
  bytes: Uint8Array,
  at: number,
  end: number,
  isLast: boolean,
  found: Place,
): number {
  const limit = at + USERINFO_BYTES
  let [stop, colon] = [at, -1]
  for (; stop < end && stop < limit; stop++) {
    const byte = bytes[stop] ?? 0
    if (byte === AT_SIGN || byte === SLASH || PRINTABLE[byte] === 0 || byte === QUOTE || byte === APOSTROPHE)
      break
    if (byte === COLON && colon < 0) colon = stop
  }
  if (isOpen(stop, end, limit, isLast)) return MORE
  if (bytes[stop] !== AT_SIGN || colon < 0 || stop - colon < 2) return NO
  if (PLACE[bytes[colon + 1] ?? 0] === 1) return NO
  found.start = colon + 1
  found.end = stop
  return 1
}

/** Behind ` -u ` or `--user ` of curl: the password of `user:password`. */
export function readUserOption(
  bytes: Uint8Array,
  at: number,
  end: number,
  isLast: boolean,
  found: Place,
): number {
  let start = run(bytes, at, end, BLANK, USERINFO_BYTES)
  const quote = bytes[start] === QUOTE || bytes[start] === APOSTROPHE ? (bytes[start] ?? 0) : 0
  if (quote !== 0) start++
  const limit = start + USERINFO_BYTES
  let [stop, colon] = [start, -1]
  for (; stop < end && stop < limit; stop++) {
    const byte = bytes[stop] ?? 0
    if (
      quote === 0 ? PRINTABLE[byte] === 0 : byte === quote && bytes[stop + 1] !== COLON && stop !== colon + 1
    )
      break
    if (byte === COLON && colon < 0) colon = stop
  }
  // Whether a colon follows the quote is to be seen.
  if (isOpen(Math.min(stop + 1, end), end, limit, isLast)) return MORE
  if (colon < 0) return NO
  const from = bytes[colon + 1] === QUOTE || bytes[colon + 1] === APOSTROPHE ? colon + 2 : colon + 1
  const value = { nameEnd: 0, start: from, end: stop, quote: QUOTE, after: -1 }
  if (stop <= from || !isSecretValue(bytes, value, 'password')) return NO
  found.start = from
  found.end = stop
  return 1
}

/**
 * `"value" == name`, the other way round: `start` is the quote, `at` behind the first sign.
 * @param strengthOf how sure a name is, by its bytes
 */
export function readCompared(
  bytes: Uint8Array,
  start: number,
  at: number,
  end: number,
  isLast: boolean,
  strengthOf: (start: number, end: number) => NameStrength | undefined,
  found: Place,
): number {
  let from = at
  while (from < end && from < at + 4 && (bytes[from] === EQUALS || bytes[from] === SPACE_BYTE)) from++
  const stop = run(bytes, from, end, WORD, NAME_REST_BYTES)
  if (isOpen(stop, end, from + NAME_REST_BYTES, isLast)) return MORE
  const strength = strengthOf(from, stop)
  if (strength === undefined) return NO
  const quote = bytes[start] ?? 0
  const least = Math.max(0, start - WORD_KEPT_BYTES + 8)
  let open = start - 1
  while (open > least && bytes[open] !== quote && PRINTABLE[bytes[open] ?? 0] === 1) open--
  if (open < least || bytes[open] !== quote) return NO
  const value = { nameEnd: 0, start: open + 1, end: start, quote, after: 0 }
  if (!isSecretValue(bytes, value, strength)) return NO
  found.start = open + 1
  found.end = start
  return 1
}

/** A line of a Kubernetes object's `data`: Base64, behind a name or alone. 0: a line that is not indented ends the data. */
export function readDataLine(
  bytes: Uint8Array,
  at: number,
  end: number,
  isLast: boolean,
  found: Place,
): number {
  const indent = run(bytes, at, end, BLANK, INDENT_BYTES)
  if (isOpen(indent, end, at + INDENT_BYTES, isLast)) return MORE
  if (indent === at) return 0
  const name = run(bytes, indent, end, NAME, DATA_NAME_BYTES)
  if (isOpen(name, end, indent + DATA_NAME_BYTES, isLast)) return MORE
  // A text of several lines has no name before its Base64.
  const from = bytes[name] === COLON ? run(bytes, name + 1, end, VALUE_GAP, INDENT_BYTES) : indent
  const stop = run(bytes, from, end, BASE64, DATA_BYTES)
  if (isOpen(stop, end, from + DATA_BYTES, isLast)) return MORE
  const isClosed =
    stop === end || SPACE[bytes[stop] ?? 0] === 1 || bytes[stop] === QUOTE || bytes[stop] === APOSTROPHE
  if (stop - from < DATA_LEAST_BYTES || !isClosed) return NO
  found.start = from
  found.end = stop
  return 1
}
