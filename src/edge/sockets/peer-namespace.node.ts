/**
 * Whether the process that connected to a Unix socket is among the daemon's own processes, or in a process namespace of
 * its own, as every command of a session is, and whatever runs in a container. The kernel tells it of the process that
 * called connect(2), whoever holds the descriptor by now. `/proc/PID/ns/pid` would say the same, but not to a daemon
 * that is no root about a process of root's; NSpid is told to everybody: one number for each namespace on the way down
 * to that of the process.
 * Refuses who is gone, who has no number here, and what cannot be read.
 * Sources: unix(7), proc_pid_status(5), pidfd_open(2), linux/pidfd (Documentation: fdinfo of a pidfd has NSpid).
 * @module
 */
import { readFileSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'
import { closing } from '../../base/closing.node.ts'
import { ERRNO, type Syscalls } from '../../sandbox/kernel/syscalls.node.ts'

/** asm-generic/socket.h, the same on x86-64 and AArch64. */
const SOL_SOCKET = 1
/** Linux 6.5: a descriptor of the very process, which no other one can take the number of. */
const SO_PEERPIDFD = 77
const DESCRIPTOR_BYTES = 4

/** How many namespaces lie between that of /proc and that of the process, both counted; 0: none, it is not there. */
function depthIn(text: string): number {
  const numbers = /^NSpid:\t(.*)$/m.exec(text)?.[1]?.split('\t') ?? []
  return numbers.some((number) => !/^[1-9][0-9]*$/.test(number)) ? 0 : numbers.length
}

function depthOf(path: string): number {
  return attempt(() => depthIn(readFileSync(path, 'latin1')), 0)
}

/**
 * For connected Unix sockets: true where the peer is in the process namespace of the caller. `number` is that of
 * SO_PEERCRED, which is looked at where the kernel is older than 6.5: then of whoever has it by now.
 */
export function createIsInOwnNamespace({
  libc,
  checked,
}: Syscalls): (socket: number, number: number) => boolean {
  const own = depthOf('/proc/self/status')

  /** Undefined where this kernel has none. */
  function peerDepth(socket: number): number | undefined {
    const descriptor = new Int32Array([-1])
    const length = new Uint32Array([DESCRIPTOR_BYTES])
    const result = checked(libc.getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, descriptor, length))
    if (result === -ERRNO.ENOPROTOOPT) return undefined
    const process = descriptor[0] ?? -1
    if (result !== 0 || process < 0) return 0
    using _process = closing(process)
    return depthOf(`/proc/self/fdinfo/${process}`)
  }

  // What has a number here is in this namespace or beneath it, so that one as deep as this one is this one.
  return (socket, number) =>
    own > 0 && number > 0 && (peerDepth(socket) ?? depthOf(`/proc/${number}/status`)) === own
}
