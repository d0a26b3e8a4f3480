/**
 * What branches may take up, and when one has too much: whoever watches tells what is free on their disk and what a count
 * has found, and hears what to count, whom to end, and when to look again. Looking at the disk costs nothing, counting a
 * branch does: all branches together cannot have grown by more than the disk has lost, so one is counted only where that
 * much more would be over its bound, now and then while anything changes, and all of them when the disk is nearly full.
 * Rules: docs/sandbox.md (limits).
 * @module
 */
import {
  BRANCH_BYTES,
  LOW_GROWTH_BYTES,
  RECOUNT_MS,
  RECOUNT_SHARE,
  WATCH_MAX_MS,
  WATCH_MIN_MS,
  WATCHED_BYTES_PER_MS,
  WATCHED_FILES_PER_MS,
} from '../../limits.ts'

/** What is left of a disk. `files`: what may still be made there; undefined where the file system does not count. */
export type Free = { readonly bytes: number; readonly files: number | undefined }

/** What a branch takes up. `isWhole` false: something in it could not be looked at. */
export type Count = { readonly bytes: number; readonly files: number; readonly isWhole: boolean }

export type BranchLimits = {
  /** null: half of what is free when it is counted first. */
  readonly bytes: number | null
  readonly files: number
  /** With less than this free, whoever grew most is ended. */
  readonly lowBytes: number
}

export type Verdict = { readonly branch: string; readonly why: string }

/** What whoever decides about branches wants to know of their bounds. */
export type BranchStops = {
  /** Why commands of that branch were ended, and nothing more begins there; undefined: nothing of the kind. */
  stopped(branch: string): string | undefined
  /** It may have become smaller: it is counted again where it was stopped. */
  recheck(branch: string): Promise<void>
}

export type Bounds = {
  /** `more`: bytes in it that are not the session's, of a copied branch. */
  open(branch: string, more: number): void
  close(branch: string): void
  readonly size: number
  /** Files of that branch from which on it has too many: nobody need count further. */
  filesBound(branch: string): number
  /** Branches to be counted now. */
  look(free: Free, nowMs: number): readonly string[]
  /** Whom to end. `tookMs`: how long the count took. */
  counted(branch: string, count: Count, free: Free, nowMs: number, tookMs: number): Verdict | undefined
  /** How long until the next look, while commands run. */
  waitMs(): number
}

type Watched = {
  readonly more: number
  /** Undefined before the first count. */
  bound: number | undefined
  count: Count | undefined
  filesBound: number
  freeAtCount: Free
  /** What it had when it was opened, or when the disk was found nearly full the last time. */
  baseBytes: number
  countedAtMs: number
  tookMs: number
}

const MIB = 1_048_576

/** Half of what it could have: what is there, and what is free. */
export function boundOf(limit: number | null, takenBytes: number, freeBytes: number): number {
  return limit ?? Math.min(BRANCH_BYTES, Math.floor((takenBytes + freeBytes) / 2))
}

