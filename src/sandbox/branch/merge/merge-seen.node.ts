/**
 * What is merged is what was seen. Somebody may still hold a descriptor of a file in the branch and write, whatever has
 * ended by then: so the copy is made first, in the stage, where nobody else has a way to it, and is then read for its
 * digest, which has to be the one that the list tells. And where the kernel says that something has the file open for
 * writing, it is not copied at all: what writes is not finished.
 * Sources: fcntl(2), "Leases".
 * @module
 */

import { ERRNO } from '../../kernel/syscalls.node.ts'
import { type Files, shownPath } from '../files/files.node.ts'
import type { Finding } from '../files/finding.ts'
import type { BytePath } from '../files/paths.ts'
import { isSameDigest, type Reader } from '../files/reader.node.ts'
import type { CopyChecks } from '../store/stage.node.ts'
import { StepFailure } from './steps.node.ts'

/** asm-generic/fcntl.h, linux/fcntl.h; the same on both machines. */
const F_RDLCK = 0
const F_SETSIG = 10
const F_SETLEASE = 1_024
/** Ignored by every process that has not asked for it: SIGIO, which a lease sends otherwise, would end the daemon. */
const SIGURG = 23

function failed(path: BytePath, problem: string): StepFailure {
  return new StepFailure(path, `${shownPath(path)} ${problem}.`)
}

/**
 * The kernel gives no lease on a file that something has open for writing, and lets nobody open it so until the lease is
 * gone, with the descriptor. Some file systems have none; then the digest alone tells.
 */
function lease(files: Files, source: number, path: BytePath): void {
  const { checked, libc } = files.syscalls
  checked(libc.fcntl(source, F_SETSIG, BigInt(SIGURG)))
  if (checked(libc.fcntl(source, F_SETLEASE, BigInt(F_RDLCK))) !== -ERRNO.EAGAIN) return
  throw failed(
    path,
    'is still open for writing in a program; end what is left of the sessions in this branch, look at it again, and merge that',
  )
}

/** For a copy of the new content of a change. @throws StepFailure */
export function asSeen(files: Files, reader: Reader, { after, change, path }: Finding): CopyChecks {
  return {
    before: (source) => lease(files, source, path),
    after(copy) {
      const seen = change.after
      if (seen === undefined || after === undefined) throw failed(path, 'was not shown')
      const copied = reader.digestLike(copy, after.sizeBytes, seen, path)
      if (isSameDigest(copied, seen)) return
      throw failed(path, 'was changed while it was merged; look at the branch again, and merge that')
    },
  }
}
