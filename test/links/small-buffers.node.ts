/**
 * Sockets of the loopback with kernel buffers of a few KiB, as Node cannot make them. The system gives a connection on
 * the loopback 128 KiB and more to each side; a link of 1 KB/s in front of that would seem minutes long.
 * @module
 */
import { dlopen } from 'node:ffi'
import { type Server, Socket } from 'node:net'

const AF_INET = 2
const SOCK_STREAM = 1
const SOCK_NONBLOCK = 0o4000
const SOCK_CLOEXEC = 0o2000000
const SOL_SOCKET = 1
const SO_SNDBUF = 7
const SO_RCVBUF = 8
const IPPROTO_TCP = 6
const TCP_MAXSEG = 2
/** TIOCOUTQ: of a TCP socket, bytes that the peer's system has not acknowledged yet. */
const SIOCOUTQ = 0x5411

/** Linux doubles it for its own accounts, so about this much of payload is held unread. */
const BUFFER_BYTES = 4_096
/** As on a real link: in segments of the loopback's 64 KiB a window this small would open in fits. */
export const SEGMENT_BYTES = 1_448

const { functions: libc } = dlopen(null, {
  ioctl: { arguments: ['i32', 'u64', 'buffer'], return: 'i32' },
  setsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'], return: 'i32' },
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
})

function setOption(fd: number, level: number, name: number, value: number): void {
  if (libc.setsockopt(fd, level, name, new Uint8Array(Int32Array.of(value).buffer), 4) !== 0)
    throw new Error(`A socket does not take option ${name} of level ${level}.`)
}

/** The descriptor of an open socket: Node keeps it in the handle, and has no other way to it. */
function descriptor(of: Socket | Server): number | undefined {
  const { _handle: handle } = of as unknown as { readonly _handle?: { readonly fd: number } | null }
  return handle == null || handle.fd < 0 ? undefined : handle.fd
}

function shrink(fd: number): void {
  setOption(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES)
  setOption(fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES)
  setOption(fd, IPPROTO_TCP, TCP_MAXSEG, SEGMENT_BYTES)
}

/** Of a server that listens: whoever is accepted from now on has small buffers. */
export function shrinkAccepted(server: Server): void {
  const fd = descriptor(server)
  if (fd === undefined) throw new Error('A server that does not listen has no buffers to make small.')
  shrink(fd)
}

/** A socket that is not connected yet: the window that it will open with is small too. */
export function smallSocket(): Socket {
  const fd = libc.socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
  if (fd < 0) throw new Error('The system gives no socket.')
  shrink(fd)
  // Reading before it is connected would end it; Node knows this option, its documentation does not.
  const options = { fd, readable: true, writable: true, allowHalfOpen: true, pauseOnCreate: true }
  return new Socket(options)
}

/** Bytes that were written and that the other side's system does not have yet; 0 where the socket is gone. */
export function unacknowledgedBytes(socket: Socket): number {
  const fd = descriptor(socket)
  const bytes = new Int32Array(1)
  if (fd === undefined || libc.ioctl(fd, BigInt(SIOCOUTQ), new Uint8Array(bytes.buffer)) !== 0) return 0
  return bytes[0] ?? 0
}
