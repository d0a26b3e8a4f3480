/**
 * One plan at work: the engine of intent/plans/run.ts joined to the journal, the record and the calls. Each step is
 * written down before the next; where that cannot be, nothing more of the plan is done.
 * Rules: docs/plans.md.
 * @module
 */

import { reasonOf } from '../../errors.ts'
import type { ReadyPlan } from '../../intent/plans/gate.ts'
import type { PlanJournal } from '../../intent/plans/plan-journal.ts'
import { newRun, type RunEnd, type RunInput, type RunOutput, stepRun } from '../../intent/plans/run.ts'
import type { CallResult, PlanDelivery, PlanEvents, PlanRunner } from '../common/plan-room.ts'
import type { Rooms } from '../common/rooms.ts'
import { haltWithoutRoom } from '../decisions/kept-first.ts'
import { recordAnyway } from '../standing/record-anyway.ts'
import { doCall, executionOf, withoutOutput } from './plan-call.ts'
import { deliverTo, partOf, RESULTS_WAIT, summaryOf } from './plan-results.ts'

export type RunGround = {
  readonly rooms: Rooms
  readonly journal: PlanJournal
  /** What the journal calls it. */
  readonly key: string
  readonly deliver: (delivery: PlanDelivery) => void
  /** Whether what one more call comes to can be kept for whoever is told. */
  readonly hasRoom: () => boolean
  readonly ready: ReadyPlan
  readonly runner: PlanRunner
  readonly events: PlanEvents
  /** Once, after the last of it. */
  readonly over: () => void
}

export type PlanRun = {
  go(): void
  /** No call begins any more: one that runs may end, one that waits is given up. */
  stop(): void
}

/** A run of a plan that is used up and on the record; it holds its session as a command does. */
export function createPlanRun(ground: RunGround): PlanRun {
  const { rooms, journal, key, deliver, hasRoom, ready, runner, events, over } = ground
  const { plan, calls } = ready
  const { caller, session } = runner
  const names = { plan_id: plan.id, agent: caller.name, instance: session.instance, session: session.id }
  const receivers = [plan.issuer, caller.name]
  const told = { issuer: plan.issuer, planId: plan.id, sessionId: plan.sessionId }
  let state = newRun(calls.length)
  let isUnanswered = false
  let isFinished = false
  let isTold = true
  let giveUp = (): void => {}
  const waiting: RunInput<CallResult>[] = []
  let isBusy = false

  /** One at a time: what happens while something is done about what happened before comes after it. */
  function input(given: RunInput<CallResult>): void {
    waiting.push(given)
    if (isBusy) return
    isBusy = true
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const step = stepRun(state, next)
      state = step.state
      for (const output of step.outputs) if (!carriedOut(output)) break
    }
    isBusy = false
  }

  /** False: it could not be, and nothing that follows is done. */
  function carriedOut(output: RunOutput<CallResult>): boolean {
    if (isFinished) return false
    try {
      carryOut(output)
      return true
    } catch (cause) {
      haltWithoutRoom(rooms, cause)
      rooms.log.write('error', 'plan_failed', { reason: reasonOf(cause) })
      finish('interrupted')
      return false
    }
  }

  function carryOut(output: RunOutput<CallResult>): void {
    switch (output.kind) {
      case 'start':
        return start(output.at)
      case 'ended':
        return ended(output.at, output.outcome)
      case 'over':
        journal.over(key, output.end)
        return finish(output.end)
    }
  }

  function start(at: number): void {
    const one = calls[at]
    if (one === undefined) return
    if (!hasRoom() || !isTold)
      return input({
        kind: 'ended',
        outcome: withoutOutput(
          'refused',
          `It was not started, because no more results can be kept for those who are told: ${RESULTS_WAIT}.`,
        ),
      })
    giveUp = doCall({
      ...{ rooms, runner, plan, key },
      ready: one,
      waits: events.waits,
      begins: () => journal.begin(key, at),
      unanswered(verdict) {
        isUnanswered = true
        events.unanswered?.(verdict)
      },
      done: (outcome) => input({ kind: 'ended', outcome }),
    })
  }

  function ended(at: number, result: CallResult): void {
    journal.end(key, at, result)
    const call = plan.calls[at]
    if (call === undefined) return
    const execution = executionOf(key, call.id)
    recordAnyway(rooms, {
      type: 'tool_executed',
      ...names,
      issuer: plan.issuer,
      ...{ tool_call_id: call.id, tool_name: call.tool, execution },
      ...{ outcome: result.kind, number: result.number },
    })
    if (isUnanswered) return
    events.call?.(at, result)
    const part = partOf(call, execution, result)
    isTold = deliverTo(deliver, rooms.log, receivers, told, at, part) && isTold
  }

  function finish(end: RunEnd): void {
    if (isFinished) return
    isFinished = true
    recordAnyway(rooms, { type: 'plan', what: 'ended', ...names, end })
    rooms.sessions.executionEnded(session.id, rooms.clock.monotonicMs())
    over()
    const record = isUnanswered ? undefined : journal.find(key)
    if (record !== undefined) {
      const summary = summaryOf({ ...record, state: end })
      isTold = deliverTo(deliver, rooms.log, receivers, told, 'summary', summary) && isTold
    }
    // One whose end could not be written down is ended, and told, by the next start.
    if (isTold && record?.state !== 'running') noteTold()
    events.over?.(end)
  }

  /** What cannot be noted is told again at the next start, under the same ids. */
  function noteTold(): void {
    try {
      journal.told(key)
    } catch (cause) {
      rooms.log.write('error', 'plan_failed', { reason: reasonOf(cause) })
    }
  }

  return {
    go() {
      rooms.sessions.apply(session, 'started', rooms.clock.monotonicMs())
      input({ kind: 'go' })
    },
    stop() {
      input({ kind: 'stop' })
      giveUp()
    },
  }
}
