/**
 * Plans at work: looked at as a whole, used up, then run call after call, each written down before it starts and after
 * it has ended, and each decided like a command of whoever runs the plan. What an earlier daemon did not see the end of
 * is ended here and never gone on with.
 * Rules: docs/plans.md; SAOE 2.4.
 * @module
 */

import { equalConstantTime, sha256 } from '../../base/crypto/hash.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { grantsTool } from '../../defense/tools.ts'
import { Warrant } from '../../defense/warrant.ts'
import { reasonOf } from '../../errors.ts'
import type { PlanGround, PlanRefusal } from '../../intent/plans/gate.ts'
import { PLANS_RUNNING } from '../../intent/plans/limits.ts'
import type { PlanJournal } from '../../intent/plans/plan-journal.ts'
import { methodNamed } from '../../wire/methods.ts'
import { factsOf, scopeOf } from '../callers/identities.ts'
import { createSession, instanceOf } from '../callers/new-session.ts'
import type {
  KeptPlan,
  PlanDelivery,
  PlanEnvelope,
  PlanEvents,
  PlanRoom,
  PlanRunner,
  PlanSettings,
  StartedPlan,
} from '../common/plan-room.ts'
import type { Rooms } from '../common/rooms.ts'
import { attempt } from '../decisions/attempt.ts'
import { recordAnyway } from '../standing/record-anyway.ts'
import { createPlanAsker, SIGNED_SOURCE } from './plan-asker.ts'
import { executionOf, outcomeOf } from './plan-call.ts'
import { deliverLeft, noteRefused, RESULTS_WAIT, refused } from './plan-results.ts'
import { createPlanRun, type PlanRun } from './plan-run.ts'

/** Plans that wait for whoever runs them, as files. */
export type KeptPlans = {
  /**
   * @param isOver whether one that is kept can never run any more: its place is free
   * @throws SassError STATE_UNWRITABLE; false: as many as may wait do
   */
  put(sessionId: string, receiver: string, plan: KeptPlan, isOver: (plan: Uint8Array) => boolean): boolean
  get(sessionId: string, receiver: string): KeptPlan | undefined
  drop(sessionId: string, receiver: string): void
  readonly count: number
}

export type PlanRoomGround = {
  readonly rooms: () => Rooms
  readonly settings: PlanSettings
  readonly journal: PlanJournal
  readonly kept: KeptPlans
  /** Takes what is for an agent that nobody is connected for. */
  readonly deliver: (delivery: PlanDelivery) => void
  /** Whether what one more call comes to can be kept for them. */
  readonly hasRoom: () => boolean
}

