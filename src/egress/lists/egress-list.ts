/**
 * The list of what may be reached: its entries from unknown JSON, and which of them holds for a name or an address.
 *
 *     example.com  *.example.com  example.com:8443  *  *:8443
 *     10.1.0.0/16:1883  192.0.2.7  [2001:db8::]/32:443  2001:db8::1
 *     { "host": "example.com", "ports": [80], "methods": ["GET"], "bytes_per_hour": 1000000 }
 *     { "host": "10.1.0.5", "ports": [123], "protocol": "udp" }
 *
 * An entry without a port is for 80 and 443. `*.example.com` is what lies below, by whole labels, and not the name
 * itself. `*` is every name, and every address that is not inside (`base/internal-range.ts`). Where several entries hold,
 * the nearest counts: the name itself before `*.`, the longer of those before the shorter, a range with more bits, `*`
 * last; of equals the first. Methods are for what is not encrypted. An entry of TCP, as all are that say nothing else,
 * holds for no datagram, and one of UDP for nothing else; it is for one address and names its ports. Every problem is
 * told, with its field.
 * Rules: docs/egress.md.
 * @module
 */

import { addressForms, isInternalAddress } from '../../base/internal-range.ts'
import {
  formatIpAddress,
  hostPort,
  type IpAddress,
  type IpRange,
  parseIpRange,
  rangeContains,
} from '../../base/ip-address.ts'
import {
  DATAGRAM_PLACES_MAX,
  ENTRIES_MAX,
  ENTRY_METHODS_MAX,
  ENTRY_PORTS_MAX,
  LISTENED_PORTS_MAX,
  METHOD_CHARS,
  PLAIN_PORT,
  TLS_PORT,
  TLS_PORTS,
} from '../limits.ts'
import { isBelow, normalHostName } from '../names/host-name.ts'
import { datagramAddressProblem } from './datagram-address.ts'

export type Protocol = 'tcp' | 'udp'

export type EgressHost =
  | { readonly kind: 'name'; readonly name: string }
  /** What lies below that name. */
  | { readonly kind: 'below'; readonly name: string }
  | { readonly kind: 'range'; readonly range: IpRange }
  | { readonly kind: 'any' }

export interface EgressEntry {
  /** As it is written, for people: two entries of one text are the same. */
  readonly text: string
  readonly host: EgressHost
  readonly protocol: Protocol
  readonly ports: readonly number[]
  /** Upper case; undefined: all of them. */
  readonly methods: readonly string[] | undefined
  /** Both ways together; undefined: no bound. */
  readonly bytesPerHour: number | undefined
  /** Of one that was narrowed: those with a bound that it was made of, whose hours it shares; absent: its own. */
  readonly boundBy?: readonly EgressEntry[]
}

export type EgressList = readonly EgressEntry[]
export type EgressProblem = { readonly field: string; readonly problem: string }
export type EgressListResult =
  | { readonly ok: true; readonly list: EgressList }
  | { readonly ok: false; readonly problems: readonly EgressProblem[] }

const DEFAULT_PORTS: readonly number[] = Object.freeze([PLAIN_PORT, TLS_PORT])
const FIELDS: readonly string[] = Object.freeze(['host', 'ports', 'protocol', 'methods', 'bytes_per_hour'])
const METHOD = /^[A-Z][A-Z0-9_-]*$/
const PORT = /^[1-9][0-9]{0,4}$/
const FORMS =
  'write it like example.com, *.example.com, example.com:8443, 10.1.0.0/16:1883 or [2001:db8::]/32:443'

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535
}

type HostText = { readonly host: string; readonly port: number | undefined }

/** `HOST`, `HOST:PORT`, `[V6]/BITS:PORT`; undefined where the port is none. More than one colon and no bracket: IPv6. */
function splitPort(text: string): HostText | undefined {
  const bracketed = /^\[([^\]]*)\](\/[0-9]+)?(?::(.*))?$/.exec(text)
  const colon = text.indexOf(':')
  const [host, port] =
    bracketed !== null
      ? [`${bracketed[1]}${bracketed[2] ?? ''}`, bracketed[3]]
      : colon === -1 || text.includes(':', colon + 1)
        ? [text, undefined]
        : [text.slice(0, colon), text.slice(colon + 1)]
  if (port === undefined) return { host, port }
  return PORT.test(port) && isPort(Number(port)) ? { host, port: Number(port) } : undefined
}

function parseHost(text: string): EgressHost | string {
  if (text === '*') return { kind: 'any' }
  // What begins with a digit and has only those, dots and a slash, or has a colon, is meant as an address.
  if (text.includes(':') || /^[0-9][0-9./]*$/.test(text)) {
    const parsed = parseIpRange(text)
    if (parsed.ok) return { kind: 'range', range: parsed.range }
    return `${parsed.problem}; ${parsed.hint ?? FORMS}`
  }
  const isBelowName = text.startsWith('*.')
  const name = normalHostName(isBelowName ? text.slice(2) : text)
  if (name === undefined)
    return `is no host name, address or range: names are ASCII (write others in their xn-- form); ${FORMS}`
  return { kind: isBelowName ? 'below' : 'name', name }
}

