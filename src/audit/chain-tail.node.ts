/**
 * How a chain ends: its last whole record, checked against the one before it, and what a crash left behind it.
 * Reads the end of the last file and nothing else; whether the whole chain is whole is what `audit verify` answers.
 * @module
 */
import { closeSync, fstatSync, readSync } from 'node:fs'
import { hostSha256 } from '../base/crypto/sha256.node.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { SassError } from '../errors.ts'
import { AUDIT_LINE_BYTES, UNSIGNED_RECORDS } from '../limits.ts'
import { type ChainRecord, chainHash, readRecord, sequenceOf } from './chain.ts'
import { openSegment, textOfLine } from './segments.node.ts'

export type Tail = {
  readonly sequence: number
  /** The last one that is signed. */
  readonly last: SignedRecord | undefined
  /** Where its line ends. */
  readonly endBytes: number
  /** What follows it: empty, or after a crash lines that no signature stands for, the last of them cut off. */
  readonly rest: string
}

export type SignedRecord = ChainRecord & { readonly signature: Uint8Array }

const NEWLINE = 0x0a
/** The last two signed lines are in it, and what a crash may have left: mostly in the first one. */
const WINDOWS_BYTES = [3, UNSIGNED_RECORDS + 4].map((lines) => lines * AUDIT_LINE_BYTES)

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
  for (const windowBytes of WINDOWS_BYTES) {
    const tail = tailIn(descriptor, size, Math.min(size, windowBytes), path)
    if (tail !== undefined) return tail
  }
  throw unreadable(path)
}

function recordOf(line: string | undefined): ChainRecord | undefined {
  const text = line === undefined ? undefined : textOfLine(Buffer.from(line, 'latin1'))
  return text === undefined ? undefined : readRecord(text)
}

const isSigned = (record: ChainRecord): record is SignedRecord => record.signature !== undefined

/** Undefined where the last signed record may lie before the window. */
function tailIn(descriptor: number, size: number, windowBytes: number, path: string): Tail | undefined {
  const window = Buffer.alloc(windowBytes)
  const windowAt = size - windowBytes
  readSync(descriptor, window, 0, windowBytes, windowAt)
  const written = withoutZeros(window)
  const lastNewline = written.lastIndexOf(NEWLINE)
  if (written.length - lastNewline - 1 > AUDIT_LINE_BYTES || (lastNewline === -1 && windowAt > 0))
    throw unreadable(path)
  const lines = written
    .subarray(0, lastNewline + 1)
    .toString('latin1')
    .split('\n')
    .slice(0, -1)
  // The first of several lines may have begun before the window.
  if (windowAt > 0) lines.shift()
  let end = lastNewline + 1
  for (let line = lines.pop(); line !== undefined; line = lines.pop()) {
    const last = recordOf(line)
    const sequence = sequenceOf(last)
    if (last === undefined || sequence === undefined) throw unreadable(path)
    if (isSigned(last)) {
      if (lines.length > 0 && !follows(last, recordOf(lines.at(-1)))) throw unreadable(path)
      return { sequence, last, endBytes: windowAt + end, rest: written.toString('utf8', end) }
    }
    end -= line.length + 1
  }
  return windowAt > 0
    ? undefined
    : { sequence: 0, last: undefined, endBytes: 0, rest: written.toString('utf8') }
}

function follows(record: ChainRecord, before: ChainRecord | undefined): boolean {
  if (before === undefined || sequenceOf(before) !== (sequenceOf(record) ?? 0) - 1) return false
  const { hash } = chainHash(encodeHex(before.hash), record.event, record.timestamp, hostSha256)
  return encodeHex(hash) === encodeHex(record.hash)
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
