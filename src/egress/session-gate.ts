/**
 * The gate of one session, as a machine: what happens is told to it, with the time, and it says what is to be done. It
 * knows who may be reached, which address stands for which name, what a human is being asked and what passes; it
 * opens, reads and sends nothing.
 * A connection goes: accepted, asked about where nothing lists it, resolved where it is to a name, checked at every
 * address, connected, closed. Whatever ends it before is a reset, and a line in the record says why. So does a flow of
 * datagrams, which is never asked about: it is to an address, and its place is there because the list has it.
 * Rules: docs/egress.md.
 * @module
 */

import { formatIpAddress, type IpAddress } from '../base/ip-address.ts'
import { createAsking } from './asking.ts'
import { type Budgets, createBudgets } from './budgets.ts'
import type {
  EgressRecord,
  GateInput,
  GateOutput,
  GateReason,
  GateRules,
  Sender,
  Target,
} from './gate-events.ts'
import { guardPlan } from './guards/guard.ts'
import {
  ADDRESSES_TRIED,
  CONNECTIONS_BURST,
  CONNECTIONS_MAX,
  CONNECTIONS_PER_SECOND,
  GRANTS_MAX,
  QUESTIONS_BURST,
  QUESTIONS_PER_SECOND,
} from './limits.ts'
import { type AddressRules, addressProblem } from './lists/address-check.ts'
import {
  type EgressEntry,
  type EgressList,
  entryForAddress,
  entryForName,
  grantedEntry,
  type Protocol,
} from './lists/egress-list.ts'
import { answerBytes, type Question, RCODE, readQuestion, TYPE_A, TYPE_AAAA } from './names/dns-message.ts'
import { isBelow } from './names/host-name.ts'
import { createStandIns, isStandIn } from './names/stand-ins.ts'
import { createPace } from './pace.ts'
import { createRefusals } from './refusals.ts'

type Connection = {
  readonly id: number
  readonly startedAtMs: number
  readonly target: Target
  readonly port: number
  readonly protocol: Protocol
  readonly isAudited: boolean
  /** Undefined: a human is being asked. */
  readonly entry: EgressEntry | undefined
  /** Where it was let to; undefined: not yet. */
  readonly addresses: readonly IpAddress[] | undefined
  readonly leasedBytes: number
}

export interface SessionGate {
  input(input: GateInput, nowMs: number): readonly GateOutput[]
  /** Milliseconds until the next connection may be accepted; undefined: not before one has closed. */
  acceptsInMs(nowMs: number): number | undefined
  /** Milliseconds until the next question may be read. */
  readsInMs(nowMs: number): number
  readonly counts: GateCounts
  /** The name that an address stands for there; undefined: it stands for none. */
  nameOf(address: IpAddress): string | undefined
}

export type GateCounts = { readonly connections: number; readonly names: number; readonly asked: number }

const LOCAL_V4: IpAddress = Object.freeze({ family: 4, bytes: Object.freeze([127, 0, 0, 1]) })
const LOCAL_V6: IpAddress = Object.freeze({ family: 6, bytes: Object.freeze([...new Array(15).fill(0), 1]) })

const SERVICE_LABELS = /^(?:_[a-z0-9-]+\.)+/

function textOf(target: Target): string {
  return typeof target === 'string' ? target : formatIpAddress(target)
}

function keyOf(target: Target, port: number): string {
  return `${textOf(target)} ${port}`
}

