/**
 * A file on its way in: written under a hidden name beside its place, and in its place in one step once all of it is
 * there and its digest is right. Until then the place holds what it held; what was begun can be gone on with, after the
 * bytes that are there have been read and digested again. What is zero is left a hole.
 * The hidden name is taken for ours only where it is a plain file with no other name: whatever else was put there goes.
 * Rules: docs/protocol.md, section 3 (files); docs/operations.md has what a loss of power can cost.
 * @module
 */
import { createHash, type Hash } from 'node:crypto'
import { type BigIntStats, close, fstatSync, fsync, ftruncate, read, write } from 'node:fs'
import { promisify } from 'node:util'
import { decodeHex } from '../../base/encoding/hex.ts'
import { errnoOf } from '../../base/files.node.ts'
import { asSassError, SassError } from '../../errors.ts'
import { CHUNK_BYTES } from '../../limits.ts'
import type { FileReceiver, ReceivePlan, SessionView } from '../../ports.ts'
import { type At, O_CREAT, O_EXCL, O_PATH } from '../kernel/at.node.ts'
import { openRegular } from '../kernel/regular-file.node.ts'
import { ERRNO, O_RDWR } from '../kernel/syscalls.node.ts'
import { partialName } from './partial-name.ts'
import { fileError, type PathGuard, type Place, reopened } from './path-guard.node.ts'

const readAsync = promisify(read)
const writeAsync = promisify(write)
const syncAsync = promisify(fsync)
const truncateAsync = promisify(ftruncate)
const closeAsync = promisify(close)

/** Nobody else's while it is not whole. */
const PARTIAL_MODE = 0o600
const USUAL_MODE = 0o644
/** Set-user-ID, set-group-ID and sticky are never given by a transfer. */
const GIVEN_BITS = 0o777
const ALL_BITS = 0o7777
const ZEROS = Buffer.alloc(CHUNK_BYTES)

const isFull = (errno: string | undefined) => errno === 'ENOSPC' || errno === 'EDQUOT'

/** What went wrong with a file, as an error of the protocol. */
export function asFileError(cause: unknown, what: string): SassError {
  const known = asSassError(cause)
  if (known !== undefined) return known
  const errno = errnoOf(cause)
  if (errno === 'EACCES' || errno === 'EPERM') return fileError(ERRNO.EACCES, what)
  if (isFull(errno)) {
    const sentence =
      'The disk of the device is full, or what this session may have of it, so the file was not written; make room there and send it again.'
    return new SassError('FILE_IO', sentence, {}, cause)
  }
  return new SassError(
    'FILE_IO',
    `The file could not be ${what}: ${errno ?? 'the system does not say why'}.`,
    {},
    cause,
  )
}

async function guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw asFileError(cause, what)
  }
}

/** Digests the first `bytes` of the file; gives how many there were. */
export async function digestPrefix(descriptor: number, bytes: number, hash: Hash): Promise<number> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  let at = 0
  while (at < bytes) {
    const { bytesRead } = await readAsync(descriptor, buffer, 0, Math.min(buffer.length, bytes - at), at)
    if (bytesRead === 0) break
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
  return at
}

/** What is under the hidden name, opened to go on with it; undefined: nothing of ours. */
function openPartial(
  guard: PathGuard,
  at: At,
  userId: number,
  { directory, name }: Place,
): number | undefined {
  const found = guard.entry(directory, name)
  if (found === undefined) return undefined
  try {
    if (found.stats.isFile() && found.stats.nlink === 1n && found.stats.uid === BigInt(userId))
      return reopened(found.descriptor, 'r+')
  } finally {
    at.close(found.descriptor)
  }
  const removed = at.unlink(directory, name)
  if (removed < 0) throw fileError(removed, 'written')
  return undefined
}

function makePartial(at: At, { directory, name }: Place): number {
  const made = at.open(directory, name, O_RDWR | O_CREAT | O_EXCL, PARTIAL_MODE)
  if (made < 0) throw fileError(made, 'written')
  return made
}

