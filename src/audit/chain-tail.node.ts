/**
 * How a chain ends: its last whole record, checked against the one before it, and what a crash left behind it.
 * Reads the end of the last file and nothing else; whether the whole chain is whole is what `audit verify` answers.
 * @module
 */
import { closeSync, fstatSync, readSync } from 'node:fs'
import { hostSha256 } from '../base/crypto/sha256.node.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { SassError } from '../errors.ts'
import { AUDIT_LINE_BYTES } from '../limits.ts'
import { type ChainRecord, chainHash, readRecord, sequenceOf } from './chain.ts'
import { openSegment, textOfLine } from './segments.node.ts'

export type Tail = {
  readonly sequence: number
  readonly last: ChainRecord | undefined
  /** Where the last whole line ends. */
  readonly endBytes: number
  /** What follows it: empty, or a line that a crash cut off. */
  readonly rest: string
}

const NEWLINE = 0x0a
/** The last two lines are in it, and what a crash may have left. */
const WINDOW_BYTES = 3 * AUDIT_LINE_BYTES

function unreadable(path: string): SassError {
  return new SassError(
    'INTEGRITY_RISK',
    `The last record of ${path} cannot be read or does not follow from the one before, so the chain cannot be continued: somebody or something has changed it, so look with sass-edge audit verify and keep it as evidence.`,
    { path },
  )
}

/** A power cut may leave a file that was made longer and not written: zeros stand for nothing. */
function withoutZeros(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}

/** @throws INTEGRITY_RISK where the end is not what a journal leaves */
export function readTail(descriptor: number, path: string): Tail {
  const size = fstatSync(descriptor).size
  const window = Buffer.alloc(Math.min(size, WINDOW_BYTES))
  const windowAt = size - window.length
  readSync(descriptor, window, 0, window.length, windowAt)
  const written = withoutZeros(window)
  const lastNewline = written.lastIndexOf(NEWLINE)
  const rest = written.subarray(lastNewline + 1)
  const endBytes = windowAt + lastNewline + 1
  if (rest.length > AUDIT_LINE_BYTES || (lastNewline === -1 && windowAt > 0)) throw unreadable(path)
  if (lastNewline === -1) return { sequence: 0, last: undefined, endBytes: 0, rest: rest.toString('utf8') }
  const lines = written.subarray(0, lastNewline).toString('latin1').split('\n')
  // The first of several lines may have begun before the window.
  const whole = (windowAt > 0 ? lines.slice(1) : lines).slice(-2)
  const [before, last] = [whole.at(-2), whole.at(-1)].map((line) => {
    const text = line === undefined ? undefined : textOfLine(Buffer.from(line, 'latin1'))
    return text === undefined ? undefined : readRecord(text)
  })
  const sequence = sequenceOf(last)
  if (last === undefined || sequence === undefined) throw unreadable(path)
  if (before !== undefined) {
    const { hash } = chainHash(encodeHex(before.hash), last.event, last.timestamp, hostSha256)
    if (sequenceOf(before) !== sequence - 1 || encodeHex(hash) !== encodeHex(last.hash))
      throw unreadable(path)
  }
  return { sequence, last, endBytes, rest: rest.toString('utf8') }
}

/** The tail of a file that is closed. */
export function tailOf(path: string): Tail {
  const descriptor = openSegment(path)
  try {
    return readTail(descriptor, path)
  } finally {
    closeSync(descriptor)
  }
}

/** The number of the first record of a file; undefined where it has none. */
export function firstSequenceOf(descriptor: number): number | undefined {
  const window = Buffer.alloc(AUDIT_LINE_BYTES + 1)
  const count = readSync(descriptor, window, 0, window.length, 0)
  const end = window.subarray(0, count).indexOf(NEWLINE)
  const text = end === -1 ? undefined : textOfLine(window.subarray(0, end))
  return sequenceOf(text === undefined ? undefined : readRecord(text))
}
