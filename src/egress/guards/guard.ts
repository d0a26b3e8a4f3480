/**
 * What may pass from a client to the server that it was let through to: a guard is shown every byte that the client
 * sends, in order, and says how many of those may pass. It copies nothing and changes nothing. What it has not passed it
 * is shown again, with more behind it. What it cannot read is reset: there is no answer from the gate.
 *
 * | port | read |
 * |---|---|
 * | 80, and every port of an entry with methods | HTTP/1.1, each request (`http-guard.ts`) |
 * | 443, 8443 | the first message of TLS, and a second one, which must name the server (`tls-guard.ts`); then nothing |
 * | others | nothing; but where the client begins with TLS, as on 443 |
 * | an address, or an entry `*`, without methods | nothing: whatever is there is listed |
 *
 * @module
 */

import { PLAIN_PORT, TLS_PORTS } from '../limits.ts'
import type { EgressEntry } from '../lists/egress-list.ts'
import type { Guard } from './guard-step.ts'
import { createHttpGuard } from './http-guard.ts'
import { createTlsGuard } from './tls-guard.ts'

export type GuardPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'tls'; readonly name: string }
  /** TLS where it begins like TLS. */
  | { readonly kind: 'other'; readonly name: string }
  /** `name` undefined: an address was listed, and every host there. `methods` undefined: all. */
  | {
      readonly kind: 'http'
      readonly name: string | undefined
      readonly port: number
      readonly methods: readonly string[] | undefined
    }

/** How a connection is guarded that `entry` lets through; `name` undefined: to a bare address. */
export function guardPlan({ host, methods }: EgressEntry, name: string | undefined, port: number): GuardPlan {
  if (methods !== undefined) return { kind: 'http', name, port, methods }
  if (name === undefined || host.kind === 'any') return { kind: 'none' }
  if (port === PLAIN_PORT) return { kind: 'http', name, port, methods }
  return { kind: TLS_PORTS.includes(port) ? 'tls' : 'other', name }
}

/** The guard that `plan` says; undefined: nothing is read. */
export function createGuard(plan: GuardPlan): Guard | undefined {
  switch (plan.kind) {
    case 'none':
      return undefined
    case 'tls':
    case 'other':
      return createTlsGuard(plan.name, plan.kind === 'other')
    case 'http':
      return createHttpGuard(plan)
  }
}
