/**
 * One call of a plan, as a command of whoever runs it: planned in its session's place, decided like any other, started on
 * a warrant with the file of the tool's manifest and no other, and watched to its end. Its id follows from the plan, so
 * that the ground beneath it does not start it twice either.
 * Rules: docs/plans.md; docs/protocol.md, section 3 (at most once).
 * @module
 */

import { sha256 } from '../../base/crypto/hash.ts'
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import type { Ring } from '../../base/ring.ts'
import type { ExecuteAction } from '../../defense/facts.ts'
import type { Verdict } from '../../defense/verdict.ts'
import type { Warrant } from '../../defense/warrant.ts'
import { reasonOf } from '../../errors.ts'
import type { ReadyCall } from '../../intent/plans/gate.ts'
import { CALL_OUTPUT_BYTES } from '../../intent/plans/limits.ts'
import type { Plan } from '../../intent/plans/plan.ts'
import { type CallOutcome, endedWell } from '../../intent/plans/run.ts'
import { EXECUTION_ID_BYTES, UNARY_OUTPUT_BYTES } from '../../limits.ts'
import { isOnTerms, noPlace, type Place } from '../../sandbox/places/place.ts'
import { makePlan, type Planned } from '../../sandbox/places/plan.ts'
import type { ExecuteRequest } from '../../wire/messages.ts'
import { methodNamed } from '../../wire/methods.ts'
import { ownScope } from '../common/peer.ts'
import type { CallResult, PlanEvents, PlanRunner } from '../common/plan-room.ts'
import { type Rooms, setOf, tenantOf } from '../common/rooms.ts'
import { type Aim, attempt, lookAt, shownRuns } from '../decisions/attempt.ts'
import { haltWithoutRoom, recordNotDone } from '../decisions/kept-first.ts'
import { type Execution, isRunning, type Watcher } from '../executions/execution.ts'
import { executeAction, smallest } from '../standing/execute-action.ts'
import { createPlanAsker } from './plan-asker.ts'

/** Whoever attaches to it by its id watches it in our place: then it is looked at so often. */
const LOOK_AGAIN_MS = 250
const WITHHELD =
  'What it printed gives orders to whoever reads it and was withheld, so nothing follows it: ask an operator.'
const NOTHING = new Uint8Array(0)

const silent = { number: 0, why: '', stdoutBytes: 0, stderrBytes: 0, stdout: NOTHING, stderr: NOTHING }

/** An outcome of which nothing ran. */
export function withoutOutput(kind: CallOutcome['kind'], why = '', number = 0): CallResult {
  return { ...silent, kind, why, number }
}

/**
 * The id of the execution that a call is, 32 hexadecimal digits: the same for the same call, for ever.
 * @param key what the journal calls its plan
 */
export function executionOf(key: string, callId: string): string {
  return encodeHex(sha256(encodeUtf8(`sass-plan-call-v1\n${key}\n${callId}`)).slice(0, EXECUTION_ID_BYTES))
}

/** How an execution has ended, as the plan has it; undefined: it has not. */
export function outcomeOf(execution: Execution): CallOutcome | undefined {
  const { exit, state, errno, why, timedOut, outputBytes } = execution
  const [stdoutBytes, stderrBytes] = outputBytes
  const said = why ?? (timedOut ? 'It took longer than its time.' : '')
  if (state === 'not_started') return { ...silent, kind: 'not_started', number: errno, why: said }
  if (state === 'unknown') return { ...silent, kind: 'unknown', why: said }
  if (exit === undefined) return undefined
  // It was ended, and said goodbye politely: what follows was meant for one that did its work.
  const kind = timedOut && exit.kind === 'exited' && exit.code === 0 ? 'refused' : 'exited'
  return exit.kind === 'exited'
    ? { kind, number: exit.code, why: said, stdoutBytes, stderrBytes }
    : { kind: 'signalled', number: exit.signal, why: said, stdoutBytes, stderrBytes }
}

function headOf(ring: Ring | undefined): Uint8Array {
  if (ring === undefined) return NOTHING
  const head = new Uint8Array(Math.min(CALL_OUTPUT_BYTES, ring.totalBytes - ring.oldestOffset))
  ring.copyOut(ring.oldestOffset, head)
  return head
}

