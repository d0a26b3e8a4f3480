/**
 * The bounds of handoffs, each with its unit and its source or reason. How long a message may be is in limits.ts, since
 * the protocol has it as well.
 * @module
 */

/** Members of one list: of a message that holds 8 KiB nobody reads more. */
export const HANDOFF_ITEMS = 32
/** Handoff-v2: findings of one message. */
export const FINDINGS_MIN = 3
export const FINDINGS_MAX = 5
/** JSON within JSON: a list in an object in the message. */
export const HANDOFF_DEPTH = 4
/** Values in one message: eight lists at their longest, with room. */
export const HANDOFF_VALUES = 512
/** JF-091: the third pair of hands is the last one. */
export const HANDOFF_HOPS = 3
/** JF-R40: how often one agent may give another the same task, for C1 to C4: each time is a round of work on it. */
export const HANDOFF_ROUNDS: readonly number[] = Object.freeze([3, 5, 7, 10])
/** How long a task without a name is taken for the same one: what a plan hands over every hour is no round. */
export const ROUNDS_UNNAMED_MS = 3_600_000
/** From this criticality on (C1 to C4) confidence is told and quality is looked at: JF-R20, JF-R22. */
export const DISCLOSING_CRITICALITY = 2
/** From this criticality on a chain that was stopped is for a human: JF-091. */
export const HUMAN_CRITICALITY = 3
/** Per mille; JF-R22: what has a lower score from C2 on is held. */
export const QUALITY_PERMILLE = 920
/** Per mille of certainty that the text gives orders to whoever reads it: marked, and held. */
export const MARKED_PERMILLE = 700
export const HELD_PERMILLE = 900
/** Handoffs that one agent has not taken. */
export const INBOX_HANDOFFS = 32
/** Handoffs of one sender, and of all, that are kept, taken ones included: at the most some 8 MiB of the disk. */
export const KEPT_PER_SENDER = 64
export const KEPT_HANDOFFS = 512
/** Handoffs that one sender tries in a minute: nobody who thinks about them sends more. */
export const HANDOFFS_PER_MINUTE = 16
/**
 * What a handoff brings: bytes of one file, of all of one handoff, of all that are kept of one sender, and altogether, so
 * that one sender does not fill the room of the others; and files altogether. A report, a patch, a log: what is larger is merged.
 */
export const ARTIFACT_BYTES = 8_388_608
export const ARTIFACTS_BYTES = 16_777_216
export const KEPT_ARTIFACT_BYTES_PER_SENDER = 33_554_432
export const KEPT_ARTIFACT_BYTES = 134_217_728
export const KEPT_ARTIFACTS = 2_048
