/**
 * Numbers of signed intent that the configuration or the protocol has to know as well; the others are
 * intent/limits.ts.
 * Sources: SAOE 2.2 (1 MiB) and its AgentShim (quarantine 50, poll 0.5 s, 1,000 envelopes of a sender in an hour).
 * @module
 */

/** Of one envelope as it lies in a file or is handed in, in bytes: check 1 refuses more. */
export const ENVELOPE_FILE_BYTES = 1_048_576
/** Of a receiver, an id, a session or a template. */
export const INTENT_NAME_CHARS = 128
/** Files in quarantine, the refused ones included. */
export const QUARANTINE_FILES = 50
/** How often the inboxes are looked at, in milliseconds. */
export const INTENT_POLL_MS = 500
/** Envelopes of one sender that are accepted within an hour. */
export const ENVELOPES_PER_HOUR = 1_000
/** Directories beside the inboxes. */
export const DROP_DIRECTORIES = 16
/** Files of a quarantine in one answer, which is one frame. */
export const QUARANTINE_LISTED = 24
