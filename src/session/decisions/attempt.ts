/**
 * A request on its way to an end: decided, and where the verdict is to wait (for a challenge, a turn, a human) parked
 * on its stream and decided again when what it waits for has come. What would be done is looked up anew each time: a
 * file, a link or a policy may have changed meanwhile. An answer counts only for exactly what it was given to; nothing
 * is done before a verdict permits it, and where the configuration says so before its record is kept for good.
 * Rules: docs/responses.md, sections on R2, R3 and asking a human; docs/protocol.md, sections 5 and 8.
 * @module
 */

import { canonicalize } from '../../base/encoding/canonical-json.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { commandLine } from '../../defense/describe.ts'
import type { Action, Approval, ExecuteAction, Identity, Look, RequestFacts } from '../../defense/facts.ts'
import type { Awaited, Verdict } from '../../defense/verdict.ts'
import type { Warrant } from '../../defense/warrant.ts'
import { CODES, type Code, reasonOf } from '../../errors.ts'
import { MAX_WINDOW_BYTES, PARKED_BYTES, PARKED_STDIN_BYTES, SHOWN_BYTES } from '../../limits.ts'
import type { Place } from '../../sandbox/places/place.ts'
import { SYSTEM } from '../../wire/frame.ts'
import { streamResponse } from '../../wire/messages.ts'
import { describeProblems } from '../../wire/schema.ts'
import type { Asker, Call } from '../common/peer.ts'
import type { Rooms } from '../common/rooms.ts'
import type { ConfirmationOutcome, Pending } from '../standing/confirmations.ts'
import { lookUp } from '../standing/real-paths.ts'
import { mustBeKept, recordNotDone, waitUntilKept } from './kept-first.ts'
import { type Parked, park } from './parking.ts'

export type Aim = {
  readonly action: Action | undefined
  readonly problem?: string
  readonly overExpanded?: boolean
  /** Digest of the declared goal. */
  readonly task?: string | undefined
  readonly identity?: Identity
  /** What the host has looked up for the action. */
  readonly look?: Look
  /** Bytes that would be kept while it waits; a request that weighs too much is refused instead. */
  readonly weight?: number
  /** What a human judges by, beside the action. */
  readonly shown?: () => Json
  /** Does it. Whatever touches the world redeems the warrant before it does. */
  readonly go: (warrant: Warrant) => void
}

/** Nothing that would have to be looked up. */
export const NOT_LOOKED: Look = Object.freeze({ realPaths: Object.freeze([]) })

/** What the words of a command mean on the disk. One that cannot be taken apart is not judged here: the decision denies it. */
export function lookAt({ policy, planner }: Rooms, place: Place | undefined, action: ExecuteAction): Look {
  try {
    return lookUp(policy.effective(action), place?.finder ?? planner.finder, action.cwd, policy)
  } catch {
    return NOT_LOOKED
  }
}

/** One effective command, as a human is shown it. */
const SHOWN_COMMAND_CHARS = 512

export function shownRuns({ policy }: Rooms, action: ExecuteAction): string[] {
  return policy.effective(action).commands.map(({ argv }) => commandLine(argv, SHOWN_COMMAND_CHARS))
}

export type Circumstances = {
  readonly challenge: RequestFacts['challenge']
  readonly approvals: readonly Approval[]
}

export const NO_CIRCUMSTANCES: Circumstances = Object.freeze({
  challenge: 'none',
  approvals: Object.freeze([]),
})

/** The facts of a call; `aim` says what is wrong with it beyond its form. */
export function requestFacts(
  call: Call,
  aim: Pick<Aim, 'problem' | 'overExpanded' | 'task'> = {},
  { challenge, approvals }: Circumstances = NO_CIRCUMSTANCES,
): RequestFacts {
  return {
    method: call.method.name,
    audience: call.method.audience,
    problems: call.message.ok ? (aim.problem ?? '') : describeProblems(call.message.problems),
    overExpanded: aim.overExpanded ?? false,
    challenge,
    approvals,
    task: aim.task,
  }
}

/** What a client is told that waits for a human. */
export const AWAITING = 'awaiting operator'

/** Who asked what of whom, by digests: what was shown is not in the chain. */
function record(
  { rooms, session }: Asker,
  what: 'asked' | 'withdrawn' | ConfirmationOutcome,
  pending: Pending | undefined,
  by: string,
): void {
  if (pending === undefined) return
  const { id, agent, sessionId, layer, rule, digest } = pending
  rooms.audit.append({
    ...{ type: 'confirmation', what, id, agent, instance: session?.instance ?? null, session: sessionId },
    ...{ layer, rule, digest: encodeHex(digest), by },
  })
  rooms.log.write(what === 'asked' ? 'warn' : 'info', 'confirmation', { what, id, agent, rule, by })
}

