/**
 * A TCP socket bound to an address that is known in bytes. Node's own way there resolves the address as if it were a
 * name, which loads its resolver and compiles its patterns for addresses: 5 ms of a start for four bytes.
 * Sources: socket(7), ip(7), ipv6(7).
 * @module
 */
import { getSystemErrorName } from 'node:util'
import type { IpAddress } from '../base/ip-address.ts'
import { loadSyscalls } from '../sandbox/syscalls.node.ts'

const AF_INET = 2
const AF_INET6 = 10
const SOCK_STREAM = 1
const SOCK_CLOEXEC = 0o2000000
const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const IPPROTO_IPV6 = 41
const IPV6_V6ONLY = 26
const SOCKADDR_IN_BYTES = 16
const SOCKADDR_IN6_BYTES = 28
const ON = Int32Array.of(1)
const OFF = Int32Array.of(0)

function socketAddress({ family, bytes }: IpAddress, port: number): Uint8Array {
  const isV4 = family === 4
  const place = Buffer.alloc(isV4 ? SOCKADDR_IN_BYTES : SOCKADDR_IN6_BYTES)
  place.writeUInt16LE(isV4 ? AF_INET : AF_INET6, 0)
  place.writeUInt16BE(port, 2)
  // Behind the port come the four bytes; in sockaddr_in6 the flow label first, and the scope last.
  place.set(bytes, isV4 ? 4 : 8)
  return place
}

/**
 * The descriptor of the socket, for whoever listens on it; the caller closes it. An IPv6 one takes IPv4 as well, as the
 * address `::` is understood everywhere.
 * @throws Error with `code` and `syscall`, as Node's own errors have them
 */
export function bindSocket(address: IpAddress, port: number): number {
  const { libc, checked } = loadSyscalls()
  function must(syscall: string, result: number): number {
    if (result >= 0) return result
    const code = getSystemErrorName(result)
    throw Object.assign(new Error(`${syscall} ${code}`), { code, syscall, errno: result })
  }
  const family = address.family === 4 ? AF_INET : AF_INET6
  const descriptor = must('socket', checked(libc.socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)))
  const set = (level: number, option: number, value: Int32Array) =>
    must('setsockopt', checked(libc.setsockopt(descriptor, level, option, value, value.byteLength)))
  try {
    // A daemon that comes back at once finds the connections of the one before still closing.
    set(SOL_SOCKET, SO_REUSEADDR, ON)
    if (address.family === 6) set(IPPROTO_IPV6, IPV6_V6ONLY, OFF)
    const place = socketAddress(address, port)
    must('bind', checked(libc.bind(descriptor, place, place.length)))
    return descriptor
  } catch (error) {
    libc.close(descriptor)
    throw error
  }
}
