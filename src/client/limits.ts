/**
 * The numbers of a client alone: how it comes back, and how it finds out that a link is no longer there. Those that it
 * shares with the device are in src/limits.ts.
 * @module
 */

/** A client whose connection broke comes back after a pause of chance up to this, doubled at each failure up to that. */
export const RECONNECT_PAUSE_MS = 250
export const RECONNECT_PAUSE_MAX_MS = 10_000
/** How long a client goes on trying where nobody said otherwise: a router that starts anew takes a minute or two. */
export const RECONNECT_GIVE_UP_MS = 120_000
/**
 * A device that lets us in no more does not say so, and looks like a link that breaks after the handshake. So it is asked
 * this often and over this long, and then no more: each time is a failed proof in its record.
 */
export const REFUSED_TRIES = 5
export const REFUSED_MS = 30_000
/** All places of the caller are taken: the longest that the device takes to notice that our own lost connections are. */
export const PLACE_TAKEN_MS = 300_000
/**
 * A client that waits for something looks whether the link is there after such a silence: later than the daemon's first
 * PING, so that on a link that works one of the two asks, and with saving later than the daemon's longest silence.
 */
export const PULSE_SILENCE_MS = 90_000
export const PULSE_SILENCE_METERED_MS = 330_000
/** Somebody typed or pressed ^C, and not a byte came back for so long: is the link there? */
export const PROBE_AFTER_MS = 3_000
/** A PING is answered in this time over any link that can be worked on: a satellite takes 0.6 s, a stalled modem some. */
export const PROBE_ANSWER_MS = 10_000
/** While more than that of ours is under way, the PING stands behind it: 32 KiB between two CREDITs take 27 s at 9.6 kbit/s. */
export const PROBE_BEHIND_BYTES = 4_096
export const PROBE_ANSWER_BEHIND_MS = 60_000
/**
 * Where Node knows no Zstandard fzstd reads it, in a thread: a piece of 64 KiB takes it 2 ms and the thread 50 to start,
 * so this is a decoder that goes on for ever.
 */
export const PIECE_DECODE_MS = 10_000
export const DECODER_HEAP_MIB = 32
