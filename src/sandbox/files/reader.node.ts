/**
 * A file on its way out: read from where the other side goes on, once what it has already is proven to be the
 * beginning of this very file, and digested from its first byte to its last. What changes while it is read is said at
 * the end. A directory is read as a list of what is in it.
 * Rules: docs/protocol.md, section 3 (files).
 * @module
 */
import { createHash } from 'node:crypto'
import { type BigIntStats, closeSync, fstatSync, read } from 'node:fs'
import { promisify } from 'node:util'
import { SassError } from '../../errors.ts'
import type { FileReader, SessionView } from '../../ports.ts'
import type { PathGuard } from './path-guard.node.ts'
import { asFileError, digestPrefix } from './receiver.node.ts'

const readAsync = promisify(read)
const PERMISSIONS = 0o777n

function isSame(before: BigIntStats, after: BigIntStats): boolean {
  return before.size === after.size && before.mtimeNs === after.mtimeNs && before.ctimeNs === after.ctimeNs
}

export type ReadPlan = {
  readonly view: SessionView
  readonly real: string
  readonly offset: number
  /** SHA-256 of the `offset` bytes that the other side has; undefined: it does not say. */
  readonly prefix: Uint8Array | undefined
  readonly limitBytes: number
}

/** `list` gives the list of an open directory as bytes. */
export async function readFile(
  guard: PathGuard,
  list: (descriptor: number) => Promise<Uint8Array>,
  { view, real, offset, prefix, limitBytes }: ReadPlan,
): Promise<FileReader> {
  const { descriptor, stats } = opened(guard, view, real)
  try {
    if (stats.isDirectory())
      return listReader(await list(descriptor), Number(stats.mode & PERMISSIONS), descriptor)
    return await fileReader(descriptor, offset, prefix, limitBytes)
  } catch (cause) {
    closeSync(descriptor)
    throw asFileError(cause, 'read')
  }
}

function opened(guard: PathGuard, view: SessionView, real: string): ReturnType<PathGuard['openToRead']> {
  try {
    return guard.openToRead(view, real)
  } catch (cause) {
    throw asFileError(cause, 'read')
  }
}

function listReader(bytes: Uint8Array, mode: number, descriptor: number): FileReader {
  let at = 0
  return {
    kind: 'directory',
    size: bytes.length,
    mode,
    offset: 0,
    async read(target) {
      const part = bytes.subarray(at, at + target.length)
      target.set(part)
      at += part.length
      return part.length
    },
    finish: async () => createHash('sha256').update(bytes).digest(),
    close: () => closeSync(descriptor),
  }
}

/** Of an open regular file. */
export async function fileReader(
  descriptor: number,
  wanted: number,
  prefix: Uint8Array | undefined,
  limitBytes: number,
): Promise<FileReader> {
  const before = fstatSync(descriptor, { bigint: true })
  const size = Number(before.size)
  if (size > limitBytes)
    throw new SassError('FILE_TOO_LARGE', `The file has ${size} bytes, and ${limitBytes} may be transferred.`)
  const probe = Buffer.allocUnsafe(1)
  if (size === 0 && (await readAsync(descriptor, probe, 0, 1, 0)).bytesRead > 0)
    throw new SassError(
      'FILE_IO',
      'The file does not say how long it is, as those of /proc; read it with a command.',
    )
  if (wanted > size && prefix === undefined)
    throw new SassError(
      'FILE_SEEK_FAILED',
      `The file has ${size} bytes, so reading cannot begin at ${wanted}.`,
    )
  let hash = createHash('sha256')
  let position = 0
  if (wanted > 0 && wanted <= size) {
    position = await digestPrefix(descriptor, wanted, hash)
    if (prefix !== undefined && !hash.copy().digest().equals(prefix)) {
      hash = createHash('sha256')
      position = 0
    }
  }
  return {
    kind: 'file',
    size,
    mode: Number(before.mode & PERMISSIONS),
    offset: position,
    async read(target) {
      const length = Math.min(target.length, size - position)
      if (length === 0) return 0
      try {
        const { bytesRead } = await readAsync(descriptor, target, 0, length, position)
        if (bytesRead === 0)
          throw new SassError('FILE_IO', 'The file became shorter while it was read; ask for it again.')
        hash.update(target.subarray(0, bytesRead))
        position += bytesRead
        return bytesRead
      } catch (cause) {
        throw asFileError(cause, 'read')
      }
    },
    async finish() {
      if (!isSame(before, fstatSync(descriptor, { bigint: true })))
        throw new SassError('FILE_IO', 'The file changed while it was read; ask for it again.')
      return hash.digest()
    },
    close: () => closeSync(descriptor),
  }
}
