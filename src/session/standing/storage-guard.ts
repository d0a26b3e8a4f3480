/**
 * What the disk of the record lets the daemon do: little room or slowness is RESTRICT; a record that cannot be written or
 * kept, or not for so long that it may never be, is HALT. All of it ends by itself when the disk is well again, but for
 * one that has failed to keep what it took. Nothing is lost in between: what could not be recorded was not done.
 * Rules: docs/responses.md, sections 7 (full, failing and slow disks) and 8.
 * @module
 */
import type { Level } from '../../defense/level.ts'
import { AUDIT_SLOW_MS, AUDIT_STALLED_MS } from '../../limits.ts'
import type { AuditEvent, DiskHealth } from '../../ports.ts'
import { type Levels, STORAGE } from './levels.ts'

export type StorageGround = {
  readonly levels: Pick<Levels, 'storage' | 'list'>
  /** Bytes that the daemon may still write where its record is; undefined where nobody can say. */
  readonly freeBytes: () => number | undefined
  /** With less than this free, only what reads goes on; 0: nobody looks. */
  readonly reserveBytes: number
  readonly disk: DiskHealth
  /** Throws where it cannot be written. */
  readonly append: (event: AuditEvent) => void
}

export type StorageGuard = { tick(): void }

/** By so much it must be better before it is over, so that it does not begin again at once. */
const OVER = 2

type Finding = { readonly level: Exclude<Level, 'CHECKPOINT' | 'CONTAIN'>; readonly why: string }

const WELL: Finding = { level: 'NORMAL', why: 'There is room for the record again, and the disk keeps it.' }

export function createStorageGuard({
  levels,
  freeBytes,
  reserveBytes,
  disk,
  append,
}: StorageGround): StorageGuard {
  /** Whether a record can be written now; one that says so is. */
  function isWritable(why: string): boolean {
    try {
      append({ type: 'recovered', what: 'storage', why })
      return true
    } catch {
      return false
    }
  }

  /** `factor`: by how much the bounds of RESTRICT are stricter, where it has begun already. */
  function finding(factor: number): Finding {
    const { syncMs, failure } = disk
    if (failure !== undefined) return { level: 'HALT', why: failure }
    const seconds = (syncMs / 1_000).toFixed(1)
    if (syncMs >= AUDIT_STALLED_MS)
      return {
        level: 'HALT',
        why: `The disk of the record has not kept what was written for ${seconds} s: look at it; the daemon goes on by itself when it answers.`,
      }
    const free = freeBytes()
    if (free !== undefined && free < reserveBytes * factor)
      return {
        level: 'RESTRICT',
        why: `The disk of the record has only ${(free / 1_048_576).toFixed(1)} MiB left: make room, or nothing can be done any more.`,
      }
    if (syncMs * factor >= AUDIT_SLOW_MS)
      return {
        level: 'RESTRICT',
        why: `The disk of the record takes ${seconds} s to keep what is written: look what else it has to do, or whether it is failing.`,
      }
    return WELL
  }

  return {
    tick() {
      const entry = levels.list().find(({ scope, name }) => scope === 'daemon' && name === STORAGE)
      const found = finding(entry === undefined ? 1 : OVER)
      // Nothing else may be written any more that would tell how fast it is.
      if (entry !== undefined && disk.syncMs * OVER >= AUDIT_SLOW_MS && !disk.isSyncing) disk.probe()
      if (entry?.level === 'HALT' && (found.level === 'HALT' || !isWritable(entry.why))) return
      if (found.level !== 'NORMAL' || entry !== undefined) levels.storage(found.level, found.why)
    },
  }
}
