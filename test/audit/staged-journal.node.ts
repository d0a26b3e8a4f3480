/**
 * A journal on real files for tests: its keys lie beside its directory, in DIRECTORY.keys.
 * @module
 */
import { mkdirSync } from 'node:fs'
import { type Journal, type JournalOptions, openJournal } from '../../src/audit/journal.node.ts'
import { openEpochKeys } from '../../src/edge/epoch-keys.node.ts'

export const keysOf = (directory: string): string => `${directory}.keys`

export function stagedJournal(directory: string, change: Partial<JournalOptions> = {}): Journal {
  mkdirSync(keysOf(directory), { recursive: true })
  return openJournal({
    directory,
    keys: openEpochKeys(keysOf(directory)),
    wallMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    monotonicMs: () => 0,
    lock: () => true,
    later: setImmediate,
    after: () => {},
    epochRecords: 1_000,
    epochMs: 3_600_000,
    segmentBytes: 1e9,
    durability: 'interval',
    ...change,
  })
}
