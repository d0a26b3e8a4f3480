/**
 * One cycle of a session's proposals on the daemon: what it is told, what is on the record of it, and its end. What an
 * agent has said, the time and the budget are the daemon's own observations; what the chain has of a cycle are names and
 * digests, in the five streams, and what it was decided from is sealed with the decision.
 * Rules: docs/proposals.md, section on the daemon.
 * @module
 */
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import type { ProposalAction } from '../../defense/facts.ts'
import { begin, end } from '../../intent/proposals/cycle.ts'
import type { CycleInput, Decided } from '../../intent/proposals/decide.ts'
import { BYTES_PER_TOKEN } from '../../intent/proposals/limits.ts'
import { budget, systemEvent, timestamp, userInput } from '../../intent/proposals/observations.ts'
import { Permit } from '../../intent/proposals/permit.ts'
import { artifactOf, type ExecutionEvent } from '../../intent/proposals/streams.ts'
import { RECORD_LINE_BYTES } from '../../limits.ts'
import type { AuditEvent } from '../../ports.ts'
import type { DecideRequest } from '../../wire/proposal-messages.ts'
import { compactTime } from '../callers/instances.ts'
import { namesOf, type Peer } from '../common/peer.ts'
import { type ProposalRun, spend } from '../standing/proposals.ts'

export type Given = Omit<CycleInput, 'cycle' | 'realPaths'>
export type Cycle = {
  readonly run: ProposalRun
  readonly number: number
  readonly input: Omit<CycleInput, 'cycle'>
  readonly decided: Decided
}

/** Of ISO 8601, without the marks between its parts. */
const BASIC_FORM = /^(....)(..)(..)T(..)(..)(..)Z$/
/** Records of one cycle, beside those of its decisions. */
const RECORDS = 5

/** What the daemon observes of a request. Nothing that the agent sends becomes anything but `user_input`. */
export function observed(
  { clock }: Pick<Peer['rooms'], 'clock'>,
  { content, said, tokens }: DecideRequest,
  { hasHole }: ProposalRun,
): readonly Json[] {
  const second = compactTime(clock.wallMs()).replace(BASIC_FORM, '$1-$2-$3T$4:$5:$6Z')
  const all = [
    ...(said === undefined ? [] : [userInput(said)]),
    timestamp(second),
    budget(tokens ?? Math.ceil(content.length / BYTES_PER_TOKEN), 0, 0),
    ...(hasHole ? [systemEvent('executor_integrity_fail', 'Lines of the cycle before had no warrant.')] : []),
  ]
  return all as unknown as readonly Json[]
}

/** Decides the next cycle of the run; nothing is done or recorded. */
export function decidedCycle({ rooms }: Peer, run: ProposalRun, input: Cycle['input']): Cycle {
  return { run, number: run.state.cycle, input, decided: begin(rooms.proposals.law, run.state, input) }
}

/** The cycle as an action: it is sealed with the decision about it, and so decided once more by whoever replays that. */
export function actionOf({ rooms }: Peer, { number, input, decided }: Cycle): ProposalAction {
  const { decision } = decided
  return {
    kind: 'propose',
    cycle: number,
    input: canonicalize(input as unknown as Json),
    constitution: rooms.proposals.law.constitution.digest,
    decision: decision.type,
    tool: decision.type === 'ACTION' ? decision.warrant.action_type : null,
    artifact: canonicalize(artifactOf(decided)),
  }
}

function note(peer: Peer, cycle: number, events: readonly AuditEvent[]): void {
  for (const event of events) peer.rooms.audit.append({ ...namesOf(peer), cycle, ...event })
}

/** The name of what was decided: of a warrant its id, of a record its own. */
function nameOf({ decision }: Decided): string {
  if (decision.type === 'ACTION') return decision.warrant.warrant_id
  return decision.type === 'REFUSE' ? decision.refusal.id : decision.exit.id
}

function reasonOf({ decision }: Decided): string {
  if (decision.type === 'ACTION') return decision.warrant.action_type
  return decision.type === 'REFUSE' ? decision.refusal.reason_code : decision.exit.reason_code
}

/** What was observed, proposed, admitted and selected, before anything is done. */
export function noteDecided(peer: Peer, { number, decided }: Cycle): void {
  const { decision, observations, candidates, admission, selection } = decided
  const { rooms, caller } = peer
  if (caller !== undefined)
    rooms.recordShares.charge(caller.name, RECORDS * RECORD_LINE_BYTES, rooms.clock.monotonicMs())
  note(peer, number, [
    { type: 'proposal_observations', observations: observations.map(({ id }) => id).join(' ') },
    {
      type: 'proposal_artifacts',
      decision: decision.type,
      reason: reasonOf(decided),
      artifact: nameOf(decided),
      requests: candidates.flatMap((one) => (one.ok ? [one.bundle.action_request.id] : [])).join(' '),
    },
    {
      type: 'proposal_admission',
      failed_gate: decision.type === 'REFUSE' ? decision.refusal.failed_gate : 'none',
      rejected: admission
        .filter(({ result }) => result === 'fail')
        .slice(0, 8)
        .map(({ gate, reason_code: code }) => `${gate} ${code}`)
        .join(', '),
    },
    { type: 'proposal_selection', selected: selection?.selected_bundle_hash ?? null },
  ])
}

/** Spends the permit of the cycle. @throws Error where it is not good: nothing may be done then. */
export function redeem(peer: Peer, { run, decided, number }: Cycle): void {
  const { permit, decision } = decided
  if (permit === undefined || decision.type !== 'ACTION') throw new TypeError('A cycle that permits nothing.')
  const problem = Permit.redeem(permit, {
    bundle: decision.bundle,
    cycle: run.state.cycle === number ? number : -1,
    session: peer.session?.id ?? '',
    spent: run.spent,
  })
  if (problem !== undefined) throw new TypeError(`A proposal was not carried out: ${problem}.`)
  spend(run, permit.warrant.warrant_id)
}

/** Ends the cycle with what became of it; `detail` is empty or a code, and nothing that an agent has sent. */
export function finish(
  peer: Peer,
  cycle: Cycle,
  became: { readonly result: 'committed' | 'failed'; readonly detail: string } | undefined,
): void {
  const { run, input, decided, number } = cycle
  const warrant = decided.permit?.warrant
  const executed: readonly ExecutionEvent[] =
    warrant === undefined || became === undefined
      ? []
      : [{ type: 'execution_event', warrant_id: warrant.warrant_id, tool: warrant.action_type, ...became }]
  const session = peer.session?.id ?? ''
  const ended = end(peer.rooms.proposals.law, run.state, { run: session, input, decided, executed })
  // What is logged of a cycle is its record here: each warrant for it is spent with that.
  const committed = ended.appends.filter(
    ({ permit, bundle }) =>
      Permit.redeem(permit, { bundle, cycle: number, session, spent: run.spent }) === undefined,
  )
  run.hasHole = ended.uncovered > 0 || committed.length < ended.appends.length
  run.state = ended.state
  run.open = undefined
  note(peer, number, [
    {
      type: 'proposal_execution',
      decision: decided.decision.type,
      warrant: warrant?.warrant_id ?? null,
      tool: warrant?.action_type ?? null,
      result: became?.result ?? null,
      detail: became?.detail ?? '',
      log_warrants: committed.length,
      lines: committed.reduce((sum, { lines }) => sum + lines.length, 0),
      state_hash: ended.state.stateHash,
    },
  ])
}
