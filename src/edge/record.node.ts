/**
 * The record of one device: the chain with its keys, and the sealed facts beside it, opened from a configuration.
 * Rules: docs/responses.md, section 7.
 * @module
 */
import { statfsSync } from 'node:fs'
import { type Journal, openJournal } from '../audit/journal.node.ts'
import { openSealedFacts, type SealedFacts } from '../audit/sealed-facts.node.ts'
import type { Config } from '../config.ts'
import type { Clock } from '../ports.ts'
import { openEpochKeys } from './epoch-keys.node.ts'
import { createFileLock } from './file-lock.node.ts'

export type DeviceRecord = {
  /** What may still be written on the disk of the chain. */
  freeBytes(): number | undefined
  readonly audit: Journal
  readonly facts: SealedFacts
  tick(): void
  close(): void
}

/**
 * @param later does a piece of work within a moment
 * @throws SassError as openJournal
 */
export function openRecord(config: Config, clock: Clock, later: (work: () => void) => void): DeviceRecord {
  const { directory, epoch_records, epoch_seconds, segment_bytes, fsync } = config.audit
  const audit = openJournal({
    directory,
    keys: openEpochKeys(config.state_directory),
    wallMs: clock.wallMs,
    monotonicMs: clock.monotonicMs,
    lock: createFileLock(),
    later,
    after: clock.after,
    epochRecords: epoch_records,
    epochMs: epoch_seconds * 1_000,
    segmentBytes: segment_bytes,
    durability: fsync,
  })
  const facts = openSealedFacts({
    directory,
    nextSequence: () => audit.head.sequence + 1,
    segmentBytes: segment_bytes,
  })
  return {
    audit,
    facts,
    freeBytes() {
      try {
        const { bavail, bsize } = statfsSync(directory)
        return bavail * bsize
      } catch {
        return undefined
      }
    },
    tick() {
      audit.tick()
      if (fsync !== 'never') facts.tick()
    },
    close() {
      facts.close()
      audit.close()
    },
  }
}
