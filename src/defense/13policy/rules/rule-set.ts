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

/** The strictest first. A denial is hostile, by its severity. */
const MEANINGS = Object.freeze(['critical', 'high', 'medium', 'ask', 'challenge', 'note', 'allow'] as const)

/** What follows from a match: a denial's severity, or the action. A denial or a challenge that is low is a note. */
export function meaningOf({
  action,
  severity,
}: Pick<Rule, 'action' | 'severity'>): (typeof MEANINGS)[number] {
  if (action === 'allow' || action === 'note' || action === 'ask') return action
  if (severity === 'low') return 'note'
  return action === 'challenge' ? 'challenge' : severity
}

/** 0 is the strictest: critical deny, high deny, medium deny, ask, challenge, note, allow. */
export function strictness(rule: Pick<Rule, 'action' | 'severity'>): number {
  return MEANINGS.indexOf(meaningOf(rule))
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
