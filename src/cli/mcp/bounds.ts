/**
 * The bounds of the server for AI hosts: what a host may send, what a model is given, and how long anybody waits.
 * @module
 */

/** A line from an AI host: a file of 4 MiB in base64, and what stands around it. */
export const MCP_LINE_BYTES = 8_388_608
/** Content of a file that one call may write; larger files are for `sass-edge cp`. */
export const MCP_WRITE_BYTES = 4_194_304
/** Calls of a host at once: half of the streams that a connection may have, so that what ends them has room. */
export const MCP_CALLS = 16
/** Bytes of each output that a result carries where the call names no other bound: some 4,000 tokens of a model. */
export const MCP_OUTPUT_BYTES = 16_384
/** As much as a call may ask for; hosts cut longer results off. */
export const MCP_OUTPUT_MAX_BYTES = 262_144
/** Bytes of a file that a result carries where the call names no other bound. */
export const MCP_READ_BYTES = 65_536
/** A device that has not said a word about a question for so long will not: one that refuses it is silent for an hour. */
export const MCP_SILENCE_MS = 30_000
/** Entries of a directory that a result carries where the call names no other bound, and at most. */
export const MCP_LISTED = 500
export const MCP_LISTED_MAX = 5_000
/** A call waits so long for its command where it does not say otherwise: hosts give a call up after 60 s. */
export const MCP_WAIT_SECONDS = 50
/** How far apart two words on the progress of one call are. */
export const MCP_PROGRESS_MS = 1_000
/** The rest of a running command's output that is on the device already comes in this time, or is left for another call. */
export const MCP_CATCH_UP_MS = 5_000
/** What the host has not read yet: from there on nothing is read of it either. */
export const MCP_UNREAD_BYTES = 16_777_216
/** The thread that speaks the protocol: a line, what is parsed of it, and 4 MiB of code. */
export const MCP_HEAP_MIB = 192
/** What a host that hangs up left running is ended in this time, or the connection ends first. */
export const MCP_CLOSE_MS = 5_000
/** JF-021: how often a model is told the rules again, in calls. */
export const MCP_RULES_EVERY = 25
/** How long a result waits for them. */
export const MCP_RULES_MS = 2_000
