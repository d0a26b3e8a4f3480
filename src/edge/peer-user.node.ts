/**
 * Who is at the other end of a Unix socket, by the kernel's word (SO_PEERCRED, unix(7)).
 * @module
 */
import { loadSyscalls } from '../sandbox/syscalls.node.ts'
import type { PeerUser } from './admin-socket.node.ts'

/** asm-generic/socket.h, the same on x86-64 and AArch64. */
const SOL_SOCKET = 1
const SO_PEERCRED = 17
/** struct ucred: pid, uid, gid, 32 bits each. */
const UCRED_BYTES = 12
const UID_AT = 4

export function createPeerUser(): PeerUser {
  const syscalls = loadSyscalls()
  return (descriptor) => {
    const credentials = new DataView(new ArrayBuffer(UCRED_BYTES))
    const length = new Uint32Array([UCRED_BYTES])
    const result = syscalls.checked(
      syscalls.libc.getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, credentials, length),
    )
    return result === 0 && length[0] === UCRED_BYTES ? credentials.getUint32(UID_AT, true) : undefined
  }
}
