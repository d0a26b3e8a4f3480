/**
 * What the daemon says to the thread that passes bytes, and what that says back.
 * @module
 */

import type { GateInput, GateReason } from '../gate-events.ts'
import type { GuardPlan } from '../guards/guard.ts'

export interface RelayPlan {
  readonly id: number
  /** The client's connection, as a descriptor: the thread's from now on. */
  readonly fd: number
  /** Texts of addresses, at least one: tried in order. */
  readonly addresses: readonly string[]
  readonly port: number
  readonly guard: GuardPlan
  /** Undefined: no bound. */
  readonly leaseBytes: number | undefined
}

export type RelayRequest =
  | { readonly kind: 'connect'; readonly plan: RelayPlan }
  | { readonly kind: 'grant'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'reset'; readonly id: number; readonly reason: GateReason }
  /** Only when nothing is open. */
  | { readonly kind: 'close' }

/** Of one connection, once. */
export type RelayClosed = Extract<GateInput, { kind: 'closed' }>

/** `lease`: what was let has passed, and it waits for more. */
export type RelayReport = RelayClosed | { readonly kind: 'lease'; readonly id: number }
