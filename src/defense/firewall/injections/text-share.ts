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

/** False where at least a third of it cannot be read. */
export function isReadable(bytes: Uint8Array, start: number, end: number): boolean {
  const most = Math.floor((end - start) / UNREADABLE_OF)
  let unreadable = 0
  for (let at = start; at < end; ) {
    const byte = bytes[at++] ?? 0
    if (byte < 0x80) {
      unreadable += CONTROLS[byte] ?? 0
    } else {
      let left = following(byte)
      if (left === 0) unreadable++
      else {
        const from = at
        while (left > 0 && at < end && ((bytes[at] ?? 0) & 0xc0) === 0x80) {
          at++
          left--
        }
        // What is cut off by the end of the window may have gone on.
        if (left > 0 && at < end) unreadable += 1 + at - from
      }
    }
    if (unreadable > most) return false
  }
  return true
}
