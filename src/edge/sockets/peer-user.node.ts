/**
 * Who is at the other end of a Unix socket, by the kernel's word (SO_PEERCRED, unix(7)). Nobody is whoever connected from
 * another process namespace than the daemon's: a command of a session may have the user that the daemon has.
 * In a user namespace of its own the daemon sees everybody but its own user under the one id that stands for all
 * (overflowuid, user_namespaces(7)). Then the file says who that can be: to a socket of mode 0600 nobody but its owner and
 * root can connect.
 * @module
 */
import { lstatSync, readFileSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'
import { loadSyscalls } from '../../sandbox/kernel/syscalls.node.ts'
import { isInitialUserNamespace } from '../../sandbox/kernel/user-namespace.node.ts'
import type { PeerUser } from './admin-socket.node.ts'
import { createIsInOwnNamespace } from './peer-namespace.node.ts'

/** asm-generic/socket.h, the same on x86-64 and AArch64. */
const SOL_SOCKET = 1
const SO_PEERCRED = 17
/** struct ucred: pid, uid, gid, 32 bits each. */
const UCRED_BYTES = 12
const PID_AT = 0
const UID_AT = 4

/** The id that everybody has whom this namespace has no id for; undefined where all have their own. */
function idOfOthers(): number | undefined {
  if (isInitialUserNamespace()) return undefined
  return attempt(() => Number(readFileSync('/proc/sys/kernel/overflowuid', 'latin1')), undefined)
}

/** Whether nobody but the user of this process, and root, can connect to what is there. */
function isPrivate(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isSocket() === true && stats.uid === process.geteuid?.() && (stats.mode & 0o077) === 0
}

/** Of the peers of the Unix socket at `path`. */
export function createPeerUser(path: string): PeerUser {
  const syscalls = loadSyscalls()
  const others = idOfOthers()
  const isInOwnNamespace = createIsInOwnNamespace(syscalls)
  return (descriptor) => {
    const credentials = new DataView(new ArrayBuffer(UCRED_BYTES))
    const length = new Uint32Array([UCRED_BYTES])
    const result = syscalls.checked(
      syscalls.libc.getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, credentials, length),
    )
    if (result !== 0 || length[0] !== UCRED_BYTES) return undefined
    if (!isInOwnNamespace(descriptor, credentials.getInt32(PID_AT, true))) return undefined
    const user = credentials.getUint32(UID_AT, true)
    // Root, which is 0 outside.
    return user === others && isPrivate(path) ? 0 : user
  }
}