/** As many as may be, and no more than half of what the disk could have: it counts files by themselves. */
export function filesBoundOf(limit: number, taken: number, free: number | undefined): number {
  return free === undefined ? limit : Math.min(limit, Math.max(1, Math.floor((taken + free) / 2)))
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`
}

const MEANS = 'so its commands were ended and nothing more begins in it'
const REMEDY = 'merge or drop it, go back to a checkpoint, or begin another branch.'

/** Why a branch has too much; undefined where it has not. */
export function excess({ bytes, files }: Count, bound: number, filesBound: number): string | undefined {
  if (bytes >= bound)
    return `The branch takes up ${mib(bytes)} of the ${mib(bound)} that it may have (sandbox.limits.branch_bytes), ${MEANS}: ${REMEDY}`
  if (files >= filesBound)
    return `The branch holds ${files} files of the ${filesBound} that it may have (sandbox.limits.branch_files), ${MEANS}: ${REMEDY}`
  return undefined
}

function lost(before: Free, now: Free): { bytes: number; files: number } {
  const files = before.files === undefined || now.files === undefined ? 0 : before.files - now.files
  return { bytes: Math.max(0, before.bytes - now.bytes), files: Math.max(0, files) }
}

function isSame(a: Free, b: Free): boolean {
  return a.bytes === b.bytes && a.files === b.files
}

export function createBounds(limits: BranchLimits): Bounds {
  const watched = new Map<string, Watched>()
  let last: Free | undefined
  /** Counted since the disk was found nearly full, and still to be counted; undefined: it is not. */
  let round: Set<string> | undefined

  function isDue(one: Watched, free: Free, nowMs: number): boolean {
    const { count, bound, filesBound, freeAtCount, countedAtMs, tookMs } = one
    if (count === undefined || bound === undefined) return true
    if (isSame(free, freeAtCount)) return false
    const age = nowMs - countedAtMs
    const { bytes, files } = lost(freeAtCount, free)
    const mayBeOver = count.bytes + bytes >= bound || count.files + files >= filesBound
    // What takes long to count is counted half of the time at most.
    if (mayBeOver) return age >= tookMs
    return age >= Math.max(RECOUNT_MS, tookMs * RECOUNT_SHARE)
  }

  /** The disk is nearly full, and something still grows. */
  function beginRound(free: Free): void {
    const grew = last !== undefined && free.bytes < last.bytes
    if (free.bytes < limits.lowBytes && grew && round === undefined) round = new Set(watched.keys())
  }

  function endRound(free: Free): Verdict | undefined {
    if (round === undefined || round.size > 0) return undefined
    round = undefined
    let most: { branch: string; growth: number } | undefined
    for (const [branch, { count, baseBytes }] of watched) {
      const growth = (count?.bytes ?? 0) - baseBytes
      if (growth >= LOW_GROWTH_BYTES && growth > (most?.growth ?? 0)) most = { branch, growth }
    }
    if (most === undefined) return undefined
    for (const one of watched.values()) one.baseBytes = one.count?.bytes ?? 0
    return {
      branch: most.branch,
      why: `The disk of the state has only ${mib(free.bytes)} left (sandbox.limits.reserve_bytes), and this branch grew most, by ${mib(most.growth)}, ${MEANS}: ${REMEDY}`,
    }
  }

  return {
    open(branch, more) {
      watched.set(branch, {
        more,
        bound: undefined,
        filesBound: limits.files,
        count: undefined,
        freeAtCount: { bytes: 0, files: undefined },
        baseBytes: 0,
        countedAtMs: 0,
        tookMs: 0,
      })
    },
    close(branch) {
      watched.delete(branch)
      round?.delete(branch)
      if (watched.size === 0) [last, round] = [undefined, undefined]
    },
    get size() {
      return watched.size
    },
    filesBound: (branch) => watched.get(branch)?.filesBound ?? limits.files,
    look(free, nowMs) {
      beginRound(free)
      last = free
      const due: string[] = []
      for (const [branch, one] of watched)
        if (isDue(one, free, nowMs) || round?.has(branch) === true) due.push(branch)
      return due
    },
    counted(branch, count, free, nowMs, tookMs) {
      const one = watched.get(branch)
      if (one === undefined) return undefined
      const own = Math.max(0, count.bytes - one.more)
      // What cannot be looked at is charged with all that is gone.
      const unseen = count.isWhole || one.count === undefined ? 0 : lost(one.freeAtCount, free).bytes
      const bytes = Math.max(own, unseen > 0 ? (one.count?.bytes ?? 0) : 0) + unseen
      const taken: Count = { ...count, bytes }
      if (one.count === undefined) {
        one.bound = boundOf(limits.bytes, bytes, free.bytes)
        one.filesBound = filesBoundOf(limits.files, count.files, free.files)
        one.baseBytes = bytes
      }
      one.count = taken
      one.freeAtCount = free
      one.countedAtMs = nowMs
      one.tookMs = tookMs
      round?.delete(branch)
      const why = excess(taken, one.bound ?? 0, one.filesBound)
      return why === undefined ? endRound(free) : { branch, why }
    },
    waitMs() {
      if (last === undefined) return WATCH_MIN_MS
      let margin = last.bytes > limits.lowBytes ? last.bytes - limits.lowBytes : last.bytes
      let filesMargin = Number.POSITIVE_INFINITY
      for (const { count, bound, filesBound, freeAtCount } of watched.values()) {
        if (count === undefined || bound === undefined) continue
        const { bytes, files } = lost(freeAtCount, last)
        margin = Math.min(margin, bound - count.bytes - bytes)
        filesMargin = Math.min(filesMargin, filesBound - count.files - files)
      }
      const waitMs = Math.min(margin / WATCHED_BYTES_PER_MS, filesMargin / WATCHED_FILES_PER_MS)
      return Math.min(WATCH_MAX_MS, Math.max(WATCH_MIN_MS, Math.floor(waitMs)))
    },
  }
}
