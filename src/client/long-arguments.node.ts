/**
 * Arguments that are more than one frame holds, or that begin with U+FEFF, which no message can: packed into the request's
 * raw_payload, which a device unpacks. What is too much for that as well is told before anything is sent.
 * Rules: docs/protocol.md, section 3 (Execute, raw_payload).
 * @module
 */
import * as zlib from 'node:zlib'
import { encodeCborList } from '../base/encoding/cbor.ts'
import { utf8Length } from '../base/encoding/utf8.ts'
import { misuse } from '../errors.ts'
import { ARGUMENTS_MAX, CBOR_ITEMS, FRAME_BYTES } from '../limits.ts'
import type { ExecuteRequestInput } from './calls/call-words.ts'

/** For what a request has beside its arguments. */
const BESIDE_ITEMS = 1_024
const BESIDE_BYTES = 16_384

export type Words = Pick<ExecuteRequestInput, 'command' | 'args' | 'raw_payload'>

/**
 * A program and its arguments as a request has them.
 * @throws SassError USAGE where no request holds them
 */
export function requestWords(command: string, args: readonly string[]): Words {
  const bytes = args.reduce((sum, text) => sum + utf8Length(text), utf8Length(command))
  const isMarked = [command, ...args].some((word) => word.startsWith('\ufeff'))
  const isShort =
    args.length < CBOR_ITEMS - BESIDE_ITEMS && bytes + args.length * 5 < FRAME_BYTES - BESIDE_BYTES
  if (isShort && !isMarked) return { command, args }
  const size = isShort
    ? 'An argument of the command begins with U+FEFF (a byte order mark)'
    : `The command has ${args.length} arguments of ${bytes} bytes together`
  if (args.length >= ARGUMENTS_MAX)
    throw misuse(
      `${size}, and a device takes ${ARGUMENTS_MAX - 1}; nothing was sent. Give them to it in a file, or on its standard input.`,
    )
  if (typeof zlib.zstdCompressSync !== 'function')
    throw misuse(
      `${size}, which this Node.js (${process.version}) cannot pack for the wire; nothing was sent. Use Node.js 22.15 or later, or the packaged program.`,
    )
  // CBOR has no text with a mark in front, and JSON does.
  const plain = isMarked
    ? Buffer.from(JSON.stringify([command, ...args]))
    : encodeCborList([command, ...args])
  const raw_payload = zlib.zstdCompressSync(plain).toString('base64')
  if (raw_payload.length > FRAME_BYTES - BESIDE_BYTES)
    throw misuse(
      `${size}, and packed they still take ${raw_payload.length} bytes, more than one request holds; nothing was sent. Send them as a file (sass-edge cp), or on its standard input.`,
    )
  return { raw_payload }
}
