/**
 * Names that nobody else can take, where a disk can have only so many files (ext4, tmpfs): empty files in a directory of
 * the state, removed a few at a time for whoever must make a file all the same, and made again when there is room.
 * Rules: docs/sandbox.md, "When the disk is nearly full"; statfs(2).
 * @module
 */
import { closeSync, openSync, readdirSync, statfsSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivateDirectory } from '../../base/files.node.ts'
import { RESERVE_NAMES, RESERVE_PIECE_NAMES } from './limits.ts'

export type ReserveNames = {
  /** Whether the disk has so few left that a file more may be refused. */
  readonly isLow: boolean
  /** Removes a few, but none of the last `keep`. False: there is none to remove. */
  give(keep: number): boolean
  /** Makes them whole again, where as many are free beside them. */
  fill(): void
}

/** Removes all of them where the disk has few left: a start has to make files. */
export function openReserveNames(stateDirectory: string): ReserveNames {
  const directory = join(stateDirectory, 'reserve.names')
  let held: readonly string[] = []

  /** Those that a file system makes as it needs them have none to count. */
  function freeNames(): number {
    const { files, ffree } = statfsSync(stateDirectory)
    return files === 0 ? Number.POSITIVE_INFINITY : ffree
  }

  function give(keep: number): boolean {
    const gone = held.slice(Math.max(keep, held.length - RESERVE_PIECE_NAMES))
    held = held.slice(0, held.length - gone.length)
    try {
      for (const name of gone) unlinkSync(join(directory, name))
    } catch {
      // What is not there is none that could be given.
    }
    return gone.length > 0
  }

  function fill(): void {
    const missing = RESERVE_NAMES - held.length
    if (missing === 0 || freeNames() < missing + RESERVE_NAMES) return
    try {
      makePrivateDirectory(directory)
      for (let number = held.length; number < RESERVE_NAMES; number++)
        closeSync(openSync(join(directory, String(number)), 'w', 0o600))
    } catch {
      // The disk takes nothing: those that are there are counted, and the rest comes another time.
    }
    held = namesThere()
  }

  function namesThere(): string[] {
    try {
      return readdirSync(directory).sort((a, b) => Number(a) - Number(b))
    } catch {
      return []
    }
  }

  held = namesThere()
  if (freeNames() < RESERVE_NAMES) while (give(0));
  fill()
  return {
    get isLow() {
      return freeNames() < RESERVE_PIECE_NAMES
    },
    give,
    fill,
  }
}
