/**
 * Watches what branches take up while they are in use, and ends what takes too much. The disk is asked what is free, more
 * often the nearer a bound is; nothing is asked while no command runs but once a second, with everything else that is
 * looked at then, and nothing at all where no branch is in use.
 * A branch that was stopped says so in a file of its own, so that no restart forgets it: nothing begins there before a
 * count has found less in it.
 * Rules: docs/sandbox.md (limits).
 * @module
 */
import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import type { MakeRoom } from '../../../base/room.ts'
import { withRoom } from '../../../base/room.ts'
import { SassError } from '../../../errors.ts'
import type { Branch } from '../files/branch.ts'
import {
  type BranchLimits,
  type BranchStops,
  boundOf,
  type Count,
  createBounds,
  excess,
  type Free,
  filesBoundOf,
} from '../store/bounds.ts'
import { countBranch } from '../store/usage.node.ts'
import type { BranchStore } from './branch-store.node.ts'

export type BranchBoundsOptions = {
  readonly store: BranchStore
  readonly limits: BranchLimits
  /** Bytes that a copied branch may hold beside what its session has made. */
  readonly copyBytes: number
  readonly monotonicMs: () => number
  /** Gives room on the disk of the state where that is full. */
  readonly makeRoom: MakeRoom
}

export interface BranchBounds extends BranchStops {
  /**
   * Nothing begins in a branch that was stopped and still has too much.
   * @throws SassError SANDBOX_UNAVAILABLE
   */
  admit(branch: Branch): Promise<void>
  opened(branch: Branch, rootDescriptor: number): void
  closed(branch: string): void
  /** A command has begun: from now on it is looked at all the time. */
  wake(): void
  /** Looks now, where anything is in use. */
  tick(): void
  /**
   * What is asked by then: whether commands run, and to end a branch, of which the reason is kept already.
   */
  attach(hooks: {
    readonly isBusy: () => boolean
    readonly stop: (branch: string, why: string) => void
  }): void
  close(): void
}

const MARK = 'stopped'
const MODE = 0o600
/** Between two slices of a count: as long as one takes, so that the daemon does something else half of the time. */
const PAUSE_MS = 2

export function createBranchBounds(options: BranchBoundsOptions): BranchBounds {
  const { store, limits, copyBytes, monotonicMs, makeRoom } = options
  const bounds = createBounds(limits)
  /** Where the session sees it, by branch. */
  const inUse = new Map<string, { readonly branch: Branch; readonly rootDescriptor: number }>()
  const counting = new Set<string>()
  const reasons = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let hooks: Parameters<BranchBounds['attach']>[0] = { isBusy: () => false, stop() {} }

  const markOf = (branch: string): string => join(store.directoryOf(branch), MARK)

  for (const { session } of store.list()) {
    try {
      reasons.set(session, readFileSync(markOf(session), 'utf8'))
    } catch {
      // It was not stopped.
    }
  }

  function free(): Free {
    const { bavail, bsize, files, ffree } = statfsSync(store.directory)
    return { bytes: bavail * bsize, files: files === 0 ? undefined : ffree }
  }

  function mark(branch: string, why: string): void {
    reasons.set(branch, why)
    try {
      withRoom(makeRoom, () => writeFileSync(markOf(branch), why, { mode: MODE }))
    } catch {
      // Until the daemon ends it is known all the same.
    }
  }

  const moreOf = ({ level }: Branch): number => (level === 'copy' ? copyBytes : 0)

  async function count(
    branch: Branch,
    rootDescriptor: number | undefined,
    files: number = limits.files,
  ): Promise<Count> {
    const bytes = boundOf(limits.bytes, Number.MAX_SAFE_INTEGER, 0) + moreOf(branch)
    const work = countBranch(branch, { bytes, files }, rootDescriptor)
    for (;;) {
      const found = work.next()
      if (found !== undefined) return found
      if (isClosed) {
        work.stop()
        return { bytes: 0, files: 0, isWhole: false }
      }
      await after(PAUSE_MS, undefined, { ref: false })
    }
  }

  /** Counts one that is in use, and ends it where it has too much. */
  async function examine(name: string): Promise<void> {
    const one = inUse.get(name)
    if (one === undefined || counting.has(name)) return
    counting.add(name)
    const began = monotonicMs()
    try {
      const found = await count(one.branch, one.rootDescriptor, bounds.filesBound(name))
      if (inUse.get(name) !== one || isClosed) return
      const now = monotonicMs()
      const verdict = bounds.counted(name, found, free(), now, now - began)
      if (verdict === undefined) return
      mark(verdict.branch, verdict.why)
      bounds.close(verdict.branch)
      hooks.stop(verdict.branch, verdict.why)
    } finally {
      counting.delete(name)
    }
  }

  function look(): void {
    if (bounds.size === 0 || isClosed) return
    let now: Free
    try {
      now = free()
    } catch {
      return
    }
    for (const name of bounds.look(now, monotonicMs())) void examine(name).catch(() => undefined)
  }

  function wake(): void {
    if (timer !== undefined || isClosed || bounds.size === 0) return
    timer = setTimeout(() => {
      timer = undefined
      look()
      if (hooks.isBusy()) wake()
    }, bounds.waitMs())
    timer.unref()
  }

  async function recheck(name: string): Promise<void> {
    if (!reasons.has(name)) return
    const branch = store.find(name)
    if (branch === undefined) return void reasons.delete(name)
    const found = await count(branch, undefined)
    const own = { ...found, bytes: Math.max(0, found.bytes - moreOf(branch)) }
    const now = free()
    const filesBound = filesBoundOf(limits.files, own.files, now.files)
    const why = excess(own, boundOf(limits.bytes, own.bytes, now.bytes), filesBound)
    // Of what cannot be counted nobody knows that it is less.
    if (why !== undefined || !found.isWhole || now.bytes < limits.lowBytes) return
    reasons.delete(name)
    rmSync(markOf(name), { force: true })
  }

  return {
    stopped: (branch) => (store.find(branch) === undefined ? undefined : reasons.get(branch)),
    recheck,
    async admit(branch) {
      await recheck(branch.session)
      const why = reasons.get(branch.session)
      if (why !== undefined) throw new SassError('SANDBOX_UNAVAILABLE', why)
    },
    opened(branch, rootDescriptor) {
      inUse.set(branch.session, { branch, rootDescriptor })
      bounds.open(branch.session, moreOf(branch))
      look()
    },
    closed(branch) {
      inUse.delete(branch)
      bounds.close(branch)
    },
    wake,
    tick: look,
    attach(given) {
      hooks = given
    },
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
