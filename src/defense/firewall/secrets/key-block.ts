/**
 * Private keys in PEM: where a block begins, what belongs to it, and where it ends. It is found as well where something
 * stands before each of its lines, as a number, a path, a comment, a mail that is answered and a patch put it there: what
 * stands before the header stands before the other lines too, but for numbers, blanks and signs.
 * Rules: docs/firewall.md, "Secrets"; RFC 7468.
 * @module
 */
import { LINE_PREFIX_BYTES } from '../limits.ts'
import { byteClass, isOpen, MORE, NO, run } from './shape.ts'
import type { Place } from './surroundings.ts'

const BLOCK = byteClass('0-9a-zA-Z+/=,:;.()"\' \t\r\n\\-')
const BLOCK_TYPE = byteClass('0-9A-Z ')
const BLOCK_GAP = byteClass('\\ \r\n"\'nrt')
const BASE64 = byteClass('0-9a-zA-Z+/=')
const HYPHENS = byteClass('-')
/** Of what stands before lines, what differs from one to the next: numbers, blanks, the signs of grep and of patches. */
const VARYING = byteClass('0-9 \t:+-')
const [LF, HYPHEN, COLON] = [0x0a, 0x2d, 0x3a]
const BEGIN_BYTES = '-----BEGIN '.length
const BLOCK_TYPE_BYTES = 40
const BLOCK_HYPHENS = 5
const BLOCK_GAP_BYTES = 12
const BLOCK_BODY_BYTES = 16
const PRIVATE = Uint8Array.from('PRIVATE KEY', (letter) => letter.charCodeAt(0))

function hasPrivateKey(bytes: Uint8Array, at: number, end: number): boolean {
  for (let from = at; from + PRIVATE.length <= end; from++)
    if (PRIVATE.every((letter, index) => bytes[from + index] === letter)) return true
  return false
}

/** What a block is of, and the five hyphens behind it: where they end, `NO` or `MORE`. */
function readBlockType(bytes: Uint8Array, at: number, end: number, isLast: boolean): number {
  const type = run(bytes, at, end, BLOCK_TYPE, BLOCK_TYPE_BYTES)
  const stop = run(bytes, type, end, HYPHENS, BLOCK_HYPHENS)
  if (isOpen(stop, end, type + BLOCK_HYPHENS, isLast)) return MORE
  return stop === type + BLOCK_HYPHENS ? stop : NO
}

/** Where the line begins that `end` is in, or so many bytes before. */
function lineStart(bytes: Uint8Array, end: number): number {
  const least = Math.max(0, end - LINE_PREFIX_BYTES)
  let start = end
  while (start > least && bytes[start - 1] !== LF) start--
  return start
}

/** The next byte that does not vary, of what stands before a line. */
function nextFixed(before: Uint8Array, at: number, end: number): number {
  let next = at
  while (next < end && VARYING[before[next] ?? 0] === 1) next++
  return next
}

/**
 * The block whose header begins at `start`: whether it goes on with a byte, asked of each in turn. What stands before the
 * header stands before each line, but for what varies.
 */
export function createBlockBody(bytes: Uint8Array, start: number): (byte: number) => boolean {
  const before = bytes.slice(lineStart(bytes, start), start)
  let [at, isOver] = [0, true]
  return (byte) => {
    if (byte === LF) {
      at = nextFixed(before, 0, before.length)
      isOver = false
    } else if (!isOver && at < before.length && byte === before[at]) {
      at = nextFixed(before, at + 1, before.length)
    } else isOver ||= VARYING[byte] === 0
    return !isOver || BLOCK[byte] === 1
  }
}

/** Behind the header and what stands before the next line: where that has its text, `NO` or `MORE`. */
function readNextLine(bytes: Uint8Array, start: number, stop: number, end: number, isLast: boolean): number {
  const gap = run(bytes, stop, end, BLOCK_GAP, BLOCK_GAP_BYTES)
  let from = stop
  while (from < gap && bytes[from] !== LF) from++
  if (from++ === gap) return NO
  const most = from + LINE_PREFIX_BYTES
  const limit = Math.min(end, most)
  let before = nextFixed(bytes, lineStart(bytes, start), start)
  for (; from < limit; from++) {
    if (before < start && bytes[from] === bytes[before]) before = nextFixed(bytes, before + 1, start)
    else if (VARYING[bytes[from] ?? 0] === 0) break
  }
  if (isOpen(from, end, most, isLast)) return MORE
  return before === start ? from : NO
}

/** Whether a key begins at `from`, or one of the fields before some (`Proc-Type: 4,ENCRYPTED`, RFC 1421). */
function readBody(bytes: Uint8Array, from: number, end: number, isLast: boolean): number {
  const body = run(bytes, from, end, BASE64, BLOCK_BODY_BYTES)
  if (isOpen(body, end, from + BLOCK_BODY_BYTES, isLast)) return MORE
  const isField = body > from && (bytes[body] === COLON || bytes[body] === HYPHEN)
  return body === from + BLOCK_BODY_BYTES || isField ? 1 : NO
}

/**
 * Behind `-----BEGIN `: the header of a private key, and something of the key, whatever stands
 * before both in their lines. `found` is the header.
 */
export function readBlockHeader(
  bytes: Uint8Array,
  at: number,
  end: number,
  isLast: boolean,
  found: Place,
): number {
  const stop = readBlockType(bytes, at, end, isLast)
  if (stop < 0) return stop
  if (!hasPrivateKey(bytes, at, stop)) return NO
  const read = readBody(bytes, run(bytes, stop, end, BLOCK_GAP, BLOCK_GAP_BYTES), end, isLast)
  if (read === MORE) return MORE
  const next = read === NO ? readNextLine(bytes, at - BEGIN_BYTES, stop, end, isLast) : stop
  if (next < 0) return next
  const isKey = read === NO ? readBody(bytes, next, end, isLast) : read
  if (isKey < 0) return isKey
  found.end = stop
  return 1
}

/** Behind `-----END `: the rest of the line. */
export function readBlockEnd(
  bytes: Uint8Array,
  at: number,
  end: number,
  isLast: boolean,
  found: Place,
): number {
  const stop = readBlockType(bytes, at, end, isLast)
  if (stop < 0) return stop
  found.end = stop
  return 1
}
