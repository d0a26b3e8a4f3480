/**
 * What the targets of the fuzzer share: inputs as text, and what must hold.
 * @module
 */
import { encodeUtf8 } from '../../src/base/encoding/utf8.ts'

export const text = (value: string): Uint8Array => encodeUtf8(value)

/** One character for each byte, so that every input is some text. */
export function latin(input: Uint8Array): string {
  return Buffer.from(input.buffer, input.byteOffset, input.length).toString('latin1')
}

/** Throws with `what` where it does not hold: the engine takes that for a finding. */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}
