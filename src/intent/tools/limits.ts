/**
 * Every number of tools, with its unit in its name and its source or reason beside it.
 * @module
 */

/** Tools of one device, and the file of a manifest: its schema is for people and has some hundred fields. */
export const TOOLS_MAX = 128
export const TOOL_MANIFEST_BYTES = 65_536
/** Words of an argv template and of what it becomes, and characters of one word of it. */
export const TOOL_ARGV_WORDS = 256
export const TOOL_WORD_CHARS = 4_096
/** OpenStarry 3: time and output of one tool where its manifest does not say otherwise. */
export const TOOL_TIMEOUT_SECONDS = 30
export const TOOL_OUTPUT_BYTES = 1_048_576
/** What a manifest may ask for at most: a day. */
export const TOOL_TIMEOUT_MAX_SECONDS = 86_400
