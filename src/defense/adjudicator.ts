/**
 * The one decision: facts, policy and ledger in, exactly one verdict out. Pure, total and deterministic; no clock, no
 * randomness, no exception leaves it. A layer that throws, or finds its own data missing, denies.
 * Rules: docs/responses.md, section 1.
 * @module
 */
import type { Facts, Ledger } from './facts.ts'
import { type Finding, LAYERS, type Layer, type Policy } from './layers.ts'
import type { LayerName, Verdict } from './verdict.ts'
import { Warrant } from './warrant.ts'

const NO_SESSION = 'none'

function toVerdict(layer: LayerName, finding: Finding): Verdict {
  const { code, rule, reason, severity } = finding
  const decided = { code, layer, rule, reason, severity, enhancedAudit: severity === 'critical' }
  if (finding.outcome === 'mistake') return { kind: 'mistake', ends: false, ...decided }
  if (finding.outcome === 'mistake_and_end') return { kind: 'mistake', ends: true, ...decided }
  return { kind: 'response', response: finding.outcome, ...decided }
}

/** R4 for somebody whom we know, R6 for anybody else: the defect is ours, the refusal must not show it. */
function denyOnError(layer: LayerName, facts: Facts | undefined): Verdict {
  // The types say that facts and identity are there; a denial must not depend on it.
  const who: Partial<Facts>['identity'] = facts?.identity
  return toVerdict(layer, {
    outcome: who?.kind === 'known' ? 'VI_SWAP' : 'DROP',
    code: 'INTERNAL',
    rule: 'deny_on_error',
    reason: `The layer ${layer} could not decide; the request was refused. Report this as a defect.`,
    severity: 'critical',
  })
}

/** The verdict by the given layers; `adjudicate` gives it the real ones, tests may give it failing ones. */
export function adjudicateBy(
  layers: readonly Layer[],
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
): Verdict {
  for (const { name, check } of layers) {
    try {
      const finding = check?.(facts, policy, ledger)
      if (finding !== undefined) return toVerdict(name, finding)
    } catch {
      return denyOnError(name, facts)
    }
  }
  try {
    // Every layer passed; without an action there would be nothing to permit, which is a defect and is denied.
    if (facts.action === undefined) return denyOnError('completeness', facts)
    return {
      kind: 'response',
      response: 'EXECUTE',
      code: undefined,
      layer: 'all',
      rule: 'all_passed',
      reason: 'Every layer passed.',
      severity: 'info',
      enhancedAudit: false,
      warrant: Warrant.mint(facts.session?.id ?? NO_SESSION, facts.cycle, facts.action, policy.hash),
    }
  } catch {
    return denyOnError('completeness', facts)
  }
}

export function adjudicate(facts: Facts, policy: Policy, ledger: Ledger): Verdict {
  return adjudicateBy(LAYERS, facts, policy, ledger)
}
