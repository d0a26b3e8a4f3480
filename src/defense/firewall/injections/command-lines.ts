/**
 * Lines of output that are nothing but a command: behind the prompt of a shell, or one that destroys. Whoever reads
 * output and runs what it finds there is told that it is data; nothing is held for it.
 * Each line is looked at once and at its beginning alone, unless that could be one.
 * Rules: jerry.md, requirement 018; docs/firewall.md.
 * @module
 */
import { COMMAND_LINE_BYTES } from './limits.ts'

/** Of the bytes of the stream. */
export type CommandLine = { readonly offset: number; readonly length: number }

const LF = 0x0a
const SPACE = 0x20
const TAB = 0x09
const AT = 0x40

/** `user@host:~$ make`, `[root@host dir]# make`, `$ make -j2`. */
const PROMPTED = /^(?:\[?[a-z_][\w.-]{0,31}@[\w.-]{1,63}[: ][^$#%>]{0,64}[$#%] ?|\$ )[A-Za-z./~]/
/** By itself, or for a shell with more rights. */
const DESTROYING =
  /^\s*(?:sudo (?:-\S+ )*)?(?:rm (?:-\S+ )*(?:-\w*r\w*|--recursive) (?:-\S+ )*[\w./~*$"']\S*(?: [/~.]\S*)*\s*$|(?:mkfs(?:\.\w+)?|shred|wipefs) (?:\S+ )*\/dev\/\S+\s*$|dd (?:\S+ )*of=\/dev\/|chmod -R \S+ \/|(?:curl|wget) [^|]*\| *(?:sudo )?(?:ba|da|z)?sh\b|:\(\) ?\{ ?:)/

/** What a line of one of the two begins with, beside the name of a user. */
const BEGINNINGS: ReadonlySet<number> = new Set(Array.from('[$srmdwc:', (sign) => sign.charCodeAt(0)))

const isOfName = (byte: number): boolean =>
  (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x5f

/** Where the line ends that `from` is in, or `end`: it is never looked further than that. */
function endOfLine(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== LF) at++
  return at
}

function couldBe(bytes: Uint8Array, from: number, end: number): boolean {
  let at = from
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++
  if (BEGINNINGS.has(bytes[at] ?? 0)) return true
  while (at < end && isOfName(bytes[at] ?? 0)) at++
  return bytes[at] === AT
}

/**
 * The first line of `bytes` from `start` to `end` that is merely a command; its offset is that in `bytes`.
 * @param isLineStart whether a line begins at `start`
 * @param isCut whether more follows: then what stands behind the last end of a line is part of another look
 */
export function commandLineIn(
  bytes: Uint8Array,
  start: number,
  end: number,
  isLineStart: boolean,
  isCut: boolean,
): CommandLine | undefined {
  let from = isLineStart ? start : endOfLine(bytes, start, end) + 1
  while (from < end) {
    const to = endOfLine(bytes, from, end)
    if (to === end && isCut) return undefined
    if (to - from <= COMMAND_LINE_BYTES && couldBe(bytes, from, to)) {
      const line = String.fromCharCode(...bytes.subarray(from, to))
      if (PROMPTED.test(line) || DESTROYING.test(line)) return { offset: from, length: to - from }
    }
    from = to + 1
  }
  return undefined
}
