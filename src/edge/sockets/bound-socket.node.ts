/**
 * Sockets that are bound here and listened on by Node. TCP: Node's own way to an address resolves it as if it were a
 * name, which loads its resolver and compiles its patterns for addresses: 5 ms of a start for four bytes. Unix: Node
 * makes the file with the rights that the umask leaves, and the umask is one for all threads and for every command that
 * is started meanwhile, so nothing of ours ever changes it.
 * Sources: socket(7), ip(7), ipv6(7), unix(7).
 * @module
 */
import { fchmodSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import { utf8Length } from '../../base/encoding/utf8.ts'
import type { IpAddress } from '../../base/ip-address.ts'
import { SOCKET_PATH_BYTES } from '../../limits.ts'
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { AF_UNIX, unixAddress } from '../host/unix-address.node.ts'

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
/** sys/stat.h */
const S_IRUSR = 0o400
const S_IWUSR = 0o200
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

function failed(syscall: string, code: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall })
}

type Must = (syscall: string, result: number) => number

/** Makes a socket and has it bound; closed again where that fails. */
function bound(family: number, bind: (descriptor: number, must: Must) => void): number {
  const { libc, checked } = loadSyscalls()
  const must: Must = (syscall, result) => {
    if (result < 0) throw failed(syscall, getSystemErrorName(result))
    return result
  }
  const descriptor = must('socket', checked(libc.socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)))
  try {
    bind(descriptor, must)
    return descriptor
  } catch (error) {
    libc.close(descriptor)
    throw error
  }
}

/**
 * The descriptor of the socket, for whoever listens on it; the caller closes it. An IPv6 one takes IPv4 as well, as the
 * address `::` is understood everywhere.
 * @throws Error with `code` and `syscall`, as Node's own errors have them
 */
export function bindSocket(address: IpAddress, port: number): number {
  const { libc, checked } = loadSyscalls()
  return bound(address.family === 4 ? AF_INET : AF_INET6, (descriptor, must) => {
    const set = (level: number, option: number, value: Int32Array) =>
      must('setsockopt', checked(libc.setsockopt(descriptor, level, option, value, value.byteLength)))
    // A daemon that comes back at once finds the connections of the one before still closing.
    set(SOL_SOCKET, SO_REUSEADDR, ON)
    if (address.family === 6) set(IPPROTO_IPV6, IPV6_V6ONLY, OFF)
    const place = socketAddress(address, port)
    must('bind', checked(libc.bind(descriptor, place, place.length)))
  })
}

/**
 * The descriptor of a Unix socket whose file has mode 0600 from its first moment; whoever listens on it removes the file.
 * @throws Error with `code` and `syscall`, as Node's own errors have them
 */
export function bindPrivateSocket(path: string): number {
  if (utf8Length(path) > SOCKET_PATH_BYTES) throw failed('bind', 'ENAMETOOLONG')
  const { libc, checked } = loadSyscalls()
  return bound(AF_UNIX, (descriptor, must) => {
    // The file gets the mode that the socket has by then.
    fchmodSync(descriptor, S_IRUSR | S_IWUSR)
    const place = unixAddress(path)
    must('bind', checked(libc.bind(descriptor, place, place.length)))
  })
}
