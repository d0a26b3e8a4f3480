/**
 * What humans decide about branches: each deed redeems its warrant, is done while nothing runs in the branch and nobody
 * uses it, and leaves a record of what came of it, by digests and counts. Other branches over the same real files see
 * what was merged as soon as nothing runs in them.
 * Rules: docs/sandbox.md (review and merge); docs/responses.md, sections 6 and 7.
 * @module
 */

import { encodeHex } from '../../base/encoding/hex.ts'
import { isWithin } from '../../base/text/lexical-path.ts'
import type { Action, BranchAction } from '../../defense/facts.ts'
import { Warrant } from '../../defense/warrant.ts'
import { reasonOf, SassError } from '../../errors.ts'
import { BRANCHES_MAX, CLOCK_FLOOR_MS, EXECUTION_ID_BYTES, MERGED_KEPT_MS } from '../../limits.ts'
import type { AuditEvent, AuditValue, Clock, Log, Random } from '../../ports.ts'
import type { Branch } from '../../sandbox/branch/files/branch.ts'
import type { BranchStops } from '../../sandbox/branch/store/bounds.ts'
import type {
  BranchWork,
  DiffForm,
  Looker,
  NamedPath,
  Review,
} from '../../sandbox/branch/threads/branch-work.ts'
import type { Places } from '../../sandbox/places/place.ts'
import type { Branches, BranchPermit } from '../common/branch-deeds.ts'
import { type BranchOutcome, count, mergeOutcome, refused, undoOutcome } from '../common/branch-words.ts'
import { createPreserver } from '../common/preserver.ts'
import { isRunning } from '../executions/execution.ts'
import type { Executions } from '../executions/executions.ts'
import type { Transfers } from '../executions/transfers.ts'

export type BranchesGround = {
  readonly branches: BranchWork
  readonly bounds: BranchStops
  readonly places: Places
  readonly rooms: () => { readonly executions: Executions; readonly transfers: Transfers }
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Of what has happened already. */
  readonly record: (event: AuditEvent) => void
}

/** Executions that are named where they stand in the way. */
const NAMED_EXECUTIONS = 3
const NOBODY_LEAVES: Looker['onLeave'] = () => {}
const FORGET_EVERY_MS = 60_000

