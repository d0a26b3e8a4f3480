/**
 * Plans on the stage of the rooms: an agent that is let in, calls of a tool whose file is the one of its manifest, and
 * what its caller heard. The journal is the real one.
 * @module
 */
import type { Test } from 'tap'
import { openPlanJournal } from '../../../src/edge/intent/plan-journal.node.ts'
import type { ReadyCall, ReadyPlan } from '../../../src/intent/plans/gate.ts'
import { createSession, instanceOf } from '../../../src/session/callers/new-session.ts'
import type { CallResult, PlanRunner } from '../../../src/session/common/plan-room.ts'
import { SIGNED_SOURCE } from '../../../src/session/intent/plan-asker.ts'
import { doCall } from '../../../src/session/intent/plan-call.ts'
import { judged, planWith, toolOf } from '../../intent/plans/ground.ts'
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
    ...{ rooms: staged.rooms, runner, plan, ready: calls[0] as ReadyCall },
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
