/**
 * Bounds of what arrives as files: how much may lie where, and for how long.
 * Sources: what a board with a small disk can hold; what the configuration sets is in config/intent-limits.ts.
 * @module
 */

export const HOUR_MS = 3_600_000
/** Files that are judged between two turns of everybody else; one takes a millisecond. */
export const INTENT_BATCH_FILES = 16
/**
 * Entries of one inbox that are looked at in one poll: more are not worth a poll's time. So many files that could not be
 * taken are remembered, too, until the next minute.
 */
export const INBOX_ENTRIES = 10_000
/** Entries that are looked at in several polls, each of which reads the earlier ones too: 80 ms in the last one. */
export const INBOX_ENTRIES_IN_ALL = 100_000
/** Envelopes that wait for one receiver, and bytes of all that wait: more is not taken out of the inboxes. */
export const WAITING_ENVELOPES = 10_000
export const WAITING_BYTES = 268_435_456
/** Of these bytes, for the device and operators alone, two looks full: who ends a flood must be reached in it. */
export const WAITING_RESERVED_BYTES = 33_554_432
/** Refused envelopes of one agent's connections that may lie in quarantine: the rest of it is for files. */
export const SUBMITTED_REFUSED = 8
/**
 * How long a refused file has its place in a full quarantine, ten minutes: long enough for whoever watches to look at it,
 * and what is good waits no longer behind what is not. With places to spare it stays.
 */
export const REFUSED_KEPT_MS = 600_000
/** How long one that was taken can be fetched again by its receiver, whose link may have broken. */
export const TAKEN_KEPT_MS = HOUR_MS
/** What is known of an envelope beside its id: longer than it would be accepted (30 days). */
export const DETAILS_KEPT_MS = 31 * 24 * HOUR_MS
/** Ids that are kept, for ever: some 400 MB. With so many nothing further is accepted. */
export const INDEX_IDS = 4_000_000
/** Own envelopes that wait to be delivered. */
export const OUTBOX_FILES = 256
/** Envelopes that lie in an inbox when the device's own begin to wait in the outbox: as many as that holds. */
export const INBOX_CROWDED = OUTBOX_FILES
/** How long one that could not be delivered waits: twice as long each time, from the first to the second. */
export const OUTBOX_RETRY_MS = 1_000
export const OUTBOX_RETRY_MAX_MS = 60_000
/** Envelopes that come in pieces over connections at the same time, and how long the next piece may take. */
export const STAGED_ENVELOPES = 4
export const STAGED_MS = 60_000

/** Signed texts that short are remembered once they were found good: what a dispatcher signs has some 400 bytes at most. */
export const VERIFIED_BYTES = 512
/** Half a kilobyte each: two for every entry of a vault. */
export const VERIFIED_REMEMBERED = 512
