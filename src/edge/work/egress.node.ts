/**
 * The gate of the sessions' networks, joined to the rest of the daemon: its list from the configuration, its questions
 * to a human, its lines to the record.
 * Rules: docs/egress.md.
 * @module
 */

import { networkInterfaces } from 'node:os'
import { formatIpAddress, hostPort, type IpAddress, parseIpAddress } from '../../base/ip-address.ts'
import type { HumanAnswer } from '../../egress/asking.ts'
import { type Budgets, createBudgets } from '../../egress/budgets.ts'
import { listWithin } from '../../egress/egress-settings.ts'
import type { EgressRecord, GateRules } from '../../egress/gate-events.ts'
import type { EgressQuestion, EgressRoom, EgressSession, MoreDescriptors } from '../../egress/gate-port.ts'
import { createEgressGate } from '../../egress/gate-server.node.ts'
import { createGateTally } from '../../egress/gate-tally.ts'
import { createLately, type Lately } from '../../egress/lately.ts'
import { REFUSED_TOLD } from '../../egress/limits.ts'
import type { AddressRules } from '../../egress/lists/address-check.ts'
import {
  datagramPlaces,
  type EgressList,
  listenedPorts,
  type Protocol,
} from '../../egress/lists/egress-list.ts'
import { createResolver, DEVICE_PLACES } from '../../egress/names/resolver.node.ts'
import type { AuditEvent, Clock } from '../../ports.ts'
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'
import type { GateListener, ListenPlace } from '../../sandbox/namespaces/namespace-plan.ts'
import type { GatedPlace, NetworkGate } from '../../sandbox/places/network-gate.ts'
import { capabilityOf, type Rooms } from '../../session/common/rooms.ts'
import { isRunning } from '../../session/executions/execution.ts'
import { askMeanwhile } from '../../session/standing/asking-meanwhile.ts'
import type { ConfirmationOutcome } from '../../session/standing/confirmations.ts'
import { threadTexts } from '../host/thread-texts.node.ts'
import { createTalkedTo } from '../state/talked-to.node.ts'
import { createDatagramSockets } from './datagram-sockets.node.ts'

export type Egress = NetworkGate & EgressRoom & { close(): Promise<void> }

const LAYER = 'egress'
const RULE = 'unlisted'
const ANSWERS: Readonly<Record<ConfirmationOutcome, HumanAnswer>> = Object.freeze({
  approved: 'yes',
  denied: 'no',
  timed_out: 'none',
})

/** The addresses of this device, as they are now: interfaces come and go. */
function ownAddresses(): IpAddress[] {
  return Object.values(networkInterfaces()).flatMap((entries = []) =>
    entries.flatMap(({ address }) => parseIpAddress(address) ?? []),
  )
}

/** As the gate has them: of datagrams the address is meant, of connections the port alone. */
function descriptorsOf(listeners: readonly GateListener[]): MoreDescriptors {
  const of = (protocol: Protocol) => listeners.filter((one) => one.protocol === protocol)
  return {
    listeners: of('tcp').map(({ descriptor, port }) => ({ fd: descriptor, port })),
    datagrams: of('udp').flatMap(({ descriptor, address, port }) => {
      const parsed = parseIpAddress(address)
      return parsed === undefined ? [] : [{ fd: descriptor, address: parsed, port }]
    }),
  }
}

/** A port of connections is listened on at every address. */
function placeKey({ protocol, address, port }: ListenPlace): string {
  return protocol === 'tcp' ? `${port}` : hostPort(address, port)
}

const placeText = ({ host, port }: EgressQuestion): string => hostPort(host, port)

type Ground = {
  readonly clock: Clock
  /** Where a branch has its directory. */
  readonly directoryOf: (branch: string) => string
  readonly rooms: () => Rooms
  /** What has happened, whatever can be written. */
  readonly record: (event: AuditEvent) => void
  /** TCP ports that the daemon listens on. */
  readonly ownPorts: () => readonly number[]
}

type Served = {
  readonly place: GatedPlace
  readonly session: EgressSession
  readonly refused: Lately
  /** Undefined: not looked up yet. */
  hasTalked: boolean | undefined
  /** Opens what a list has that the one before had not. */
  follow(): Promise<void>
}

