/**
 * The log in a file of its own, which is never larger than it may be: one that would be is renamed to `.1`, that to
 * `.2` and so on, and the oldest goes. Somebody else may rotate it too: `reopen` takes the file that lies there then.
 * A file that cannot be written, for want of room or of rights, stops nobody: `write` says so, and what is in the file
 * are whole lines. Refused is a place where a symbolic link, another name of the file, or a file of another user or
 * that others may write would let somebody choose what the daemon writes into.
 * @module
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  type Stats,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, errnoText } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'

export type LogFile = {
  /** False: nothing of the line is in the file. */
  write(line: string): boolean
  /** Takes the file that lies at the path now, made anew where there is none; why it cannot, and goes on as before. */
  reopen(): string | undefined
  close(): void
}

export type LogFileOptions = {
  readonly path: string
  readonly maxBytes: number
  /** Older files beside it. */
  readonly keep: number
}

const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants
const MODE = 0o640
const DIRECTORY_MODE = 0o750
const WRITABLE_BY_OTHERS = 0o022

function refused(path: string, sentence: string, cause?: unknown): SassError {
  return new SassError('STATE_UNWRITABLE', `The log file ${path} ${sentence}`, { path }, cause)
}

/** Why what is there is not written to, as the end of a sentence with what to do; undefined: it may be. */
export function logFileProblem(stats: Stats): string | undefined {
  if (!stats.isFile()) return 'is no plain file: move it away, or set log.file to another place.'
  if (stats.nlink !== 1)
    return 'has another name as well, so somebody else may have chosen what it is: move it away.'
  if (stats.uid !== process.geteuid?.())
    return 'belongs to another user: move it away, or chown it to the daemon.'
  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0) return 'can be written by others: run chmod 640 on it.'
  return undefined
}

/** One level alone: with `recursive` Node tries for ever where a file system knows no directories but its own. */
function makeDirectoryOf(path: string): void {
  try {
    mkdirSync(dirname(path), DIRECTORY_MODE)
  } catch (cause) {
    if (errnoOf(cause) !== 'EEXIST') throw cause
  }
}

/** @throws SassError STATE_UNWRITABLE with what to do */
function openAt(path: string): number {
  let descriptor: number
  try {
    makeDirectoryOf(path)
    descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, MODE)
  } catch (cause) {
    const why = errnoText(errnoOf(cause))
    throw refused(
      path,
      `cannot be opened, since ${why}: correct that, or set log.file to another place.`,
      cause,
    )
  }
  const problem = logFileProblem(fstatSync(descriptor))
  if (problem === undefined) return descriptor
  closeSync(descriptor)
  throw refused(path, problem)
}

/**
 * Opens the file, and makes it where there is none.
 * @throws SassError STATE_UNWRITABLE with what to do
 */
export function openLogFile({ path, maxBytes, keep }: LogFileOptions): LogFile {
  let descriptor = openAt(path)
  let sizeBytes = fstatSync(descriptor).size

  function take(next: number): void {
    closeSync(descriptor)
    descriptor = next
    sizeBytes = fstatSync(next).size
  }

  /** Whether what lies at the path is what is written to. */
  function isOurs(): boolean {
    const there = lstatSync(path, { throwIfNoEntry: false })
    const own = fstatSync(descriptor)
    return there?.ino === own.ino && there.dev === own.dev
  }

  /** Whether the older file of that number may be renamed, or replaced; anything but a file stays where it is. */
  function isOlder(number: number): boolean {
    const there = lstatSync(`${path}.${number}`, { throwIfNoEntry: false })
    if (there?.isFile() === false) throw refused(`${path}.${number}`, 'is no file, so nothing is rotated.')
    return there !== undefined
  }

  /** One step further for each; what lies at the path is renamed only where it is what we write to. */
  function rotate(): boolean {
    try {
      if (isOurs()) {
        for (let number = keep; number >= 1; number--)
          if (isOlder(number) && number < keep) renameSync(`${path}.${number}`, `${path}.${number + 1}`)
        renameSync(path, `${path}.1`)
      }
      take(openAt(path))
      return sizeBytes < maxBytes
    } catch {
      return false
    }
  }

  return {
    write(line) {
      const bytes = Buffer.from(line)
      if (sizeBytes > 0 && sizeBytes + bytes.length > maxBytes && !rotate()) return false
      try {
        const written = writeSync(descriptor, bytes)
        if (written === bytes.length) {
          sizeBytes += written
          return true
        }
        // The disk took a part of it.
        ftruncateSync(descriptor, sizeBytes)
      } catch {
        // Told by the answer.
      }
      return false
    },
    reopen() {
      try {
        take(openAt(path))
        return undefined
      } catch (cause) {
        return cause instanceof Error ? cause.message : 'unknown'
      }
    },
    close: () => closeSync(descriptor),
  }
}
