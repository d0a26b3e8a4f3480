/**
 * The main thread's side of the threads that work on branches: started with the first order, ended when there was none
 * for a while. One order after the other for each branch. Where a thread ends in the middle of a merge, the branch is
 * brought to an end of it before anything else is done there, as after a crash of the whole daemon.
 * @module
 */

import { close, read } from 'node:fs'
import { promisify } from 'node:util'
import { CODES, type Code, SassError } from '../../../errors.ts'
import { createIdleThread } from '../../kernel/idle-thread.node.ts'
import { BRANCH_HEAP_MIB, BRANCH_IDLE_MS, BRANCH_REMOVED_AT_ONCE } from '../../limits.ts'
import type { Branch } from '../files/branch.ts'
import { type BranchStore, requireReadable } from './branch-store.node.ts'
import { createBranchThreads, type OrderClass } from './branch-threads.node.ts'
import type {
  BranchAnswer,
  BranchCall,
  BranchOrder,
  BranchResults,
  BranchWork,
  ResumeReport,
  ReviewText,
} from './branch-work.ts'

/** One Int32. */
const FLAG_BYTES = 4
const readAsync = promisify(read)
export interface BranchWorker extends BranchWork {
  /** Copies the real directories into a branch of level copy, which nobody works in yet. */
  fill(session: string, limitBytes: number): Promise<void>
  /** Waits for what is being done, and ends the thread. */
  close(): Promise<void>
}

function threadLost(cause: unknown): SassError {
  const why = cause instanceof Error ? ` (${cause.message})` : ''
  return new SassError(
    'FILE_IO',
    `The thread that works on branches has ended${why}; what it had begun is brought to an end before anything else is done in that branch, so look at the branch again.`,
    {},
    cause,
  )
}

function classOf(order: BranchOrder): OrderClass {
  if (order.kind !== 'review') return 'deed'
  return order.isOwn ? 'own_look' : 'look'
}

function noBranch(session: string): SassError {
  return new SassError(
    'FILE_NOT_FOUND',
    `There is no branch ${session} any more: it was merged, dropped or purged; see sass-edge branch list.`,
  )
}

function createText(descriptor: number, sizeBytes: number): ReviewText {
  let at = 0
  let isClosed = false
  return {
    sizeBytes,
    async read(target) {
      if (isClosed || at >= sizeBytes) return 0
      const { bytesRead } = await readAsync(
        descriptor,
        target,
        0,
        Math.min(target.length, sizeBytes - at),
        at,
      )
      at += bytesRead
      return bytesRead
    },
    close() {
      if (isClosed) return
      isClosed = true
      close(descriptor)
    },
  }
}

