/**
 * Which records are of a security event: its kind, one of eight, and its risk, one of four. By the type of the record and
 * a few of its fields, its severity among them. What is critical is told at once where `alerts.program` says whom.
 * Rules: docs/responses.md, section 7 (what is recorded); JF-R30.
 * @module
 */
import type { AuditEvent } from '../ports.ts'

export const SECURITY_KINDS = Object.freeze([
  'identity',
  'rights',
  'command',
  'quota',
  'secret',
  'injection',
  'behaviour',
  'integrity',
] as const)
export type SecurityKind = (typeof SECURITY_KINDS)[number]
export type Risk = 'critical' | 'high' | 'medium' | 'low'

/** Of a refusal, by the layer that decided. A message that is not complete is a mistake and no security event. */
const LAYERS: Readonly<Record<string, SecurityKind>> = Object.freeze({
  acl: 'identity',
  transport: 'identity',
  identity: 'identity',
  session: 'identity',
  level: 'behaviour',
  tool_access: 'rights',
  delegation: 'rights',
  capability: 'command',
  specifics: 'command',
  '13policy': 'command',
  quota: 'quota',
})

/** Of other records that are more than information. */
const TYPES: Readonly<Record<string, SecurityKind>> = Object.freeze({
  challenge: 'identity',
  redacted: 'secret',
  injection: 'injection',
  anomaly: 'behaviour',
  level: 'behaviour',
  exit: 'integrity',
  firewall: 'integrity',
  recovered: 'integrity',
  clock: 'integrity',
  proposal_artifacts: 'integrity',
})

const DECEIVED: ReadonlySet<unknown> = new Set(['R4', 'R5', 'R6'])

function riskOfRefusal({ response, enhanced }: AuditEvent): Risk {
  if (!DECEIVED.has(response)) return 'low'
  const incident = typeof enhanced === 'object' && enhanced !== null ? enhanced['incident'] : null
  if (incident === 'critical') return 'critical'
  return incident === 'high' || incident === 'violation' ? 'high' : 'medium'
}

/** Kind and risk of a record whose severity is there already; nothing where it is of no security event. */
export function securityOf(event: AuditEvent): { readonly security?: SecurityKind; readonly risk?: Risk } {
  const { type, severity, layer, response, to } = event
  if (type === 'decision') {
    if (response === 'R1' || typeof layer !== 'string' || !Object.hasOwn(LAYERS, layer)) return {}
    const security = LAYERS[layer]
    return security === undefined ? {} : { security, risk: riskOfRefusal(event) }
  }
  const security = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined
  if (security === undefined || severity === 'info') return {}
  if (severity === 'critical') return { security, risk: 'critical' }
  return { security, risk: type === 'level' && to !== 'NORMAL' ? 'high' : 'medium' }
}
