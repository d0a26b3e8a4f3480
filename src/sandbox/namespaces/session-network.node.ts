/**
 * The network of a session, made by the thread that is in it: nothing but a loopback, on which every address is its own.
 * The gate's sockets are opened here and served by the daemon from the device's network, which needs no part in this
 * one: a socket stays in the network that it was made in, whoever holds it.
 * Works for root, and for a user in a user namespace of its own, who cannot go back to the device's network.
 * Rules: docs/sandbox.md; network_namespaces(7), ip(7), rtnetlink(7), packet(7).
 * @module
 */

import { closeSync, openSync } from 'node:fs'
import { parseIpAddress } from '../../base/ip-address.ts'
import { ERRNO, O_CLOEXEC, O_NONBLOCK } from '../kernel/syscalls.node.ts'
import { GATE_BACKLOG, GATE_DATAGRAMS_BYTES, GATE_LISTENERS_MAX, REFUSALS_BYTES } from '../limits.ts'
import { type Kernel, Refused } from './kernel.node.ts'
import type { GateDescriptors, GateListener, ListenPlace, NamespacePlan } from './namespace-plan.ts'
import {
  AF_INET,
  AF_INET6,
  AF_NETLINK,
  AF_PACKET,
  addressOfItsOwn,
  everyAddressIsLocal,
  loopbackLinkAddress,
  loopbackUp,
  NETLINK_ANSWER_BYTES,
  netlinkResult,
  SIOCSIFFLAGS,
  socketAddress,
} from './network-bytes.ts'
import { refusalFilter } from './refused-packets.ts'

/** linux/sched.h */
const CLONE_NEWNET = 0x40000000
const OWN_NETWORK = '/proc/thread-self/ns/net'
/** sys/socket.h: the same on both machines. */
const SOCK_STREAM = 1
const SOCK_DGRAM = 2
const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const SO_RCVBUF = 8
const SO_ATTACH_FILTER = 26
const IPPROTO_IPV6 = 41
const IPV6_V6ONLY = 26
const RESOLVER_PORT = 53
/** struct sock_fprog, and one instruction of it. */
const FILTER_PROGRAM_BYTES = 16
const FILTER_INSTRUCTION_BYTES = 8
/** What a kernel without IPv6 says, or one where it is turned off: of a socket, an address, a route. */
const WITHOUT_IPV6: readonly number[] = [
  ...[-ERRNO.EAFNOSUPPORT, -ERRNO.EADDRNOTAVAIL, -ERRNO.EOPNOTSUPP, -ERRNO.EACCES, -ERRNO.ENODEV],
]

const LOOPBACK = '127.0.0.1'
const ANY = ['0.0.0.0', '::'] as const

export type NetworkHome = {
  /** In a network of its own, new and empty, from here on. */
  leave(): void
  /** In that one from here on. */
  enter(network: number): void
  /** Back, where this thread has left. */
  comeBack(): void
  /**
   * A descriptor of the network that this thread is in when it is in no session's, where that is not the device's:
   * the caller's own. Undefined: it goes back to the device's.
   */
  rest(): number | undefined
  close(): void
}

/**
 * Where the thread is when it makes no network. A user cannot go back to the device's, which belongs to root: it then
 * rests in an empty one, so that it keeps no session's.
 */
export function createNetworkHome({ syscalls, must }: Kernel): NetworkHome {
  const device = openSync(OWN_NETWORK, O_CLOEXEC)
  let parked: number | undefined
  let isAway = false
  const unshare = (): void => {
    must('unshare(CLONE_NEWNET)', syscalls.checked(syscalls.libc.unshare(CLONE_NEWNET)))
    isAway = true
  }
  return {
    leave: unshare,
    enter(network) {
      must('setns(net)', syscalls.byNumber('setns', network, CLONE_NEWNET))
      isAway = true
    },
    comeBack() {
      if (!isAway) return
      const result = syscalls.byNumber('setns', parked ?? device, CLONE_NEWNET)
      if (result === -ERRNO.EPERM && parked === undefined) {
        unshare()
        parked = openSync(OWN_NETWORK, O_CLOEXEC)
      } else must('setns(net)', result)
      isAway = false
    },
    rest: () => (parked === undefined ? undefined : openSync(`/proc/self/fd/${parked}`, O_CLOEXEC)),
    close() {
      closeSync(device)
      if (parked !== undefined) closeSync(parked)
    },
  }
}

type Holds = { readonly lasting: number[] }

/** What there is no IPv6 for is left out; whatever else the kernel refuses is thrown. */
function unlessWithoutIpv6(kernel: Kernel, step: string, result: number): number | undefined {
  return WITHOUT_IPV6.includes(result) ? undefined : kernel.must(step, result)
}

function openSocket({ syscalls, must }: Kernel, family: number, type: number, protocol = 0): number {
  const flags = O_NONBLOCK | O_CLOEXEC
  return must(`socket(${family})`, syscalls.checked(syscalls.libc.socket(family, type | flags, protocol)))
}

/** The loopback, and routes that make every address the session's own. */
function bringUp(kernel: Kernel): void {
  const { syscalls, must } = kernel
  const { libc, checked } = syscalls
  const control = openSocket(kernel, AF_INET, SOCK_DGRAM)
  try {
    must('bring up lo', checked(libc.ioctl(control, SIOCSIFFLAGS, loopbackUp())))
  } finally {
    closeSync(control)
  }
}