/** `source` gives the CommonJS text of the bundled thread; undefined starts it from its file. */
export function createBranchWorker(store: BranchStore, source: (() => string) | undefined): BranchWorker {
  const threads = createBranchThreads(() =>
    createIdleThread<BranchCall, BranchAnswer>({
      name: 'branches',
      file: () => new URL('./branch-thread.node.ts', import.meta.url),
      text: source,
      limits: { young: 16, old: BRANCH_HEAP_MIB, stack: 4 },
      idleMs: BRANCH_IDLE_MS,
      lost: threadLost,
    }),
  )
  /** By branch: what ends the looks at it. */
  const looks = new Map<string, Set<() => void>>()
  /** By branch: what is done there last. */
  const turns = new Map<string, Promise<unknown>>()
  /** Branches whose last merge or undo may have been ended in the middle. */
  const unsure = new Set<string>()
  let removing: Promise<void> | undefined
  let isRemoving = false
  let isClosing = false

  async function ask<Kind extends BranchOrder['kind']>(
    order: Extract<BranchOrder, { kind: Kind }>,
  ): Promise<BranchResults[Kind]> {
    const answer = await threads.ask(classOf(order), (id) => ({ kind: 'order', id, order }))
    if (answer.kind === 'done') return answer.value as BranchResults[Kind]
    const code: Code = Object.hasOwn(CODES, answer.code) ? (answer.code as Code) : 'FILE_IO'
    throw new SassError(code, answer.message, answer.details)
  }

  /** After everything that was asked of that branch before. */
  function inTurn<Result>(session: string, work: () => Promise<Result>): Promise<Result> {
    const before = turns.get(session) ?? Promise.resolve()
    const own = before.catch(() => undefined).then(work)
    turns.set(session, own)
    const over = (): void => {
      if (turns.get(session) === own) turns.delete(session)
    }
    own.then(over, over)
    return own
  }

  /** What is looked at will not be there, or nobody will be. */
  function endLooks(session: string): void {
    for (const stop of looks.get(session) ?? []) stop()
  }

  function found(session: string): Branch {
    const branch = store.find(session)
    if (branch === undefined) throw noBranch(session)
    return branch
  }

  async function end(branch: Branch): Promise<Omit<ResumeReport, 'session'>> {
    const { session } = branch
    requireReadable(branch)
    const result = await ask<'resume'>({ kind: 'resume', directory: store.directoryOf(session), branch })
    unsure.delete(session)
    store.suspend(session, undefined)
    return result
  }

  /** In the turn of its branch, which is whole by then and whose marks can be read. */
  function on<Result>(
    session: string,
    work: (branch: Branch, directory: string) => Promise<Result>,
  ): Promise<Result> {
    return inTurn(session, async () => {
      const branch = found(session)
      requireReadable(branch)
      if (unsure.has(session)) await end(branch)
      return work(branch, store.directoryOf(session))
    })
  }

  /** What must be brought to an end where it was not. */
  function changing<Result>(
    session: string,
    work: (branch: Branch, directory: string) => Promise<Result>,
  ): Promise<Result> {
    return on(session, async (branch, directory) => {
      unsure.add(session)
      try {
        const result = await work(branch, directory)
        unsure.delete(session)
        return result
      } catch (cause) {
        await end(branch).catch((failure: unknown) => suspend(session, failure))
        throw cause
      }
    })
  }

  /** Nobody works in a branch whose merge is half done. */
  function suspend(session: string, cause: unknown): string {
    const reason = cause instanceof Error ? cause.message : String(cause)
    store.suspend(session, reason)
    return reason
  }

  async function removeAll(): Promise<void> {
    for (const directory of store.dropped()) {
      for (;;) {
        if (isClosing) return
        const isGone = await ask<'remove'>({ kind: 'remove', directory, entries: BRANCH_REMOVED_AT_ONCE })
        if (isGone) break
      }
      store.removed(directory)
    }
  }

  /** Whatever keeps it from being removed now is tried again by and by, and at the next start. */
  function remove(): Promise<void> {
    isRemoving = true
    const own = (removing ?? Promise.resolve())
      .catch(() => undefined)
      .then(removeAll)
      .finally(() => {
        if (removing === own) isRemoving = false
      })
    removing = own
    return own
  }

  return {
    list: store.list,
    find: store.find,
    isEmpty: store.isEmpty,
    mergedAtMs: store.mergedAtMs,
    async resume() {
      const reports: ResumeReport[] = []
      for (const branch of store.list()) {
        const { session } = branch
        // Without a journal nothing can have been ended in the middle.
        if (!store.hasJournal(session)) continue
        unsure.add(session)
        try {
          reports.push({ session, ...(await inTurn(session, () => end(branch))) })
        } catch (cause) {
          reports.push({ session, outcome: 'failed', reason: suspend(session, cause) })
        }
      }
      if (store.dropped().length > 0) remove().catch(() => undefined)
      return reports
    },
    fill: (session, limitBytes) =>
      on(session, async (branch, directory) => {
        store.filled(session, await ask<'fill'>({ kind: 'fill', directory, branch, limitBytes }))
      }),
    review(session, form, paths, looker) {
      const left = new SharedArrayBuffer(FLAG_BYTES)
      const stop = (): void => void Atomics.store(new Int32Array(left), 0, 1)
      const all = looks.get(session) ?? new Set()
      looks.set(session, all.add(stop))
      looker?.onLeave(stop)
      const isOwn = looker?.isOwn ?? false
      return on(session, async (branch, directory) => {
        const { descriptor, sizeBytes, ...facts } = await ask<'review'>({
          ...{ kind: 'review', directory, branch, form, paths, isOwn, left },
        })
        return { ...facts, text: createText(descriptor, sizeBytes) }
      }).finally(() => {
        all.delete(stop)
        if (all.size === 0 && looks.get(session) === all) looks.delete(session)
      })
    },
    merge: (session, wish) =>
      changing(session, (branch, directory) => ask<'merge'>({ kind: 'merge', directory, branch, wish })),
    undo: (session) =>
      changing(session, (branch, directory) => ask<'undo'>({ kind: 'undo', directory, branch })),
    checkpoint: (session, label, nowMs) =>
      on(session, (branch, directory) =>
        ask<'checkpoint'>({ kind: 'checkpoint', directory, branch, label, nowMs }),
      ),
    checkpoints: (session) =>
      on(session, (_branch, directory) => ask<'checkpoints'>({ kind: 'checkpoints', directory })),
    restore: (session, number) =>
      changing(session, (branch, directory) =>
        ask<'restore'>({ kind: 'restore', directory, branch, number }),
      ),
    removeCheckpoint: (session, number) =>
      on(session, (branch, directory) =>
        ask<'remove_checkpoint'>({ kind: 'remove_checkpoint', directory, branch, number }),
      ),
    drop(session) {
      endLooks(session)
      return inTurn(session, async () => {
        const branch = found(session)
        // What was merged halfway is real by now, and has to be whole before what it came from goes.
        if (unsure.has(session)) await end(branch)
        store.drop(session)
        remove().catch(() => undefined)
      })
    },
    erase(session) {
      endLooks(session)
      return inTurn(session, async () => {
        const branch = store.find(session)
        if (branch !== undefined && unsure.has(session)) await end(branch).catch(() => undefined)
        store.drop(session)
        await remove()
        if (isClosing && store.dropped().length > 0)
          throw new SassError(
            'DAEMON_SHUTTING_DOWN',
            'The device is going down; purge it again when it is up.',
          )
      })
    },
    forget: (session) =>
      on(session, async (branch, directory) => {
        if (!store.isEmpty(session)) return
        await ask<'forget'>({ kind: 'forget', directory, branch })
        store.drop(session)
        remove().catch(() => undefined)
      }),
    sweep() {
      if (store.dropped().length > 0 && !isRemoving) remove().catch(() => undefined)
    },
    async close() {
      isClosing = true
      for (const session of looks.keys()) endLooks(session)
      while (turns.size > 0) await Promise.allSettled(turns.values())
      await removing?.catch(() => undefined)
      await threads.retire()
    },
  }
}
