/**
 * RunPlan, PlanStatus and ShowTools: a plan that comes over a connection, or that was kept for whoever asks, run with
 * the rights of the caller. What its calls print goes ahead of the end, within the credit of the stream; whoever leaves
 * meanwhile asks for the state later, and the plan goes on.
 * Rules: docs/plans.md; docs/protocol.md, section 3 (70 to 72).
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { utf8Length } from '../../base/encoding/utf8.ts'
import type { JournalCall, JournalPlan } from '../../intent/plans/plan-journal.ts'
import { LISTED_ENTRIES } from '../../limits.ts'
import { type OutputSource, STDERR, STDOUT } from '../../ports.ts'
import { PLAN_WHY_BYTES, TOOL_ARGS_TOLD } from '../../wire/limits.ts'
import { streamResponse } from '../../wire/messages.ts'
import { planState, toolList } from '../../wire/plan-messages.ts'
import type { MessageInput } from '../../wire/schema.ts'
import { scopeOf } from '../callers/identities.ts'
import type { Call, Handler, Peer, StreamUser } from '../common/peer.ts'
import type { KeptPlan, PlanRoom, PlanRunner } from '../common/plan-room.ts'
import { permitted, whenReading } from '../decisions/permitted.ts'

type Ask = { readonly plan?: Uint8Array; readonly session_id?: string; readonly plan_id?: string }

const OFF =
  'This device runs no plans: an operator names the directory of its tools in intent.tools, and pins who may issue plans.'

function askOf(call: Call): Ask {
  return call.message.ok ? (call.message.value as Ask) : {}
}

function refuse(peer: Peer, call: Call, sentence: string): void {
  peer.connection.fail(call.streamId, 'INTENT_REJECTED', sentence)
}

/** As much of a sentence as a message holds. */
function told(why: string): string {
  let text = why
  while (utf8Length(text) > PLAN_WHY_BYTES) text = text.slice(0, -64)
  return text.replace(/[\ud800-\udbff]$/, '')
}

const bytesOf = (hex: string): Uint8Array => decodeHex(hex) ?? new Uint8Array(0)

function callOf(call: JournalCall, hides: boolean): MessageInput<typeof planState>['calls'] {
  const { id, tool, state, number, why, execution, stdoutBytes, stderrBytes } = call
  // To its caller a call that was answered with nothing is one that runs.
  const isHidden = hides && state === 'unanswered'
  return {
    ...{ tool_call_id: id, tool_name: tool, state: isHidden ? 'begun' : state, number, why: told(why) },
    ...{ execution_id: bytesOf(execution), stdout_bytes: stdoutBytes, stderr_bytes: stderrBytes },
  } as never
}

/** @param hides the caller is not to learn which call was answered with nothing */
function stateOf(plan: JournalPlan, hides: boolean): ReturnType<typeof planState.encode> {
  const isHidden = hides && plan.calls.some(({ state }) => state === 'unanswered')
  return planState.encode({
    ...{ plan_id: plan.planId, session_id: plan.sessionId, issuer: plan.issuer },
    state: isHidden ? 'running' : plan.state,
    calls: plan.calls.map((call) => callOf(call, hides)) as never,
    begun_at: Math.floor(plan.atMs / 1_000),
  })
}

function hidesFrom({ caller, rooms }: Peer): boolean {
  return caller?.role !== 'operator' && rooms.settings.denyResponse !== 'reason'
}

type Piece = { readonly source: OutputSource; readonly data: Uint8Array }

/** The stream of whoever waits for a plan: pieces of output within its credit, then the state. */
function createStream(
  peer: Peer,
  call: Call,
): StreamUser & {
  push(source: OutputSource, data: Uint8Array): void
  end(value: ReturnType<typeof planState.encode>): void
  readonly isHere: boolean
} {
  const pieces: Piece[] = []
  let last: ReturnType<typeof planState.encode> | undefined
  const isHere = (): boolean => peer.user(call.streamId) === user

  function pump(): void {
    if (!isHere()) return
    for (let piece = pieces[0]; piece !== undefined; piece = pieces[0]) {
      const credit = peer.connection.credit(call.streamId)
      if (credit <= 0) return
      const data = piece.data.subarray(0, credit)
      const rest = piece.data.subarray(data.length)
      peer.connection.message(
        call.streamId,
        streamResponse.encode({ source: piece.source, data }),
        data.length,
      )
      if (peer.session !== undefined) peer.session.deliveredBytes += data.length
      if (rest.length === 0) pieces.shift()
      else pieces[0] = { source: piece.source, data: rest }
    }
    if (last === undefined) return
    peer.streamDone(call.streamId)
    peer.connection.end(call.streamId, last)
  }

  const user = {
    message() {},
    ended() {},
    credit: pump,
    stdinDrained() {},
    leave() {
      pieces.length = 0
    },
    push(source: OutputSource, data: Uint8Array) {
      if (data.length > 0) pieces.push({ source, data })
      pump()
    },
    end(value: ReturnType<typeof planState.encode>) {
      last = value
      pump()
    },
    get isHere() {
      return isHere()
    },
  }
  return user
}

