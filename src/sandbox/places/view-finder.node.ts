/**
 * Finds programs and paths as a session sees them: from a descriptor of its `/`, so that links lead where they lead for
 * the session, and what its branch holds is found there and not beside it.
 * Reads, opens nothing but O_PATH and what is pinned. Source: openat2(2), RESOLVE_IN_ROOT.
 * @module
 */
import { accessSync, constants, fstatSync, readlinkSync } from 'node:fs'
import { type At, O_NOFOLLOW, O_PATH, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS } from '../kernel/at.node.ts'
import { ERRNO, type Syscalls } from '../kernel/syscalls.node.ts'
import { createPinLook, openBeneath } from '../launcher/pinned.node.ts'
import type { FoundProgram, ProgramFinder } from './found-program.ts'
import { findIn, walkLinks } from './program-finder.node.ts'

const RESOLVE = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS
const LINK_BYTES = 4_096
const EMPTY = Uint8Array.of(0)

/** `rootDescriptor`: O_PATH on the `/` of the session, which stays the caller's. */
export function createViewFinder(syscalls: Syscalls, at: At, rootDescriptor: number): ProgramFinder {
  const pin = createPinLook(openBeneath(at, rootDescriptor))

  /** With an O_PATH descriptor of what a path leads to; undefined where it leads nowhere. */
  function look<Result>(
    path: string,
    flags: number,
    use: (descriptor: number) => Result,
  ): Result | undefined {
    if (path.includes('\0')) return undefined
    const descriptor = at.openPath(rootDescriptor, Buffer.from(path), O_PATH | flags, RESOLVE)
    if (descriptor < 0) return undefined
    try {
      return use(descriptor)
    } catch {
      return undefined
    } finally {
      at.close(descriptor)
    }
  }
  /** Throws for what has no name any more, and would be taken for a file of another one. */
  const placeOf = (descriptor: number): string => {
    const place = readlinkSync(`/proc/self/fd/${descriptor}`)
    if (place.endsWith(' (deleted)')) throw new Error('it is gone')
    return place
  }
  const realExisting = (path: string): string | undefined => look(path, 0, placeOf)

  function lookAtProgram(path: string, mustBeExecutable: boolean): FoundProgram | undefined {
    return look(path, 0, (descriptor) => {
      const status = fstatSync(descriptor, { bigint: true })
      if (!status.isFile()) return undefined
      if (mustBeExecutable) accessSync(`/proc/self/fd/${descriptor}`, constants.X_OK)
      return {
        path,
        realPath: placeOf(descriptor),
        device: String(status.dev),
        inode: String(status.ino),
      }
    })
  }

  function readLink(path: string): { readonly target: string } | 'missing' | undefined {
    const found = look(path, O_NOFOLLOW, (descriptor) => {
      const buffer = Buffer.from(new ArrayBuffer(LINK_BYTES))
      const length = syscalls.byNumber('readlinkat', descriptor, EMPTY, buffer, LINK_BYTES)
      if (length >= 0) return { target: buffer.toString('utf8', 0, length) }
      // Of what is no link there is nothing to read.
      return length === -ERRNO.ENOENT || length === -ERRNO.EINVAL ? 'none' : 'missing'
    })
    return found === 'none' ? undefined : (found ?? 'missing')
  }

  return {
    pin,
    realPath: (path) =>
      path.startsWith('/') && !path.includes('\0') ? (realExisting(path) ?? walkLinks(path, readLink)) : path,
    find: findIn(lookAtProgram),
    realDirectory: (path) => realExisting(path) ?? path,
  }
}
