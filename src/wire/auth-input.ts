/**
 * The bytes that an agent signs to authenticate: they bind the name, a nonce and this very connection.
 * Rules: docs/protocol.md, section 4.
 * @module
 */
import { encodeCbor } from '../base/cbor.ts'
import { AUTH_CONTEXT } from '../limits.ts'

/** Deterministic CBOR of [context, name, nonce, channel binding]. */
export function authSigningInput(name: string, nonce: Uint8Array, channelBinding: Uint8Array): Uint8Array {
  return encodeCbor([AUTH_CONTEXT, name, nonce, channelBinding])
}