type Found = Pick<KeptPlan, 'bytes'> & { readonly envelope: KeptPlan['envelope'] | undefined }

/** The plan of a request: given, or kept for the caller. */
function planOf({ plan, session_id: sessionId }: Ask, plans: PlanRoom, { caller }: Peer): Found | undefined {
  if (plan !== undefined) return { bytes: plan, envelope: undefined }
  return sessionId === undefined ? undefined : plans.kept(sessionId, caller?.name ?? '')
}

function runnerOf(peer: Peer): PlanRunner | undefined {
  const { caller, session, source, transport, channelBinding } = peer
  if (caller === undefined || session === undefined) return undefined
  const agreed = {
    ...transport.agreement,
    hasExporter: channelBinding !== undefined,
    frameProblem: undefined,
  }
  return { caller, session, source, transport: agreed }
}

const runPlan: Handler = (peer, call) => {
  const { plans } = peer.rooms
  const found = plans === undefined ? undefined : planOf(askOf(call), plans, peer)
  const digest = found === undefined ? '' : encodeHex(sha256(found.bytes))
  permitted(peer, call, { kind: 'run_plan', digest }, () => {
    const runner = runnerOf(peer)
    if (plans === undefined || runner === undefined) return refuse(peer, call, OFF)
    if (found === undefined)
      return refuse(
        peer,
        call,
        'No plan was given, and none is kept for you under that session, or it was run before: send the plan itself, or its session_id.',
      )
    const stream = createStream(peer, call)
    peer.join(call.streamId, stream)
    let key = ''
    const started = plans.start(found.bytes, runner, found.envelope, {
      waits(message, dataBytes) {
        if (stream.isHere) peer.connection.message(call.streamId, message, dataBytes)
      },
      call(_at, { stdout, stderr }) {
        stream.push(STDOUT, stdout)
        stream.push(STDERR, stderr)
      },
      unanswered(verdict) {
        if (!stream.isHere) return
        peer.streamDone(call.streamId)
        peer.refuse(verdict, call)
      },
      over() {
        const plan = plans.find(key)
        if (plan !== undefined && stream.isHere) stream.end(stateOf(plan, hidesFrom(peer)))
      },
    })
    if (started.kind === 'running') {
      key = started.key
      if (found.envelope !== undefined) plans.drop(found.envelope.sessionId, runner.caller.name)
      // It may have ended at once.
      const plan = plans.find(key)
      if (plan !== undefined && plan.state !== 'running' && stream.isHere)
        stream.end(stateOf(plan, hidesFrom(peer)))
      return
    }
    peer.streamDone(call.streamId)
    refuse(peer, call, started.refusal.sentence)
  })
}

const planStatus: Handler = (peer, call) => {
  const { plans } = peer.rooms
  const { plan_id: planId, session_id: sessionId } = askOf(call)
  whenReading(peer, call, () => {
    if (plans === undefined) return refuse(peer, call, OFF)
    const scope = scopeOf(peer.caller)
    const found = planId === undefined ? [plans.newestOf(sessionId ?? '', scope)] : plans.withId(planId)
    const own = found.findLast((one) => one?.scope === scope || one?.issuer === peer.caller?.name)
    const plan = own ?? (peer.caller?.role === 'operator' ? found.at(-1) : undefined)
    if (plan === undefined)
      return refuse(peer, call, 'No plan of that id or session was run by you here: look at the id.')
    peer.connection.end(call.streamId, stateOf(plan, hidesFrom(peer)))
  })
}

const showTools: Handler = (peer, call) =>
  whenReading(peer, call, () => {
    const { plans } = peer.rooms
    if (plans === undefined) return refuse(peer, call, OFF)
    const { loaded, refused } = plans.settings.tools
    const tools = [...loaded.values()].map(({ name, version, tier, permissions, args }) => ({
      ...{ name, version, tier, permissions, is_loaded: true },
      args: args.slice(0, TOOL_ARGS_TOLD).filter((one) => utf8Length(one) <= 128),
    }))
    const others =
      peer.caller?.role === 'operator' ? refused.map(({ file, why }) => ({ name: file, why: told(why) })) : []
    const listed = [...tools, ...others].slice(0, LISTED_ENTRIES)
    peer.connection.end(call.streamId, toolList.encode({ tools: listed as never }))
  })

export const PLAN_HANDLERS = Object.freeze({
  RunPlan: runPlan,
  PlanStatus: planStatus,
  ShowTools: showTools,
})
