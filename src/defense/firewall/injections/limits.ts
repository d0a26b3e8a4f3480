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
/** Windows of one stream that the sealed record keeps. */
export const SUSPICIONS = 4