export function createBranches({
  branches: work,
  bounds,
  places,
  rooms,
  clock,
  random,
  log,
  record,
}: BranchesGround): Branches {
  /** Branches that something is decided about at this moment. */
  const busy = new Set<string>()
  /** Mounted over real files that were changed since, while commands run in them. */
  const stale = new Set<string>()
  /** Looked at by whoever works in them, until the text is read or left. */
  const looked = new Set<string>()
  let lookedAtMs = 0
  let clockSetAtMs = Number.NEGATIVE_INFINITY

  function runningIn(session: string): readonly string[] {
    const sessions = new Set(places.sessionsIn(session))
    if (sessions.size === 0) return []
    return rooms()
      .executions.present()
      .filter((execution) => sessions.has(execution.sessionId) && isRunning(execution))
      .map(({ id }) => id)
  }

  function obstacle(session: string): string | undefined {
    if (work.find(session) === undefined)
      return `There is no branch ${session}: it was merged, dropped or purged, or never made.`
    if (busy.has(session))
      return 'Something else is being done with this branch; wait for it, and look at the branch again.'
    const running = runningIn(session)
    if (running.length === 0) return undefined
    const named = running.slice(0, NAMED_EXECUTIONS).join(', ')
    const more = running.length > NAMED_EXECUTIONS ? ` and ${running.length - NAMED_EXECUTIONS} more` : ''
    return `Commands run in this branch: ${named}${more}. End them first, see sass-edge jobs and kill.`
  }

  function note(permit: BranchPermit, what: string, more: Readonly<Record<string, AuditValue>> = {}): void {
    const { action, warrant, by, instance = null } = permit
    const branch = 'branch' in action ? action.branch : null
    record({ type: 'branch', what, branch, by, instance, warrant: warrant.id, ...more })
    log.write(what.endsWith('failed') ? 'error' : 'info', 'branch', { what, branch: branch ?? '-', by })
  }

  async function remount(session: string): Promise<void> {
    stale.delete(session)
    try {
      await places.without(session, () => Promise.resolve())
    } catch (cause) {
      log.write('warn', 'branch_stale', {
        branch: session,
        reason: reasonOf(cause),
      })
    }
  }

  /** What is beneath the other branches was changed: the kernel promises nothing of them before they are mounted anew. */
  async function remountOthers({ session, roots }: Branch): Promise<void> {
    const isShared = (other: Branch) =>
      other.roots.some(({ path }) =>
        roots.some((root) => isWithin(root.path, path) || isWithin(path, root.path)),
      )
    const others = work.list().filter((other) => other.session !== session && isShared(other))
    for (const other of others) if (places.useOf(other.session) !== 'none') stale.add(other.session)
    await remountIdle()
  }

  async function remountIdle(): Promise<void> {
    for (const session of stale) if (places.useOf(session) === 'none') stale.delete(session)
    const idle = [...stale].filter(
      (session) => !busy.has(session) && runningIn(session).length === 0 && places.useOf(session) === 'idle',
    )
    await Promise.all(idle.map(remount))
  }

  async function look(
    session: string,
    form: DiffForm,
    paths: readonly NamedPath[],
    looker: Looker,
  ): Promise<Review & { isPreview: boolean }> {
    const isPreview = runningIn(session).length > 0
    return { ...(await work.review(session, form, paths, looker)), isPreview }
  }

  /** Takes it out of use; what is being moved into it or out of it ends first, and keeps what came. */
  function outOfUse<Result>(session: string, work: () => Promise<Result>): Promise<Result> {
    return places.without(session, async () => {
      await rooms().transfers.endIn(session)
      return work()
    })
  }

  /** Redeems, and does `deed` while the branch is out of use; says why where it is not done. */
  async function decided<Kind extends BranchAction['kind']>(
    permit: BranchPermit,
    kind: Kind,
    deed: (action: Extract<BranchAction, { kind: Kind }>, branch: Branch) => Promise<BranchOutcome>,
  ): Promise<BranchOutcome> {
    const { warrant, action, sessionId } = permit
    Warrant.redeem(warrant, action, sessionId)
    if (!isOfKind(action, kind)) throw new TypeError(`A permit for ${action.kind} is none for ${kind}.`)
    const { branch: session } = action
    const problem = obstacle(session)
    const branch = work.find(session)
    if (problem !== undefined || branch === undefined) {
      const { instance = null } = permit
      record({
        type: 'not_done',
        action: kind,
        warrant: warrant.id,
        instance,
        reason: 'the branch is not free',
      })
      return refused(problem ?? '')
    }
    busy.add(session)
    try {
      return await outOfUse(session, () => deed(action, branch))
    } catch (cause) {
      note(permit, `${kind}_failed`, { reason: cause instanceof Error ? cause.name : 'unknown' })
      throw cause
    } finally {
      busy.delete(session)
      void recheck(session)
    }
  }

  /** It may be smaller now. What cannot be counted stays stopped. */
  function recheck(session: string): Promise<void> {
    return bounds.recheck(session).catch(() => undefined)
  }

  const preserver = createPreserver({
    ...{ work, clock, log, record },
    isFree: (session) => !busy.has(session) && runningIn(session).length === 0,
    async alone(session, deed) {
      busy.add(session)
      try {
        return await outOfUse(session, deed)
      } finally {
        busy.delete(session)
      }
    },
  })

  /** What was written down by another clock than this one's is as old as what is known of it. */
  function ageOf(mergedAtMs: number, now: number): number {
    const knownMs = mergedAtMs < CLOCK_FLOOR_MS ? now : now - clockSetAtMs
    return Math.min(clock.wallMs() - mergedAtMs, knownMs)
  }

  /** One that is merged completely is kept until nobody can want to take that back. */
  function forgetMerged(now: number): void {
    if (now - lookedAtMs < FORGET_EVERY_MS) return
    lookedAtMs = now
    work.sweep()
    const merged = work
      .list()
      .filter(({ session }) => !busy.has(session) && places.useOf(session) === 'none')
      .flatMap(({ session }) => {
        const mergedAtMs = work.mergedAtMs(session)
        return mergedAtMs === undefined || !work.isEmpty(session) ? [] : [{ session, mergedAtMs }]
      })
      .sort((a, b) => a.mergedAtMs - b.mergedAtMs)
    let tooMany = work.list().length - BRANCHES_MAX / 2
    for (const { session, mergedAtMs } of merged) {
      if (ageOf(mergedAtMs, now) < MERGED_KEPT_MS && tooMany-- <= 0) break
      busy.add(session)
      outOfUse(session, () => work.forget(session))
        .then(
          () => record({ type: 'branch', what: 'forgotten', branch: session, by: null }),
          (cause: unknown) =>
            log.write('warn', 'branch_kept', {
              branch: session,
              reason: reasonOf(cause),
            }),
        )
        .finally(() => busy.delete(session))
    }
  }

  return {
    list: () =>
      work
        .list()
        .toSorted((a, b) => b.openedAtMs - a.openedAtMs)
        .map((branch) => ({
          branch,
          sessions: places.sessionsIn(branch.session).length,
          running: runningIn(branch.session).length,
          isEmpty: work.isEmpty(branch.session),
          canUndo: work.mergedAtMs(branch.session) !== undefined,
          stopped: bounds.stopped(branch.session),
        })),
    find: work.find,
    review: (session, form, paths, onLeave = NOBODY_LEAVES) =>
      look(session, form, paths, { isOwn: false, onLeave }),
    async reviewOwn(session, form, paths, onLeave = NOBODY_LEAVES) {
      if (looked.has(session))
        throw new SassError(
          'RESPONSE_THROTTLED',
          'This branch is being looked at already; ask again when that has been answered.',
        )
      looked.add(session)
      try {
        const own = await look(session, form, paths, { isOwn: true, onLeave })
        const { text } = own
        const close = () => {
          looked.delete(session)
          text.close()
        }
        return { ...own, text: { sizeBytes: text.sizeBytes, read: text.read, close } }
      } catch (cause) {
        looked.delete(session)
        throw cause
      }
    },
    async merge(permit, { paths, force }) {
      let changed: Branch | undefined
      const outcome = await decided(permit, 'merge', async ({ digest, heldBack }, branch) => {
        const id = encodeHex(random.bytes(EXECUTION_ID_BYTES))
        const wish = { digest, paths, force, allowHeldBack: heldBack, id }
        const report = await work.merge(branch.session, wish)
        const { outcome: what, conflicts, leftOut } = report
        const { sizeBytes, ...counts } = report.counts
        note(permit, what === 'merged' ? what : `merge_${what}`, {
          digest,
          merge: id,
          ...counts,
          bytes: sizeBytes,
          forced: force.length,
          held_back: heldBack,
          conflicts: conflicts.total,
          left_out: leftOut.total,
        })
        if (what === 'merged') changed = branch
        return mergeOutcome(report)
      })
      if (changed !== undefined) await remountOthers(changed)
      return outcome
    },
    async undo(permit) {
      let changed: Branch | undefined
      const outcome = await decided(permit, 'undo_merge', async (_action, branch) => {
        const report = await work.undo(branch.session)
        note(permit, report.outcome === 'undone' ? 'undone' : `undo_${report.outcome}`, {
          ...(report.outcome === 'none' ? {} : { merge: report.id }),
          ...(report.outcome === 'undone' ? { paths: report.paths } : {}),
        })
        if (report.outcome === 'undone') changed = branch
        return undoOutcome(report)
      })
      if (changed !== undefined) await remountOthers(changed)
      return outcome
    },
    drop: (permit) =>
      decided(permit, 'drop_branch', async (_action, { session }) => {
        await work.drop(session)
        note(permit, 'dropped')
        return {
          ...refused(`The branch of session ${session} is dropped; no real file was touched.`),
          success: true,
        }
      }),
    checkpoint: (permit) =>
      decided(permit, 'checkpoint', async ({ what, number, label }, { session }) => {
        const done = (message: string): BranchOutcome => ({ ...refused(message), success: true })
        switch (what) {
          case 'make': {
            const made = await work.checkpoint(session, label, clock.wallMs())
            note(permit, 'checkpoint', { number: made.number, files: made.files, bytes: made.sizeBytes })
            return done(
              `Checkpoint ${made.number} is made: ${count(made.files, 'file')}, ${count(made.sizeBytes, 'byte')}.`,
            )
          }
          case 'restore': {
            await work.restore(session, number)
            // Held against the real files as they are now: they may have changed since.
            const { changes, conflicts, heldBack, digest } = await work.review(session, 'stat', [])
            note(permit, 'restored', { number, changes, conflicts, digest })
            return done(
              `The branch is as it was at checkpoint ${number}: ${count(changes, 'change')}, ${conflicts} in conflict with the real files, ${heldBack} merged only by name.`,
            )
          }
          case 'remove':
            await work.removeCheckpoint(session, number)
            note(permit, 'checkpoint_removed', { number })
            return done(`Checkpoint ${number} is removed.`)
        }
      }),
    checkpoints: (session) => work.checkpoints(session),
    preserve(session, cause) {
      for (const { session: branch } of work.list())
        if (branch === session || places.sessionsIn(branch).includes(session)) preserver.want(branch, cause)
    },
    async stop(session, why) {
      const sessions = new Set(places.sessionsIn(session))
      const running = rooms().executions
      running.endWhere(({ sessionId }) => sessions.has(sessionId), why)
      record({ type: 'branch', what: 'stopped', branch: session, by: null, why })
      log.write('warn', 'branch_stopped', { branch: session, why })
      try {
        await outOfUse(session, () => Promise.resolve())
      } catch (cause) {
        log.write('error', 'branch_not_stopped', { branch: session, reason: reasonOf(cause) })
      }
    },
    stopped: bounds.stopped,
    async erase(session) {
      const problem = work.find(session) === undefined ? undefined : obstacle(session)
      if (problem !== undefined) return problem
      busy.add(session)
      try {
        await outOfUse(session, () => work.erase(session))
        return undefined
      } finally {
        busy.delete(session)
      }
    },
    async resume() {
      for (const { session, outcome, id, reason } of await work.resume()) {
        if (outcome === 'none') continue
        record({ type: 'branch', what: `resume_${outcome}`, branch: session, by: null, merge: id ?? null })
        log.write(outcome === 'failed' ? 'error' : 'warn', 'merge_resumed', {
          branch: session,
          outcome,
          ...(id === undefined ? {} : { merge: id }),
          ...(reason === undefined ? {} : { reason }),
        })
      }
    },
    clockSet() {
      clockSetAtMs = clock.monotonicMs()
    },
    tick() {
      if (stale.size > 0) void remountIdle()
      preserver.tick()
      forgetMerged(clock.monotonicMs())
    },
  }
}

function isOfKind<Kind extends BranchAction['kind']>(
  action: Action,
  kind: Kind,
): action is Extract<BranchAction, { kind: Kind }> {
  return action.kind === kind
}
