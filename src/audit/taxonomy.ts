/**
 * What kind of event a record is: the stream that it belongs to, its category, and how much it matters, by its type and
 * a few of its fields. A table and nothing else, so that whoever has the event has the rest.
 * Rules: docs/responses.md, section 7 (what is recorded).
 * @module
 */
import type { AuditEvent } from '../ports.ts'
import { securityOf } from './security-kinds.ts'

/** Streams within the one chain: what was seen, what was proposed, what was admitted, what was chosen, what was done. */
export type Stream = 'observations' | 'artifacts' | 'admission' | 'selection' | 'execution'
export type Category =
  | 'tool'
  | 'gate'
  | 'firewall'
  | 'handoff'
  | 'routing'
  | 'lifecycle'
  | 'configuration'
  | 'human'
  | 'intent'
export type EventSeverity = 'info' | 'warning' | 'critical'

type Kind = { readonly stream: Stream; readonly category: Category; readonly severity: EventSeverity }

const kind = (stream: Stream, category: Category, severity: EventSeverity = 'info'): Kind =>
  Object.freeze({ stream, category, severity })

/** Of what a permitted action is; everything that is refused is the gate's. */
const ACTIONS: Readonly<Record<string, Category>> = Object.freeze({
  execute: 'tool',
  attach: 'tool',
  signal: 'tool',
  cancel: 'tool',
  upload: 'tool',
  download: 'tool',
  connect: 'lifecycle',
  authenticate: 'lifecycle',
  renew: 'lifecycle',
  confirm: 'human',
  purge: 'human',
  merge: 'human',
  undo_merge: 'human',
  drop_branch: 'human',
  checkpoint: 'human',
  delegate: 'routing',
  terminate: 'human',
  handoff: 'handoff',
  take_handoff: 'handoff',
  submit_envelope: 'intent',
  take_envelope: 'intent',
  settle_envelope: 'human',
  run_plan: 'intent',
  propose: 'tool',
  enroll: 'configuration',
  rotate_key: 'configuration',
  invite: 'human',
  set_level: 'configuration',
  clear_penalties: 'configuration',
  reload: 'configuration',
  drain: 'configuration',
})

const TYPES: Readonly<Record<string, Kind>> = Object.freeze({
  execution_ended: kind('execution', 'tool'),
  execution_not_started: kind('execution', 'tool', 'warning'),
  execution_lost: kind('execution', 'tool', 'warning'),
  transfer_ended: kind('execution', 'tool'),
  not_done: kind('execution', 'gate', 'warning'),
  session: kind('execution', 'lifecycle'),
  challenge: kind('observations', 'gate'),
  confirmation: kind('observations', 'human', 'warning'),
  level: kind('execution', 'gate', 'warning'),
  exit: kind('execution', 'gate', 'critical'),
  refusals: kind('admission', 'gate', 'warning'),
  daemon: kind('execution', 'configuration'),
  purge: kind('execution', 'human', 'warning'),
  identity: kind('execution', 'configuration', 'warning'),
  alert: kind('execution', 'human'),
  branch: kind('execution', 'human'),
  egress: kind('execution', 'tool'),
  firewall: kind('execution', 'configuration'),
  policy_digest: kind('execution', 'gate'),
  handoff: kind('execution', 'handoff'),
  intent: kind('artifacts', 'intent'),
  proposal_observations: kind('observations', 'tool'),
  proposal_artifacts: kind('artifacts', 'tool'),
  proposal_admission: kind('admission', 'tool'),
  proposal_selection: kind('selection', 'tool'),
  proposal_execution: kind('execution', 'tool'),
  redacted: kind('execution', 'firewall', 'warning'),
  injection: kind('execution', 'firewall', 'warning'),
  anomaly: kind('observations', 'firewall', 'warning'),
  tool_executed: kind('execution', 'tool'),
  plan: kind('execution', 'intent'),
  dropped: kind('execution', 'lifecycle'),
  recovered: kind('observations', 'lifecycle', 'warning'),
  clock: kind('observations', 'lifecycle', 'warning'),
  epoch: kind('execution', 'lifecycle'),
})

/** Of signed intent, whatever did not go its way. */
const INTENT_WARNINGS: ReadonlySet<string> = new Set([
  'rejected',
  'quarantine_full',
  'aged_out',
  'handler_error',
  'expired',
  'released',
  'discarded',
])

/** A denial is critical, what waits for an answer or its turn a warning; a sentence has the severity of its rule. */
const RESPONSES: Readonly<Record<string, EventSeverity>> = Object.freeze({
  R2: 'warning',
  R3: 'warning',
  R4: 'critical',
  R5: 'critical',
  R6: 'critical',
})
const SEVERITIES: readonly EventSeverity[] = ['info', 'warning', 'critical']

function severityOf({ severity, response }: AuditEvent): EventSeverity {
  const own = SEVERITIES.find((one) => one === severity) ?? 'info'
  const least = typeof response === 'string' && Object.hasOwn(RESPONSES, response) ? RESPONSES[response] : own
  return SEVERITIES.findLast((one) => one === own || one === least) ?? own
}

/** Fields whose value makes an event of that type matter more. */
function raised(
  { type, to, what, canaries, late, care, is_critical, reason }: AuditEvent,
  severity: EventSeverity,
): EventSeverity {
  if (type === 'level' && (to === 'CONTAIN' || to === 'HALT')) return 'critical'
  if (type === 'anomaly' && what === 'in_a_row') return 'critical'
  if (type === 'level' && to === 'NORMAL') return 'info'
  if (type === 'challenge' && what !== 'passed') return 'warning'
  if (type === 'daemon' && (what === 'reload_failed' || care !== undefined)) return 'warning'
  if (type === 'branch' && what !== 'checkpoint') return 'warning'
  if (type === 'redacted' && (Number(canaries) > 0 || Number(late) > 0)) return 'critical'
  if (type === 'injection' && (what === 'released' || what === 'withheld')) return 'critical'
  if (type === 'firewall' && what !== 'loaded') return 'critical'
  if (type === 'handoff' && what === 'rejected') return is_critical === true ? 'critical' : 'warning'
  if (type === 'alert' && what !== 'told') return 'warning'
  if (type === 'intent' && what === 'changed') return 'critical'
  if (type === 'intent' && INTENT_WARNINGS.has(String(what))) return 'warning'
  if (type === 'proposal_artifacts' && reason === 'INTEGRITY_RISK') return 'critical'
  if (type === 'egress' && what !== 'passed') return 'warning'
  if (type === 'plan' && (what === 'refused' || what === 'tool_refused')) return 'warning'
  return severity
}

/** Who is given the work of whom: begun, taken up, over. */
const ROUTING: ReadonlySet<unknown> = new Set(['delegated', 'delegation_used', 'delegation_ended'])

function kindOf(event: AuditEvent): Kind | undefined {
  const { type, action, response, what } = event
  if (type === 'identity' && ROUTING.has(what)) return kind('execution', 'routing')
  if (type !== 'decision') {
    const known = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
    return known === undefined ? undefined : { ...known, severity: raised(event, known.severity) }
  }
  const category =
    response === 'R1' && typeof action === 'string' && Object.hasOwn(ACTIONS, action)
      ? ACTIONS[action]
      : 'gate'
  return kind('admission', category ?? 'gate', severityOf(event))
}

/** The event with its stream, category and severity, and of a security event kind and risk; one of a type that is not known stays as it is. */
export function classified(event: AuditEvent): AuditEvent {
  const found = kindOf(event)
  if (found === undefined) return event
  const whole = { ...event, ...found }
  return { ...whole, ...securityOf(whole) }
}
