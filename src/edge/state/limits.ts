/**
 * Numbers of the state directory.
 * @module
 */

/** The reserve is given back in pieces of some ten records, and is never more than this part of its file system. */
export const RESERVE_PIECE_BYTES = 65_536
export const RESERVE_SHARE = 8
/**
 * Names of the reserve: a start makes some twenty files and a branch six directories. They are given back by as many as
 * one of these takes at once.
 */
export const RESERVE_NAMES = 128
export const RESERVE_PIECE_NAMES = 16
