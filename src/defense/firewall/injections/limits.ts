/**
 * The bounds of the injection assessment, each with its unit and its source or reason.
 * @module
 */

/** Bytes of one window: whoever cuts the stream sees to their overlap. */
export const INJECTION_WINDOW_BYTES = 4_096
/** JF-R16: decodings in each other. */
export const INJECTION_DEPTH = 3
/** The data base: some twice of what it has today. Steps of a pattern, tokens between two, words of all steps. */
export const INJECTION_PATTERNS = 512
export const INJECTION_SETS = 256
export const INJECTION_STEPS = 8
export const INJECTION_GAP_TOKENS = 32
export const INJECTION_WORDS = 3_072
/** What two windows of a stream share: the longest pattern in words of twenty letters. */
export const INJECTION_OVERLAP_BYTES = 512
/** A line that is a command, and whole: a longer one is a program, or no line of text. */
export const COMMAND_LINE_BYTES = 256
/** Windows of one stream that the sealed record keeps. */
export const SUSPICIONS = 4
/** What may come after the command was asked to wait, beside the window: some reads of a pipe. More is not kept. */
export const INJECTION_HELD_BYTES = 262_144
/** JF-081, in per mille: from `flag` on a window is marked, from `block` on it is held. */
export const INJECTION_THRESHOLDS = Object.freeze({
  strict: { flag: 600, block: 800 },
  standard: { flag: 700, block: 900 },
  permissive: { flag: 800, block: 980 },
})
/** No window says so much. */
export const NEVER_HELD = 1_000
/** What a human is shown of a window, and how many of its patterns are told. */
export const INJECTION_EXCERPT_BYTES = 512
export const INJECTION_PATTERNS_TOLD = 16
