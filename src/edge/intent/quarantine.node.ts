/**
 * The quarantine: where every file goes before one byte of it is read, and where the refused ones stay with their reason
 * beside them. A file comes in by a rename, which nobody can half see; from another file system by its descriptor, and
 * then it is removed there first, so that it is in one place. What is no plain file of one name is refused here.
 * Rules: docs/intent.md (the spool); FT-003, FT-007 and FT-009 of the source.
 * @module
 */
import {
  accessSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { closing } from '../../base/closing.node.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { createFile, errnoOf, errnoText, readBounded, replaceFile } from '../../base/files.node.ts'
import { fieldsOf, jsonAt } from '../../base/small-file.node.ts'
import { ENVELOPE_FILE_BYTES } from '../../config/intent-limits.ts'
import {
  QUARANTINE_ID_BYTES,
  quarantineName,
  readQuarantineName,
  reasonName,
} from '../../intent/spool/names.ts'
import type { Quarantined, Refusal } from '../../intent/spool/room.ts'
import type { Random } from '../../ports.ts'

const MODE = 0o600
const REASON_BYTES = 65_536
/** Linux's O_PATH, which Node does not name: what such a descriptor is of can be asked, and nothing is opened. */
const O_PATH = 0x20_00_00
const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY

export type QuarantinedFile =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly refusal: Refusal; readonly size: number }

export type Quarantine = {
  /** Files in it. */
  readonly size: number
  list(): readonly Quarantined[]
  find(name: string): Quarantined | undefined
  /** Not judged yet: after a crash, or where something could not be written. */
  undecided(): readonly string[]
  /**
   * Moves a file in; its name there. Undefined: it is gone meanwhile, or could not be taken away from where it was.
   * @throws the system's error where nothing can be moved here
   */
  moveIn(path: Buffer, receiver: string, from: string): string | undefined
  /** @throws the system's error; nothing is left then */
  put(bytes: Uint8Array, receiver: string, from: string): string
  read(name: string): QuarantinedFile
  refuse(name: string, refusal: Refusal, digest: string, size: number): void
  /** Puts it behind the other undecided ones. */
  postpone(name: string): void
  /** To be judged once more. */
  reopen(name: string): void
  remove(name: string): void
}

const ZEROS = 0o170000
const KINDS: Readonly<Record<number, string>> = Object.freeze({
  [constants.S_IFLNK]: 'a symbolic link',
  [constants.S_IFIFO]: 'a FIFO',
  [constants.S_IFDIR]: 'a directory',
  [constants.S_IFSOCK]: 'a socket',
  [constants.S_IFCHR]: 'a device',
  [constants.S_IFBLK]: 'a device',
})

function notAFile(what: string): Refusal {
  return {
    ...{ step: 0, code: 'NOT_A_FILE', ticket: 'FT-007', field: '' },
    problem: `It is ${what}, and only a plain file with one name is read: put the envelope there as a file of its own.`,
  }
}

/** What is not the file's fault and may pass: everything else at reading says something about the file. */
const PASSING: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EINTR', 'EAGAIN'])

function unreadable(errno: string): Refusal {
  return {
    ...{ step: 0, code: 'UNREADABLE', ticket: undefined, field: '' },
    problem: `The file cannot be read, since ${errnoText(errno)}: let the user of the daemon read it, and put it there again.`,
  }
}

const kindOf = (stats: Stats): string => KINDS[stats.mode & ZEROS] ?? 'no file'
const namesText = (count: number): string => `a file with ${count} names`

/** @throws the system's error where it would be another one the next time */
function readQuarantined(path: string): QuarantinedFile {
  try {
    return readPlain(path)
  } catch (cause) {
    const errno = errnoOf(cause)
    if (errno === undefined || PASSING.has(errno)) throw cause
    return { ok: false, refusal: unreadable(errno), size: 0 }
  }
}

function readPlain(path: string): QuarantinedFile {
  const before = lstatSync(path)
  if (!before.isFile()) return { ok: false, refusal: notAFile(kindOf(before)), size: 0 }
  const read = readBounded(path, ENVELOPE_FILE_BYTES, true)
  const { size, nlink } = read.stats
  if (nlink !== 1) return { ok: false, refusal: notAFile(namesText(nlink)), size }
  if (read.ok) return { ok: true, bytes: new Uint8Array(read.bytes) }
  if (read.reason === 'not-a-file') return { ok: false, refusal: notAFile(kindOf(read.stats)), size }
  const refusal: Refusal = {
    ...{ step: 1, code: 'FILE_TOO_LARGE', ticket: undefined, field: '' },
    problem: `The file has more than ${ENVELOPE_FILE_BYTES} bytes and was not parsed: send what is long by another way, and its digest in the payload.`,
  }
  return { ok: false, refusal, size }
}

/**
 * One byte more than is judged, so that what is too long shows; or what it is instead of a plain file. That is asked
 * before it is opened: a socket cannot be, and a device may do something when it is.
 */
