/**
 * What a command must have at all for a rule to match it: an operand where the rule asks for one, an option, a pipe. One
 * bit each, so that most rules are left out without a look at their conditions.
 * Rules: docs/policy.md, "Fields".
 * @module
 */

import type { Facts } from './facts.ts'
import type { Rule } from './rule.ts'

type Field = keyof NonNullable<Rule['argv']>
type Need = { readonly fields: readonly Field[]; readonly isMet: (facts: Facts) => boolean }

/** A bit each, the first the lowest. */
const NEEDS: readonly Need[] = Object.freeze([
  { fields: ['operands', 'subcommand', 'has_operands'], isMet: ({ command }) => command.operands.length > 0 },
  { fields: ['options', 'other_options'], isMet: ({ command }) => command.options.length > 0 },
  { fields: ['option_values'], isMet: ({ command }) => command.optionValues.length > 0 },
  { fields: ['paths', 'reads', 'writes', 'takes'], isMet: ({ usesAny }) => usesAny },
  { fields: ['opaque_path'], isMet: ({ command }) => command.paths.length > 0 },
  { fields: ['assigns'], isMet: ({ command }) => command.assignments.length > 0 },
  { fields: ['via'], isMet: ({ command }) => command.via.length > 0 },
  { fields: ['piped_from'], isMet: ({ command }) => command.pipedFrom.length > 0 },
  { fields: ['piped_to'], isMet: ({ command }) => command.pipedTo.length > 0 },
  { fields: ['opaque'], isMet: ({ command }) => command.opaque.length > 0 },
  { fields: ['terminal'], isMet: ({ command }) => command.terminal },
])

function asks({ argv }: Rule, field: Field): boolean {
  const wanted = argv?.[field]
  // A list without an entry asks for nothing, and `false` for something that is not there.
  return Array.isArray(wanted) ? wanted.length > 0 : wanted === true
}

/** The bits of what the rule asks for. */
export function needsOf(rule: Rule): number {
  return NEEDS.reduce(
    (bits, { fields }, bit) => (fields.some((field) => asks(rule, field)) ? bits | (1 << bit) : bits),
    0,
  )
}

/** The bits of what the command does not have. */
export function lacksOf(facts: Facts): number {
  let bits = 0
  for (let bit = 0; bit < NEEDS.length; bit++) if (NEEDS[bit]?.isMet(facts) === false) bits |= 1 << bit
  return bits
}
