/**
 * A journal on real files for tests: its keys lie beside its directory, in DIRECTORY.keys.
 * @module
 */
import { mkdirSync } from 'node:fs'
import type { EpochKeys } from '../../src/audit/epoch-keys.ts'
import { type Journal, type JournalOptions, openJournal } from '../../src/audit/journal.node.ts'
import { openEpochKeys } from '../../src/edge/record/epoch-keys.node.ts'

export const keysOf = (directory: string): string => `${directory}.keys`

/** Real keys of a disk that answers at once. */
export function promptKeys(directory: string): EpochKeys {
  const keys = openEpochKeys(directory)
  return { ...keys, createSoon: (epoch, done) => done(keys.create(epoch)), eraseSoon: keys.erase }
}

export function stagedJournal(directory: string, change: Partial<JournalOptions> = {}): Journal {
  mkdirSync(keysOf(directory), { recursive: true })
  return openJournal({
    directory,
    keys: promptKeys(keysOf(directory)),
    wallMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    monotonicMs: () => 0,
    lock: () => true,
    after: () => {},
    epochRecords: 1_000,
    epochMs: 3_600_000,
    segmentBytes: 1e9,
    durability: 'interval',
    ...change,
  })
}
