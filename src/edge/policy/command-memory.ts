/**
 * What commands come down to, so that it is worked out once: of the last one, about which several layers ask, and of a
 * few small ones, for which agents ask again and again. A small one is kept when it comes for the second time: what comes
 * once would only be work for the garbage collector. Commands are compared word by word; their number and their size are
 * bounded.
 * @module
 */
import type { Effective } from '../../defense/13policy/effective.ts'
import type { ExecuteAction } from '../../defense/facts.ts'

/** Places for commands: so many shelves, chosen by a hash, with so many places each. */
const SHELF_BITS = 4
const SHELVES = 1 << SHELF_BITS
const PLACES = 4
/** What is larger is not kept. */
const CHARS_MAX = 256
/** Of FNV-1a, 32 bits. */
const HASH_START = 0x811c9dc5
const HASH_FACTOR = 0x01000193
/** Without a sign. */
const HASH_BITS = 31
/** Of what is too large. */
const NO_HASH = -1

type Known = { readonly hash: number; readonly action: ExecuteAction; readonly effective: Effective }
/** One that has come once has nothing kept yet. */
type Place = Omit<Known, 'effective'> & { effective: Effective | undefined }

export type CommandMemory = {
  /** What the same command came down to, where that is known. */
  find(action: ExecuteAction): Effective | undefined
  /** Whether it is kept beyond the next command: not the first time. */
  keep(action: ExecuteAction, effective: Effective): boolean
}

/** Of its length and its ends: commands that differ elsewhere share a shelf. */
function addText(hash: number, text: string): number {
  const { length } = text
  const ends = length === 0 ? 0 : (text.charCodeAt(0) << 16) ^ text.charCodeAt(length - 1)
  return Math.imul(hash ^ length, HASH_FACTOR) ^ ends
}

function hashOf({ argv, environment, cwd }: ExecuteAction): number {
  if (environment.length > 0) return NO_HASH
  let chars = cwd.length
  let hash = addText(HASH_START, cwd)
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? ''
    chars += word.length + 1
    hash = addText(hash, word)
  }
  return chars > CHARS_MAX ? NO_HASH : Math.imul(hash, HASH_FACTOR) >>> 1
}

/** By its highest bits, into which all others have gone. */
function shelfOf(hash: number): number {
  return hash >>> (HASH_BITS - SHELF_BITS)
}

/** In all that a command is taken apart by. */
function isSame(one: ExecuteAction, other: ExecuteAction): boolean {
  if (
    one.cwd !== other.cwd ||
    one.terminal !== other.terminal ||
    one.stdin !== other.stdin ||
    one.executable?.path !== other.executable?.path ||
    one.argv.length !== other.argv.length ||
    one.environment.length + other.environment.length > 0
  )
    return false
  for (let at = 0; at < one.argv.length; at++) if (one.argv[at] !== other.argv[at]) return false
  return true
}

export function createCommandMemory(): CommandMemory {
  const shelves: Place[][] = Array.from({ length: SHELVES }, () => [])
  let last: Known | undefined
  const placeOf = (hash: number, action: ExecuteAction): Place | undefined => {
    for (const place of shelves[shelfOf(hash)] ?? [])
      if (place.hash === hash && isSame(place.action, action)) return place
    return undefined
  }
  return {
    find(action) {
      if (last?.action === action) return last.effective
      const hash = hashOf(action)
      if (hash === NO_HASH) return undefined
      if (last?.hash === hash && isSame(last.action, action)) return last.effective
      const effective = placeOf(hash, action)?.effective
      if (effective !== undefined) last = { hash, action, effective }
      return effective
    },
    keep(action, effective) {
      const hash = hashOf(action)
      last = { hash, action, effective }
      const shelf = shelves[shelfOf(hash)]
      if (hash === NO_HASH || shelf === undefined) return false
      const place = placeOf(hash, action)
      if (place !== undefined) {
        place.effective = effective
        return true
      }
      if (shelf.length >= PLACES) shelf.shift()
      shelf.push({ hash, action, effective: undefined })
      return false
    },
  }
}
