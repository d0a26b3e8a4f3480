/**
 * How one dispatcher's key follows another: a statement, signed by the pinned key, that names the next one. While it
 * lies in the vault both keys count, so that a device whose pin has not been changed yet takes what the next one signs;
 * with the new pin it goes. Only the pinned key can name another, and only one.
 * Rules: docs/intent.md section 3.
 * @module
 */
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { type JsonObject, pythonJson, pythonJsonBytes, readIntentJson } from '../canonical/python-json.ts'
import { fieldWhere, hexField, shapeField, textOf } from '../canonical/shape.ts'
import { STATEMENT_BYTES } from '../limits.ts'
import type { Verify } from './manifest.ts'

/** First in what is signed, so that it is never taken for a manifest. */
const STATEMENT = 'dispatcher_key_rotation'

const SHAPE = shapeField({
  statement: fieldWhere((value) => value === STATEMENT, `must be "${STATEMENT}"`),
  previous_key: hexField(32),
  next_key: hexField(32),
  signature: hexField(64),
})

function signedJson(previous: Uint8Array, next: Uint8Array): JsonObject {
  return { statement: STATEMENT, previous_key: encodeHex(previous), next_key: encodeHex(next) }
}

/** The file of the statement that `next` follows `previous`, which signs it. */
export function writeRotation(
  previous: Uint8Array,
  next: Uint8Array,
  sign: (bytes: Uint8Array) => Uint8Array,
): Uint8Array {
  const statement = signedJson(previous, next)
  return encodeUtf8(
    `${pythonJson({ ...statement, signature: encodeHex(sign(pythonJsonBytes(statement))) })}\n`,
  )
}

export type RotationRead =
  | { readonly ok: true; readonly nextKey: Uint8Array }
  | { readonly ok: false; readonly problem: string }

/** The key that follows `pinned`, where that has signed so. `problem` is a clause that follows the name of the file. */
export function readRotation(bytes: Uint8Array, pinned: Uint8Array, verify: Verify): RotationRead {
  const json = readIntentJson(bytes, STATEMENT_BYTES)
  if (!json.ok) return { ok: false, problem: `cannot be read: ${json.problem}` }
  const problem = SHAPE(json.value)
  if (problem !== undefined)
    return { ok: false, problem: `is not valid: ${problem.field} ${problem.problem}` }
  const value = json.value as JsonObject
  const nextKey = decodeHex(textOf(value, 'next_key'))
  const signature = decodeHex(textOf(value, 'signature'))
  if (textOf(value, 'previous_key') !== encodeHex(pinned) || nextKey === undefined || signature === undefined)
    return { ok: false, problem: 'is about another key than the pinned one' }
  return verify(pinned, signature, pythonJsonBytes(signedJson(pinned, nextKey)))
    ? { ok: true, nextKey }
    : { ok: false, problem: 'is not signed by the pinned key' }
}
