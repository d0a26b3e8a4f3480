/**
 * Every number of plans, with its unit in its name and its source or reason beside it.
 * @module
 */

/** How many calls one plan has at most: what one person can read before they sign. */
export const PLAN_CALLS = 64
/** The file of a plan, before it is parsed: what fits into an envelope (SAOE 2.2, check 1). */
export const PLAN_BYTES = 1_048_576
/** How far the clock of whoever signs may be ahead of ours, as with envelopes. */
export const PLAN_AHEAD_MS = 300_000
/** How far ahead an expiry may lie: longer than any stick travels, and an end for what is remembered of a plan. */
export const PLAN_LIFE_MS = 366 * 86_400_000
/** Plans whose use is remembered, some 300 bytes each and as much for each call. */
export const PLANS_REMEMBERED = 100_000
/** Plans that were refused in their envelopes and are not run without them, some 100 bytes each: the last so many. */
export const PLANS_REFUSED = 10_000
/** Plans that run at the same time, and that are kept for each agent who will run them. */
export const PLANS_RUNNING = 8
export const PLANS_KEPT = 256
/**
 * Envelopes that must have room before a call begins, of each plan that may run: the result of the call at work, that of
 * one which is not started for want of room, and the summary, each for the issuer and for whoever runs it.
 */
export const RESULTS_ROOM: number = PLANS_RUNNING * 3 * 2
/** Of each output of one call that goes with its result; the rest is counted. A plan of 64 calls has 2 MiB at most. */
export const CALL_OUTPUT_BYTES = 16_384
