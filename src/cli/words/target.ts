/**
 * Which device is meant: `[AGENT@]HOST[:PORT]`, an IPv6 address with a port in brackets, or a name of hosts.json.
 * Host names follow RFC 1123 (with the underscore that private networks use).
 * @module
 */
import { formatIpAddress, parseIpAddress } from '../../base/ip-address.ts'
import { isName } from '../../base/text/name.ts'
import { nearest } from '../../base/text/suggest.ts'
import { DEFAULT_PORT } from '../../limits.ts'
import { wholeNumber } from './arguments.ts'

/** `host` is a name or an address without brackets; `key` is the path of a private key file, from hosts.json alone. */
export type Target = {
  readonly agent: string | undefined
  readonly host: string
  readonly port: number
  readonly key?: string
  /** Its link is paid by the byte. */
  readonly metered?: boolean
}
export type TargetResult =
  | { readonly ok: true; readonly target: Target }
  | { readonly ok: false; readonly problem: string; readonly hint: string }

/** A user's names for devices: the target that a name stands for, and the key file for it. */
export type Hosts = Readonly<
  Record<string, { readonly target: string; readonly key?: string; readonly metered?: boolean }>
>
export type HostsResult =
  | { readonly ok: true; readonly hosts: Hosts }
  | { readonly ok: false; readonly problem: string }

const HOST_LABEL = /^(?!-)[A-Za-z0-9_-]{1,63}(?<!-)$/
const HOST_CHARS = 253
const FORM = 'write [AGENT@]HOST[:PORT], an IPv6 address with a port as [2001:db8::1]:19284'

function isHostName(text: string): boolean {
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  if (name.length === 0 || name.length > HOST_CHARS) return false
  const labels = name.split('.')
  // A last label of digits alone would be a mistyped address, not a name.
  return labels.every((label) => HOST_LABEL.test(label)) && !/^[0-9]+$/.test(labels.at(-1) ?? '')
}

/** Host and port of `HOST`, `HOST:PORT`, `[V6]`, `[V6]:PORT` or a bare IPv6 address. */
function splitPort(text: string): { readonly host: string; readonly port: string | undefined } | undefined {
  if (text.startsWith('[')) {
    const match = /^\[([0-9A-Fa-f:.]+)\](?::(.*))?$/.exec(text)
    return match?.[1] === undefined ? undefined : { host: match[1], port: match[2] }
  }
  const first = text.indexOf(':')
  if (first === -1 || text.indexOf(':', first + 1) !== -1) return { host: text, port: undefined }
  return { host: text.slice(0, first), port: text.slice(first + 1) }
}

/** Reads `[AGENT@]HOST[:PORT]`; the default port is that of the protocol. */
export function parseTarget(text: string): TargetResult {
  const at = text.indexOf('@')
  const agent = at === -1 ? undefined : text.slice(0, at)
  if (agent !== undefined && !isName(agent)) {
    return { ok: false, problem: 'the name before @ is not a valid agent name', hint: FORM }
  }
  const split = splitPort(text.slice(at + 1))
  if (split === undefined)
    return { ok: false, problem: 'the address in brackets is not closed or not IPv6', hint: FORM }
  const port = split.port === undefined ? DEFAULT_PORT : wholeNumber(split.port, 1, 65_535)
  if (port === undefined)
    return { ok: false, problem: 'the port is not a number from 1 to 65535', hint: FORM }
  const address = parseIpAddress(split.host)
  const bracketed = text.slice(at + 1).startsWith('[')
  if (address === undefined ? bracketed || !isHostName(split.host) : bracketed && !split.host.includes(':')) {
    return { ok: false, problem: 'the host is neither a name nor an IP address', hint: FORM }
  }
  return { ok: true, target: { agent, host: split.host, port } }
}

/** `HOST:PORT` in one spelling for each device (lower case, canonical address): the name of a pin. */
export function targetAddress(target: Pick<Target, 'host' | 'port'>): string {
  const address = parseIpAddress(target.host)
  const host = address === undefined ? target.host.toLowerCase().replace(/\.$/, '') : formatIpAddress(address)
  return host.includes(':') ? `[${host}]:${target.port}` : `${host}:${target.port}`
}

