/**
 * What was refused in a session's network, from the packets that say so: the kernel answers a connection that nobody
 * takes with a reset that has no number of its own, and a datagram that nobody takes with "port unreachable". A filter
 * in the kernel keeps the head of these alone; everything else passes uncopied.
 * Sources: RFC 9293 section 3.5.2, RFC 792, RFC 4443 section 3.1, RFC 768; packet(7), linux/bpf_common.h.
 * @module
 */

import { formatIpAddress } from '../../base/ip-address.ts'

/** A connection or a datagram that nobody took: where it was to go. */
export type RefusedPacket = {
  readonly protocol: 'tcp' | 'udp'
  /** As formatIpAddress writes it. */
  readonly address: string
  readonly port: number
}

/** Two headers of IPv6 and one of ICMP, with eight bytes of what the second one was about. */
export const KEPT_BYTES = 128

const PROTOCOL_ICMP = 1
const PROTOCOL_TCP = 6
const PROTOCOL_UDP = 17
const PROTOCOL_ICMP6 = 58
/** RST and ACK, with the number 0: the answer to a SYN. */
const RESET_AND_ACK = 0x14
/** Type and code in one. */
const PORT_UNREACHABLE = 0x0303
const PORT_UNREACHABLE_6 = 0x0104
const IPV4_PROTOCOL_AT = 9
const IPV4_SOURCE_AT = 12
const IPV4_TARGET_AT = 16
const IPV6_HEADER_BYTES = 40
const IPV6_PROTOCOL_AT = 6
const IPV6_SOURCE_AT = 8
const IPV6_TARGET_AT = 24
const ICMP_HEADER_BYTES = 8
const TCP_SEQUENCE_AT = 4
const TCP_FLAGS_AT = 13
/** Of TCP and UDP alike. */
const TARGET_PORT_AT = 2
/** linux/filter.h, SKF_AD_PKTTYPE: on the loopback each packet leaves and arrives, and is looked at once. */
const PACKET_TYPE_AT = 0xffff_f004
const PACKET_OUTGOING = 4

/** Into the accumulator, from a place of the packet, or from one after the header whose length is the index. */
const LOAD_WORD = 0x20
const LOAD_HALF = 0x28
const LOAD_BYTE = 0x30
const LOAD_WORD_AFTER = 0x40
const LOAD_HALF_AFTER = 0x48
const LOAD_BYTE_AFTER = 0x50
/** The length of the IPv4 header at a place, into the index. */
const LOAD_HEADER_LENGTH = 0xb1
const AND = 0x54
const JUMP_EQUAL = 0x15
const JUMP_ANY_BIT = 0x45
const RETURN = 0x06
const INSTRUCTION_BYTES = 8

type Instruction = {
  readonly code: number
  readonly operand: number
  /** Labels; absent: the next one. */
  readonly yes?: string
  readonly no?: string
}
type Line = Instruction | string

const load = (code: number, operand: number): Instruction => ({ code, operand })
/** Goes on where the value is that, and gives the packet up where not. */
const mustBe = (operand: number): Instruction => ({ code: JUMP_EQUAL, operand, no: 'drop' })

const PROGRAM: readonly Line[] = [
  load(LOAD_WORD, PACKET_TYPE_AT),
  { code: JUMP_EQUAL, operand: PACKET_OUTGOING, yes: 'drop' },
  load(LOAD_BYTE, 0),
  load(AND, 0xf0),
  { code: JUMP_EQUAL, operand: 0x60, yes: 'six' },
  mustBe(0x40),
  // A later piece of a packet has no header.
  load(LOAD_HALF, 6),
  { code: JUMP_ANY_BIT, operand: 0x1fff, yes: 'drop' },
  load(LOAD_HEADER_LENGTH, 0),
  load(LOAD_BYTE, IPV4_PROTOCOL_AT),
  { code: JUMP_EQUAL, operand: PROTOCOL_ICMP, yes: 'icmp' },
  mustBe(PROTOCOL_TCP),
  load(LOAD_BYTE_AFTER, TCP_FLAGS_AT),
  load(AND, RESET_AND_ACK),
  mustBe(RESET_AND_ACK),
  load(LOAD_WORD_AFTER, TCP_SEQUENCE_AT),
  { code: JUMP_EQUAL, operand: 0, yes: 'keep', no: 'drop' },
  'icmp',
  load(LOAD_HALF_AFTER, 0),
  mustBe(PORT_UNREACHABLE),
  load(LOAD_BYTE_AFTER, ICMP_HEADER_BYTES + IPV4_PROTOCOL_AT),
  { code: JUMP_EQUAL, operand: PROTOCOL_UDP, yes: 'keep', no: 'drop' },
  'six',
  load(LOAD_BYTE, IPV6_PROTOCOL_AT),
  { code: JUMP_EQUAL, operand: PROTOCOL_ICMP6, yes: 'icmp6' },
  mustBe(PROTOCOL_TCP),
  load(LOAD_BYTE, IPV6_HEADER_BYTES + TCP_FLAGS_AT),
  load(AND, RESET_AND_ACK),
  mustBe(RESET_AND_ACK),
  load(LOAD_WORD, IPV6_HEADER_BYTES + TCP_SEQUENCE_AT),
  { code: JUMP_EQUAL, operand: 0, yes: 'keep', no: 'drop' },
  'icmp6',
  load(LOAD_HALF, IPV6_HEADER_BYTES),
  mustBe(PORT_UNREACHABLE_6),
  load(LOAD_BYTE, IPV6_HEADER_BYTES + ICMP_HEADER_BYTES + IPV6_PROTOCOL_AT),
  mustBe(PROTOCOL_UDP),
  'keep',
  load(RETURN, KEPT_BYTES),
  'drop',
  load(RETURN, 0),
]