export function createPlanRoom(ground: PlanRoomGround): PlanRoom {
  const { journal, kept, deliver, hasRoom } = ground
  const runs = new Set<PlanRun>()

  function hasTools({ caller, session }: PlanRunner): PlanGround['has'] {
    const { identities } = ground.rooms()
    const facts = factsOf(caller, identities, session)
    if (facts.kind !== 'known') return () => false
    const lists = [facts.tools, ...(facts.delegation?.chain.map(({ tools }) => tools) ?? [])]
    return (tool) => grantsTool(facts.tier, lists, tool)
  }

  /** What its envelope may not have run is remembered, so that it is not run by leaving the envelope away. */
  function bindTo(envelope: PlanEnvelope | undefined, { code, planId, issuer }: PlanRefusal): void {
    // Of another sender it says nothing: he would only use up what is not his.
    if (planId === undefined || issuer === undefined || envelope?.sender !== issuer) return
    if (code === 'session_mismatch' || code === 'argument_not_allowed')
      journal.refuse(planId, issuer, ground.rooms().clock.wallMs())
  }

  function start(
    bytes: Uint8Array,
    runner: PlanRunner,
    envelope: PlanEnvelope | undefined,
    events: PlanEvents = {},
  ): StartedPlan {
    const refuse = (refusal: PlanRefusal): StartedPlan => {
      noteRefused(ground.rooms(), refusal, bytes, runner)
      bindTo(envelope, refusal)
      return { kind: 'refused', refusal }
    }
    const { clock } = ground.rooms()
    const { gate, tools } = room.settings
    const found = gate.check(bytes, {
      nowMs: clock.wallMs(),
      ...{ wasUsed: journal.wasUsed, wasRefused: journal.wasRefused },
      tools: tools.loaded,
      envelope,
      has: hasTools(runner),
    })
    if (found.kind === 'refused') return refuse(found.refusal)
    const { plan } = found
    if (runs.size >= PLANS_RUNNING)
      return refuse(refused('busy', plan.id, `${PLANS_RUNNING} plans run already`, 'run it again later'))
    if (!hasRoom())
      return refuse(
        refused('busy', plan.id, 'no more results can be kept for those who are told', RESULTS_WAIT),
      )
    const key = journal.keyOf(plan.id, plan.issuer)
    const use = {
      planId: plan.id,
      sessionId: plan.sessionId,
      issuer: plan.issuer,
      runner: runner.caller.name,
      scope: scopeOf(runner.caller),
      sha256: encodeHex(sha256(bytes)),
      atMs: clock.wallMs(),
      calls: plan.calls.map(({ id, tool }) => ({ id, tool, execution: executionOf(key, id) })),
    }
    if (!journal.use(use))
      return refuse(
        refused(
          'used',
          plan.id,
          'it was run before, or no more plans can be remembered',
          'have a new one signed',
        ),
      )
    const rooms = ground.rooms()
    // It is used up by now: whatever goes wrong from here on, it does not run again.
    rooms.audit.append({
      type: 'plan',
      what: 'begun',
      ...{ plan_id: plan.id, plan_session: plan.sessionId, issuer: plan.issuer, sha256: use.sha256 },
      ...{ agent: use.runner, instance: runner.session.instance, session: runner.session.id },
      calls: plan.calls.length,
    })
    const run = createPlanRun({
      ...{ rooms, journal, key, deliver, hasRoom, ready: found, runner, events },
      over: () => runs.delete(run),
    })
    runs.add(run)
    run.go()
    return { kind: 'running', key }
  }

  function runSigned(bytes: Uint8Array, envelope: PlanEnvelope): StartedPlan {
    const rooms = ground.rooms()
    const caller = rooms.identities.find(envelope.sender)
    const session =
      caller === undefined
        ? undefined
        : createSession(rooms, caller, SIGNED_SOURCE.address, {
            instance: instanceOf(rooms, caller),
            isProven: true,
          })
    if (caller === undefined || session === undefined) {
      const refusal = refused(
        'unknown_issuer',
        undefined,
        'its sender has no session here',
        'send it again later',
      )
      noteRefused(rooms, refusal, bytes, caller === undefined ? {} : { caller })
      return { kind: 'refused', refusal }
    }
    const runner: PlanRunner = { caller, session, source: SIGNED_SOURCE, transport: undefined }
    const over = (): void => {
      const { sessions, clock } = ground.rooms()
      session.isHeld = false
      sessions.apply(session, 'destroyed', clock.monotonicMs())
    }
    let started: StartedPlan = {
      kind: 'refused',
      refusal: refused('tool_not_given', undefined, 'its issuer may not run it now', 'see sass-edge why'),
    }
    try {
      decided(bytes, runner, () => {
        started = start(bytes, runner, envelope, { over })
      })
    } finally {
      if (started.kind === 'refused') over()
    }
    return started
  }

  /** That it is to be run is decided as well: an agent under alarm runs none. */
  function decided(bytes: Uint8Array, runner: PlanRunner, go: () => void): void {
    const { asker } = createPlanAsker(ground.rooms(), runner, { waits() {}, refused() {}, unanswered() {} })
    const action = { kind: 'run_plan', digest: encodeHex(sha256(bytes)) } as const
    const call = { streamId: 0, method: methodNamed('RunPlan'), message: { ok: true, value: {} } } as const
    attempt(asker, call, {
      action,
      go(warrant) {
        Warrant.redeem(warrant, action, runner.session.id)
        go()
      },
    })
  }

  const room: PlanRoom = {
    settings: ground.settings,
    get running() {
      return runs.size
    },
    start,
    runSigned,
    keep(bytes, envelope, receiver) {
      const { clock } = ground.rooms()
      const { gate, tools } = room.settings
      const check = (plan: Uint8Array, of?: PlanEnvelope) =>
        gate.check(plan, {
          // One that waits has an envelope, which is what allows it.
          ...{ nowMs: clock.wallMs(), wasUsed: journal.wasUsed, wasRefused: () => false },
          ...{ tools: tools.loaded, envelope: of },
          // Whoever runs it is asked for their tools then.
          has: () => true,
        })
      const isOver = (plan: Uint8Array): boolean => {
        const one = check(plan)
        return one.kind === 'refused' && (one.refusal.code === 'expired' || one.refusal.code === 'used')
      }
      const refuse = (refusal: PlanRefusal): StartedPlan => {
        noteRefused(ground.rooms(), refusal, bytes, {})
        bindTo(envelope, refusal)
        return { kind: 'refused', refusal }
      }
      const found = check(bytes, envelope)
      if (found.kind === 'refused') return refuse(found.refusal)
      const { id, sessionId } = found.plan
      const waiting = kept.get(sessionId, receiver)?.bytes
      if (waiting !== undefined && !equalConstantTime(waiting, bytes) && !isOver(waiting))
        return refuse(
          refused(
            'busy',
            id,
            `another plan of its session waits for ${receiver}`,
            'send it again when that one was run, or have one of another session signed',
          ),
        )
      if (!kept.put(sessionId, receiver, { bytes, envelope }, isOver))
        return refuse(refused('busy', id, 'as many plans as may wait do so', 'send it again later'))
      recordAnyway(ground.rooms(), {
        ...{ type: 'plan', what: 'kept', plan_id: id, plan_session: sessionId },
        ...{ issuer: found.plan.issuer, sha256: encodeHex(sha256(bytes)), agent: receiver },
      })
      return { kind: 'kept' }
    },
    kept: kept.get,
    drop: kept.drop,
    get keptCount() {
      return kept.count
    },
    find: journal.find,
    withId: journal.withId,
    newestOf: journal.newestOf,
    tellLeft() {
      const { log } = ground.rooms()
      try {
        for (const plan of journal.untold())
          if (hasRoom() && deliverLeft(deliver, log, plan)) journal.told(plan.key)
      } catch (cause) {
        log.write('error', 'plan_failed', { reason: reasonOf(cause) })
      }
    },
    stopAll() {
      for (const run of [...runs]) run.stop()
    },
  }

  /** What an earlier daemon left: how each call ended is known where its execution's result was kept. */
  function recover(): void {
    const { executions, log } = ground.rooms()
    for (const plan of journal.open()) {
      for (const [at, call] of plan.calls.entries()) {
        if (call.state !== 'begun') continue
        const known = executions.find(plan.scope, call.execution)
        const outcome = known === undefined ? undefined : outcomeOf(known)
        journal.end(plan.key, at, outcome ?? UNSEEN)
      }
      journal.over(plan.key, 'interrupted')
      log.write('warn', 'plan_interrupted', { plan: plan.planId, agent: plan.runner })
      recordAnyway(ground.rooms(), {
        ...{ type: 'plan', what: 'ended', end: 'interrupted' },
        ...{ plan_id: plan.planId, agent: plan.runner },
      })
    }
  }

  recover()
  return room
}

const UNSEEN = Object.freeze({
  ...{ kind: 'unknown', number: 0, stdoutBytes: 0, stderrBytes: 0 },
  why: 'The daemon was interrupted after the call had begun: whether it ran is not known.',
} as const)
