/**
 * The daemon's own work on the files of a session, as one port: looking, writing, reading, making directories and links.
 * It decides nothing. Whoever calls it has a verdict, and has redeemed its warrant for exactly this.
 * Rules: docs/responses.md, section 6; docs/protocol.md, section 3 (files).
 * @module
 */
import { fchmod } from 'node:fs'
import { promisify } from 'node:util'
import { LISTING_BYTES } from '../../limits.ts'
import type { FileWork } from '../../ports.ts'
import { type At, createAt, O_DIRECTORY } from '../at.node.ts'
import { ERRNO, loadSyscalls } from '../syscalls.node.ts'
import { listDirectory } from './listing.node.ts'
import { isPartialName, partialName } from './partial-name.ts'
import { createPathGuard, fileError } from './path-guard.node.ts'
import { readFile } from './reader.node.ts'
import { asFileError, receiveFile } from './receiver.node.ts'

const modeAsync = promisify(fchmod)
const GIVEN_BITS = 0o777
/** No transfer has it: those have longer ones. */
const LINK_KEY = '00'

/** For the thread that calls it. */
export function createFileWork(at: At = createAt(loadSyscalls())): FileWork {
  const guard = createPathGuard(at)
  return {
    look: guard.look,
    receive: (view, plan) => receiveFile(guard, at, view, plan),
    read: (view, real, offset, prefix, limitBytes) =>
      readFile(
        guard,
        (descriptor) =>
          listDirectory(descriptor, Math.min(limitBytes, LISTING_BYTES), (name) =>
            isPartialName(name.toString('latin1')),
          ),
        { view, real, offset, prefix, limitBytes },
      ),
    async makeDirectory(view, real, mode) {
      try {
        guard.makeDirectories(view, real)
        if (mode === undefined) return
        const place = guard.placeOf(view, real)
        try {
          const directory = at.open(place.directory, place.name, O_DIRECTORY)
          if (directory < 0) throw fileError(directory, 'made')
          try {
            await modeAsync(directory, mode & GIVEN_BITS)
          } finally {
            at.close(directory)
          }
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
        const there = guard.entry(place.directory, place.name)
        if (there !== undefined) at.close(there.descriptor)
        if (there?.stats.isDirectory() === true) throw fileError(ERRNO.EISDIR, 'made')
        const hidden = Buffer.from(partialName(LINK_KEY))
        at.unlink(place.directory, hidden)
        const made = at.symlink(Buffer.from(target), place.directory, hidden)
        if (made < 0) throw fileError(made, 'made')
        const renamed = at.rename(place.directory, hidden, place.directory, place.name)
        if (renamed >= 0) return
        at.unlink(place.directory, hidden)
        throw fileError(renamed, 'made')
      } catch (cause) {
        throw asFileError(cause, 'made')
      } finally {
        place.close()
      }
    },
  }
}
