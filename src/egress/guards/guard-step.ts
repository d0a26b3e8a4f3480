/**
 * What a guard says of the bytes that it is shown, and why it refuses.
 * @module
 */

export type GuardReason =
  | 'not_tls'
  | 'hello_malformed'
  | 'hello_without_name'
  | 'hello_other_name'
  | 'hello_encrypted'
  | 'http_malformed'
  | 'http_other_host'
  | 'http_method'

export type GuardStep =
  /** So many of the bytes shown; `isDone`: all that follow as well, unread. */
  | { readonly kind: 'pass'; readonly bytes: number; readonly isDone: boolean }
  | { readonly kind: 'reset'; readonly reason: GuardReason }

export interface Guard {
  /** `bytes`: what was not passed before, and what has come since. Not called again after a reset or `isDone`. */
  take(bytes: Uint8Array): GuardStep
}
