/**
 * What the room on the disk lets the daemon do: little of it is RESTRICT, a record that cannot be written is HALT, and
 * both end by themselves when there is room again. Nothing is lost in between: what could not be recorded was not done.
 * Rules: docs/responses.md, sections 7 (full disk) and 8.
 * @module
 */
import type { AuditEvent } from '../ports.ts'
import { type Levels, STORAGE } from './levels.ts'

export type StorageGround = {
  readonly levels: Pick<Levels, 'storage' | 'list'>
  /** Bytes that the daemon may still write where its record is; undefined where nobody can say. */
  readonly freeBytes: () => number | undefined
  /** With less than this free, only what reads goes on; 0: nobody looks. */
  readonly reserveBytes: number
  /** Throws where it cannot be written. */
  readonly append: (event: AuditEvent) => void
}

export type StorageGuard = { tick(): void }

/** So much more must be free before it is over, so that it does not begin again at once. */
const OVER = 2

export function createStorageGuard({ levels, freeBytes, reserveBytes, append }: StorageGround): StorageGuard {
  /** Whether a record can be written now; one that says so is. */
  function isWritable(why: string): boolean {
    try {
      append({ type: 'recovered', what: 'storage', why })
      return true
    } catch {
      return false
    }
  }

  return {
    tick() {
      const entry = levels.list().find(({ scope, name }) => scope === 'daemon' && name === STORAGE)
      if (entry?.level === 'HALT' && !isWritable(entry.why)) return
      const free = freeBytes()
      const isLow = free !== undefined && free < (entry === undefined ? reserveBytes : reserveBytes * OVER)
      if (isLow) {
        const mebibytes = ((free ?? 0) / 1_048_576).toFixed(1)
        levels.storage(
          'RESTRICT',
          `The disk of the record has only ${mebibytes} MiB left: make room, or nothing can be done any more.`,
        )
      } else if (entry !== undefined) levels.storage('NORMAL', 'There is room for the record again.')
    },
  }
}
