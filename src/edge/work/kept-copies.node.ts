/**
 * The files that handoffs bring, as they were when they were sent: one file each in a directory of the state, which no
 * session sees. What is begun is told from what is whole by the line of its handoff, which is written last.
 * Rules: docs/handoffs.md, "What comes with it".
 * @module
 */
import { createHash } from 'node:crypto'
import { closeSync, constants, fdatasync, fstatSync, openSync, readdirSync, unlinkSync, write } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makePrivateDirectory, overwrite, syncDirectorySoon } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import type { CopyStore, CopyWriter } from '../../ports.ts'
import { fileReader } from '../../sandbox/files/reader.node.ts'
import { asFileError } from '../../sandbox/files/receiver.node.ts'

const writeAsync = promisify(write)
const syncAsync = promisify(fdatasync)
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
const MODE = 0o600

function unwritable(directory: string, cause: unknown): SassError {
  const sentence = `What a handoff brings cannot be kept in ${directory}, so it was not sent; make room on its disk, or look whether that can be written at all.`
  return new SassError('STATE_UNWRITABLE', sentence, { path: directory }, cause)
}

/** @param directory is made where it is missing, when the first file comes */
export function createKeptCopies(directory: string): CopyStore {
  const pathOf = (name: string) => join(directory, name)

  function writer(descriptor: number): CopyWriter {
    const hash = createHash('sha256')
    return {
      async write(bytes) {
        hash.update(bytes)
        try {
          for (let done = 0; done < bytes.length; )
            done += (await writeAsync(descriptor, bytes, done, bytes.length - done)).bytesWritten
        } catch (cause) {
          throw unwritable(directory, cause)
        }
      },
      async finish() {
        try {
          await syncAsync(descriptor)
        } catch (cause) {
          throw unwritable(directory, cause)
        }
        if (!(await new Promise<boolean>((done) => syncDirectorySoon(directory, done))))
          throw unwritable(directory, undefined)
        return hash.digest('hex')
      },
      close: () => closeSync(descriptor),
    }
  }

  function removeOne(path: string, erases: boolean): void {
    const descriptor = openSync(path, O_WRONLY | O_NOFOLLOW)
    try {
      if (erases) overwrite(descriptor, fstatSync(descriptor).size)
      unlinkSync(path)
    } finally {
      closeSync(descriptor)
    }
  }

  function remove(names: readonly string[], erases: boolean): void {
    for (const name of names)
      try {
        removeOne(pathOf(name), erases)
      } catch {
        // Nothing names it any more: it goes at the next start.
      }
  }

  return {
    create(name) {
      try {
        makePrivateDirectory(directory)
        return writer(openSync(pathOf(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, MODE))
      } catch (cause) {
        throw unwritable(directory, cause)
      }
    },
    async open(name, offset, prefix) {
      let descriptor: number | undefined
      try {
        descriptor = openSync(pathOf(name), O_RDONLY | O_NOFOLLOW)
        return await fileReader(descriptor, offset, prefix, Number.POSITIVE_INFINITY)
      } catch (cause) {
        if (descriptor !== undefined) closeSync(descriptor)
        throw asFileError(cause, 'read')
      }
    },
    remove,
    keepOnly(isWanted) {
      let names: string[] = []
      try {
        names = readdirSync(directory)
      } catch {
        // Nothing has come yet.
      }
      remove(
        names.filter((name) => !isWanted(name)),
        false,
      )
    },
  }
}
