/**
 * The bytes that an agent signs to authenticate, and those that the key which follows signs: both bind the name and this
 * very connection.
 * Rules: docs/protocol.md, section 4.
 * @module
 */
import { encodeSigned } from '../base/encoding/cbor-signed.ts'
import { AUTH_CONTEXT, KEY_ROTATION_CONTEXT } from '../limits.ts'

/** Deterministic CBOR of [context, name, nonce, channel binding]. */
export function authSigningInput(name: string, nonce: Uint8Array, channelBinding: Uint8Array): Uint8Array {
  return encodeSigned([AUTH_CONTEXT, name, nonce, channelBinding])
}

/** Deterministic CBOR of [context, name, channel binding]: whoever signs it has the key that is to follow. */
export function keyRotationInput(name: string, channelBinding: Uint8Array): Uint8Array {
  return encodeSigned([KEY_ROTATION_CONTEXT, name, channelBinding])
}