function makeAllLocal(kernel: Kernel): void {
  const { syscalls, must } = kernel
  const { libc, checked } = syscalls
  const routes = openSocket(kernel, AF_NETLINK, SOCK_DGRAM)
  const ask = (message: Uint8Array): number => {
    const answer = new Uint8Array(new ArrayBuffer(NETLINK_ANSWER_BYTES))
    const sent = checked(Number(libc.write(routes, message, BigInt(message.length))))
    if (sent < 0) return sent
    // The kernel has answered when the message has been taken.
    const heard = checked(Number(libc.read(routes, answer, BigInt(answer.length))))
    return heard < 0 ? heard : (netlinkResult(answer.subarray(0, heard)) ?? -ERRNO.EIO)
  }
  try {
    must('address of lo', ask(addressOfItsOwn()))
    must('route to lo', ask(everyAddressIsLocal(AF_INET)))
    unlessWithoutIpv6(kernel, 'route to lo (IPv6)', ask(everyAddressIsLocal(AF_INET6)))
  } finally {
    closeSync(routes)
  }
}

/** A socket that is bound; undefined where it is one of IPv6 and there is none, or where a server of the session's is. */
function bindSocket(
  kernel: Kernel,
  type: number,
  address: string,
  port: number,
  held: Holds,
): number | undefined {
  const { syscalls, must } = kernel
  const { libc, checked } = syscalls
  const parsed = parseIpAddress(address)
  if (parsed === undefined) throw new Refused(`bind(${address})`, ERRNO.EINVAL)
  const isSix = parsed.family === 6
  const step = `bind(${address} ${port})`
  const flags = type | O_NONBLOCK | O_CLOEXEC
  const made = checked(libc.socket(isSix ? AF_INET6 : AF_INET, flags, 0))
  const descriptor = isSix ? unlessWithoutIpv6(kernel, step, made) : must(step, made)
  if (descriptor === undefined) return undefined
  const one = Uint8Array.of(1, 0, 0, 0)
  if (isSix) must(step, checked(libc.setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, one, one.length)))
  // Connections of before may still be on their way out at that port.
  if (type === SOCK_STREAM)
    must(step, checked(libc.setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, one, one.length)))
  const bytes = socketAddress(parsed, port)
  const bound = checked(libc.bind(descriptor, bytes, bytes.length))
  if (bound < 0) closeSync(descriptor)
  if (bound === -ERRNO.EADDRINUSE) return undefined
  if (bound >= 0) held.lasting.push(descriptor)
  const result = isSix ? unlessWithoutIpv6(kernel, step, bound) : must(step, bound)
  return result === undefined ? undefined : descriptor
}

/** Opens what the gate listens on, in the network that this thread is in. A place that is taken already is left out. */
export function openListeners(kernel: Kernel, places: readonly ListenPlace[], held: Holds): GateListener[] {
  const { syscalls, must } = kernel
  const listeners: GateListener[] = []
  const wanted = places.flatMap(({ protocol, address, port }) =>
    (address === undefined ? ANY : [address]).map((one) => ({ protocol, address: one, port })),
  )
  if (wanted.length > GATE_LISTENERS_MAX) throw new Refused('so many listening ports', ERRNO.E2BIG)
  const room = Int32Array.of(GATE_DATAGRAMS_BYTES)
  for (const { protocol, address, port } of wanted) {
    const type = protocol === 'tcp' ? SOCK_STREAM : SOCK_DGRAM
    const descriptor = bindSocket(kernel, type, address, port, held)
    if (descriptor === undefined) continue
    const { libc, checked } = syscalls
    if (protocol === 'tcp') must(`listen(${port})`, checked(libc.listen(descriptor, GATE_BACKLOG)))
    else
      must(
        `setsockopt(${port})`,
        checked(libc.setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, room, room.byteLength)),
      )
    listeners.push({ descriptor, protocol, address, port })
  }
  return listeners
}

/** A socket that hears what is refused; -1 where the kernel has none, and then nobody is told. */
function openRefusals({ syscalls }: Kernel, held: Holds): number {
  const { libc, checked } = syscalls
  // Of no protocol until the filter stands.
  const descriptor = checked(libc.socket(AF_PACKET, SOCK_DGRAM | O_NONBLOCK | O_CLOEXEC, 0))
  if (descriptor < 0) return -1
  const filter = refusalFilter()
  const program = new Uint8Array(new ArrayBuffer(FILTER_PROGRAM_BYTES))
  const words = new DataView(program.buffer)
  words.setUint16(0, filter.length / FILTER_INSTRUCTION_BYTES, true)
  words.setBigUint64(8, syscalls.addressOf(filter), true)
  const room = new Uint8Array(new ArrayBuffer(4))
  new DataView(room.buffer).setInt32(0, REFUSALS_BYTES, true)
  const address = loopbackLinkAddress()
  const results = [
    () => libc.setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, room, room.length),
    () => libc.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, program, program.length),
    () => libc.bind(descriptor, address, address.length),
  ]
  if (results.every((step) => step() === 0)) {
    held.lasting.push(descriptor)
    return descriptor
  }
  closeSync(descriptor)
  return -1
}

/** Makes what a session has for a network, in the new one that this thread is in. */
export function makeNetwork(kernel: Kernel, plan: NamespacePlan, held: Holds): GateDescriptors | undefined {
  bringUp(kernel)
  if (plan.network !== 'gate') return undefined
  makeAllLocal(kernel)
  // First, so that nothing else can have its place.
  const names = bindSocket(kernel, SOCK_DGRAM, LOOPBACK, RESOLVER_PORT, held) ?? -1
  const listeners = openListeners(kernel, plan.listens, held)
  return { listeners, names, refusals: openRefusals(kernel, held) }
}