/** What an answer is bound to: the exact action, and where its paths lead. */
function bindingOf({ action, look }: Aim): string {
  const { realPaths, programs = [] } = look ?? NOT_LOOKED
  return canonicalize({ action: (action ?? null) as Json, realPaths, programs })
}

/** The aim of a call, as things are when it is asked for. */
export type AimOf = () => Aim

/** Decides about the call, again and again where it has to wait, and does `go` once it is permitted. */
export function attempt(peer: Asker, call: Call, asked: Aim | AimOf): void {
  const aimOf: AimOf = typeof asked === 'function' ? asked : () => asked
  const { rooms, connection } = peer
  let aim = aimOf()
  /** Of what was decided about when it began to wait. */
  let bound: string | undefined
  let challenge: RequestFacts['challenge'] = 'none'
  let approvals: readonly Approval[] = []
  let parked: Parked | undefined
  /** Takes it out of what it waits in. */
  let withdraw = () => {}
  /** What may be typed into it meanwhile. */
  let parkedBytes = PARKED_STDIN_BYTES

  function holdStream(): void {
    bound = bindingOf(aim)
    if (parked !== undefined) return
    parked = park(
      call,
      () => withdraw(),
      () => parkedBytes,
      () => {
        withdraw()
        refuseHeavy()
      },
    )
    peer.join(call.streamId, parked)
  }

  function release(): void {
    if (parked !== undefined) peer.streamDone(call.streamId)
  }

  function failUnparked(text: string, code: Code = 'RESPONSE_THROTTLED'): void {
    release()
    connection.fail(call.streamId, code, text)
  }

  let told = Number.POSITIVE_INFINITY

  /** Moves up alone: so there are never more of them than places, whatever others do in front. */
  function tellPlace(position: number): void {
    if (position >= told) return
    told = position
    tell(position)
  }

  function tell(position: number, text?: string): void {
    const data = text === undefined ? undefined : encodeUtf8(text)
    connection.message(
      call.streamId,
      streamResponse.encode({
        source: SYSTEM,
        is_queued: true,
        queue_position: position,
        code: CODES.RESPONSE_THROTTLED.number,
        ...(data === undefined ? {} : { data }),
      }),
      data?.length ?? 0,
    )
  }

  /** Whoever has the stream then is given what the caller has typed: what runs, or a screen. */
  function handOver(step: () => void): void {
    release()
    step()
    const user = parked === undefined ? undefined : peer.user(call.streamId)
    if (user !== undefined) parked?.replay(user)
  }

  function refuse(verdict: Verdict): void {
    handOver(() => peer.refuse(verdict, call))
  }

  function go(warrant: Warrant): void {
    handOver(() => aim.go(warrant))
  }

  /** What waits must cost the same whatever it carries: the draft's O(1) of R2 and R3. */
  function refuseHeavy(): void {
    failUnparked(
      `The request would have to wait, and holds more than the ${PARKED_BYTES} bytes that may; send it again later, or in smaller parts.`,
    )
  }

  function waitForTurn(): void {
    holdStream()
    const place = rooms.queue.enter(peer.caller?.name ?? '', () => guarded(decideAgain), tellPlace)
    withdraw = () => place.leave()
  }

  function waitForHuman(verdict: Verdict): void {
    const asked = rooms.confirmations.ask(
      {
        agent: peer.caller?.name ?? '',
        sessionId: peer.session?.id ?? '',
        layer: verdict.layer,
        rule: verdict.rule,
        reason: verdict.reason,
        shown: {
          action: (aim.action ?? null) as Json,
          reason: verdict.reason,
          links: (aim.look ?? NOT_LOOKED).realPaths,
          more: aim.shown?.() ?? null,
        },
      },
      (outcome, by) =>
        guarded(() => {
          record(peer, outcome, asked?.pending, by)
          answered(verdict.rule, outcome)
        }),
    )
    // Too long to be judged by looking at it: nobody is asked, and nobody said no.
    if (asked === undefined) return refuseUnshown()
    holdStream()
    withdraw = () => {
      asked.withdraw()
      // It has happened, whatever can be written: the rest of the connection must be given back all the same.
      try {
        record(peer, 'withdrawn', asked.pending, '')
      } catch (cause) {
        rooms.log.write('error', 'audit_failed', { reason: reasonOf(cause) })
      }
    }
    record(peer, 'asked', asked.pending, '')
    tell(1, AWAITING)
  }

  function refuseUnshown(): void {
    failUnparked(
      `The request would have to be shown to a human, and is longer than the ${SHOWN_BYTES} bytes that can be; send it in smaller parts.`,
    )
  }

  /** Its messages are another kind: there is no way to tell it what it waits for. */
  function refuseUntold(response: string, awaits?: Awaited): void {
    if (response === 'CHALLENGE')
      return failUnparked(
        'A challenge must be met first: renew the session, then ask again.',
        'RESPONSE_CHALLENGE_REQUIRED',
      )
    failUnparked(
      awaits === 'operator'
        ? 'A human would be asked about this, and this method cannot wait for an answer: do it by a command (ExecuteStream), or ask whoever you work for.'
        : 'The request would have to wait; send it again later.',
    )
  }

  function answered(rule: string, outcome: ConfirmationOutcome): void {
    approvals = [...approvals, { rule, outcome }]
    decideAgain()
  }

  function waitForChallenge(verdict: Verdict): void {
    const issued = peer.challenge((outcome) => {
      withdraw = () => {}
      // Everything else ends the connection, which the one who answered or the clock has decided.
      if (outcome !== 'passed') return
      challenge = 'passed'
      guarded(decideAgain)
    })
    if (issued === undefined) return refuse(verdict)
    holdStream()
    withdraw = () => peer.forgetChallenge(issued.challenge_id)
    connection.message(
      call.streamId,
      streamResponse.encode({
        source: SYSTEM,
        challenge: issued,
        code: CODES.RESPONSE_CHALLENGE_REQUIRED.number,
      }),
    )
  }

  /** What comes from a timer, a queue or another connection has nobody above it who would end this one. */
  function guarded(step: () => void): void {
    // Its stream was given up while it waited: it is nobody's any more.
    if (parked !== undefined && peer.user(call.streamId) !== parked) return
    try {
      step()
    } catch (cause) {
      peer.fail(call, cause)
    }
  }

  /** Everything but a loss of power would find what is done next in the record: that must, too. */
  function waitForRecord(action: Action, warrant: Warrant): void {
    // It has a place already: what it may keep is bounded by its credit.
    parkedBytes = MAX_WINDOW_BYTES
    holdStream()
    withdraw = waitUntilKept(peer, action, warrant, (problem, isAsItWas) => {
      withdraw = () => {}
      guarded(() => {
        if (problem !== undefined) throw problem
        if (isAsItWas && bindingOf(aimOf()) === bound) return go(warrant)
        recordNotDone(peer, action, warrant, 'things were different when its record was kept')
        decideAgain()
      })
    })
  }

  function decideAgain(): void {
    withdraw = () => {}
    parkedBytes = PARKED_STDIN_BYTES
    if (parked !== undefined) {
      aim = aimOf()
      // It is another thing by now: whatever was answered was not about this.
      if (bindingOf(aim) !== bound) {
        challenge = 'none'
        approvals = []
      }
    }
    // A session that has expired again while its request waited must be renewed again.
    const isStale = challenge === 'passed' && peer.session?.state === 'EXPIRED'
    const verdict = peer.decide(
      requestFacts(call, aim, { challenge: isStale ? 'none' : challenge, approvals }),
      aim.action,
      aim.identity,
      aim.look,
    )
    if (verdict.kind === 'status') return refuse(verdict)
    const isHeavy = (aim.weight ?? 0) > PARKED_BYTES
    const awaits = verdict.response === 'THROTTLE' ? verdict.awaits : undefined
    const waits = verdict.response === 'CHALLENGE' || awaits !== undefined
    if (waits && call.method.responseMore !== streamResponse) return refuseUntold(verdict.response, awaits)
    switch (verdict.response) {
      case 'EXECUTE':
        return mustBeKept(rooms, aim.action)
          ? waitForRecord(aim.action, verdict.warrant)
          : go(verdict.warrant)
      case 'CHALLENGE':
        return isHeavy ? refuseHeavy() : waitForChallenge(verdict)
      case 'THROTTLE':
        if (isHeavy && verdict.awaits !== undefined) return refuseHeavy()
        if (verdict.awaits === 'slot') return waitForTurn()
        return verdict.awaits === 'operator' ? waitForHuman(verdict) : refuse(verdict)
      default:
        return refuse(verdict)
    }
  }

  decideAgain()
}