function requestOf({ words, tool }: ReadyCall): ExecuteRequest {
  return {
    ...{ command: tool.executable, args: words, cwd: undefined, env: undefined, execution_id: undefined },
    ...{ session_id: undefined, is_reattach: false, resume_offset: 0, raw_payload: undefined, stdin: false },
    ...{ pty: undefined, resume_offset_stderr: 0, accept: 0, declared_goal: undefined, tail: undefined },
    ...{ timeout_seconds: tool.timeoutSeconds, keep_background: false },
  }
}

/** As outcomeOf, of one that ran here: where orders were found in what it printed and nobody let them go on, it failed. */
function outcomeHere(execution: Execution): CallOutcome | undefined {
  const outcome = outcomeOf(execution)
  const isWithheld = execution.screened?.screens.some(({ held }) => held === 'withheld') === true
  if (outcome === undefined || !isWithheld || !endedWell(outcome)) return outcome
  return { ...outcome, kind: 'refused', why: WITHHELD }
}

/** What is handed on of a call that has ended well: whole and as its tool's manifest says, or with a word about it. */
function handedOn(result: CallResult, { name, checkResult }: ReadyCall['tool']): CallResult {
  const { why, stdout, stdoutBytes } = result
  if (!endedWell(result)) return result
  const isCut = stdout.length < stdoutBytes
  const cut = `of ${stdoutBytes} bytes that it printed the first ${stdout.length} are kept`
  const wrong = checkResult?.(isCut ? NOTHING : stdout)
  if (wrong !== undefined) {
    const sentence = `What ${name} printed is not what its manifest says, so nothing of it goes on: ${isCut ? cut : wrong}.`
    return { ...result, kind: 'refused', number: 0, why: sentence, stdout: NOTHING, stderr: NOTHING }
  }
  return isCut && why === '' ? { ...result, why: `It was cut: ${cut}.` } : result
}

export type CallGround = {
  readonly rooms: Rooms
  readonly runner: PlanRunner
  readonly plan: Plan
  readonly key: string
  readonly ready: ReadyCall
  readonly waits?: PlanEvents['waits']
  /** It is permitted and starts next. @throws where that cannot be written down: then it does not start */
  readonly begins: () => void
  /** Decided against by a response that tells nothing; `done` follows. */
  readonly unanswered?: ((verdict: Verdict) => void) | undefined
  /** Once, last. */
  readonly done: (result: CallResult) => void
}

