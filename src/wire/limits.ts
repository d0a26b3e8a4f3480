/**
 * The numbers of messages about work that is handed on; those of the protocol as a whole are in src/limits.ts.
 * @module
 */

/** A random secret that stands for a session of another agent: twice the 128 bits that an invitation has. */
export const DELEGATION_TOKEN_BYTES = 32
export const DELEGATION_SECONDS = 3_600
/** A day: as long as an old key is taken beside its new one. */
export const DELEGATION_MAX_SECONDS = 86_400
/** Delegations of one session, and of all: each keeps its patterns, some 20 KiB at most. */
export const DELEGATIONS_PER_SESSION = 16
export const DELEGATIONS_OPEN = 64
/** Patterns of commands, and of paths, in one delegation; with their length they fit a frame. */
export const DELEGATED_PATTERNS = 32
export const DELEGATED_PATTERN_BYTES = 256
/** An orchestrator that is away for so long without a word has gone: a client of ours gives up coming back after 120 s. */
export const ORPHANED_AFTER_MS = 300_000
/** The name of an instance: that of its agent, the time and a nonce. */
export const INSTANCE_BYTES = 128

/** A plan in a request: what fits a frame. Longer ones come in envelopes. */
export const PLAN_FRAME_BYTES = 65_536
/** Names of plans, calls and tools (docs/intent.md), calls of one plan, and a sentence about one of them. */
export const PLAN_NAME_BYTES = 128
export const PLAN_CALLS_TOLD = 64
export const PLAN_WHY_BYTES = 512
/** Arguments of a tool that are told: with all tools of a device they fit a frame. */
export const TOOL_ARGS_TOLD = 64
/** Proposals of one cycle and what is read by one: with everything around them they fit a frame of 69,632 bytes. */
export const PROPOSAL_BYTES = 49_152
export const PROPOSAL_CONTENT_BYTES = 40_960
/** 4,000 characters of at most four bytes. */
export const PROPOSAL_SAID_BYTES = 16_000
/** A refusal that names all that five candidates have cited, of at most 16 citations of 256 characters each. */
export const PROPOSAL_ARTIFACT_BYTES = 24_576