/** The filter as the kernel takes it (struct sock_filter, one after the other), for a socket without link headers. */
export function refusalFilter(): Uint8Array {
  const labels = new Map<string, number>()
  const instructions: Instruction[] = []
  for (const line of PROGRAM) {
    if (typeof line === 'string') labels.set(line, instructions.length)
    else instructions.push(line)
  }
  const bytes = new Uint8Array(new ArrayBuffer(instructions.length * INSTRUCTION_BYTES))
  const view = new DataView(bytes.buffer)
  for (const [index, { code, operand, yes, no }] of instructions.entries()) {
    const distance = (label: string | undefined): number =>
      label === undefined ? 0 : (labels.get(label) ?? 0) - index - 1
    view.setUint16(index * INSTRUCTION_BYTES, code, true)
    view.setUint8(index * INSTRUCTION_BYTES + 2, distance(yes))
    view.setUint8(index * INSTRUCTION_BYTES + 3, distance(no))
    view.setUint32(index * INSTRUCTION_BYTES + 4, operand, true)
  }
  return bytes
}

type IpHeader = {
  readonly family: 4 | 6
  readonly protocol: number
  readonly source: readonly number[]
  readonly target: readonly number[]
  readonly rest: Uint8Array
}

function readIpHeader(packet: Uint8Array): IpHeader | undefined {
  const first = packet[0] ?? 0
  const isSix = first >> 4 === 6
  if (!isSix && first >> 4 !== 4) return undefined
  const headerBytes = isSix ? IPV6_HEADER_BYTES : (first & 0x0f) * 4
  const rest = packet.subarray(headerBytes)
  // Of everything that is told the ports are there.
  if (rest.length < 4) return undefined
  const addressAt = (at: number): number[] => [...packet.subarray(at, at + (isSix ? 16 : 4))]
  return {
    family: isSix ? 6 : 4,
    protocol: packet[isSix ? IPV6_PROTOCOL_AT : IPV4_PROTOCOL_AT] ?? 0,
    source: addressAt(isSix ? IPV6_SOURCE_AT : IPV4_SOURCE_AT),
    target: addressAt(isSix ? IPV6_TARGET_AT : IPV4_TARGET_AT),
    rest,
  }
}

const portAt = (bytes: Uint8Array, at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)

/** What a packet that the filter kept tells; undefined for any other. */
export function readRefused(packet: Uint8Array): RefusedPacket | undefined {
  const outer = readIpHeader(packet)
  if (outer === undefined) return undefined
  if (outer.protocol === PROTOCOL_TCP) {
    // It comes from where the connection was to go.
    const address = formatIpAddress({ family: outer.family, bytes: outer.source })
    return { protocol: 'tcp', address, port: portAt(outer.rest, 0) }
  }
  if (outer.protocol !== PROTOCOL_ICMP && outer.protocol !== PROTOCOL_ICMP6) return undefined
  const inner = readIpHeader(outer.rest.subarray(ICMP_HEADER_BYTES))
  if (inner?.protocol !== PROTOCOL_UDP) return undefined
  const address = formatIpAddress({ family: inner.family, bytes: inner.target })
  return { protocol: 'udp', address, port: portAt(inner.rest, TARGET_PORT_AT) }
}
