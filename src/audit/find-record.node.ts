/**
 * One record of the audit chain by its number, read from the file a piece at a time: a chain may be larger than
 * the memory of a device. It tells what stands there; whether the chain is whole is another question.
 * @module
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { errnoOf, errnoText } from '../base/files.node.ts'
import { SassError } from '../errors.ts'
import { AUDIT_LINE_BYTES } from '../limits.ts'
import { type ChainRecord, readRecord } from './chain.ts'

const PIECE_BYTES = 262_144
const NEWLINE = 0x0a

/** `lastSequence`: the number of the last record that was looked at, 0 where there is none. */
export type FoundRecord = { readonly record: ChainRecord | undefined; readonly lastSequence: number }

/** Gives each whole line to `take` until that returns true; a line that is too long for a record is left out. */
function eachLine(descriptor: number, take: (line: Buffer) => boolean): void {
  const piece = Buffer.alloc(PIECE_BYTES)
  /** Of the line that has begun; kept at the front of the buffer. */
  let kept = 0
  let isSkipping = false
  for (;;) {
    const count = readSync(descriptor, piece, kept, piece.length - kept, null)
    if (count === 0) return
    const end = kept + count
    let start = 0
    for (let at = piece.indexOf(NEWLINE, kept); at !== -1 && at < end; at = piece.indexOf(NEWLINE, start)) {
      if (!isSkipping && take(piece.subarray(start, at))) return
      isSkipping = false
      start = at + 1
    }
    kept = end - start
    if (kept > AUDIT_LINE_BYTES) {
      isSkipping = true
      kept = 0
    } else piece.copyWithin(0, start, end)
  }
}

function sequenceOf(record: ChainRecord | undefined): number | undefined {
  const sequence = record?.event['seq']
  return typeof sequence === 'number' ? sequence : undefined
}

/**
 * Looks for the record `sequence` in the chain at `path`.
 * @throws SassError FILE_NOT_FOUND or FILE_IO where the chain cannot be read
 */
export function findRecord(path: string, sequence: number): FoundRecord {
  // What does not name the number anywhere is not parsed; a device may have millions of records.
  const needle = Buffer.from(`"seq":${sequence}`)
  const last = Buffer.alloc(AUDIT_LINE_BYTES)
  let lastBytes = 0
  let record: ChainRecord | undefined
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
    try {
      if (!fstatSync(descriptor).isFile())
        throw new SassError(
          'FILE_IO',
          `${path} is not a regular file, so no record was read; look at what it is.`,
        )
      eachLine(descriptor, (line) => {
        const found = line.includes(needle) ? readRecord(line.toString('utf8')) : undefined
        if (sequenceOf(found) === sequence) record = found
        else lastBytes = line.copy(last)
        return record !== undefined
      })
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === undefined) throw cause
    throw new SassError(
      errno === 'ENOENT' ? 'FILE_NOT_FOUND' : 'FILE_IO',
      `The audit chain ${path} cannot be read, since ${errnoText(errno)}: run this as the user of the daemon, or name its configuration with --config.`,
      { path, errno },
      cause,
    )
  }
  if (record !== undefined) return { record, lastSequence: sequence }
  return { record: undefined, lastSequence: sequenceOf(readRecord(last.toString('utf8', 0, lastBytes))) ?? 0 }
}
