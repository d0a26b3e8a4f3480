/**
 * The three rules that every set has where `security.founding_rules` is true, each by what of it a daemon can tell: the
 * rules of its decision that refuse what would break it. Refused it is always; where they are founding rules, one try
 * contains the agent.
 * Rules: jerry.md, P-003, P-020, P-022 (JF-R07, JF-R26, JF-R42); docs/security.md, "Founding rules".
 * @module
 */
import type { Finding } from './layer.ts'

type FoundingRule = {
  /** As a model is told. */
  readonly says: string
  /** Of the decision. */
  readonly brokenBy: readonly string[]
}

export const FOUNDING_RULES: readonly FoundingRule[] = Object.freeze([
  {
    says: 'You hand nothing on that was handed on to you; one try ends your work here.',
    brokenBy: ['delegation.depth', 'delegation.hops'],
  },
  {
    says: 'You decide nothing that is for a human to decide; one try at an operator’s methods ends your work here.',
    brokenBy: ['method.operator'],
  },
  {
    says: 'You deceive nobody: one try at the record of what you do, or in another’s name, ends your work here.',
    brokenBy: ['protected.daemon', 'protected.around', 'handoff.from', 'handoff.digest'],
  },
])

const BREAKING: ReadonlySet<string> = new Set(FOUNDING_RULES.flatMap(({ brokenBy }) => brokenBy))

/** The same finding; where it breaks a founding rule, as the incident that contains an agent at once. */
export function byFoundingRules(finding: Finding, inForce: boolean | undefined): Finding {
  if (inForce !== true || !BREAKING.has(finding.rule)) return finding
  return { ...finding, severity: 'critical', incident: 'critical' }
}
