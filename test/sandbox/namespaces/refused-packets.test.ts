/**
 * Packets as they are seen on a loopback, and the filter that picks them, run here as the kernel runs it.
 * @module
 */
import t from 'tap'
import { parseIpAddress } from '../../../src/base/ip-address.ts'
import { KEPT_BYTES, readRefused, refusalFilter } from '../../../src/sandbox/namespaces/refused-packets.ts'

const bytesOf = (text: string): readonly number[] => parseIpAddress(text)?.bytes ?? []
const port = (number: number): number[] => [number >> 8, number & 0xff]

function ip(source: string, target: string, protocol: number, rest: readonly number[]): number[] {
  const [from, to] = [bytesOf(source), bytesOf(target)]
  return from.length === 4
    ? [0x45, 0, 0, 20 + rest.length, 0, 0, 0x40, 0, 64, protocol, 0, 0, ...from, ...to, ...rest]
    : [0x60, 0, 0, 0, 0, rest.length, protocol, 64, ...from, ...to, ...rest]
}

const tcp = (from: number, to: number, flags: number, sequence = 0): number[] => [
  ...port(from),
  ...port(to),
  ...[0, 0, 0, sequence, 0, 0, 0, 1, 0x50, flags, 0, 0, 0, 0, 0, 0],
]
const udp = (from: number, to: number): number[] => [...port(from), ...port(to), 0, 9, 0, 0, 1]
const icmp = (type: number, code: number, inner: readonly number[]): number[] => [
  type,
  code,
  0,
  0,
  0,
  0,
  0,
  0,
  ...inner,
]

/** Runs the filter over a packet: the part of classic BPF that it uses. */
function kept(packet: readonly number[], packetType = 0): number {
  const view = new DataView(refusalFilter().buffer)
  const at = (index: number, bytes: number): number | undefined => {
    if (index + bytes > packet.length) return undefined
    return packet.slice(index, index + bytes).reduce((value, byte) => value * 256 + byte, 0)
  }
  let [accumulator, index] = [0, 0]
  for (let step = 0; step < view.byteLength / 8; step++) {
    const [code, operand] = [view.getUint16(step * 8, true), view.getUint32(step * 8 + 4, true)]
    const jump = (isMet: boolean): void => {
      step += view.getUint8(step * 8 + (isMet ? 2 : 3))
    }
    const load = (value: number | undefined): boolean => {
      accumulator = value ?? 0
      return value !== undefined
    }
    if (code === 0x06) return operand
    else if (code === 0x15) jump(accumulator === operand)
    else if (code === 0x45) jump((accumulator & operand) !== 0)
    else if (code === 0x54) accumulator &= operand
    else if (code === 0xb1) index = ((at(operand, 1) ?? 0) & 0x0f) * 4
    else if (code === 0x20 && operand >= 0xffff_f000) accumulator = packetType
    else {
      const bytes = { 32: 4, 40: 2, 48: 1, 64: 4, 72: 2, 80: 1 }[code]
      if (bytes === undefined) throw new Error(`an instruction ${code}`)
      // What is not there gives a packet up.
      if (!load(at(operand + (code >= 0x40 ? index : 0), bytes))) return 0
    }
  }
  throw new Error('no end')
}

const [SYN, RESET_ACK, RESET, PUSH_ACK] = [0x02, 0x14, 0x04, 0x18]

t.test('a reset that answers a connection, and a datagram that nobody took, are kept and read', async (t) => {
  for (const [packet, refused] of [
    [
      ip('192.0.2.7', '192.0.2.7', 6, tcp(22, 40_000, RESET_ACK)),
      { protocol: 'tcp', address: '192.0.2.7', port: 22 },
    ],
    [
      ip('2001:db8::7', '::1', 6, tcp(8_080, 40_000, RESET_ACK)),
      { protocol: 'tcp', address: '2001:db8::7', port: 8_080 },
    ],
    [
      ip('192.0.2.7', '192.0.2.7', 1, icmp(3, 3, ip('192.0.2.7', '192.0.2.9', 17, udp(40_000, 123)))),
      { protocol: 'udp', address: '192.0.2.9', port: 123 },
    ],
    [
      ip('2001:db8::7', '::1', 58, icmp(1, 4, ip('::1', '2001:db8::7', 17, udp(40_000, 5_683)))),
      { protocol: 'udp', address: '2001:db8::7', port: 5_683 },
    ],
  ] as const) {
    t.equal(kept(packet), KEPT_BYTES)
    t.equal(kept(packet, 4), 0, 'and not seen again on its way out')
    t.strictSame(readRefused(Uint8Array.from(packet)), refused)
  }
})

t.test('everything else passes', async (t) => {
  for (const packet of [
    ip('192.0.2.7', '192.0.2.7', 6, tcp(40_000, 22, SYN)),
    ip('192.0.2.7', '192.0.2.7', 6, tcp(22, 40_000, PUSH_ACK)),
    ip('192.0.2.7', '192.0.2.7', 6, tcp(22, 40_000, RESET)),
    // A connection that was there and is cut off.
    ip('192.0.2.7', '192.0.2.7', 6, tcp(22, 40_000, RESET_ACK, 9)),
    ip('2001:db8::7', '::1', 6, tcp(22, 40_000, RESET_ACK, 9)),
    ip('192.0.2.7', '192.0.2.7', 17, udp(40_000, 53)),
    ip('192.0.2.7', '192.0.2.7', 1, icmp(8, 0, [])),
    ip('192.0.2.7', '192.0.2.7', 1, icmp(3, 1, ip('192.0.2.7', '192.0.2.9', 17, udp(1, 2)))),
    ip('192.0.2.7', '192.0.2.7', 1, icmp(3, 3, ip('192.0.2.7', '192.0.2.9', 6, tcp(1, 2, SYN)))),
    ip('2001:db8::7', '::1', 58, icmp(135, 0, [])),
    [0x45, 0],
    [0x20, 0, 0, 0],
  ])
    t.equal(kept(packet), 0)
})

t.test('what is cut short or is something else tells nothing', async (t) => {
  for (const packet of [
    [],
    [0x45],
    ip('192.0.2.7', '192.0.2.7', 17, udp(1, 2)),
    ip('::1', '::1', 58, icmp(1, 4, [0x60])),
  ])
    t.equal(readRefused(Uint8Array.from(packet)), undefined)
})
