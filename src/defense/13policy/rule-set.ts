/**
 * A set of rules as it was read: sets put in place of their names, every rule checked. And the order of strictness.
 * Rules: docs/responses.md, section 2.
 * @module
 */
import type { Rule } from './rule.ts'

export type RuleSet = {
  /** The files that the rules come from. */
  readonly origins: readonly string[]
  /** Ids are unique; no `@name` is left in a field. */
  readonly rules: readonly Rule[]
}

export type RulesProblem = {
  /** Where in the file, like `rules[3].argv.paths[0]`; empty for the file as a whole. */
  readonly path: string
  /** A clause that follows the path. */
  readonly problem: string
  readonly hint: string
}

/** What a match says. */
export type RuleHead = Pick<Rule, 'id' | 'action' | 'severity' | 'description' | 'why'>

const RANKS = Object.freeze({
  critical: 0,
  high: 1,
  medium: 2,
  challenge: 3,
  low: 4,
  allow: 5,
} as const)

/** 0 is the strictest: critical deny, high deny, medium deny, challenge, low, allow. */
export function strictness({ action, severity }: Pick<Rule, 'action' | 'severity'>): number {
  if (action === 'allow') return RANKS.allow
  if (severity === 'low') return RANKS.low
  return action === 'challenge' ? RANKS.challenge : RANKS[severity]
}

/** Stricter first, then the smaller id by code units: the order in a file means nothing. */
export function compareRules(
  left: Pick<Rule, 'id' | 'action' | 'severity'>,
  right: Pick<Rule, 'id' | 'action' | 'severity'>,
): number {
  const difference = strictness(left) - strictness(right)
  if (difference !== 0) return difference
  return left.id < right.id ? -1 : left.id > right.id ? 1 : 0
}
