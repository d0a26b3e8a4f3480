/**
 * Which format the state directory has, and how an older one comes to be of this program's. The format is a number in
 * `format.json`, the program beside it the one that made it so; a directory without the file has format 0.
 *
 * A migration leads from a format to the next one. That it is under way is written down first (`towards`), its steps
 * follow, and the new number comes last; every step may be done again, so a start that was cut off anywhere is gone on
 * with by the next one, and no program that does not know the new format takes what is between the two for the old one.
 * A format that this program does not know is refused before anything is read or written.
 * Rules: docs/operations.md (upgrade).
 * @module
 */
import { constants, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { closing } from '../../base/closing.node.ts'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { errnoOf, errnoText, readBounded, replaceFile, syncDirectory } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { STATE_FORMAT_BYTES } from '../../limits.ts'
import { programVersion } from '../host/version.node.ts'
import type { FileLock } from './file-lock.node.ts'

export type StateFormat = {
  readonly format: number
  /** The version of the program that made it so; empty where nothing says. */
  readonly program: string
  /** The format that a migration leads to which was begun and not finished. */
  readonly towards?: number
}

/** What a migration may do: names are those of files in the state directory. What it throws ends the start. */
export type StateFiles = {
  names(): readonly string[]
  /** The old content or the new one, whatever happens. */
  replace(name: string, bytes: Uint8Array): void
  remove(name: string): void
}

/** Its steps in order, each of which may find that it was done already, wholly or in part. */
export type Migration = readonly ((files: StateFiles) => void)[]

const NAME = 'format.json'
/** As replaceFile names them: what a crash has left half written, which nobody ever reads. */
const TEMPORARY = /^\.[0-9a-f]{16}\.tmp$/

/** Every daemon that ever ran there has left one. */
const RECORD_KEY = /^audit(-\d+)?\.(key|pub)$/

/** The first leads from 0 to 1, and so on. */
export const MIGRATIONS: readonly Migration[] = Object.freeze([
  [
    (files: StateFiles) => {
      for (const name of files.names()) if (TEMPORARY.test(name)) files.remove(name)
    },
  ],
])

/** What this program brings state to. */
export const STATE_FORMAT: number = MIGRATIONS.length

export function stateFiles(directory: string): StateFiles {
  return {
    names: () => readdirSync(directory),
    replace: (name, bytes) => replaceFile(join(directory, name), bytes, 0o600),
    remove(name) {
      rmSync(join(directory, name), { force: true })
      syncDirectory(directory)
    },
  }
}

function isFormat(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function unreadable(path: string, why: string): SassError {
  return new SassError(
    'STATE_FORMAT',
    `${path}, which says what the state was written by, ${why}: nothing was changed; put it back from a copy, or remove it if sass-edge ${programVersion()} or an earlier one was the last to use that directory.`,
    { path },
  )
}

/**
 * What the directory says of itself; undefined where it says nothing, or is not there.
 * @throws SassError STATE_FORMAT where that cannot be understood
 */
export function readStateFormat(directory: string): StateFormat | undefined {
  const path = join(directory, NAME)
  let read: ReturnType<typeof readBounded>
  try {
    read = readBounded(path, STATE_FORMAT_BYTES, true)
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === 'ENOENT' || errno === 'ENOTDIR') return undefined
    throw unreadable(path, `cannot be read, since ${errnoText(errno)}`)
  }
  const parsed = read.ok
    ? parseStrictJson(read.bytes, { size: STATE_FORMAT_BYTES, depth: 4 })
    : { ok: false as const }
  const value = parsed.ok && typeof parsed.value === 'object' ? parsed.value : null
  const { format, program, towards } = (value ?? {}) as Readonly<Record<string, unknown>>
  if (!isFormat(format) || typeof program !== 'string' || (towards !== undefined && !isFormat(towards)))
    throw unreadable(path, 'is damaged')
  return { format, program, ...(towards === undefined ? {} : { towards }) }
}

/**
 * Whether this program may use the state that is there.
 * @param known the format that it brings state to
 * @throws SassError STATE_FORMAT where a newer one was here
 */
export function checkStateFormat(directory: string, known = STATE_FORMAT): StateFormat | undefined {
  const found = readStateFormat(directory)
  const newest = Math.max(found?.format ?? 0, found?.towards ?? 0)
  if (found === undefined || newest <= known) return found
  throw new SassError(
    'STATE_FORMAT',
    `The state in ${directory} has format ${newest}, which sass-edge ${found.program} made, and this is sass-edge ${programVersion()}, which knows formats up to ${known}: nothing was changed; install ${found.program} or a later version again, or name another state_directory.`,
    { path: join(directory, NAME), format: newest, known, program: found.program },
  )
}

export type BringForwardOptions = {
  readonly directory: string
  /** Takes an open directory for this process alone; false where another one has it. */
  readonly lock: FileLock
  readonly migrations?: readonly Migration[]
  readonly files?: StateFiles
}

/**
 * Brings the state to the format of this program, under the lock that a running daemon holds: beside that one nothing is
 * read of its state, and nothing is found wrong there.
 * @returns the format that it had; undefined where there was nothing to do, or no state yet
 * @throws SassError STATE_FORMAT for a newer one, ADDRESS_IN_USE where a daemon uses it, STATE_UNWRITABLE
 */
export function bringForward(options: BringForwardOptions): number | undefined {
  const { directory, migrations = MIGRATIONS, files = stateFiles(directory) } = options
  const found = checkStateFormat(directory, migrations.length)
  const from = found?.format ?? 0
  const isDone = found !== undefined && from === migrations.length && found.towards === undefined
  try {
    return locked(options, () => {
      if (isDone) return undefined
      // No daemon has begun a record there; what an installation or its operator has put there is of today.
      const isNew = found === undefined && !files.names().some((name) => RECORD_KEY.test(name))
      const say = (state: Omit<StateFormat, 'program'>) =>
        files.replace(NAME, Buffer.from(`${JSON.stringify({ ...state, program: programVersion() })}\n`))
      for (const [index, steps] of migrations.entries()) {
        if (index < from || isNew) continue
        say({ format: index, towards: index + 1 })
        for (const step of steps) step(files)
        say({ format: index + 1 })
      }
      if (isNew) say({ format: migrations.length })
      return isNew ? undefined : from
    })
  } catch (cause) {
    const errno = errnoOf(cause)
    if (cause instanceof SassError || errno === undefined || isDone) throw cause
    throw new SassError(
      'STATE_UNWRITABLE',
      `The state in ${directory} cannot be brought from format ${from} to ${migrations.length}, since ${errnoText(errno)}: nothing is lost, and the next start goes on with it; make room, or a directory that the daemon may write.`,
      { path: directory, errno },
      cause,
    )
  }
}

/** Where the file of executions is, whose lock every daemon holds for as long as it runs. */
const LOCKED = 'executions'

function locked<T>({ directory, lock }: BringForwardOptions, work: () => T): T {
  const place = join(directory, LOCKED)
  try {
    mkdirSync(place, { mode: 0o700 })
  } catch (cause) {
    if (errnoOf(cause) !== 'EEXIST') throw cause
  }
  const descriptor = openSync(place, constants.O_RDONLY | constants.O_DIRECTORY)
  using _descriptor = closing(descriptor)
  if (!lock(descriptor))
    throw new SassError(
      'ADDRESS_IN_USE',
      `Another daemon already uses the state in ${directory}; stop that one first, or give this one its own state_directory.`,
      { path: directory },
    )
  return work()
}

/** Whether a daemon runs with that state. Where none does, one that starts in this very moment finds it locked. */
export function isStateInUse(directory: string, lock: FileLock): boolean {
  let descriptor: number
  try {
    descriptor = openSync(join(directory, LOCKED), constants.O_RDONLY | constants.O_DIRECTORY)
  } catch {
    return false
  }
  using _descriptor = closing(descriptor)
  return !lock(descriptor)
}
