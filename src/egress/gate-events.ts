/**
 * What happens at the gate of a session and what is to be done about it, as data, and the line that is kept of each
 * connection and each refused name.
 * @module
 */

import type { IpAddress } from '../base/ip-address.ts'
import type { Asked, HumanAnswer } from './asking.ts'
import type { GuardPlan } from './guards/guard.ts'
import type { GuardReason } from './guards/guard-step.ts'
import type { AddressProblem } from './lists/address-check.ts'
import type { EgressList, Protocol } from './lists/egress-list.ts'

/** A name in normal form, or a bare address. */
export type Target = string | IpAddress

/** Where a question came from, for its answer. */
export type Sender = { readonly address: string; readonly port: number }

export interface GateRules {
  /** What happens when something is to be reached that is not listed. */
  readonly unlisted: 'ask' | 'deny' | 'audit'
}

/** Why something did not pass, or not to its end. */
export type GateReason =
  | 'unlisted'
  | Exclude<Asked, 'asked' | 'waiting'>
  | AddressProblem
  | GuardReason
  /** The client said nothing that could be read, in its time. */
  | 'silent'
  | 'budget'
  /** The list does not have it any more. */
  | 'delisted'
  /** The session has ended. */
  | 'ended'
  | 'unresolved'
  | 'unreachable'
  /** The thread that passed its bytes is gone. */
  | 'lost'

export interface EgressRecord {
  /** Undefined: a bare address. */
  readonly name: string | undefined
  /** Where it led to, or what was wanted; undefined: it came to no address. */
  readonly address: string | undefined
  /** Undefined: a name was asked for, and no port yet. */
  readonly port: number | undefined
  /** Undefined: a name was asked for. `udp`: a flow of datagrams from one sender to one place. */
  readonly protocol: Protocol | undefined
  /** `audited`: it passed, and would be asked about or refused otherwise. */
  readonly verdict: 'passed' | 'audited' | 'refused' | 'failed'
  readonly reason: GateReason | undefined
  /** From the session to the server. */
  readonly sentBytes: number
  readonly receivedBytes: number
  readonly durationMs: number
  /** How many such this line is for; more than 1 only for refusals. */
  readonly times: number
}

export type GateInput =
  | { readonly kind: 'question'; readonly to: Sender; readonly bytes: Uint8Array }
  /** `address`, `port`: what the client connected to, or sent the first datagram of a flow to. */
  | {
      readonly kind: 'accepted'
      readonly id: number
      readonly address: IpAddress
      readonly port: number
      readonly protocol: Protocol
    }
  /** No addresses: it could not be. */
  | { readonly kind: 'resolved'; readonly id: number; readonly addresses: readonly IpAddress[] }
  | {
      readonly kind: 'answered'
      readonly key: string
      readonly target: Target
      readonly port: number
      readonly answer: HumanAnswer
    }
  /** A connection has passed what it was let. */
  | { readonly kind: 'lease'; readonly id: number }
  | {
      readonly kind: 'closed'
      readonly id: number
      /** Undefined: it was never connected. */
      readonly address: string | undefined
      readonly sentBytes: number
      readonly receivedBytes: number
      /** Undefined: its two ends have ended it. */
      readonly reason: GateReason | undefined
    }
  | { readonly kind: 'listed'; readonly list: EgressList }
  | { readonly kind: 'ended' }

export type GateOutput =
  | { readonly kind: 'answer'; readonly to: Sender; readonly bytes: Uint8Array }
  | { readonly kind: 'ask'; readonly key: string; readonly target: Target; readonly port: number }
  /** Nobody waits for that answer any more. */
  | { readonly kind: 'withdraw'; readonly key: string }
  | { readonly kind: 'resolve'; readonly id: number; readonly name: string }
  /** To one of these and no other. `leaseBytes`: so much may pass before more is asked for; undefined: no bound. */
  | {
      readonly kind: 'connect'
      readonly id: number
      readonly addresses: readonly IpAddress[]
      readonly port: number
      readonly guard: GuardPlan
      readonly leaseBytes: number | undefined
    }
  | { readonly kind: 'grant'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'reset'; readonly id: number; readonly reason: GateReason }
  | { readonly kind: 'record'; readonly line: EgressRecord }
  /** What has just happened, whether it has a line of its own or not. */
  | { readonly kind: 'tell'; readonly line: EgressRecord }
