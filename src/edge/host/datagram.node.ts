/**
 * One datagram to a Unix socket, which Node cannot send: what a service manager and the journal listen on.
 * Nobody is waited for: who does not listen, or has its queue full, does not get it.
 * Rules: unix(7), sendto(2).
 * @module
 */
import { utf8Length } from '../../base/encoding/utf8.ts'
import { SOCKET_PATH_BYTES } from '../../limits.ts'
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { AF_UNIX, unixAddress } from './unix-address.node.ts'

const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2000000
const MSG_NOSIGNAL = 0x4000
const MSG_DONTWAIT = 0x40

/** Whether it went, whole. */
export function sendDatagram(path: string, message: string): boolean {
  if (utf8Length(path) > SOCKET_PATH_BYTES) return false
  const { libc } = loadSyscalls()
  const descriptor = libc.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
  if (descriptor < 0) return false
  const bytes = Buffer.from(message)
  const address = unixAddress(path)
  const flags = MSG_NOSIGNAL | MSG_DONTWAIT
  const sent = libc.sendto(descriptor, bytes, BigInt(bytes.length), flags, address, address.length)
  libc.close(descriptor)
  return Number(sent) === bytes.length
}