const HOST_KEYS: readonly string[] = ['target', 'key', 'metered']

/** Reads the value of hosts.json: `{"NAME": "TARGET"}` or `{"NAME": {"target": "TARGET", "key": "FILE", "metered": true}}`. */
export function parseHosts(value: unknown): HostsResult {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { ok: false, problem: 'it must be an object' }
  const hosts: Record<string, { target: string; key?: string; metered?: boolean }> = {}
  for (const [name, entry] of Object.entries(value as Record<string, unknown>)) {
    const where = JSON.stringify(name.slice(0, 64))
    if (name === '__proto__' || !isName(name)) return { ok: false, problem: `${where} is not a valid name` }
    const given: unknown = typeof entry === 'string' ? { target: entry } : entry
    if (
      typeof given !== 'object' ||
      given === null ||
      !('target' in given) ||
      typeof given.target !== 'string'
    ) {
      return { ok: false, problem: `${where} must be a target or {"target", "key", "metered"}` }
    }
    const key: unknown = 'key' in given ? given.key : undefined
    const extra = Object.keys(given).find((member) => !HOST_KEYS.includes(member))
    if (extra !== undefined)
      return { ok: false, problem: `${where} has the unknown key ${JSON.stringify(extra.slice(0, 64))}` }
    if (key !== undefined && (typeof key !== 'string' || key === ''))
      return { ok: false, problem: `the key of ${where} must be a path` }
    const metered: unknown = 'metered' in given ? given.metered : false
    if (typeof metered !== 'boolean')
      return { ok: false, problem: `metered of ${where} must be true or false` }
    const parsed = parseTarget(given.target)
    if (!parsed.ok) return { ok: false, problem: `the target of ${where} cannot be read: ${parsed.problem}` }
    hosts[name] = {
      target: given.target,
      ...(key === undefined ? {} : { key }),
      ...(metered ? { metered } : {}),
    }
  }
  return { ok: true, hosts }
}

type Listed = { readonly entry: Hosts[string]; readonly port: string | undefined }

/** The entry of `NAME` or `NAME:PORT`. */
function findListed(word: string, hosts: Hosts): Listed | undefined {
  const split = splitPort(word)
  if (split === undefined) return undefined
  const entry = Object.hasOwn(hosts, split.host) ? hosts[split.host] : undefined
  return entry === undefined ? undefined : { entry, port: split.port }
}

/** What of a word is neither an agent nor a port. */
export function hostWord(text: string): string {
  const word = text.slice(text.indexOf('@') + 1)
  return splitPort(word)?.host ?? word
}

/**
 * The device that `text` names: a name of `hosts` first (an `AGENT@` before it and a `:PORT` behind it win over those
 * there), else an address of its own.
 */
export function resolveTarget(text: string, hosts: Hosts): TargetResult {
  const at = text.indexOf('@')
  const listed = findListed(text.slice(at + 1), hosts)
  if (listed === undefined) {
    const parsed = parseTarget(text)
    if (parsed.ok) return parsed
    const meant = nearest(hostWord(text), Object.keys(hosts))
    return meant === undefined ? parsed : { ...parsed, hint: `did you mean ${meant}?` }
  }
  const { entry } = listed
  const parsed = parseTarget(entry.target)
  if (!parsed.ok) return parsed
  const port = listed.port === undefined ? parsed.target.port : wholeNumber(listed.port, 1, 65_535)
  if (port === undefined)
    return { ok: false, problem: 'the port is not a number from 1 to 65535', hint: FORM }
  const agent = at === -1 ? parsed.target.agent : text.slice(0, at)
  if (agent !== undefined && !isName(agent)) {
    return { ok: false, problem: 'the name before @ is not a valid agent name', hint: FORM }
  }
  const { target: _, ...more } = entry
  return { ok: true, target: { ...parsed.target, agent, port, ...more } }
}
