/**
 * What a branch takes up on its disk: blocks, not sizes, so that holes cost nothing, each file once whatever its names
 * are, and what was removed and is still open as well. Counted in slices, by descriptors, so that no depth and no name is
 * too long, and only as far as there is more than may be there. A directory that cannot be looked into, or lies too deep,
 * is said to be missing.
 * What a session does meanwhile is never followed out of its branch: the last part of no path is a link.
 * @module
 */
import {
  closeSync,
  constants,
  type Dir,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
  statSync,
} from 'node:fs'
import { errnoOf } from '../../../base/files.node.ts'
import { COUNTED_AT_ONCE, COUNTED_DEPTH } from '../../limits.ts'
import { type Branch, copyOf, upperOf } from '../files/branch.ts'
import type { Count } from './bounds.ts'

const BLOCK_BYTES = 512
/** Names that are read from a directory at once. */
const NAMES = 128
/** The owner's right to write, which a link of /proc/PID/fd has where the descriptor may be written to: proc_pid_fd(5). */
const WRITES = 0o200

export type Counting = {
  /** Looks at some more; undefined: there is more. */
  next(): Count | undefined
  /** Lets go of everything where it is given up. */
  stop(): void
}

type Level = { readonly descriptor: number; readonly names: Dir }

function enter(path: Buffer | string): Level {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  const descriptor = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    const names = opendirSync(`/proc/self/fd/${descriptor}`, {
      bufferSize: NAMES,
      // The type of the options has no word for bytes.
      encoding: 'buffer' as BufferEncoding,
    })
    return { descriptor, names }
  } catch (cause) {
    closeSync(descriptor)
    throw cause
  }
}

function leave({ descriptor, names }: Level): void {
  names.closeSync()
  closeSync(descriptor)
}

/** Bytes of files that have no name any more and are open for writing in that session, where they lie in its branch. */
function unnamed(rootDescriptor: number, seen: Set<string>): number {
  const root = `/proc/self/fd/${rootDescriptor}`
  const elsewhere = new Set<number>()
  for (const path of ['tmp', 'var/tmp', 'run', 'dev', 'dev/shm']) {
    const there = statSync(`${root}/${path}`, { throwIfNoEntry: false })
    if (there !== undefined) elsewhere.add(there.dev)
  }
  let bytes = 0
  for (const pid of namesIn(`${root}/proc`)) {
    if (!/^\d+$/.test(pid)) continue
    for (const number of namesIn(`${root}/proc/${pid}/fd`)) {
      const found = writtenTo(`${root}/proc/${pid}/fd/${number}`)
      if (found === undefined || elsewhere.has(found.dev)) continue
      const key = `open ${found.dev} ${found.ino}`
      if (!seen.has(key)) bytes += found.blocks * BLOCK_BYTES
      seen.add(key)
    }
  }
  return bytes
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function writtenTo(path: string): Stats | undefined {
  try {
    if ((lstatSync(path).mode & WRITES) === 0 || !readlinkSync(path).endsWith(' (deleted)')) return undefined
    const found = statSync(path)
    return found.isFile() && found.nlink === 0 ? found : undefined
  } catch {
    return undefined
  }
}

/**
 * Counts the branch, no further than both limits.
 * @param rootDescriptor `/` of the session that works there, to find what it has removed and holds open; undefined: none
 */
export function countBranch(
  { level, roots }: Branch,
  limits: { readonly bytes: number; readonly files: number },
  rootDescriptor: number | undefined,
): Counting {
  const waiting = roots.map((root) => (level === 'copy' ? copyOf(root) : upperOf(root)))
  const levels: Level[] = []
  const seen = new Set<string>()
  let [bytes, files, isWhole] = [0, 0, true]

  function add(stats: Stats): void {
    if (!stats.isDirectory() && stats.nlink > 1) {
      const key = `${stats.dev} ${stats.ino}`
      if (seen.has(key)) return
      seen.add(key)
    }
    files++
    bytes += stats.blocks * BLOCK_BYTES
  }

  function descend(path: Buffer | string): void {
    if (levels.length >= COUNTED_DEPTH) {
      isWhole = false
      return
    }
    try {
      levels.push(enter(path))
    } catch (cause) {
      // It was removed meanwhile, or replaced by something else.
      if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(cause) ?? '')) isWhole = false
    }
  }

  /** One name more. False: there is none. */
  function step(): boolean {
    const level = levels.at(-1)
    if (level === undefined) {
      const root = waiting.pop()
      if (root !== undefined) descend(root)
      return root !== undefined
    }
    const entry = level.names.readSync()
    if (entry === null) {
      leave(level)
      levels.pop()
      return true
    }
    const name: unknown = entry.name
    const bytesOfName = name instanceof Uint8Array ? name : Buffer.from(String(name))
    const path = Buffer.concat([Buffer.from(`/proc/self/fd/${level.descriptor}/`), bytesOfName])
    const stats = lstatOf(path)
    if (stats === undefined) return true
    add(stats)
    if (stats.isDirectory()) descend(path)
    return true
  }

  function stop(): void {
    for (const level of levels.splice(0)) leave(level)
  }

  function result(): Count {
    stop()
    if (rootDescriptor !== undefined && bytes < limits.bytes) bytes += unnamed(rootDescriptor, seen)
    return { bytes, files, isWhole }
  }

  return {
    next() {
      try {
        for (let left = COUNTED_AT_ONCE; left > 0; left--)
          if (bytes >= limits.bytes || files >= limits.files || !step()) return result()
        return undefined
      } catch {
        isWhole = false
        return result()
      }
    },
    stop,
  }
}

function lstatOf(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}
