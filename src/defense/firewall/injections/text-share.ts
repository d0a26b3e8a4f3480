/**
 * Is this text that somebody could read at all? Programs, archives and pictures are not: a third of their bytes and more
 * are controls, or no UTF-8. So much among letters leaves nothing of a sentence to a reader, and such windows are the
 * ones that would take longest to read in every disguise.
 * @module
 */

/** Of three bytes one that nobody reads. */
const UNREADABLE_OF = 3
const READABLE = 0
const UNREADABLE = 1

/** Controls but tab, line feed, carriage return, backspace, bell and escape, which terminals know. */
const CONTROLS = Uint8Array.from({ length: 128 }, (_, code) =>
  (code >= 0x20 || [0x07, 0x08, 0x09, 0x0a, 0x0d, 0x1b].includes(code)) && code !== 0x7f
    ? READABLE
    : UNREADABLE,
)

/** How many bytes of UTF-8 follow the first one; 0: it is none. */
function following(first: number): number {
  if (first < 0xc2 || first > 0xf4) return 0
  return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3
}

/** So many bytes are counted before it is asked whether they are enough. */
const BLOCK_BYTES = 256

/** A byte by itself: one that nobody reads, and one that only its neighbours say of whether it is UTF-8. */
const IN_DOUBT = 0x1_0000
const WEIGHTS = Uint32Array.from({ length: 256 }, (_, byte) => CONTROLS[byte] ?? IN_DOUBT)

/** A byte beside the one before it: what stands alone, what begins a character of UTF-8, and what goes on with one. */
const [ALONE, BEGINS, GOES_ON] = [0, 0x100, 0x200]
const SORTS = Uint16Array.from({ length: 256 }, (_, byte) =>
  following(byte) > 0 ? BEGINS : byte >= 0x80 && byte < 0xc0 ? GOES_ON : ALONE,
)
/** By the sort of the byte before and the byte: how many of the two no UTF-8 can have there. */
const BROKEN_PAIRS = Uint8Array.from({ length: 3 * 256 }, (_, index) => {
  const [before, byte] = [index & ~0xff, index & 0xff]
  const sort = SORTS[byte] as number
  const isBroken = byte >= 0x80 && (sort === ALONE || (sort === GOES_ON && before === ALONE))
  return (before === BEGINS && sort !== GOES_ON ? 1 : 0) + (isBroken ? 1 : 0)
})

/** How many of the bytes are certainly no UTF-8, by their neighbours: without a branch, which random bytes always miss. */
function brokenPairs(bytes: Uint8Array, start: number, from: number, end: number): number {
  let before = from > start ? (SORTS[bytes[from - 1] as number] as number) : ALONE
  let broken = 0
  for (let at = from; at < end; at++) {
    const byte = bytes[at] as number
    broken += BROKEN_PAIRS[before | byte] as number
    before = SORTS[byte] as number
  }
  return broken
}

/** False where at least a third of it cannot be read. */
export function isReadable(bytes: Uint8Array, start: number, end: number): boolean {
  const most = Math.floor((end - start) / UNREADABLE_OF)
  let doubtful = 0
  let unreadable = 0
  let broken = 0
  for (let at = start; at < end; ) {
    const from = at
    const blockEnd = Math.min(end, at + BLOCK_BYTES)
    let weight = 0
    // What every byte goes through: four at a time.
    for (; at + 3 < blockEnd; at += 4)
      weight +=
        (WEIGHTS[bytes[at] as number] as number) +
        (WEIGHTS[bytes[at + 1] as number] as number) +
        (WEIGHTS[bytes[at + 2] as number] as number) +
        (WEIGHTS[bytes[at + 3] as number] as number)
    for (; at < blockEnd; at++) weight += WEIGHTS[bytes[at] as number] as number
    unreadable += weight % IN_DOUBT
    if (weight >= IN_DOUBT) broken += brokenPairs(bytes, start, from, blockEnd)
    doubtful += Math.floor(weight / IN_DOUBT)
    if (unreadable + broken > most) return false
  }
  // Nearly all text is decided by now.
  return unreadable + doubtful <= most || isUtf8(bytes, start, end, most - unreadable)
}

/** At most `mostBroken` of the bytes above ASCII are no UTF-8. */
function isUtf8(bytes: Uint8Array, start: number, end: number, mostBroken: number): boolean {
  let broken = 0
  for (let at = start; at < end; ) {
    const byte = bytes[at++] as number
    if (byte < 0x80) continue
    let left = following(byte)
    if (left === 0) broken++
    const from = at - 1
    while (left > 0 && at < end && ((bytes[at] as number) & 0xc0) === 0x80) {
      at++
      left--
    }
    // What is cut off by the end of the window may have gone on.
    if (left > 0 && at < end) broken += at - from
    if (broken > mostBroken) return false
  }
  return true
}
