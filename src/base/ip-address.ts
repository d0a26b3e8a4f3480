/**
 * IP addresses and CIDR ranges: parsing, containment, loopback. Text forms are RFC 4291 section 2.2 (with `::` and a
 * dotted tail) and strict dotted decimal: no leading zeros, no octal, no zone index, no host names.
 * IPv4-mapped IPv6 (`::ffff:a.b.c.d`) is read as IPv4 everywhere, so that a rule cannot be missed by the other
 * spelling (docs/protocol.md, section 1).
 * @module
 */

/** An address as its 4 or 16 bytes, most significant first. */
export type IpAddress = { readonly family: 4 | 6; readonly bytes: readonly number[] }
/** All addresses whose first `prefixBits` bits equal those of `address`. */
export type IpRange = { readonly address: IpAddress; readonly prefixBits: number }

const DECIMAL_BYTE = /^(?:0|[1-9][0-9]{0,2})$/
const HEX_GROUP = /^[0-9a-fA-F]{1,4}$/
/** The longest text of an IPv6 address with a dotted tail. */
const ADDRESS_CHARS = 45

function parseDotted(text: string): number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => DECIMAL_BYTE.test(part))) return undefined
  const bytes = parts.map(Number)
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

/** The bytes of colon-separated groups, the last of which may be dotted where `mayEndDotted`. */
function parseGroups(text: string, mayEndDotted: boolean): number[] | undefined {
  if (text === '') return []
  const bytes: number[] = []
  const groups = text.split(':')
  for (const [index, group] of groups.entries()) {
    if (mayEndDotted && index === groups.length - 1 && group.includes('.')) {
      const dotted = parseDotted(group)
      if (dotted === undefined) return undefined
      bytes.push(...dotted)
      continue
    }
    if (!HEX_GROUP.test(group)) return undefined
    const value = Number.parseInt(group, 16)
    bytes.push(value >> 8, value & 0xff)
  }
  return bytes
}

function parseColons(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = parseGroups(halves[0] ?? '', halves.length === 1)
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === 16 ? head : undefined
  const tail = parseGroups(halves[1] ?? '', true)
  if (tail === undefined || head.length + tail.length > 14) return undefined
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail]
}

function isMapped(bytes: readonly number[]): boolean {
  return bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff
}

/** The address that `text` writes, or undefined; an IPv4-mapped one comes back as IPv4. */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (text.length > ADDRESS_CHARS) return undefined
  const dotted = parseDotted(text)
  if (dotted !== undefined) return { family: 4, bytes: dotted }
  if (!text.includes(':')) return undefined
  const bytes = parseColons(text)
  if (bytes === undefined) return undefined
  return isMapped(bytes) ? { family: 4, bytes: bytes.slice(12) } : { family: 6, bytes }
}

function bitsBeyond(bytes: readonly number[], prefixBits: number): boolean {
  return bytes.some(
    (byte, index) => (byte & (0xff >> Math.min(8, Math.max(0, prefixBits - index * 8)))) !== 0,
  )
}

function masked(bytes: readonly number[], prefixBits: number): number[] {
  return bytes.map((byte, index) => byte & ~(0xff >> Math.min(8, Math.max(0, prefixBits - index * 8))) & 0xff)
}

export type RangeResult =
  | { readonly ok: true; readonly range: IpRange }
  | { readonly ok: false; readonly problem: string; readonly hint?: string }

/**
 * The range that `text` writes as `ADDRESS/BITS`; a bare address is a range of one.
 * Bits set beyond the prefix are refused with the network meant as the hint, since one of the two is a mistake.
 */
export function parseIpRange(text: string): RangeResult {
  const slash = text.indexOf('/')
  const address = parseIpAddress(slash === -1 ? text : text.slice(0, slash))
  if (address === undefined)
    return {
      ok: false,
      problem: 'is not an IP address or CIDR range',
      hint: 'write it like 192.0.2.0/24 or 2001:db8::/32',
    }
  const widthBits = address.bytes.length * 8
  if (slash === -1) return { ok: true, range: { address, prefixBits: widthBits } }
  const bitsText = text.slice(slash + 1)
  // A mapped range counts its prefix from the start of the IPv6 form.
  const offsetBits = address.family === 4 && text.includes(':') ? 96 : 0
  const prefixBits = DECIMAL_BYTE.test(bitsText) ? Number(bitsText) - offsetBits : -1
  if (prefixBits < 0 || prefixBits > widthBits) {
    return {
      ok: false,
      problem: `has no valid prefix length (${offsetBits} to ${widthBits + offsetBits} bits)`,
    }
  }
  if (bitsBeyond(address.bytes, prefixBits)) {
    const network = formatIpAddress({ family: address.family, bytes: masked(address.bytes, prefixBits) })
    return {
      ok: false,
      problem: 'has bits set beyond its prefix',
      hint: `the network is ${network}/${prefixBits}`,
    }
  }
  return { ok: true, range: { address, prefixBits } }
}

/** True where `address` lies in `range`; different families never match. */
export function rangeContains(range: IpRange, address: IpAddress): boolean {
  if (range.address.family !== address.family) return false
  return masked(address.bytes, range.prefixBits).every((byte, index) => byte === range.address.bytes[index])
}

/** True for 127.0.0.0/8 and ::1. */
export function isLoopback(address: IpAddress): boolean {
  if (address.family === 4) return address.bytes[0] === 127
  return address.bytes.every((byte, index) => byte === (index === 15 ? 1 : 0))
}

/** The text of an address: dotted decimal, or RFC 5952 (lower case, the longest run of zero groups as `::`). */
export function formatIpAddress(address: IpAddress): string {
  if (address.family === 4) return address.bytes.join('.')
  const groups: number[] = []
  for (let index = 0; index < 16; index += 2) {
    groups.push(((address.bytes[index] ?? 0) << 8) | (address.bytes[index + 1] ?? 0))
  }
  let start = 0
  let length = 0
  for (let index = 0; index < 8; index++) {
    let run = 0
    while (groups[index + run] === 0) run++
    if (run > length) [start, length] = [index, run]
  }
  const hex = groups.map((group) => group.toString(16))
  if (length < 2) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}

/** `127.0.0.1:9464` or `[::1]:9464`; undefined for anything else. */
export function parseEndpoint(
  text: string,
): { readonly address: IpAddress; readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([^\]]+:[^\]]*)\]|([^:[\]]+)):(0|[1-9]\d{0,4})$/.exec(text)
  const host = match?.[1] ?? match?.[2] ?? ''
  const address = parseIpAddress(host)
  const port = Number(match?.[3])
  return address === undefined || port > 65_535 ? undefined : { address, host, port }
}

/** `host:port`, an address of IPv6 in brackets (RFC 3986, section 3.2.2). */
export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
