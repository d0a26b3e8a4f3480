/**
 * A copy of a file that nobody can change any more: in memory, digested byte by byte while it is made, sealed, and open
 * for reading alone. It has the owner and the permissions of the file, so that whoever may not run that may not run this.
 * Refuses a file that is not as long as it says, and more bytes than there may be of all copies at once.
 * Sources: memfd_create(2), fcntl(2) (F_ADD_SEALS).
 * @module
 */
import { createHash } from 'node:crypto'
import { closeSync, fchmodSync, fchownSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { SassError } from '../../errors.ts'
import { PINNED_COPIES_BYTES } from '../limits.ts'
import { ERRNO, type Syscalls } from './syscalls.node.ts'

/** linux/memfd.h: MFD_CLOEXEC, MFD_ALLOW_SEALING, and from Linux 6.3 on MFD_EXEC, which older ones do not know. */
const SEALABLE = 0x3
const MFD_EXEC = 0x10
/** linux/fcntl.h */
const F_ADD_SEALS = 1033
/** F_SEAL_SEAL, SHRINK, GROW and WRITE. */
const SEALS = 0xf
const PERMISSIONS = 0o777
const READ_BYTES = 1_048_576

export type SealedCopy = {
  /** Close-on-exec, and nobody can write through it. The caller closes it. */
  readonly descriptor: number
  readonly sha256: string
  readonly isScript: boolean
  /** To be called once, when what runs it has ended: its bytes are counted until then. */
  readonly forget: () => void
}

export type SealedCopies = {
  /**
   * `full`: there is no room for it now; `changed`: it is not as long as it says.
   * @throws SassError SANDBOX_UNAVAILABLE where the kernel refuses
   */
  make(descriptor: number): SealedCopy | 'full' | 'changed'
}

function giveAs(copy: number, { mode, uid, gid }: { mode: number; uid: number; gid: number }): void {
  try {
    fchownSync(copy, uid, gid)
  } catch {
    // In a user namespace there is but one user, and whoever opened the file is that one.
  }
  fchmodSync(copy, mode & PERMISSIONS)
}

export function createSealedCopies(
  { byNumber, libc, checked }: Syscalls,
  limitBytes: number = PINNED_COPIES_BYTES,
): SealedCopies {
  const name = Buffer.from('pinned\0')
  let heldBytes = 0

  const must = (step: string, result: number): number => {
    if (result >= 0) return result
    throw new SassError(
      'SANDBOX_UNAVAILABLE',
      `The kernel refuses a sealed copy of a pinned program (${step}, errno ${-result}), so it was not started; set vm.memfd_noexec to 0 or 1, or move what is pinned where commands cannot write.`,
      { step, errno: -result },
    )
  }

  function memory(): number {
    const found = byNumber('memfd_create', name, SEALABLE | MFD_EXEC)
    return found === -ERRNO.EINVAL ? byNumber('memfd_create', name, SEALABLE) : found
  }

  /** Fills `copy`; gives the digest, and whether an interpreter is to read it. Undefined where the length changes. */
  function fill(
    copy: number,
    source: number,
    size: number,
  ): Pick<SealedCopy, 'sha256' | 'isScript'> | undefined {
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(Math.min(size + 1, READ_BYTES))
    let isScript = false
    for (let at = 0; ; ) {
      const count = readSync(source, buffer, 0, buffer.length, at)
      if (count === 0 && at === size) return { sha256: hash.digest('hex'), isScript }
      if (count === 0 || at + count > size) return undefined
      if (at === 0) isScript = buffer.toString('latin1', 0, Math.min(2, count)) === '#!'
      hash.update(buffer.subarray(0, count))
      for (let written = 0; written < count; )
        written += writeSync(copy, buffer, written, count - written, at + written)
      at += count
    }
  }

  return {
    make(source) {
      const { size, mode, uid, gid } = fstatSync(source)
      if (heldBytes + size > limitBytes) return 'full'
      const copy = must('memfd_create', memory())
      let descriptor = -1
      try {
        const found = fill(copy, source, size)
        if (found === undefined) return 'changed'
        // By another open file, which cannot write; while its permissions let us.
        descriptor = openSync(`/proc/self/fd/${copy}`, 'r')
        giveAs(copy, { mode, uid, gid })
        must('F_ADD_SEALS', checked(libc.fcntl(copy, F_ADD_SEALS, BigInt(SEALS))))
        heldBytes += size
        const forget = (): void => {
          heldBytes -= size
        }
        return { ...found, descriptor, forget }
      } catch (cause) {
        if (descriptor >= 0) closeSync(descriptor)
        throw cause
      } finally {
        closeSync(copy)
      }
    },
  }
}