/** What is in the place now, where a file may take it. Throws where one may not. */
function replaced(guard: PathGuard, at: At, { directory, name }: Place): BigIntStats | undefined {
  const found = guard.entry(directory, name)
  if (found === undefined) return undefined
  at.close(found.descriptor)
  if (found.stats.isFile()) return found.stats
  if (found.stats.isDirectory()) throw fileError(ERRNO.EISDIR, 'written')
  if (found.stats.isSymbolicLink()) throw fileError(ERRNO.ELOOP, 'written')
  throw new SassError('FILE_IO', 'What is in its place is no regular file, and is not replaced by one.')
}

/** Begins, or goes on with, the file of that plan. */
export async function receiveFile(
  guard: PathGuard,
  at: At,
  view: SessionView,
  plan: ReceivePlan,
): Promise<FileReceiver> {
  const place = guard.placeOf(view, plan.real)
  try {
    return await begin(guard, at, view, plan, place)
  } catch (cause) {
    place.close()
    throw asFileError(cause, 'written')
  }
}

/**
 * What is in its place is what would be sent: nothing has to be. So it is where only the last answer was lost, and where
 * somebody copies the same once more. Undefined: it is another file, or nobody can tell.
 */
async function sameFile(
  at: At,
  within: <Result>(work: () => Result) => Result,
  place: Place,
  plan: ReceivePlan,
  there: BigIntStats | undefined,
): Promise<FileReceiver | undefined> {
  if (there === undefined || plan.sha256 === undefined || plan.size === 0) return undefined
  if (plan.offset < plan.size || there.size !== BigInt(plan.size)) return undefined
  const descriptor = within(() => openToCompare(at, place))
  if (descriptor === undefined) return undefined
  try {
    const own = fstatSync(descriptor, { bigint: true })
    const hash = createHash('sha256')
    const isThere = own.ino === there.ino && own.dev === there.dev
    if (isThere && (await digestPrefix(descriptor, plan.size, hash)) === plan.size) {
      const digest = hash.digest()
      if (digest.toString('hex') === plan.sha256) {
        const setMode = (mode: number) => within(() => at.setMode(descriptor, mode))
        return sameReceiver(descriptor, place, plan, own, digest, setMode)
      }
    }
  } catch (cause) {
    await closeAsync(descriptor)
    throw cause
  }
  await closeAsync(descriptor)
  return undefined
}

/** Undefined for what is no file by now, or may not be read. */
function openToCompare(at: At, { directory, name }: Place): number | undefined {
  const found = at.open(directory, name, O_PATH)
  if (found < 0) return undefined
  try {
    return openRegular(found)
  } catch {
    return undefined
  } finally {
    at.close(found)
  }
}

function sameReceiver(
  descriptor: number,
  place: Place,
  { size, mode }: ReceivePlan,
  own: BigIntStats,
  sha256: Uint8Array,
  setMode: (mode: number) => number,
): FileReceiver {
  let isOver = false
  async function release(): Promise<void> {
    if (isOver) return
    isOver = true
    place.close()
    await closeAsync(descriptor)
  }
  return {
    offset: size,
    sha256,
    async write() {
      throw new SassError('FILE_IO', `More came than the ${size} bytes that were announced.`)
    },
    finish: () =>
      guarded('written', async () => {
        const isOther = mode !== undefined && (Number(own.mode) & ALL_BITS) !== mode
        const result = isOther ? setMode(mode & GIVEN_BITS) : 0
        if (result < 0) throw fileError(result, 'given its mode')
        await syncAsync(descriptor)
        await release()
        return sha256
      }),
    stop: release,
  }
}

