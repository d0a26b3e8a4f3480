/**
 * The gate to the network as the rest of the daemon has it.
 * @module
 */

import type { IpAddress } from '../base/ip-address.ts'
import type { HumanAnswer } from './asking.ts'
import type { Budgets } from './budgets.ts'
import type { Destination } from './destinations.ts'
import type { EgressRecord, GateRules } from './gate-events.ts'
import type { GateReadings } from './gate-tally.ts'
import type { RefusedPlace } from './lately.ts'
import type { AddressRules } from './lists/address-check.ts'
import type { DatagramPlace, EgressList } from './lists/egress-list.ts'
import type { GateCounts } from './session-gate.ts'

/** A listening TCP socket of a session's network namespace, as a descriptor that does not block. */
export interface GateListener {
  readonly fd: number
  /** The port that a client means which connects to it. */
  readonly port: number
}

/** A UDP socket of a session's network namespace, bound to an address and port that the list has for datagrams. */
export interface GateDatagrams extends DatagramPlace {
  readonly fd: number
}

/** Taken over: they are closed when the session ends. */
export interface GateDescriptors {
  /** Two for each of `listenedPorts(list)`: IPv4 and IPv6. */
  readonly listeners: readonly GateListener[]
  /** UDP, bound to port 53 of 127.0.0.1 there. */
  readonly dns: number
  readonly datagrams: readonly GateDatagrams[]
}

/** More of them, for a list that names more. */
export type MoreDescriptors = Pick<GateDescriptors, 'listeners' | 'datagrams'>

export interface EgressQuestion {
  readonly session: string
  /** A name in normal form, or the text of an address. */
  readonly host: string
  readonly port: number
}

export interface EgressEvents {
  /**
   * A human is asked: `answer` is called once, `none` where nobody answers in time. What comes back is called where
   * nobody waits for it any more, and then no answer counts.
   */
  ask(question: EgressQuestion, answer: (answer: HumanAnswer) => void): () => void
  /** Once for each connection or flow of datagrams that is over and each refusal that is worth a line. Must not throw. */
  record(session: string, line: EgressRecord): void
  /** Each of them as it happens, also where it is none of those that get a line. Must not throw. */
  tell(session: string, line: EgressRecord): void
}

export interface EgressSession {
  /**
   * From now on this list holds; what it does not let through ends, and where it has no datagrams nothing hears them.
   * `more`: for what it adds; of datagrams what it has not, or has already, is closed.
   */
  relist(list: EgressList, more?: MoreDescriptors): void
  /** Ends every connection; resolves when all are closed and recorded. */
  end(): Promise<void>
  readonly counts: GateCounts
  /** The name that an address stands for there; undefined: it stands for none. */
  nameOf(address: IpAddress): string | undefined
}

export interface EgressGate {
  /** @param session its id, for records and questions. @param budgets shared with other sessions; absent: of its own */
  open(
    session: string,
    list: EgressList,
    rules: GateRules & AddressRules,
    descriptors: GateDescriptors,
    budgets?: Budgets,
  ): EgressSession
  /** Ends what is open, and the thread that passes bytes. */
  close(): Promise<void>
}

/** The gate as the rooms of sessions know it. */
export interface EgressRoom {
  /** What the work in that branch has talked to, over restarts, the latest last. */
  destinations(branch: string): readonly Destination[]
  /** It has talked to the network, at any time: what it prints may be from there. */
  hasTalked(branch: string): boolean
  /** What was refused to the work in that branch since this was asked last; each is told once. */
  refused(branch: string): readonly RefusedPlace[]
  /** The name that an address stands for in that branch; undefined: it stands for none. */
  nameOf(branch: string, address: string): string | undefined
  /** What it does now, and has done since the daemon started. */
  readings(): GateReadings
  /** Another list may hold: what it does not let through ends. */
  relist(): void
}