function copyOf(path: Buffer): Buffer | string {
  const held = openSync(path, O_PATH | constants.O_NOFOLLOW)
  using _held = closing(held)
  const stats = fstatSync(held)
  if (!stats.isFile()) return kindOf(stats)
  if (stats.nlink !== 1) return namesText(stats.nlink)
  const fd = openSync(`/proc/self/fd/${held}`, READ_FLAGS)
  using _fd = closing(fd)
  const bytes = Buffer.alloc(Math.min(stats.size, ENVELOPE_FILE_BYTES + 1))
  let length = 0
  while (length < bytes.length) {
    const count = readSync(fd, bytes, length, bytes.length - length, length)
    if (count === 0) break
    length += count
  }
  return bytes.subarray(0, length)
}

function readReason(path: string, name: string, receiver: string): Quarantined | undefined {
  const known = jsonAt(path, REASON_BYTES, true)
  if (typeof known !== 'object' || known === null) return undefined
  const fields = fieldsOf(known)
  const text = (key: string): string => (typeof fields[key] === 'string' ? fields[key] : '')
  const number = (key: string): number => (typeof fields[key] === 'number' ? fields[key] : 0)
  return {
    ...{ name, receiver, from: text('from'), sinceMs: number('since_ms'), size: number('size') },
    digest: text('digest'),
    refusal: {
      ...{ step: number('step'), code: text('code'), field: text('field'), problem: text('problem') },
      ticket: text('ticket') === '' ? undefined : text('ticket'),
    },
  }
}

function reasonText({ receiver, from, sinceMs, size, digest, refusal }: Quarantined): Buffer {
  const { step = 0, code = '', ticket, field = '', problem = '' } = refusal ?? {}
  const fields = {
    ...{ receiver, from, since_ms: sinceMs, size, digest, step, code, ticket: ticket ?? null },
    ...{ field, problem },
  }
  return Buffer.from(`${JSON.stringify(fields, null, 2)}\n`)
}

/**
 * Opens the quarantine with what was left in it.
 * @param directory is there, and ours alone
 */
export function openQuarantine(directory: string, random: Random, wallMs: () => number): Quarantine {
  const entries = new Map<string, Quarantined>()
  /** Those that were no files where they came from: an empty one stands for each. */
  const odd = new Map<string, Refusal>()
  const pathOf = (name: string): string => join(directory, name)

  for (const name of readdirSync(directory)) {
    const read = readQuarantineName(name)
    if (read === undefined) continue
    const { receiver } = read
    const known = readReason(pathOf(reasonName(name)), name, receiver)
    entries.set(name, known ?? unjudged(name, receiver, 'before the last start'))
  }

  function unjudged(name: string, receiver: string, from: string): Quarantined {
    return { name, receiver, from, sinceMs: wallMs(), size: 0, digest: '', refusal: undefined }
  }

  function enter(receiver: string, from: string, make: (path: string) => void): string {
    const name = quarantineName(receiver, encodeHex(random.bytes(QUARANTINE_ID_BYTES)))
    make(pathOf(name))
    entries.set(name, unjudged(name, receiver, from))
    return name
  }

  /** Away from there first: where that fails it stays theirs. Nothing is copied from where nothing can be removed. */
  function carry(path: Buffer, receiver: string, from: string): string {
    accessSync(path.subarray(0, path.lastIndexOf('/')), constants.W_OK)
    const copy = copyOf(path)
    const bytes = typeof copy === 'string' ? Buffer.alloc(0) : copy
    const name = enter(receiver, from, (to) => createFile(to, bytes, MODE))
    try {
      unlinkSync(path)
    } catch (cause) {
      remove(name)
      throw cause
    }
    if (typeof copy === 'string') odd.set(name, notAFile(copy))
    return name
  }

  function refuse(name: string, refusal: Refusal, digest: string, size: number): void {
    const entry = entries.get(name)
    if (entry === undefined) return
    const refused = { ...entry, refusal, digest, size }
    entries.set(name, refused)
    replaceFile(pathOf(reasonName(name)), reasonText(refused), MODE)
  }

  function remove(name: string): void {
    // The reason first: what is left of a crash in between is judged once more.
    rmSync(pathOf(reasonName(name)), { force: true })
    rmSync(pathOf(name), { recursive: true, force: true })
    entries.delete(name)
    odd.delete(name)
  }

  return {
    get size() {
      return entries.size
    },
    list: () => [...entries.values()],
    find: (name) => entries.get(name),
    undecided: () =>
      [...entries.values()].filter(({ refusal }) => refusal === undefined).map((one) => one.name),
    moveIn(path, receiver, from) {
      try {
        return enter(receiver, from, (to) => renameSync(path, to))
      } catch (cause) {
        const errno = errnoOf(cause)
        if (errno === 'ENOENT') return undefined
        if (errno !== 'EXDEV') throw cause
        return carry(path, receiver, from)
      }
    },
    put: (bytes, receiver, from) => enter(receiver, from, (to) => createFile(to, bytes, MODE)),
    read(name) {
      const refusal = odd.get(name)
      return refusal === undefined ? readQuarantined(pathOf(name)) : { ok: false, refusal, size: 0 }
    },
    refuse,
    postpone(name) {
      const entry = entries.get(name)
      if (entry === undefined) return
      entries.delete(name)
      entries.set(name, entry)
    },
    reopen(name) {
      const entry = entries.get(name)
      if (entry === undefined) return
      rmSync(pathOf(reasonName(name)), { force: true })
      entries.set(name, { ...entry, refusal: undefined })
    },
    remove,
  }
}