/** One entry; what is wrong with it goes to `problem`. */
function parseEntry(value: unknown, problem: (field: string, text: string) => void): EgressEntry | undefined {
  const isText = typeof value === 'string'
  if (!isText && (typeof value !== 'object' || value === null || Array.isArray(value))) {
    problem('', `must be a text or an object; ${FORMS}`)
    return undefined
  }
  const given: Readonly<Record<string, unknown>> = isText ? { host: value } : { ...value }
  const hostField = isText ? '' : '.host'
  const unknown = Object.keys(given).find((key) => !FIELDS.includes(key))
  if (unknown !== undefined) {
    problem('', `has no key ${JSON.stringify(unknown.slice(0, 64))}; there are ${FIELDS.join(', ')}`)
    return undefined
  }
  if (typeof given['host'] !== 'string') {
    problem(hostField, `must be a text; ${FORMS}`)
    return undefined
  }
  const split = splitPort(given['host'])
  if (split === undefined) {
    problem(hostField, 'has no port between 1 and 65535 after its colon')
    return undefined
  }
  const host = parseHost(split.host)
  if (typeof host === 'string') {
    problem(hostField, host)
    return undefined
  }
  const methods = parseMethods(given['methods'], (text) => problem('.methods', text))
  const named = parsePorts(given['ports'], split.port, (text) => problem('.ports', text))
  const protocol = given['protocol'] ?? 'tcp'
  if (protocol !== 'tcp' && protocol !== 'udp') {
    problem('.protocol', 'must be "tcp" or "udp"')
    return undefined
  }
  if (protocol === 'udp') {
    const wrong =
      host.kind === 'range'
        ? datagramAddressProblem(host.range, named ?? [])
        : 'must be an address with protocol "udp", and this is a name'
    if (wrong !== undefined) problem(hostField, wrong)
    if (split.port === undefined && given['ports'] === undefined)
      problem('.ports', 'must be named with protocol "udp"')
    if (methods !== undefined) {
      problem('.methods', 'are of HTTP over TCP, and not for protocol "udp"')
      return undefined
    }
  }
  const ports = named ?? (methods === undefined ? DEFAULT_PORTS : [PLAIN_PORT])
  const encrypted = methods === undefined ? undefined : ports.find((port) => TLS_PORTS.includes(port))
  if (encrypted !== undefined)
    problem(
      '.methods',
      `cannot be told on port ${encrypted}, where everything is encrypted; list them for port 80, or leave them out`,
    )
  const bytesPerHour = given['bytes_per_hour']
  if (bytesPerHour !== undefined && !(Number.isSafeInteger(bytesPerHour) && Number(bytesPerHour) > 0))
    problem('.bytes_per_hour', 'must be a whole number of bytes, at least 1')
  return {
    text: isText ? value : entryText(split.host, ports, protocol),
    host,
    protocol,
    ports,
    methods,
    bytesPerHour: bytesPerHour === undefined ? undefined : Number(bytesPerHour),
  }
}

/** An entry as a person would write it. */
export function entryText(host: string, ports: readonly number[], protocol: Protocol = 'tcp'): string {
  const bare = host.includes(':') ? host.replace(/^[^/]*/, '[$&]') : host
  const suffix = protocol === 'udp' ? '/udp' : ''
  return ports === DEFAULT_PORTS ? bare : `${bare}:${ports.join(',')}${suffix}`
}

function parseMethods(value: unknown, problem: (text: string) => void): readonly string[] | undefined {
  if (value === undefined) return undefined
  const isList = Array.isArray(value) && value.length > 0 && value.length <= ENTRY_METHODS_MAX
  const isMethod = (method: unknown): method is string =>
    typeof method === 'string' && method.length <= METHOD_CHARS && METHOD.test(method)
  if (isList && value.every(isMethod) && !value.includes('CONNECT')) return [...new Set<string>(value)]
  problem(
    `must be a list of 1 to ${ENTRY_METHODS_MAX} methods in upper case, like ["GET", "HEAD"]; CONNECT is none`,
  )
  return undefined
}

function parsePorts(
  value: unknown,
  named: number | undefined,
  problem: (text: string) => void,
): readonly number[] | undefined {
  if (value === undefined) return named === undefined ? undefined : [named]
  if (named !== undefined) problem('are given twice: leave the port at the host out')
  else if (Array.isArray(value) && value.length > 0 && value.length <= ENTRY_PORTS_MAX && value.every(isPort))
    return [...new Set<number>(value)].sort((a, b) => a - b)
  else problem(`must be a list of 1 to ${ENTRY_PORTS_MAX} ports between 1 and 65535`)
  return undefined
}

