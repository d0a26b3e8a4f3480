/**
 * Plans on the stage of the rooms: an agent that is let in, calls of a tool whose file is the one of its manifest, and
 * what its caller heard. The journal is the real one.
 * @module
 */
import type { Test } from 'tap'
import { publicKeyOf, verifyWith } from '../../../src/base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'
import { createKeptPlans } from '../../../src/edge/intent/kept-plans.node.ts'
import { openPlanJournal } from '../../../src/edge/intent/plan-journal.node.ts'
import { createPlanGate, type ReadyCall, type ReadyPlan } from '../../../src/intent/plans/gate.ts'
import type { UnsignedPlan } from '../../../src/intent/plans/plan.ts'
import { createSession, instanceOf } from '../../../src/session/callers/new-session.ts'
import type { CallResult, PlanDelivery, PlanRunner } from '../../../src/session/common/plan-room.ts'
import { SIGNED_SOURCE } from '../../../src/session/intent/plan-asker.ts'
import { doCall } from '../../../src/session/intent/plan-call.ts'
import { createPlanRoom } from '../../../src/session/intent/plan-room.ts'
import { seedOf } from '../../intent/ground.ts'
import { bytesOf, judged, pinOf, planWith, TOOLS, toolOf } from '../../intent/plans/ground.ts'
import { callerNamed, type Stage, type StageOptions, stageRooms } from '../stage.ts'

const SHA256 = 'ab'.repeat(32)
export const TOOL = toolOf()

/** A stage on which the file of the tool is the one of its manifest, unless `options.finder` says otherwise. */
export function stagePlans(options: StageOptions = {}): {
  readonly staged: Stage
  readonly runner: PlanRunner
} {
  const staged = stageRooms({
    ...options,
    finder: {
      find: (path) => ({ path, realPath: path, device: '1', inode: '2' }),
      pin: () => ({ device: '1', inode: '2', size: '3', changedNs: '4', sha256: SHA256 }),
      ...options.finder,
    },
  })
  const caller = callerNamed(staged, 'bot')
  const made = { instance: instanceOf(staged.rooms, caller), isProven: true }
  const session = createSession(staged.rooms, caller, SIGNED_SOURCE.address, made)
  if (session === undefined) throw new Error('there is no session')
  return { staged, runner: { caller, session, source: SIGNED_SOURCE, transport: undefined } }
}

/** A plan of so many calls, as the gate lets it through; calls and session are `c0`, `c1` and `s1`. */
export function readyPlan(size: number): ReadyPlan {
  const tool_calls = Array.from({ length: size }, (_, at) => ({
    ...{ tool_call_id: `c${at}`, tool_name: 'markdown_to_html', args: { markdown: `${at}` } },
  }))
  const found = judged(planWith({ tool_calls }))
  if (found.kind !== 'ready') throw new Error(found.refusal.sentence)
  return found
}

/** Does the first call of a plan; what it came to is in `results`, and what it waited for in `waited`. */
export function stageCall({ staged, runner }: ReturnType<typeof stagePlans>) {
  const { plan, calls } = readyPlan(1)
  const results: CallResult[] = []
  const waited: unknown[] = []
  const unanswered: string[] = []
  const giveUp = doCall({
    ...{ rooms: staged.rooms, runner, plan, key: plan.id, ready: calls[0] as ReadyCall },
    waits: (message) => waited.push(message),
    begins() {},
    unanswered: (verdict) => unanswered.push(verdict.kind === 'response' ? verdict.response : verdict.kind),
    done: (result) => results.push(result),
  })
  return { results, waited, unanswered, giveUp, plan }
}

export function stageJournal(t: Test) {
  const journal = openPlanJournal(`${t.testdir()}/plans.sqlite`)
  t.teardown(journal.close)
  return journal
}

/** A plan as it is given, good on the stage's clock. */
export function givenPlan(planId: string, more: Partial<UnsignedPlan> = {}, seed?: Uint8Array): Uint8Array {
  const times = { timestamp_utc: '2027-01-15T07:00:00+00:00', expires_utc: '2027-01-16T00:00:00+00:00' }
  return bytesOf(planWith({ plan_id: planId, ...times, ...more }, seed))
}

/** The room of plans with what it delivers; `state.hasRoom` says whether that can be kept. */
export function stageRoom(
  t: Test,
  { staged }: ReturnType<typeof stagePlans>,
  journal = stageJournal(t),
  issuers: Readonly<Record<string, number>> = { over_agent: 3 },
) {
  const keyOf = (name: string) => publicKeyOf(seedOf(issuers[name] ?? 0))
  const made = createPlanGate({
    pins: Object.fromEntries(Object.entries(issuers).map(([name, seed]) => [name, pinOf(seedOf(seed))])),
    ...{ keyOf, keysNow: (name) => [keyOf(name)], sha256: hostSha256, verify: verifyWith },
    plansWithoutExpiry: false,
  })
  if (!made.ok) throw new Error(made.problem)
  const delivered: PlanDelivery[] = []
  const state = { hasRoom: true }
  const room = createPlanRoom({
    ...{ rooms: () => staged.rooms, journal, kept: createKeptPlans(`${t.testdir()}/kept`) },
    settings: { gate: made.gate, tools: { loaded: TOOLS, refused: [] } },
    deliver: (delivery) => delivered.push(delivery),
    hasRoom: () => state.hasRoom,
  })
  return { room, journal, delivered, state }
}
