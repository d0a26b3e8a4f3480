/**
 * The daemon's own work on the files of a session, as one port: looking, writing, reading, making directories and links.
 * It decides nothing. Whoever calls it has a verdict, and has redeemed its warrant for exactly this.
 * Rules: docs/responses.md, section 6; docs/protocol.md, section 3 (files).
 * @module
 */
import { LISTING_BYTES } from '../../limits.ts'
import type { FileWork } from '../../ports.ts'
import { type At, createAt, O_DIRECTORY } from '../kernel/at.node.ts'
import { ERRNO, loadSyscalls, type Syscalls } from '../kernel/syscalls.node.ts'
import { listDirectory } from './listing.node.ts'
import { isPartialName, partialName } from './partial-name.ts'
import { createPathGuard, fileError, type PathGuard, type Place } from './path-guard.node.ts'
import { readFile } from './reader.node.ts'
import { asFileError, receiveFile } from './receiver.node.ts'
import { createRights } from './rights.node.ts'

const GIVEN_BITS = 0o777
/** No transfer has it: those have longer ones. */
const LINK_KEY = '00'

function setDirectoryMode(at: At, { directory, name }: Place, mode: number): void {
  const descriptor = at.open(directory, name, O_DIRECTORY)
  if (descriptor < 0) throw fileError(descriptor, 'made')
  const result = at.setMode(descriptor, mode & GIVEN_BITS)
  at.close(descriptor)
  if (result < 0) throw fileError(result, 'given its mode')
}

/** In place of a file or a link that may be there. */
function putLink(guard: PathGuard, at: At, { directory, name }: Place, target: string): void {
  const there = guard.entry(directory, name)
  if (there !== undefined) at.close(there.descriptor)
  if (there?.stats.isDirectory() === true) throw fileError(ERRNO.EISDIR, 'made')
  const hidden = Buffer.from(partialName(LINK_KEY))
  at.unlink(directory, hidden)
  const made = at.symlink(Buffer.from(target), directory, hidden)
  if (made < 0) throw fileError(made, 'made')
  const renamed = at.rename(directory, hidden, directory, name)
  if (renamed >= 0) return
  at.unlink(directory, hidden)
  throw fileError(renamed, 'made')
}

/** For the thread that calls it. */
export function createFileWork(syscalls: Syscalls = loadSyscalls()): FileWork {
  const at = createAt(syscalls)
  const rights = createRights(syscalls)
  const guard = createPathGuard(at, rights)
  return {
    look: guard.look,
    receive: (view, plan) => receiveFile(guard, at, view, plan),
    read: (view, real, offset, prefix, limitBytes) =>
      readFile(
        guard,
        (descriptor) =>
          listDirectory(
            descriptor,
            Math.min(limitBytes, LISTING_BYTES),
            (name) => isPartialName(name.toString('latin1')),
            (look) => rights.within(view, look),
          ),
        { view, real, offset, prefix, limitBytes },
      ),
    async makeDirectory(view, real, mode) {
      try {
        guard.makeDirectories(view, real)
        if (mode === undefined) return
        const place = guard.placeOf(view, real)
        try {
          rights.within(view, () => setDirectoryMode(at, place, mode))
        } finally {
          place.close()
        }
      } catch (cause) {
        throw asFileError(cause, 'made')
      }
    },
    async makeLink(view, real, target) {
      const place = guard.placeOf(view, real)
      try {
        rights.within(view, () => putLink(guard, at, place, target))
      } catch (cause) {
        throw asFileError(cause, 'made')
      } finally {
        place.close()
      }
    },
  }
}
