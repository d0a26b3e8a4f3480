/**
 * The system calls of the gate on sockets of datagrams, of the daemon's own network and of sessions': nothing of them
 * waits, and what cannot go at once is dropped, as the network may do with any datagram.
 * Rules: udp(7), ip(7), ipv6(7), socket(7).
 * @module
 */

import { closeSync } from 'node:fs'
import type { DatagramSockets } from '../../egress/relay/datagram-reader.node.ts'
import { F_DUPFD_CLOEXEC, O_CLOEXEC, O_NONBLOCK, type Syscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { AF_INET, AF_INET6, socketAddress } from '../../sandbox/namespaces/network-bytes.ts'

/** sys/socket.h: the same on both machines. */
const SOCK_DGRAM = 2
const SOL_SOCKET = 1
const SO_REUSEADDR = 2
const MSG_DONTWAIT = 0x40
const MSG_NOSIGNAL = 0x4000
const SOCKADDR_IN_BYTES = 16
/** After the three that every program has. */
const FIRST_FREE = 3n

export function createDatagramSockets({ libc, checked }: Syscalls): DatagramSockets {
  const off = new Uint8Array(new ArrayBuffer(4))
  return {
    duplicate: (descriptor) => checked(libc.fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_FREE)),
    connect(place) {
      const family = place.length === SOCKADDR_IN_BYTES ? AF_INET : AF_INET6
      const made = checked(libc.socket(family, SOCK_DGRAM | O_NONBLOCK | O_CLOEXEC, 0))
      if (made < 0) return made
      const connected = checked(libc.connect(made, place, place.length))
      if (connected >= 0) return made
      closeSync(made)
      return connected
    },
    send: (fd, bytes, to) =>
      Number(libc.sendto(fd, bytes, BigInt(bytes.length), MSG_DONTWAIT | MSG_NOSIGNAL, to, to.length)) ===
      bytes.length,
    keepAlone(fd) {
      libc.setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, off, off.length)
    },
    addressBytes: socketAddress,
  }
}
