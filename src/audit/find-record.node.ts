/**
 * One record of the audit chain by its number, read from its files a piece at a time. It tells what stands there;
 * whether the chain is whole is another question.
 * @module
 */
import { closeSync } from 'node:fs'
import { AUDIT_LINE_BYTES } from '../limits.ts'
import { type ChainRecord, readRecord, sequenceOf } from './chain.ts'
import { eachLine, openSegment, type Segment, segmentsOf, unreadableChain } from './segments.node.ts'

/** `lastSequence`: the number of the last record that was looked at, 0 where there is none. */
export type FoundRecord = { readonly record: ChainRecord | undefined; readonly lastSequence: number }

/** Looks for the record in one file. */
function findIn(path: string, sequence: number): FoundRecord {
  // What does not name the number anywhere is not parsed; a device may have millions of records.
  const needle = Buffer.from(`"seq":${sequence}`)
  const last = Buffer.alloc(AUDIT_LINE_BYTES)
  let lastBytes = 0
  let record: ChainRecord | undefined
  const descriptor = openSegment(path)
  try {
    eachLine(descriptor, (line) => {
      const found = line.includes(needle) ? readRecord(line.toString('utf8')) : undefined
      if (sequenceOf(found) === sequence) record = found
      else lastBytes = line.copy(last)
      return record !== undefined
    })
  } finally {
    closeSync(descriptor)
  }
  if (record !== undefined) return { record, lastSequence: sequence }
  return { record: undefined, lastSequence: sequenceOf(readRecord(last.toString('utf8', 0, lastBytes))) ?? 0 }
}

/** The file that has the record, by the numbers in the names: the last one that does not begin after it. */
function segmentWith(segments: readonly Segment[], sequence: number): readonly Segment[] {
  const closed = segments.filter(({ first }) => first !== undefined && first <= sequence)
  return [...closed.slice(-1), ...segments.filter(({ first }) => first === undefined)]
}

/**
 * Looks for the record `sequence` in the chain in `directory`.
 * @throws SassError FILE_NOT_FOUND or FILE_IO where the chain cannot be read
 */
export function findRecord(directory: string, sequence: number): FoundRecord {
  let found: FoundRecord = { record: undefined, lastSequence: 0 }
  try {
    for (const { path } of segmentWith(segmentsOf(directory), sequence)) {
      const here = findIn(path, sequence)
      found = here.lastSequence === 0 ? found : here
      if (found.record !== undefined) break
    }
  } catch (cause) {
    throw unreadableChain(directory, cause)
  }
  return found
}
