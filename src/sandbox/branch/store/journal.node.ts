/**
 * The journal of a merge: one file in the branch's directory, replaced as a whole at each turn and synced, so that after
 * a crash it says what was going on. `staging`: nothing real was touched. `committed`: every step may have been done,
 * none has to be. `applied`: the real files are finished, the branch's own directory may not be. `done`: it is what the
 * merge can be taken back by. `undoing`: it is being taken back. `clearing`: it is over, and what it needed goes.
 * @module
 */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readBounded, replaceFile, syncDirectory } from '../../../base/files.node.ts'
import { SassError } from '../../../errors.ts'
import { BRANCH_RECORD_BYTES } from '../../limits.ts'
import type { BytePath } from '../files/paths.ts'
import type { Attributes } from './merge-plan.ts'
import type { UpperStep } from './upper-plan.ts'

export type JournalState = 'staging' | 'committed' | 'applied' | 'undoing' | 'done' | 'clearing'

export type JournalStep =
  | {
      readonly op: 'take'
      readonly path: BytePath
      readonly place: string
      readonly inode: bigint
      readonly changedNs?: bigint
    }
  | { readonly op: 'put'; readonly path: BytePath; readonly place: string; readonly inode: bigint }
  | {
      readonly op: 'exchange'
      readonly path: BytePath
      readonly place: string
      readonly inode: bigint
      readonly changedNs?: bigint
      /** Of what is put there. */
      readonly newInode: bigint
    }

export type JournalAttributes = {
  readonly path: BytePath
  readonly base?: BytePath
  readonly before?: Attributes
  readonly after: Attributes
  /** It is gone by the merge, and only has to be as before when that is taken back. */
  readonly isGone?: true
}

export type RootJournal = {
  /** Index in `Branch.roots`. */
  readonly root: number
  /** Where the stage is: in the root's store, or at the top of the real root. */
  readonly stage: 'store' | 'root'
  readonly steps: readonly JournalStep[]
  readonly attributes: readonly JournalAttributes[]
  readonly upper: readonly UpperStep[]
  /**
   * What a merge touches besides, and nobody else has changed: files that get another name, before and after, and the
   * root that a stage lies in.
   */
  readonly besides: readonly { readonly base: BytePath; readonly path: BytePath }[]
  /** Paths of changes that were merged, with whether they were a conflict. */
  readonly merged: readonly {
    readonly path: BytePath
    readonly base: BytePath
    readonly movedFrom?: BytePath
    readonly isConflict: boolean
    readonly isGone: boolean
    /** Whether a later change of it keeps the merge from being taken back. */
    readonly isWatched: boolean
  }[]
}

export type Journal = {
  readonly id: string
  readonly session: string
  readonly state: JournalState
  /** clearing: what has come to its end; absent: what is kept for taking a merge back is no longer wanted. */
  readonly ended?: 'rolled_back' | 'undone'
  readonly roots: readonly RootJournal[]
  /** done: what each merged path was when the merge had ended, by root; to see what was changed since. */
  readonly left: readonly (readonly [path: BytePath, inode: bigint, changedNs: bigint])[][]
}

const FILE = 'merge.json'
const MODE = 0o600

/** The stage's name, at the top of a real root or in its store. */
export function stageName(id: string): BytePath {
  return `.sass-edge-merge-${id}`
}

/** Where what has left the upper directory is kept, in the store. */
export function keptName(id: string): BytePath {
  return `merged-${id}`
}

/** BigInts and bytes as JSON. */
function replacer(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { $n: value.toString() }
  if (value instanceof Map)
    return {
      $m: [...value].map(([name, bytes]) => [name, Buffer.from(bytes as Uint8Array).toString('base64')]),
    }
  return value
}

function reviver(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('$n' in value && typeof value.$n === 'string') return BigInt(value.$n)
  if ('$m' in value && Array.isArray(value.$m))
    return new Map(value.$m.map(([name, text]: [string, string]) => [name, Buffer.from(text, 'base64')]))
  return value
}

/** @throws SassError FILE_IO where it is there and cannot be read */
export function readJournal(directory: string): Journal | undefined {
  const path = join(directory, FILE)
  try {
    const read = readBounded(path, BRANCH_RECORD_BYTES, true)
    if (!read.ok) throw new Error(read.reason)
    // Written by us alone, in a directory that is ours alone.
    return JSON.parse(read.bytes.toString('utf8'), reviver) as Journal
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new SassError(
      'FILE_IO',
      `The journal ${path} of a merge cannot be read; nothing is done with this branch before it can.`,
      { path },
      error,
    )
  }
}

export function writeJournal(directory: string, journal: Journal): void {
  const path = join(directory, FILE)
  try {
    replaceFile(path, Buffer.from(JSON.stringify(journal, replacer)), MODE)
  } catch (error) {
    throw new SassError(
      'FILE_IO',
      `The journal ${path} of a merge cannot be written; make room in the state directory.`,
      { path },
      error,
    )
  }
}

export function removeJournal(directory: string): void {
  rmSync(join(directory, FILE), { force: true })
  syncDirectory(directory)
}

/** Names at the top of real roots that are stages of this branch, and no part of anybody's work. */
export function stageNames(directory: string): ReadonlySet<BytePath> {
  const journal = readJournal(directory)
  return new Set(journal === undefined ? [] : [stageName(journal.id)])
}