/** `budgets`: shared with other sessions; absent: of its own. */
export function createSessionGate(
  initialList: EgressList,
  rules: GateRules & AddressRules,
  budgets: Budgets = createBudgets(),
): SessionGate {
  let list = initialList
  /** What a human has agreed to, for as long as the session is there. */
  const grants: EgressEntry[] = []
  const standIns = createStandIns()
  const asking = createAsking()
  const refusals = createRefusals<EgressRecord>()
  const connections = new Map<number, Connection>()
  const accepting = createPace(CONNECTIONS_PER_SECOND, CONNECTIONS_BURST)
  const reading = createPace(QUESTIONS_PER_SECOND, QUESTIONS_BURST)

  function entryFor(target: Target, port: number, protocol: Protocol): EgressEntry | undefined {
    const all = [...grants, ...list]
    return typeof target === 'string'
      ? entryForName(all, target, port)
      : entryForAddress(all, target, port, protocol)
  }

  function refusal(line: EgressRecord, nowMs: number): readonly GateOutput[] {
    const key = `${line.name ?? line.address ?? ''} ${line.port ?? ''} ${line.protocol ?? ''} ${line.reason ?? ''}`
    const times = refusals.note(key, line, nowMs)
    const told: GateOutput = { kind: 'tell', line }
    return times === undefined ? [told] : [told, { kind: 'record', line: { ...line, times } }]
  }

  /** The line of a connection that is over, or of one that never was. */
  function lineOf(
    {
      target,
      port,
      protocol,
      startedAtMs,
      isAudited,
    }: Pick<Connection, 'target' | 'port' | 'protocol' | 'startedAtMs' | 'isAudited'>,
    nowMs: number,
    reason: GateReason | undefined,
    carried: {
      readonly address?: string | undefined
      readonly sentBytes: number
      readonly receivedBytes: number
    },
  ): EgressRecord {
    const address = carried.address ?? (typeof target === 'string' ? undefined : formatIpAddress(target))
    const isFailure =
      reason === 'unresolved' || reason === 'unreachable' || reason === 'lost' || reason === 'ended'
    const isEnd = reason === undefined || (reason === 'ended' && carried.address !== undefined)
    return {
      name: typeof target === 'string' ? target : undefined,
      address,
      port,
      protocol,
      verdict: isEnd ? (isAudited ? 'audited' : 'passed') : isFailure ? 'failed' : 'refused',
      reason,
      sentBytes: carried.sentBytes,
      receivedBytes: carried.receivedBytes,
      durationMs: Math.round(Math.max(0, nowMs - startedAtMs)),
      times: 1,
    }
  }

  function reset(connection: Connection, reason: GateReason, nowMs: number): readonly GateOutput[] {
    const { id, entry, leasedBytes, addresses, startedAtMs } = connection
    connections.delete(id)
    // The thread that passes its bytes is asked to end it, and says what it has carried.
    if (addresses !== undefined) {
      connections.set(id, connection)
      return [{ kind: 'reset', id, reason }]
    }
    if (entry !== undefined) budgets.correct(entry, -leasedBytes, startedAtMs)
    const line = lineOf(connection, nowMs, reason, { sentBytes: 0, receivedBytes: 0 })
    return [{ kind: 'reset', id, reason }, ...refusal(line, nowMs)]
  }

  /** Past the decision: it is looked up, or its address checked. */
  function proceed(connection: Connection, entry: EgressEntry, nowMs: number): readonly GateOutput[] {
    const decided = { ...connection, entry }
    connections.set(connection.id, decided)
    const { id, target } = connection
    return typeof target === 'string'
      ? [{ kind: 'resolve', id, name: target }]
      : connect(decided, [target], nowMs)
  }

  function connect(
    connection: Connection,
    found: readonly IpAddress[],
    nowMs: number,
  ): readonly GateOutput[] {
    const { id, port, protocol, target, entry } = connection
    if (entry === undefined) return []
    if (found.length === 0) return reset(connection, 'unresolved', nowMs)
    const all = [...grants, ...list]
    const problems = found.map((address) => addressProblem(address, port, all, rules, protocol))
    const addresses = found.filter((_, index) => problems[index] === undefined).slice(0, ADDRESSES_TRIED)
    const [problem] = problems
    if (addresses.length === 0) return reset(connection, problem ?? 'internal_address', nowMs)
    const leaseBytes = budgets.lease(entry, nowMs)
    if (leaseBytes === 0) return reset(connection, 'budget', nowMs)
    connections.set(id, { ...connection, addresses, leasedBytes: leaseBytes ?? 0 })
    const guard = guardPlan(entry, typeof target === 'string' ? target : undefined, port)
    return [{ kind: 'connect', id, addresses, port, guard, leaseBytes }]
  }

  function accepted(
    { id, address, port, protocol }: Extract<GateInput, { kind: 'accepted' }>,
    nowMs: number,
  ): readonly GateOutput[] {
    accepting.take(nowMs)
    const target = protocol === 'udp' ? address : (standIns.nameOf(address) ?? address)
    const entry = entryFor(target, port, protocol)
    const isMissed = entry === undefined && protocol === 'tcp'
    const isAudited =
      isMissed && rules.unlisted === 'audit' && !(typeof target !== 'string' && isStandIn(target))
    const connection: Connection = {
      ...{ id, startedAtMs: nowMs, target, port, protocol, isAudited, entry: undefined },
      ...{ addresses: undefined, leasedBytes: 0 },
    }
    connections.set(id, connection)
    if (entry !== undefined) return proceed(connection, entry, nowMs)
    if (isAudited) return proceed(connection, grantedEntry(target, port), nowMs)
    if (!isMissed || rules.unlisted !== 'ask') return reset(connection, 'unlisted', nowMs)
    if (typeof target !== 'string') {
      // Nobody is asked about what stays refused whatever the answer is.
      if (isStandIn(target)) return reset(connection, 'unlisted', nowMs)
      const asListed = [grantedEntry(target, port)]
      const problem = addressProblem(target, port, asListed, rules)
      if (problem !== undefined) return reset(connection, problem, nowMs)
    }
    const key = keyOf(target, port)
    const asked = asking.ask(key, id, nowMs)
    if (asked === 'waiting') return []
    return asked === 'asked' ? [{ kind: 'ask', key, target, port }] : reset(connection, asked, nowMs)
  }

  function allowedAnswer({ name = '', type, head }: Question, nowMs: number): Uint8Array {
    // Mail, text, services and what carries keys: there is none, whatever there is.
    if (type !== TYPE_A) return answerBytes(head, RCODE.ok)
    const address = standIns.addressOf(name, nowMs)
    return address === undefined ? answerBytes(head, RCODE.failed) : answerBytes(head, RCODE.ok, address)
  }

  function refusedName(name: string, nowMs: number): readonly GateOutput[] {
    const line: EgressRecord = {
      ...{ name, address: undefined, port: undefined, protocol: undefined },
      ...{ verdict: 'refused', reason: 'unlisted' },
      ...{ sentBytes: 0, receivedBytes: 0, durationMs: 0, times: 1 },
    }
    return refusal(line, nowMs)
  }

  function questioned(to: Sender, bytes: Uint8Array, nowMs: number): readonly GateOutput[] {
    reading.take(nowMs)
    const read = readQuestion(bytes)
    if (read.kind === 'dropped') return []
    if (read.kind === 'refused') return [{ kind: 'answer', to, bytes: answerBytes(read.head, read.rcode) }]
    const { question } = read
    const { name, type, head } = question
    const answer = (bytes: Uint8Array): GateOutput => ({ kind: 'answer', to, bytes })
    const noName = answer(answerBytes(head, RCODE.noName))
    // Whose address it is is nobody's to know.
    if (name === undefined || isBelow(name, 'arpa')) return [noName]
    if (name === 'localhost' || isBelow(name, 'localhost')) {
      const local = type === TYPE_A ? LOCAL_V4 : type === TYPE_AAAA ? LOCAL_V6 : undefined
      return [answer(answerBytes(head, RCODE.ok, local))]
    }
    const isListed = (host: string) => entryForName([...grants, ...list], host, undefined) !== undefined
    // An address of its own tells nothing, and whoever connects to it is asked about, with the port.
    if (rules.unlisted !== 'deny' || isListed(name)) return [answer(allowedAnswer(question, nowMs))]
    // Where a listed host has a service (RFC 2782): apt asks so, and goes to the host itself then.
    if (isListed(name.replace(SERVICE_LABELS, ''))) return [noName]
    return [noName, ...refusedName(name, nowMs)]
  }

  function answered(
    { key, target, port, answer }: Extract<GateInput, { kind: 'answered' }>,
    nowMs: number,
  ): readonly GateOutput[] {
    const held = asking.answered(key, answer, nowMs).flatMap((id) => connections.get(id) ?? [])
    const reason = answer === 'no' ? 'denied' : 'unanswered'
    if (answer !== 'yes') return held.flatMap((connection) => reset(connection, reason, nowMs))
    const entry = grantedEntry(target, port)
    if (grants.length >= GRANTS_MAX) grants.shift()
    grants.push(entry)
    return held.flatMap((connection) => proceed(connection, entry, nowMs))
  }

  function closed(input: Extract<GateInput, { kind: 'closed' }>, nowMs: number): readonly GateOutput[] {
    const connection = connections.get(input.id)
    if (connection === undefined) return []
    connections.delete(input.id)
    const { entry, leasedBytes, startedAtMs } = connection
    const bytes = input.sentBytes + input.receivedBytes
    if (entry !== undefined) budgets.correct(entry, bytes - leasedBytes, startedAtMs)
    const line = lineOf(connection, nowMs, input.reason, input)
    if (bytes === 0 && input.reason !== undefined) return refusal(line, nowMs)
    return [
      { kind: 'tell', line },
      { kind: 'record', line },
    ]
  }

  function leased(id: number, nowMs: number): readonly GateOutput[] {
    const connection = connections.get(id)
    if (connection?.entry === undefined) return []
    const bytes = budgets.lease(connection.entry, nowMs)
    if (bytes === 0) return [{ kind: 'reset', id, reason: 'budget' }]
    if (bytes === undefined) return []
    connections.set(id, { ...connection, leasedBytes: connection.leasedBytes + bytes })
    return [{ kind: 'grant', id, bytes }]
  }

  /** Connections that the new list does not let through, or not so, end. */
  function listed(newList: EgressList, nowMs: number): readonly GateOutput[] {
    list = newList
    return [...connections.values()].flatMap((connection) => {
      const { target, port, protocol, entry, addresses, isAudited } = connection
      if (entry === undefined) return []
      const passes = isAudited && rules.unlisted === 'audit' ? entry : undefined
      const now = entryFor(target, port, protocol) ?? passes
      const name = typeof target === 'string' ? target : undefined
      const isSame =
        now !== undefined &&
        JSON.stringify(guardPlan(now, name, port)) === JSON.stringify(guardPlan(entry, name, port)) &&
        now.bytesPerHour === entry.bytesPerHour
      const all = [...grants, ...list]
      const leadsThere = addresses?.every(
        (address) => addressProblem(address, port, all, rules, protocol) === undefined,
      )
      return isSame && leadsThere !== false ? [] : reset(connection, 'delisted', nowMs)
    })
  }

  function ended(nowMs: number): readonly GateOutput[] {
    return [
      ...asking.withdraw().map((key): GateOutput => ({ kind: 'withdraw', key })),
      ...[...connections.values()].flatMap((connection) => reset(connection, 'ended', nowMs)),
      ...refusals
        .flush()
        .map(({ line, times }): GateOutput => ({ kind: 'record', line: { ...line, times } })),
    ]
  }

  return {
    input(input, nowMs) {
      switch (input.kind) {
        case 'question':
          return questioned(input.to, input.bytes, nowMs)
        case 'accepted':
          return accepted(input, nowMs)
        case 'resolved': {
          const connection = connections.get(input.id)
          return connection === undefined ? [] : connect(connection, input.addresses, nowMs)
        }
        case 'answered':
          return answered(input, nowMs)
        case 'lease':
          return leased(input.id, nowMs)
        case 'closed':
          return closed(input, nowMs)
        case 'listed':
          return listed(input.list, nowMs)
        case 'ended':
          return ended(nowMs)
      }
    },
    acceptsInMs: (nowMs) => (connections.size >= CONNECTIONS_MAX ? undefined : accepting.waitMs(nowMs)),
    readsInMs: (nowMs) => reading.waitMs(nowMs),
    get counts() {
      return { connections: connections.size, names: standIns.size, asked: asking.size }
    },
    nameOf: standIns.nameOf,
  }
}