/** The list that `value` is, or every problem with it; `field` is what its problems begin with. */
export function parseEgressList(value: unknown, field = 'egress'): EgressListResult {
  if (!Array.isArray(value))
    return {
      ok: false,
      problems: [{ field, problem: 'must be a list; [] reaches nothing, ["*"] everything' }],
    }
  if (value.length > ENTRIES_MAX)
    return { ok: false, problems: [{ field, problem: `has more than ${ENTRIES_MAX} entries` }] }
  const problems: EgressProblem[] = []
  const list = value.flatMap((item: unknown, index) => {
    const entry = parseEntry(item, (part, problem) => {
      problems.push({ field: `${field}[${index}]${part}`, problem })
    })
    return entry === undefined ? [] : [entry]
  })
  if (listenedPorts(list).length > LISTENED_PORTS_MAX)
    problems.push({
      field,
      problem: `names more than ${LISTENED_PORTS_MAX} different ports, 80 and 443 included`,
    })
  if (datagramPlaces(list).length > DATAGRAM_PLACES_MAX)
    problems.push({
      field,
      problem: `has more than ${DATAGRAM_PLACES_MAX} different places with protocol "udp", an address with a port each`,
    })
  return problems.length === 0 ? { ok: true, list } : { ok: false, problems }
}

/** The TCP ports that a session with this list listens on, ascending: those it names, and always 80 and 443. */
export function listenedPorts(list: EgressList): readonly number[] {
  const named = list.flatMap(({ ports, protocol }) => (protocol === 'tcp' ? ports : []))
  return [...new Set([...DEFAULT_PORTS, ...named])].sort((a, b) => a - b)
}

/** Where datagrams go. */
export type DatagramPlace = { readonly address: IpAddress; readonly port: number }

export function datagramPlaceText({ address, port }: DatagramPlace): string {
  return hostPort(formatIpAddress(address), port)
}

/** Every address with a port that the list has for datagrams, each once. */
export function datagramPlaces(list: EgressList): readonly DatagramPlace[] {
  const all = list.flatMap(({ host, ports, protocol }) =>
    protocol === 'udp' && host.kind === 'range'
      ? ports.map((port) => ({ address: host.range.address, port }))
      : [],
  )
  return [...new Map(all.map((place) => [datagramPlaceText(place), place])).values()]
}

/** How little a host stands for: of two that hold, the narrower one does. */
export function narrowness(host: EgressHost): number {
  if (host.kind === 'name') return Number.POSITIVE_INFINITY
  if (host.kind === 'below') return host.name.length
  return host.kind === 'range' ? host.range.prefixBits + 1 : 0
}

function holdsName(host: EgressHost, name: string): boolean {
  if (host.kind === 'name') return host.name === name
  return host.kind === 'below' ? isBelow(name, host.name) : host.kind === 'any'
}

function nearest(
  list: EgressList,
  protocol: Protocol,
  port: number | undefined,
  near: (entry: EgressEntry) => number,
) {
  let best: EgressEntry | undefined
  let bestNearness = -1
  for (const entry of list) {
    if (entry.protocol !== protocol) continue
    if (port !== undefined && !entry.ports.includes(port)) continue
    const found = near(entry)
    if (found > bestNearness) [best, bestNearness] = [entry, found]
  }
  return best
}

/** The entry that holds for connections to `name` (in normal form) and `port`; undefined port: for any. */
export function entryForName(
  list: EgressList,
  name: string,
  port: number | undefined,
): EgressEntry | undefined {
  return nearest(list, 'tcp', port, ({ host }) => (holdsName(host, name) ? narrowness(host) : -1))
}

/** The entry that holds for a bare address and `port`. `*` is for none that is inside. */
export function entryForAddress(
  list: EgressList,
  address: IpAddress,
  port: number,
  protocol: Protocol = 'tcp',
): EgressEntry | undefined {
  const isInternal = isInternalAddress(address, [])
  return nearest(list, protocol, port, ({ host }) => {
    const holds =
      host.kind === 'any' ? !isInternal : host.kind === 'range' && rangeContains(host.range, address)
    return holds ? narrowness(host) : -1
  })
}

/** True where the list has that address, or what it carries, in a range for that port. */
export function listsAddress(
  list: EgressList,
  address: IpAddress,
  port: number,
  protocol: Protocol = 'tcp',
): boolean {
  const forms = addressForms(address)
  return list.some(
    ({ host, ports, protocol: own }) =>
      own === protocol &&
      host.kind === 'range' &&
      ports.includes(port) &&
      forms.some((form) => rangeContains(host.range, form)),
  )
}

/** What somebody has agreed to, as an entry of TCP. */
export function grantedEntry(target: string | IpAddress, port: number): EgressEntry {
  const ports = [port]
  const [name, host]: readonly [string, EgressHost] =
    typeof target === 'string'
      ? [target, { kind: 'name', name: target }]
      : [
          formatIpAddress(target),
          { kind: 'range', range: { address: target, prefixBits: target.bytes.length * 8 } },
        ]
  const text = entryText(name, ports)
  return { text, host, protocol: 'tcp', ports, methods: undefined, bytesPerHour: undefined }
}
