/**
 * The gate of `raw_payload`: Base64(Zstd(CBOR or JSON array [command, arg, ...])) becomes an argv, or is refused.
 * Each layer is measured before the next is opened: the text against a frame, the Zstandard frame against 5 MiB and a
 * number of blocks, the array against a number of arguments and their sizes. Over the 5 MiB (or the time for decoding) is
 * DECOMPRESSION_LIMIT_EXCEEDED, which severs the connection; everything else that is wrong is FRAME_MALFORMED.
 * The arguments go to execve as they are; no shell and no quoting is ever involved.
 * Rules: docs/protocol.md, section 3 (raw_payload); draft 6.2 and 6.3.
 * @module
 */
import { decodeBase64 } from '../base/encoding/base64.ts'
import { openCbor } from '../base/encoding/cbor.ts'
import { parseStrictJson } from '../base/encoding/strict-json.ts'
import { utf8Length } from '../base/encoding/utf8.ts'
import { ARGUMENT_BYTES, ARGUMENTS_MAX, FRAME_BYTES, PAYLOAD_PLAIN_BYTES } from '../limits.ts'
import type { ZstdDecoder } from '../ports.ts'
import type { ZstdRefusal } from './zstd-gate.ts'
import { openZstd } from './zstd-open.ts'

export type OpenedPayload = { readonly ok: true; readonly argv: readonly string[] } | ZstdRefusal

// RFC 8949 section 3: major type 4 with the count in the head's own bits, or in one or two bytes behind it.
const CBOR_ARRAY_FIRST = 0x80
const CBOR_ARRAY_LAST = 0x9b
const JSON_ARRAY = 0x5b
/** One array of scalars. */
const ARRAY_DEPTH = 1

function malformed(problem: string): ZstdRefusal {
  return { ok: false, code: 'FRAME_MALFORMED', problem }
}

/** The value in the plain bytes; which of the two encodings it is, the first byte says. */
function readArray(
  plain: Uint8Array,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string } {
  const first = plain[0] ?? 0
  const items = ARGUMENTS_MAX + 1
  if (first === JSON_ARRAY)
    return parseStrictJson(plain, { size: PAYLOAD_PLAIN_BYTES, depth: ARRAY_DEPTH, items })
  if (first >= CBOR_ARRAY_FIRST && first <= CBOR_ARRAY_LAST)
    return openCbor(plain, { depth: ARRAY_DEPTH, items })
  return { ok: false, problem: 'it begins as neither a CBOR nor a JSON array' }
}

/** What is wrong with `value` as an argv, or undefined. */
function argvProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return 'it holds no array with a command in it'
  if (value.length > ARGUMENTS_MAX) return `it has more than ${ARGUMENTS_MAX} arguments`
  for (const [index, argument] of (value as readonly unknown[]).entries()) {
    if (typeof argument !== 'string') return `argument ${index} is not text`
    if (utf8Length(argument) > ARGUMENT_BYTES)
      return `argument ${index} is longer than ${ARGUMENT_BYTES} bytes`
    // execve takes C strings: what follows a NUL would be checked here and never run.
    if (argument.includes('\0')) return `argument ${index} has a NUL in it`
  }
  return value[0] === '' ? 'the command is empty' : undefined
}

/** The Zstandard frame in a payload, which nobody has looked at yet. */
export function framedPayload(
  text: string | Uint8Array,
): { readonly ok: true; readonly frame: Uint8Array } | ZstdRefusal {
  if (text.length > FRAME_BYTES)
    return malformed(`the payload is longer than the ${FRAME_BYTES} bytes of a frame`)
  const frame = decodeBase64(text, FRAME_BYTES)
  return frame === undefined ? malformed('the payload is not base64 as RFC 4648 has it') : { ok: true, frame }
}

/** The argv in the plain bytes of a payload. */
export function readArguments(plain: Uint8Array): OpenedPayload {
  const array = readArray(plain)
  if (!array.ok) return malformed(`the payload is refused: ${array.problem}`)
  const problem = argvProblem(array.value)
  if (problem !== undefined) return malformed(`the payload is refused: ${problem}`)
  return { ok: true, argv: Object.freeze([...(array.value as readonly string[])]) }
}

/**
 * The argv in a payload.
 * @param text base64 as text or as the bytes of that text
 */
export async function openPayload(text: string | Uint8Array, decoder: ZstdDecoder): Promise<OpenedPayload> {
  const framed = framedPayload(text)
  if (!framed.ok) return framed
  const opened = await openZstd(framed.frame, PAYLOAD_PLAIN_BYTES, decoder)
  return opened.ok
    ? readArguments(opened.plain)
    : { ...opened, problem: `the payload is refused: ${opened.problem}` }
}
