/**
 * Every number of proposals that their constitution does not hold itself, with its unit and its source or reason. What
 * the constitution limits (candidates, tokens, lengths, lines of a log) is read from it, and nowhere else.
 * @module
 */

/** A constitution is read by people: ours has 8 KB. */
export const CONSTITUTION_BYTES = 65_536
/** UTF-16 code units of what is proposed in one cycle: one file of 200,000 characters, escaped, and what explains it. */
export const PROPOSED_UNITS = 1_048_576
/** Candidates of one text that are answered one by one; a longer list is no list of candidates. */
export const PROPOSED_CANDIDATES = 64
/** Deeper than any candidate: an array, a candidate, a part of it, a list in that. */
export const PROPOSED_DEPTH = 8
/** Citations of one candidate, and observations that it names: more of them would prove no more. */
export const REFERENCES_MAX = 16
/** Characters of one citation: a pointer into a document of some 250 lines. */
export const CITATION_CHARS = 256
/** Characters of a claim and of a justification: as long as a message may be. */
export const EXPLANATION_CHARS = 2_000
/** Observations of one cycle: one time, one budget, what was said, and each of the host's checks. */
export const OBSERVATIONS_MAX = 32
/** UTF-16 code units of a path: what the kernel takes (PATH_MAX). */
export const PATH_UNITS = 4_096
/** Warrants remembered as spent, of the session's last cycles: each is dead with its cycle anyway. */
export const SPENT_WARRANTS = 64
/** Bytes of a token where nobody declares how many there were: the usual estimate for English text. */
export const BYTES_PER_TOKEN = 4
/** UTF-16 code units of one part of a line that is too long for a log: escaped once more it has twice as many at most. */
export const LINE_PART_UNITS = 4_500
/** Lines of one log that are read to be replayed: 10,000 cycles of a few lines. */
export const REPLAY_LINES = 100_000
