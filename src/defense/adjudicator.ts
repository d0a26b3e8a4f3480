/**
 * The one decision: facts, policy and ledger in, exactly one verdict out. Pure, total and deterministic; no clock, no
 * randomness, no exception leaves it. A layer that throws, or finds its own data missing, denies.
 * Rules: docs/responses.md, section 1.
 * @module
 */
import type { OpaqueClass } from './13policy/opaque/opaque-class.ts'
import { isInPlan } from './anomaly/drift.ts'
import { authorityOf } from './authority.ts'
import type { CapabilitySet } from './capability.ts'
import type { Action, Facts, Ledger } from './facts.ts'
import { judgedCommand } from './file-action.ts'
import { byFoundingRules } from './founding.ts'
import { type Finding, isStricter, type Layer, type Note, type Policy } from './layer.ts'
import { LAYERS } from './layers.ts'
import { opaqueClassOf, opaqueReason, recordedWeaknesses } from './opaque.ts'
import { toolsAsked } from './tools.ts'
import { toxicProperties, undeclaredCombination } from './toxic.ts'
import type { LayerName, Verdict } from './verdict.ts'
import { NO_SESSION, Warrant } from './warrant.ts'

const NOTHING = Object.freeze([])

function toVerdict(layer: LayerName, found: Finding, foundingRules?: boolean): Verdict {
  const finding = byFoundingRules(found, foundingRules)
  const { code, rule, reason, severity, incident, needed } = finding
  const enhancedAudit = severity === 'critical'
  const decided = { code, layer, rule, reason, severity, incident, needed, enhancedAudit }
  switch (finding.outcome) {
    case 'status':
    case 'status_and_end':
      return { kind: 'status', ends: finding.outcome === 'status_and_end', ...decided }
    case 'THROTTLE':
      return { kind: 'response', response: 'THROTTLE', awaits: finding.awaits, ...decided }
    default:
      return { kind: 'response', response: finding.outcome, ...decided }
  }
}

/** A code and a sentence for somebody whom we know: the defect is ours. R6 for anybody else. */
function denyOnError(layer: LayerName, facts: Facts | undefined): Verdict {
  // The types say that facts and identity are there; a denial must not depend on it.
  const who: Partial<Facts>['identity'] = facts?.identity
  return toVerdict(layer, {
    outcome: who?.kind === 'known' ? 'status' : 'DROP',
    code: 'INTERNAL',
    rule: 'deny_on_error',
    reason: `The layer ${layer} could not decide; the request was refused. Report this as a defect.`,
    severity: 'critical',
  })
}

const PLAIN = Object.freeze({
  layer: 'all',
  rule: 'all_passed',
  reason: 'Every layer passed.',
  code: undefined,
} as const)

/** What nobody has read is told by its class, and is nothing to be warned of. */
function saidOf(action: Action, opaque: OpaqueClass | undefined) {
  if (opaque === undefined || action.kind !== 'execute') return PLAIN
  const reason = opaqueReason(opaque, recordedWeaknesses(action))
  return { layer: 'specifics', rule: `opaque.${opaque}`, reason, code: undefined } as const
}

function setOf({ identity }: Facts, { capabilities }: Policy): CapabilitySet | undefined {
  const name = identity.kind === 'known' ? identity.capability : ''
  return Object.hasOwn(capabilities, name) ? capabilities[name] : undefined
}

/** Whether a command is one of the plan; undefined where its caller has none. It decides nothing: it is watched. */
function planned(
  { action }: Facts,
  set: CapabilitySet | undefined,
  policy: Policy,
): 'inside' | 'outside' | undefined {
  if (action?.kind !== 'execute') return undefined
  if (set?.plan === undefined || set.plan === null) return undefined
  const { commands } = policy.effective(action)
  return isInPlan(set.plan, action.argv, action.executable?.path, commands) ? 'inside' : 'outside'
}

function permit(
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
  noted: { layer: LayerName; note: Note } | undefined,
): Verdict {
  // Every layer passed; without an action there would be nothing to permit, which is a defect and is denied.
  const { action } = facts
  if (action === undefined) return denyOnError('completeness', facts)
  const authority = authorityOf(facts, policy)
  if (authority === undefined) return denyOnError('capability', facts)
  const command = judgedCommand(action)
  const opaque = opaqueClassOf(action, facts, policy)
  const set = setOf(facts, policy)
  const toxic =
    command === undefined ? NOTHING : toxicProperties(policy.effective(command), policy.home, facts.realPaths)
  const said =
    noted === undefined
      ? saidOf(action, opaque)
      : { layer: noted.layer, rule: noted.note.rule, reason: noted.note.reason, code: noted.note.code }
  return {
    kind: 'response',
    response: 'EXECUTE',
    ...said,
    severity: noted === undefined ? 'info' : 'warning',
    incident: undefined,
    enhancedAudit: noted !== undefined,
    authority,
    tools: [...toolsAsked(facts, policy.effective)],
    toxic,
    opaque,
    plan: planned(facts, set, policy),
    undeclared: undeclaredCombination(set?.combinations, ledger.toxic, toxic),
    warrant: Warrant.mint(facts.session?.id ?? NO_SESSION, facts.cycle, action, policy.digestOf),
  }
}

/** The verdict by the given layers; `adjudicate` gives it the real ones, tests may give it failing ones. */
export function adjudicateBy(
  layers: readonly Layer[],
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
): Verdict {
  // What is noted first is what the record names: it comes from the layer that is asked first.
  let noted: { layer: LayerName; note: Note } | undefined
  // What yields waits until the layers behind it are heard: one of them may be stricter.
  let held: { layer: LayerName; finding: Finding } | undefined
  // By number: what iterates over a frozen array is garbage for each of its items.
  for (let at = 0; at < layers.length; at++) {
    const { name, check } = layers[at] as Layer
    try {
      const finding = check(facts, policy, ledger)
      if (finding === undefined) continue
      if (finding.outcome === 'note') noted ??= { layer: name, note: finding }
      else if (held !== undefined && !isStricter(finding, held.finding)) continue
      else if (finding.yields === true) held = { layer: name, finding }
      else return toVerdict(name, finding, policy.security.foundingRules)
    } catch {
      return denyOnError(name, facts)
    }
  }
  if (held !== undefined) return toVerdict(held.layer, held.finding, policy.security.foundingRules)
  try {
    return permit(facts, policy, ledger, noted)
  } catch {
    return denyOnError('completeness', facts)
  }
}

export function adjudicate(facts: Facts, policy: Policy, ledger: Ledger): Verdict {
  return adjudicateBy(LAYERS, facts, policy, ledger)
}
