/**
 * Plans as the rest of the session rooms see them: who runs one, what is told of it, and what can be asked. The room
 * itself is session/intent/plan-room.ts.
 * Rules: docs/plans.md.
 * @module
 */
import type { CborValue } from '../../base/encoding/cbor.ts'
import type { Source, TransportFacts } from '../../defense/facts.ts'
import type { Verdict } from '../../defense/verdict.ts'
import type { JsonObject } from '../../intent/canonical/python-json.ts'
import type { PlanGate, PlanRefusal } from '../../intent/plans/gate.ts'
import type { JournalPlan } from '../../intent/plans/plan-journal.ts'
import type { CallOutcome, RunEnd } from '../../intent/plans/run.ts'
import type { ToolManifest } from '../../intent/tools/manifest.ts'
import type { CapabilitySet } from '../../intent/vault/capability-set.ts'
import type { Caller } from '../callers/identities.ts'
import type { Session } from '../callers/sessions.ts'

/** Who runs a plan, and by which way its request came. */
export type PlanRunner = {
  readonly caller: Caller
  readonly session: Session
  readonly source: Source
  /** Undefined: nobody is connected. */
  readonly transport: TransportFacts | undefined
}

/** How a call ended, with the beginning of what it printed. */
export type CallResult = CallOutcome & { readonly stdout: Uint8Array; readonly stderr: Uint8Array }

/** A tool whose manifest was read and that does not exist all the same. */
export type RefusedTool = { readonly file: string; readonly why: string }

export type LoadedTools = {
  readonly loaded: ReadonlyMap<string, ToolManifest>
  readonly refused: readonly RefusedTool[]
}

/** What of plans a reload replaces. */
export type PlanSettings = { readonly gate: PlanGate; readonly tools: LoadedTools }

/** Whoever started a run hears of it. */
export type PlanEvents = {
  /** A call waits before it begins: the message of docs/protocol.md, section 8, that says for what. */
  waits?(message: CborValue, dataBytes?: number): void
  call?(at: number, result: CallResult): void
  /** Decided against by a response that tells nothing: nobody is told more of this plan. */
  unanswered?(verdict: Verdict): void
  over?(end: RunEnd): void
}

/** What the envelope of a plan said. */
export type PlanEnvelope = {
  readonly sessionId: string
  readonly sender: string
  readonly capabilitySet: CapabilitySet
}

/** A result on its way to an agent, as the payload of an envelope of the template `tool_result`. */
export type PlanDelivery = {
  /** Which result it is, for that receiver: of the same one the same, however often it is delivered. */
  readonly key: string
  readonly receiver: string
  readonly sessionId: string
  readonly payload: JsonObject
}

export type StartedPlan =
  | { readonly kind: 'running'; readonly key: string }
  | { readonly kind: 'refused'; readonly refusal: PlanRefusal }

/** A plan that waits for whoever runs it, with what its envelope said. */
export type KeptPlan = { readonly bytes: Uint8Array; readonly envelope: PlanEnvelope }

export type PlanRoom = {
  settings: PlanSettings
  /** Plans that run. */
  readonly running: number
  /** Looks at the plan as a whole, uses it up, and runs it. @throws what the audit and the journal throw */
  start(
    bytes: Uint8Array,
    runner: PlanRunner,
    envelope: PlanEnvelope | undefined,
    events?: PlanEvents,
  ): StartedPlan
  /** One that came in an envelope to the device itself, with the authority of its issuer. */
  runSigned(bytes: Uint8Array, envelope: PlanEnvelope): StartedPlan
  /** Keeps one for the agent that it was sent to, under its session. @throws STATE_UNWRITABLE */
  keep(bytes: Uint8Array, envelope: PlanEnvelope, receiver: string): StartedPlan | { readonly kind: 'kept' }
  kept(sessionId: string, receiver: string): KeptPlan | undefined
  /** It was run, and is not kept any more. */
  drop(sessionId: string, receiver: string): void
  readonly keptCount: number
  /** By its key: see PlanJournal. */
  find(key: string): JournalPlan | undefined
  withId(planId: string): readonly JournalPlan[]
  newestOf(sessionId: string, scope: string): JournalPlan | undefined
  /** Delivers what an earlier daemon may not have: at a start, when what lay on its way was looked at. */
  tellLeft(): void
  /** No call begins any more. */
  stopAll(): void
}
