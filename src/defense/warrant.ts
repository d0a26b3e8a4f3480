/**
 * A warrant permits one action, once, within its cycle: it is minted by the adjudicator alone, bound to session, cycle and the
 * SHA-256 of the exact action, and redeemed by whatever touches the world before it does. It cannot be forged or
 * copied: only objects that this file made carry its private field.
 * Rules: docs/responses.md, section 6.
 * @module
 */

import { sha256 } from '../base/crypto/hash.ts'
import { canonicalize } from '../base/encoding/canonical-json.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { encodeUtf8 } from '../base/encoding/utf8.ts'
import { SassError } from '../errors.ts'
import type { Action } from './facts.ts'

/**
 * SHA-256 of the UTF-8 of a well-formed text, lower-case hex. The daemon brings the host's, which is faster; the results
 * are the same.
 */
export type TextDigest = (text: string) => string

const textDigest: TextDigest = (text) => encodeHex(sha256(encodeUtf8(text)))

/** SHA-256 of the RFC 8785 form of the action, lower-case hex. */
export function actionDigest(action: Action, digest: TextDigest = textDigest): string {
  return digest(canonicalize(action))
}

/** The session of what happens before there is one. */
export const NO_SESSION = 'none'

function frozen(action: Action): Action {
  if (action.kind === 'execute') {
    Object.freeze(action.argv)
    Object.freeze(action.environment)
    Object.freeze(action.executable)
    Object.freeze(action.plan)
  }
  if (action.kind === 'deceive') Object.freeze(action.argv)
  if (action.kind === 'merge') {
    Object.freeze(action.paths)
    Object.freeze(action.force)
  }
  if (action.kind === 'handoff') {
    Object.freeze(action.persistent)
    Object.freeze(action.artifacts)
    for (const artifact of action.artifacts) Object.freeze(artifact)
    if (typeof action.previous === 'object' && action.previous !== null) {
      Object.freeze(action.previous)
      Object.freeze(action.previous.persistent)
    }
  }
  if (action.kind === 'delegate') {
    Object.freeze(action.tools)
    Object.freeze(action.commands)
    Object.freeze(action.paths)
  }
  return Object.freeze(action)
}

export class Warrant {
  /** SHA-256 over session, cycle and action digest, hex: equal inputs give equal ids. */
  readonly id: string
  readonly sessionId: string
  readonly cycle: number
  readonly actionDigest: string
  #redeemed = false
  #lapsed = false
  /** The frozen action itself, so that redeeming it need not digest it again. */
  readonly #action: Action

  private constructor(sessionId: string, cycle: number, action: Action, digestOf: TextDigest) {
    const digest = actionDigest(action, digestOf)
    this.#action = action
    this.sessionId = sessionId
    this.cycle = cycle
    this.actionDigest = digest
    this.id = digestOf(`sass-warrant-v1\n${sessionId}\n${cycle}\n${digest}`)
  }

  /** For the adjudicator alone; a test walks the imports and proves it. */
  static mint(sessionId: string, cycle: number, action: Action, digestOf: TextDigest = textDigest): Warrant {
    return new Warrant(sessionId, cycle, frozen(action), digestOf)
  }

  /**
   * Spends the warrant for exactly this action in this session. Throws INTERNAL when it is not one of ours, was spent
   * before, has outlived its cycle, or was minted for something else: nothing may then be done.
   */
  static redeem(warrant: Warrant, action: Action, sessionId: string): void {
    if (!(#redeemed in warrant))
      throw new SassError('INTERNAL', 'An action came without a warrant; nothing was done.')
    if (warrant.#redeemed) throw new SassError('INTERNAL', 'A warrant was used twice; nothing was done.')
    if (warrant.#lapsed)
      throw new SassError('INTERNAL', 'A warrant was used after its cycle had ended; nothing was done.')
    if (warrant.sessionId !== sessionId)
      throw new SassError('INTERNAL', 'A warrant was used in another session; nothing was done.')
    if (warrant.#action !== action && warrant.actionDigest !== actionDigest(action))
      throw new SassError(
        'INTERNAL',
        'A warrant was used for another action than it permits; nothing was done.',
      )
    warrant.#redeemed = true
  }

  /** Its cycle is over: the next one has begun. What was not redeemed by then permits nothing any more. */
  lapse(): void {
    this.#lapsed = true
  }
}
