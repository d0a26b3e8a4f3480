/**
 * The bounds of what a model is told of the policy, each with its source or reason.
 * @module
 */

import { POLICY_DIGEST_BYTES } from '../../limits.ts'

/** Rules that a model is told: JF-N08 has at most 25. */
export const POLICY_DIGEST_RULES = 18
/** Of one rule without its number and line end: so many of so many bytes are within the budget. */
export const POLICY_DIGEST_RULE_BYTES = POLICY_DIGEST_BYTES / POLICY_DIGEST_RULES - 5
