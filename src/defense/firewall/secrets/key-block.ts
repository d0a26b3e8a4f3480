/**
 * Private keys in PEM: where a block begins, what belongs to it, and where it ends. It is found as well where something
 * stands before each of its lines, as a number, a path, a comment, a mail that is answered and a patch put it there: what
 * stands before the header stands before the other lines too, but for numbers, blanks and signs.
 * Rules: docs/firewall.md, "Secrets"; RFC 7468.
 * @module
 */
import { LINE_PREFIX_BYTES } from '../limits.ts'
import { byteClass, MORE, NO } from './shape.ts'
import { isOpen, type Place, run } from './surroundings.ts'

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

/** What stands before `end` in its line, without what varies: lines that have the same there begin alike. */
function linePrefix(bytes: Uint8Array, end: number): Uint8Array {
  const least = Math.max(0, end - LINE_PREFIX_BYTES)
  let start = end
  while (start > least && bytes[start - 1] !== LF) start--
  return bytes.slice(start, end).filter((byte) => VARYING[byte] === 0)
}

/** What stands before each line of a block, as before its header; told a byte at a time. */
function createPrefixReader(prefix: Uint8Array) {
  let [at, isOver] = [0, true]
  return {
    /** Whether the byte, or the end of the line before it, belongs to that. */
    takes(byte: number): boolean {
      if (byte === LF) {
        at = 0
        isOver = false
      } else if (!isOver && byte === prefix[at]) at++
      else isOver ||= VARYING[byte] === 0
      return !isOver
    },
    isWhole: (): boolean => at === prefix.length,
  }
}

/** The block whose header begins at `start`: whether it goes on with a byte, asked of each in turn. */
export function createBlockBody(bytes: Uint8Array, start: number): (byte: number) => boolean {
  const prefix = createPrefixReader(linePrefix(bytes, start))
  return (byte) => prefix.takes(byte) || BLOCK[byte] === 1
}

/** Behind the header and what stands before the next line: where its body begins, `NO` or `MORE`. */
function readNextLine(bytes: Uint8Array, start: number, stop: number, end: number, isLast: boolean): number {
  const gap = bytes.subarray(stop, run(bytes, stop, end, BLOCK_GAP, BLOCK_GAP_BYTES))
  const line = stop + gap.indexOf(LF)
  if (line < stop) return NO
  const prefix = createPrefixReader(linePrefix(bytes, start))
  const limit = Math.min(end, line + 1 + LINE_PREFIX_BYTES)
  let from = line
  while (from < limit && prefix.takes(bytes[from] ?? 0)) from++
  if (isOpen(from, end, line + 1 + LINE_PREFIX_BYTES, isLast)) return MORE
  return prefix.isWhole() ? from : NO
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