/** Does the call; the returned function gives it up where it has not started. `done` is called in any case. */
export function doCall({
  rooms,
  runner,
  plan,
  key,
  ready,
  waits,
  begins,
  unanswered,
  done,
}: CallGround): () => void {
  const { session } = runner
  const { call, tool, words } = ready
  const id = executionOf(key, call.id)
  let execution: Execution | undefined
  let isOver = false

  function finish(result: CallResult): void {
    if (isOver) return
    isOver = true
    done(handedOn(result, tool))
  }

  const { asker, leave } = createPlanAsker(rooms, runner, {
    waits: (message, dataBytes) => waits?.(message, dataBytes),
    refused: (code, text) => finish(withoutOutput('refused', `${code} ${text}`)),
    unanswered(verdict) {
      unanswered?.(verdict)
      finish(withoutOutput('unanswered'))
    },
  })
  const scope = () => ownScope(asker)

  function ended(): void {
    const outcome = execution === undefined ? undefined : outcomeHere(execution)
    if (execution === undefined || outcome === undefined) return
    const { rings } = execution
    const result = { ...outcome, stdout: headOf(rings?.stdout), stderr: headOf(rings?.stderr) }
    rooms.executions.leave(execution, watcher)
    finish(result)
  }

  /** Somebody else watches it: it has ended when it runs no more. */
  function lookAgain(): void {
    rooms.clock.after(LOOK_AGAIN_MS, () => {
      const found = rooms.executions.find(scope(), id)
      if (found !== undefined && isRunning(found)) return lookAgain()
      const outcome = found && outcomeHere(found)
      finish({ ...silent, ...outcome, kind: outcome?.kind ?? 'unknown' })
    })
  }

  const watcher: Watcher = {
    started() {},
    output() {},
    stdinDrained() {},
    finished: ended,
    notStarted: ended,
    replaced: lookAgain,
  }

  function aimOf(place: Place | undefined): Aim {
    const { policy, planner, settings } = rooms
    const request = requestOf(ready)
    const set = setOf(rooms, asker.caller, session)
    const pins = { ...policy.security.pins, [tool.executable]: tool.sha256 }
    const argv = [tool.executable, ...words]
    const result = makePlan(planner, place, request, argv, set?.allowed_env ?? [], pins)
    if (!result.ok) return { action: undefined, problem: result.problem, go() {} }
    const timeout = smallest(tool.timeoutSeconds, set?.timeout_seconds, settings.toolTimeoutSeconds)
    const outputBytes = smallest(tool.outputBytes, set?.output_bytes, settings.outputBytes)
    const made = executeAction(result.planned, request, id, timeout, outputBytes, place)
    const of = { call: call.id, id: plan.id, issuer: plan.issuer, sha256: tool.sha256, tool: tool.name }
    const action: ExecuteAction = { ...made, plan: of }
    return {
      action,
      look: lookAt(rooms, place, action),
      weight: words.reduce((sum, word) => sum + word.length, 0),
      shown: () => ({
        plan: plan.id,
        issuer: plan.issuer,
        tool: tool.name,
        runs: shownRuns(rooms, action),
      }),
      go: (warrant) => start(result.planned, place, action, timeout, warrant),
    }
  }

  function start(
    { plan: spawnPlan }: Planned,
    place: Place | undefined,
    action: ExecuteAction,
    timeout: number | undefined,
    warrant: Warrant,
  ): void {
    const { caller } = asker
    const isHere = rooms.places.find(session.id) === place
    const isStale = !isHere || (place !== undefined && !isOnTerms(place, tenantOf(rooms, session)))
    const known = rooms.executions.find(scope(), id)
    if (caller === undefined || isStale || (known !== undefined && known.state !== 'not_started')) {
      const why = isStale ? 'its branch was given up meanwhile' : 'it was started before'
      recordNotDone(asker, action, warrant, why)
      return finish(withoutOutput(isStale ? 'refused' : 'unknown', `It was not started: ${why}.`))
    }
    const headBytes = Math.min(UNARY_OUTPUT_BYTES, rooms.settings.ringBytes)
    rooms.sessions.apply(session, 'started', rooms.clock.monotonicMs())
    try {
      begins()
      execution = rooms.executions.start(
        {
          ...{ id, owner: caller.name, scope: scope(), instance: session.instance, sessionId: session.id },
          idBytes: decodeHex(id) ?? NOTHING,
          keepsHead: true,
          isOfPlan: tool.checkResult !== undefined,
          acceptBytes: Math.min(headBytes, action.outputBytes ?? Number.POSITIVE_INFINITY),
          timeoutMs: timeout === undefined ? undefined : timeout * 1_000,
          ...{ plan: spawnPlan, warrant, action },
        },
        watcher,
      )
    } catch (cause) {
      rooms.sessions.executionEnded(session.id, rooms.clock.monotonicMs())
      haltWithoutRoom(rooms, cause)
      recordNotDone(asker, action, warrant, reasonOf(cause))
      throw cause
    }
  }

  /** The share of the record that its agent has comes back over time: a connection waits for it as well. */
  function whenDue(go: () => void): void {
    const wait = rooms.recordShares.nextMs(runner.caller.name) - rooms.clock.monotonicMs()
    if (wait <= 0) return go()
    rooms.clock.after(wait, go)
  }

  function go(place: Place | undefined): void {
    if (isOver) return
    const request = {
      streamId: 0,
      method: methodNamed('ExecuteStream'),
      message: { ok: true, value: {} },
    } as const
    try {
      attempt(asker, request, () => aimOf(place))
    } catch (cause) {
      asker.fail(request, cause)
    }
  }

  whenDue(() => {
    const place = rooms.places.find(session.id)
    if (place !== undefined && isOnTerms(place, tenantOf(rooms, session))) return go(place)
    rooms.places.open(tenantOf(rooms, session)).then(go, (cause: unknown) => {
      const { code, message } = noPlace(cause)
      finish(withoutOutput('refused', `${code} ${message}`))
    })
  })

  return () => {
    if (execution !== undefined) return
    leave()
    finish(withoutOutput('refused', 'The plan was stopped before the call had started.'))
  }
}
