/**
 * Whether a word that a network program is given names a host inside: loopback, private (all of RFC 1918), shared
 * (RFC 6598), link-local with its metadata services, unique local, and every spelling of those: IPv4 in one to four
 * parts, octal, decimal or hexadecimal, mapped or embedded in IPv6, and names that can only mean this host or network.
 * Names that need a look-up are not looked up here: the decision knows only what is in the text.
 * Rules: docs/responses.md, section 1 (specifics); RFC 6890, RFC 4193, RFC 6052, RFC 3964.
 * @module
 */
import { isInternalAddress } from '../base/internal-range.ts'
import { type IpAddress, type IpRange, parseIpAddress, rangeContains } from '../base/ip-address.ts'

export type InternalAddresses = readonly IpRange[]

const INTERNAL_NAMES: readonly string[] = Object.freeze([
  'localhost',
  'localhost.localdomain',
  'ip6-localhost',
  'ip6-loopback',
  'metadata',
  'metadata.google.internal',
  'host.docker.internal',
  'gateway.docker.internal',
])
/** Endings of names inside, and of services that answer with the address in the name. */
const INTERNAL_ENDINGS: readonly string[] = Object.freeze([
  '.localhost',
  '.internal',
  '.local',
  '.lan',
  '.home.arpa',
])
const ECHO_ENDINGS: readonly string[] = Object.freeze([
  '.nip.io',
  '.sslip.io',
  '.xip.io',
  '.localtest.me',
  '.lvh.me',
])
/** The longest host name (RFC 1035). */
const HOST_CHARS = 255
/** With each of them written as `%31`. */
const ENCODED_CHARS = 3 * HOST_CHARS

function parsePart(part: string): number | undefined {
  const isHex = part.startsWith('0x') || part.startsWith('0X')
  const isOctal = !isHex && part.length > 1 && part.startsWith('0')
  const digits = isHex ? part.slice(2) : part
  const pattern = isHex ? /^[0-9a-fA-F]*$/ : isOctal ? /^[0-7]+$/ : /^[0-9]+$/
  if (!pattern.test(digits)) return undefined
  // Any number of zeros may stand in front.
  const value = digits === '' ? 0 : Number.parseInt(digits, isHex ? 16 : isOctal ? 8 : 10)
  return value < 2 ** 32 ? value : undefined
}

/** IPv4 as inet_aton(3) reads it: 127.1, 0x7f.1, 017700000001, 2130706433. */
export function parseLooseIpv4(text: string): IpAddress | undefined {
  const parts = text.split('.')
  if (parts.length > 4 || text.length > HOST_CHARS) return undefined
  const numbers = parts.map(parsePart)
  let value = 0
  for (const [index, number] of numbers.entries()) {
    if (number === undefined) return undefined
    const isLast = index === numbers.length - 1
    const most = isLast ? 256 ** (4 - index) : 256
    if (number >= most) return undefined
    value = isLast ? value * most + number : value * 256 + number
  }
  return { family: 4, bytes: [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256) }
}

function isInsideHost(host: string, reachable: InternalAddresses): boolean {
  const plain = host.replace(/\.$/, '').toLowerCase()
  if (plain === '' || plain.length > HOST_CHARS) return false
  // Every spelling of an address begins with a digit or has a colon.
  if (/^[0-9]|:/.test(plain)) {
    const zone = plain.indexOf('%')
    const address = parseIpAddress(zone === -1 ? plain : plain.slice(0, zone)) ?? parseLooseIpv4(plain)
    if (address !== undefined) return isInternalAddress(address, reachable)
  }
  if (!isInsideName(plain)) return false
  const isLoopback = plain === 'localhost' || plain.endsWith('.localhost')
  return !isLoopback || !reachable.some((range) => rangeContains(range, LOOPBACK))
}

const LOOPBACK: IpAddress = Object.freeze({ family: 4, bytes: Object.freeze([127, 0, 0, 1]) })

function isInsideName(name: string): boolean {
  return (
    INTERNAL_NAMES.includes(name) ||
    INTERNAL_ENDINGS.some((ending) => name.endsWith(ending)) ||
    ECHO_ENDINGS.some((ending) => name.endsWith(ending) || `.${name}` === ending)
  )
}

/** As an address it would lie in 0.0.0.0/8: a port, a number of seconds or bytes. */
export function isSmallNumber(word: string): boolean {
  return /^[0-9]{1,8}$/.test(word) && Number(word) < 2 ** 24
}

/** What stands before the last @ is no host, and a port is none either. */
export function hostOfAuthority(authority: string): string {
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  if (host.startsWith('[')) return host.slice(1, host.indexOf(']') === -1 ? undefined : host.indexOf(']'))
  const colon = host.indexOf(':')
  if (colon === -1) return host
  // More than one colon and no brackets: a bare IPv6 address, unless what follows is a path.
  return parseIpAddress(host.split('%', 1)[0] ?? '') === undefined ? host.slice(0, colon) : host
}

/** `%31` for `1`, full-width digits, an ideographic full stop: what clients read as plain before they look a host up. */
export function plainForm(host: string): string {
  if (!/[^\x20-\x24\x26-\x7e]/.test(host)) return host
  const decoded = host.replace(/%[0-7][0-9a-fA-F]/g, (hex) =>
    String.fromCharCode(Number.parseInt(hex.slice(1), 16)),
  )
  return decoded.normalize('NFKC').replaceAll('\u3002', '.')
}

/**
 * Every host that some program may read in `scheme://user@host:port/path`, `user@host:path`, `host:port`, `[v6]:port`
 * or a bare host. Programs differ: whether a backslash ends the host, how many slashes may follow the scheme.
 */
export function hostsOf(word: string): readonly string[] {
  const plain = upTo(word, AUTHORITY_END)
  const hosts: string[] = []
  addHost(hosts, hostOfAuthority(plain))
  // `TCP:host:80` of socat, `name:80:host` of curl, `8080:host:80` of ssh, `http:host`.
  if (PART_END.test(plain))
    for (const piece of plain.split(PART_END)) if (Number(piece) !== 0) addHost(hosts, piece)
  const scheme = word.search(SCHEME_END)
  if (scheme !== -1) {
    const rest = word.slice(scheme + 1).replace(/^[/\\]+/, '')
    addHost(hosts, hostOfAuthority(upTo(rest, AUTHORITY_END)))
    addHost(hosts, hostOfAuthority(upTo(rest, AUTHORITY_END_BESIDE)))
  } else if (word.includes('['))
    for (const piece of word.split('[').slice(1)) addHost(hosts, upTo(piece, BRACKET_END))
  return hosts
}

const AUTHORITY_END = /[/?#]/
/** Some programs also end it at a backslash. */
const AUTHORITY_END_BESIDE = /[/\\?#]/
const PART_END = /[:,=@]/
const SCHEME_END = /:[/\\]/
const BRACKET_END = /[\]%]/

function upTo(text: string, end: RegExp): string {
  const at = text.search(end)
  return at === -1 ? text : text.slice(0, at)
}

/** Once, as it stands and as clients read it; not what can only be a port, a time or a size. */
function addHost(hosts: string[], host: string): void {
  if (host.length > ENCODED_CHARS || (isSmallNumber(host) && Number(host) !== 0)) return
  if (!hosts.includes(host)) hosts.push(host)
  const plain = plainForm(host)
  if (plain !== host && !hosts.includes(plain)) hosts.push(plain)
}

/** True where the word names a host inside that is not among the reachable ones. */
export function namesInternalHost(word: string, reachable: InternalAddresses): boolean {
  return hostsOf(word).some((host) => isInsideHost(host, reachable))
}