async function begin(
  guard: PathGuard,
  at: At,
  view: SessionView,
  plan: ReceivePlan,
  place: Place,
): Promise<FileReceiver> {
  const { rights } = guard
  const within = <Result>(work: () => Result) => rights.within(view, work)
  const inPlace = () => within(() => replaced(guard, at, place))
  const partial: Place = { ...place, name: Buffer.from(partialName(plan.key)) }
  const there = inPlace()
  const kept = within(() => openPartial(guard, at, rights.userOf(view), partial))
  const same = kept === undefined ? await sameFile(at, within, place, plan, there) : undefined
  if (same !== undefined) return same
  const descriptor = kept ?? within(() => makePartial(at, partial))
  const hash = createHash('sha256')
  let position: number
  try {
    const size = Math.min(Number(fstatSync(descriptor, { bigint: true }).size), plan.offset, plan.size)
    position = await digestPrefix(descriptor, size, hash)
    await truncateAsync(descriptor, position)
  } catch (cause) {
    await closeAsync(descriptor)
    throw cause
  }
  let isOver = false

  function give(stats: BigIntStats | undefined): void {
    // As the file that it replaces, where nothing else is asked for.
    const mode = plan.mode ?? (stats === undefined ? USUAL_MODE : Number(stats.mode))
    const result = within(() => at.setMode(descriptor, mode & GIVEN_BITS))
    if (result < 0) throw fileError(result, 'given its mode')
  }

  /** Nothing else was put under the hidden name, or in the place just now. */
  function isOurs({ directory, name }: Place): boolean {
    const found = within(() => guard.entry(directory, name))
    if (found === undefined) return false
    at.close(found.descriptor)
    const own = fstatSync(descriptor, { bigint: true })
    return found.stats.ino === own.ino && found.stats.dev === own.dev
  }

  function remove(): void {
    if (isOurs(partial)) within(() => at.unlink(partial.directory, partial.name))
  }

  async function release(): Promise<void> {
    isOver = true
    place.close()
    await closeAsync(descriptor)
  }

  async function discard(): Promise<void> {
    remove()
    await release()
  }

  /** Whether the directory is still the one that the decision was about. */
  function hasMoved(current: SessionView): boolean {
    try {
      const now = guard.placeOf(current, plan.real)
      try {
        const [a, b] = [place, now].map(({ directory }) => fstatSync(directory, { bigint: true }))
        return a?.ino !== b?.ino || a?.dev !== b?.dev
      } finally {
        now.close()
      }
    } catch {
      return true
    }
  }

  async function finish(current: SessionView): Promise<Uint8Array> {
    if (position !== plan.size) {
      const sentence = `Only ${position} of ${plan.size} bytes came; what is there is kept to go on with.`
      throw new SassError('FILE_IO', sentence)
    }
    const digest = hash.digest()
    const wanted = plan.sha256 === undefined ? undefined : decodeHex(plan.sha256)
    if (wanted !== undefined && !digest.equals(wanted)) {
      await discard()
      throw new SassError(
        'FILE_DIGEST_MISMATCH',
        'The bytes that came do not have the SHA-256 that was announced, so nothing was written; send the file again.',
      )
    }
    // A hole at the end has no byte that was written.
    await truncateAsync(descriptor, position)
    give(inPlace())
    await syncAsync(descriptor)
    // Looked at again last: the session's own commands run beside us.
    inPlace()
    if (hasMoved(current))
      throw new SassError(
        'FILE_IO',
        'The directory of the file was moved meanwhile, so nothing was written there.',
      )
    const renamed = within(() => at.rename(partial.directory, partial.name, place.directory, place.name))
    if (renamed < 0) throw fileError(renamed, 'written')
    if (!isOurs(place))
      throw new SassError(
        'FILE_IO',
        'Another file was put in its place meanwhile, so it is not there; send it again.',
      )
    await syncAsync(place.directory)
    await release()
    return digest
  }

  return {
    offset: position,
    sha256: hash.copy().digest(),
    write: (bytes) =>
      guarded('written', async () => {
        if (position + bytes.length > plan.size)
          throw new SassError('FILE_IO', `More came than the ${plan.size} bytes that were announced.`)
        hash.update(bytes)
        const isHole =
          bytes.length <= ZEROS.length && ZEROS.compare(bytes, 0, bytes.length, 0, bytes.length) === 0
        for (let done = isHole ? bytes.length : 0; done < bytes.length; ) {
          const { bytesWritten } = await writeAsync(
            descriptor,
            bytes,
            done,
            bytes.length - done,
            position + done,
          ).catch((cause: unknown) => {
            // What has filled the disk does not keep it full.
            if (isFull(errnoOf(cause))) position = 0
            throw cause
          })
          done += bytesWritten
        }
        position += bytes.length
      }),
    finish: (current) => guarded('written', () => finish(current)),
    async stop(keeps) {
      if (isOver) return
      isOver = true
      try {
        if (!keeps || position === 0) remove()
        // So that its length says how much is there, a hole at its end included.
        else await truncateAsync(descriptor, position)
      } finally {
        place.close()
        await closeAsync(descriptor)
      }
    },
  }
}