export function createEgress({ clock, directoryOf, rooms, record, ownPorts }: Ground): Egress {
  /** By branch. */
  const served = new Map<string, Served>()
  const ending = new Set<Promise<void>>()
  const setOf = ({ agent }: Pick<GatedPlace, 'agent'>): string =>
    rooms().identities.find(agent)?.capability ?? ''
  /** As it is now: a reload narrows what is open. */
  function listOf(place: GatedPlace): EgressList {
    const set = capabilityOf(rooms(), setOf(place))
    const list = listWithin(rooms().settings.egress, set === undefined ? place.egress : (set.egress ?? null))
    const { within } = place
    if (within === undefined) return list
    // Of whoever handed the work on; a set that is gone has nothing to hand on.
    const above = capabilityOf(rooms(), setOf({ agent: within }))
    return listWithin({ list }, above === undefined ? [] : (above.egress ?? null))
  }
  const tally = createGateTally()
  const talkedTo = createTalkedTo(clock, directoryOf, (branch, cause) => {
    const reason = cause instanceof Error ? cause.message : 'unknown'
    rooms().log.write('warn', 'talked_to_unwritten', { branch, reason })
  })
  /** By capability set: its sessions share what an hour lets through. */
  const budgets = new Map<string, Budgets>()
  function budgetsOf(place: GatedPlace): Budgets {
    const set = setOf(place)
    const known = budgets.get(set) ?? createBudgets()
    budgets.set(set, known)
    return known
  }

  /** Nobody can be asked about a place that no session works in any more. */
  function ask(question: EgressQuestion, answer: (answer: HumanAnswer) => void): () => void {
    const { confirmations, log, places, executions } = rooms()
    const place = served.get(question.session)?.place
    const session = places.sessionsIn(question.session)[0]
    if (place === undefined || session === undefined) {
      answer('none')
      return () => {}
    }
    const wanted = placeText(question)
    const commands = executions
      .present()
      .filter((execution) => execution.sessionId === session && isRunning(execution))
      .map(({ command }) => command)
    return askMeanwhile(
      { confirmations, log, record },
      {
        agent: place.agent,
        sessionId: session,
        layer: LAYER,
        rule: RULE,
        reason: `${wanted} is not in sandbox.egress.`,
        shown: {
          action: { kind: 'reach', place: wanted },
          branch: place.branch,
          commands,
        },
      },
      (outcome) => answer(ANSWERS[outcome]),
    )
  }

  function recordLine(branch: string, line: EgressRecord): void {
    const place = served.get(branch)?.place
    record({
      type: 'egress',
      tool: 'egress',
      agent: place?.agent ?? null,
      session: rooms().places.sessionsIn(branch)[0] ?? null,
      branch,
      name: line.name ?? null,
      address: line.address ?? null,
      port: line.port ?? null,
      protocol: line.protocol ?? null,
      what: line.verdict,
      reason: line.reason ?? null,
      sent_bytes: line.sentBytes,
      received_bytes: line.receivedBytes,
      duration_ms: line.durationMs,
      times: line.times,
    })
  }

  function tell(branch: string, line: EgressRecord): void {
    const nowMs = clock.wallMs()
    tally.add(line, nowMs)
    served.get(branch)?.refused.add(line, nowMs)
    if (line.sentBytes + line.receivedBytes === 0) return
    talkedTo.add(branch, line)
    const one = served.get(branch)
    if (one !== undefined) one.hasTalked = true
  }

  /** As they are when they are asked for: a reload changes them for what is open, too. */
  const rules: GateRules & AddressRules = {
    get unlisted() {
      return rooms().settings.egress.unlisted
    },
    get refusesInternal() {
      return rooms().settings.egress.refusesInternal
    },
    get reachable() {
      return rooms().settings.egress.reachable
    },
    get ownPorts() {
      return ownPorts()
    },
    ownAddresses,
  }
  function listens(place: GatedPlace): ListenPlace[] {
    const list = listOf(place)
    return [
      ...listenedPorts(list).map((port) => ({ protocol: 'tcp', address: undefined, port }) as const),
      ...datagramPlaces(list).map(
        ({ address, port }) => ({ protocol: 'udp', address: formatIpAddress(address), port }) as const,
      ),
    ]
  }
  const gate = createEgressGate(
    {
      clock,
      sockets: createDatagramSockets(loadSyscalls()),
      resolver: createResolver(clock, DEVICE_PLACES),
      relaySource: threadTexts()?.relay,
    },
    { ask, record: recordLine, tell },
  )

  return {
    listens,
    serve(place, { listeners, names }, listen) {
      const open = new Set(listeners.map(placeKey))
      const session = gate.open(
        place.branch,
        listOf(place),
        rules,
        { ...descriptorsOf(listeners), dns: names },
        budgetsOf(place),
      )
      const one: Served = {
        place,
        session,
        refused: createLately(REFUSED_TOLD),
        hasTalked: undefined,
        async follow() {
          const wanted = new Map(listens(place).map((one) => [placeKey(one), one]))
          // The gate has closed what it does not hear any more; a port of connections stays.
          for (const key of open) if (key.includes(':') && !wanted.has(key)) open.delete(key)
          const more = [...wanted].filter(([key]) => !open.has(key))
          for (const [key] of more) open.add(key)
          const made = more.length === 0 ? [] : await listen(more.map(([, one]) => one))
          session.relist(listOf(place), descriptorsOf(made))
        },
      }
      served.set(place.branch, one)
      async function end(): Promise<void> {
        await session.end()
        if (served.get(place.branch) === one) served.delete(place.branch)
        await talkedTo.rest(place.branch)
      }
      return {
        close() {
          const done = end().finally(() => ending.delete(done))
          ending.add(done)
        },
      }
    },
    destinations: talkedTo.list,
    hasTalked(branch) {
      const one = served.get(branch)
      if (one === undefined) return false
      one.hasTalked ??= talkedTo.list(branch).length > 0
      return one.hasTalked || one.session.counts.connections > 0
    },
    refused: (branch) => served.get(branch)?.refused.take() ?? [],
    nameOf(branch, text) {
      const address = parseIpAddress(text)
      return address === undefined ? undefined : served.get(branch)?.session.nameOf(address)
    },
    readings() {
      const counts = [...served.values()].map(({ session }) => session.counts)
      return tally.readings({
        sessions: counts.length,
        connections: counts.reduce((sum, { connections }) => sum + connections, 0),
        asked: counts.reduce((sum, { asked }) => sum + asked, 0),
      })
    },
    relist() {
      for (const { place, session, follow } of served.values()) {
        // What is not listed any more ends at once, whatever becomes of what is new.
        session.relist(listOf(place))
        follow().catch((cause: unknown) => {
          const reason = cause instanceof Error ? cause.message : 'unknown'
          rooms().log.write('warn', 'egress_not_listening', { branch: place.branch, reason })
        })
      }
    },
    async close() {
      await gate.close()
      await Promise.all(ending)
    },
  }
}
