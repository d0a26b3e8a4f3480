/**
 * The files of one chain: `audit.jsonl` is written to, `audit-FIRST.jsonl` are those before it, each named by the
 * number of its first record. They are read a piece at a time, since a chain may be larger than a device's memory.
 * Rules: docs/responses.md, section 7 (files).
 * @module
 */
import { isUtf8 } from 'node:buffer'
import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, errnoText } from '../base/files.node.ts'
import { SassError } from '../errors.ts'
import { AUDIT_LINE_BYTES } from '../limits.ts'

const ACTIVE = 'audit.jsonl'
const DIGITS = 12
const CLOSED = new RegExp(`^audit-([0-9]{${DIGITS}})\\.jsonl$`)

export type Segment = {
  readonly path: string
  /** The number of its first record; undefined for the file that is written to. */
  readonly first: number | undefined
}

export const activePath = (directory: string): string => join(directory, ACTIVE)

export const closedPath = (directory: string, first: number): string =>
  join(directory, `audit-${String(first).padStart(DIGITS, '0')}.jsonl`)

/** In the order of their records, the one that is written to last where there is one. */
export function segmentsOf(directory: string): readonly Segment[] {
  const closed = readdirSync(directory)
    .flatMap((name) => CLOSED.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
    .map((first): Segment => ({ path: closedPath(directory, first), first }))
  const active: Segment = { path: activePath(directory), first: undefined }
  // A crash between two files leaves none to be written to: the next start makes it.
  return closed.length > 0 && !existsSync(active.path) ? closed : [...closed, active]
}

const PIECE_BYTES = 262_144
const NEWLINE = 0x0a

/**
 * Gives each line without its newline to `take`, until that returns true or nothing follows. A line that is too long
 * for a record is given as an empty one.
 * @returns what follows the last newline, or undefined where `take` has ended it
 */
export function eachLine(descriptor: number, take: (line: Buffer) => boolean): Buffer | undefined {
  const piece = Buffer.alloc(PIECE_BYTES)
  /** Of the line that has begun; kept at the front of the buffer. */
  let kept = 0
  let isTooLong = false
  for (;;) {
    const count = readSync(descriptor, piece, kept, piece.length - kept, null)
    if (count === 0) return isTooLong ? Buffer.alloc(AUDIT_LINE_BYTES + 1) : piece.subarray(0, kept)
    const end = kept + count
    let start = 0
    for (let at = piece.indexOf(NEWLINE, kept); at !== -1 && at < end; at = piece.indexOf(NEWLINE, start)) {
      if (take(isTooLong ? piece.subarray(0, 0) : piece.subarray(start, at))) return undefined
      isTooLong = false
      start = at + 1
    }
    kept = end - start
    if (kept > AUDIT_LINE_BYTES) {
      isTooLong = true
      kept = 0
    } else piece.copyWithin(0, start, end)
  }
}

/** Opens a file of the chain for reading; a device or a pipe in its place is not waited for. */
export function openSegment(path: string): number {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  if (fstatSync(descriptor).isFile()) return descriptor
  closeSync(descriptor)
  throw new SassError(
    'FILE_IO',
    `${path} is not a regular file, so no record was read; look at what it is.`,
    { path },
  )
}

/** Of a chain that the system does not let be read. What is no error of the system comes back as it is. */
export function unreadableChain(directory: string, cause: unknown): unknown {
  const errno = errnoOf(cause)
  if (errno === undefined) return cause
  const [code, remedy] =
    errno === 'ENOENT'
      ? ([
          'FILE_NOT_FOUND',
          'a daemon makes it at its first start, so name the configuration of that one with --config, or look into who removed it',
        ] as const)
      : (['FILE_IO', 'run this as the user of the daemon, or name its configuration with --config'] as const)
  return new SassError(
    code,
    `The audit chain in ${directory} cannot be read, since ${errnoText(errno)}: ${remedy}.`,
    { path: directory, errno },
    cause,
  )
}

/** The text of a line; undefined where it is none, and so no record. */
export function textOfLine(line: Buffer): string | undefined {
  return isUtf8(line) ? line.toString('utf8') : undefined
}
