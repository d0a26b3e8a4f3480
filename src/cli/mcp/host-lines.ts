/**
 * What a host sends, a line a message: never more of one held than the longest that may be, whatever comes. What is longer
 * is passed over up to its end, and what is no UTF-8 is no text.
 * Rules: Model Context Protocol 2025-11-25, "Transports" (stdio).
 * @module
 */

import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { joined } from '../../base/joined.ts'

export type HostLine =
  | { readonly text: string; readonly problem: '' }
  /** One sentence. */
  | { readonly text: undefined; readonly problem: string }

const NEW_LINE = 0x0a
const CARRIAGE_RETURN = 0x0d

/** The returned function takes bytes, which it copies, and gives the lines that end in them; empty ones are none. */
export function createHostLines(limitBytes: number): (bytes: Uint8Array) => readonly HostLine[] {
  let held: Uint8Array[] = []
  let heldBytes = 0
  let isTooLong = false

  function hold(bytes: Uint8Array): void {
    if (isTooLong) return
    heldBytes += bytes.length
    if (heldBytes <= limitBytes) held.push(bytes.slice())
    else {
      isTooLong = true
      held = []
    }
  }

  function end(): HostLine | undefined {
    const wasTooLong = isTooLong
    const all = joined(held)
    held = []
    heldBytes = 0
    isTooLong = false
    if (wasTooLong)
      return {
        text: undefined,
        problem: `A line of the host has more than ${limitBytes} bytes, so it was not read.`,
      }
    const length = all.at(-1) === CARRIAGE_RETURN ? all.length - 1 : all.length
    if (length === 0) return undefined
    const text = decodeUtf8(all, 0, length)
    if (text !== undefined) return { text, problem: '' }
    return { text: undefined, problem: 'A line of the host is no UTF-8, so it was not read.' }
  }

  return (bytes) => {
    const lines: HostLine[] = []
    let from = 0
    for (let at = bytes.indexOf(NEW_LINE); at >= 0; at = bytes.indexOf(NEW_LINE, from)) {
      hold(bytes.subarray(from, at))
      const line = end()
      if (line !== undefined) lines.push(line)
      from = at + 1
    }
    if (from < bytes.length) hold(bytes.subarray(from))
    return lines
  }
}
