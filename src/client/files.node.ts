/**
 * Files of this machine to a device and back. What is sent is digested first, so that the device can prove that it got
 * just that; what is received is written beside its place and moved there in one step once its digest is right. Either
 * goes on where it was cut off, after both sides have compared what is there.
 * Rules: docs/protocol.md, section 3 (files).
 * @module
 */
import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as zlib from 'node:zlib'
import { defer } from '../base/deferred.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { errnoOf, errnoText, syncDirectory } from '../base/files.node.ts'
import { misuse, SassError } from '../errors.ts'
import { CHUNK_BYTES } from '../limits.ts'
import type { Caller } from './calls/caller.ts'
import type { Link } from './calls/link.ts'
import {
  type FileSource,
  type FileTarget,
  type Incoming,
  type MetadataInput,
  type OnProgress,
  receiveFile,
  sendFile,
  type TransferSignal,
} from './calls/transfers.ts'
import type { OnWaiting } from './calls/waiting.ts'
import { handoffIdBytes } from './handoff-client.ts'
import { listRemote, type RemoteListing, type RemotePiece, readPiece, type Start } from './remote-reads.ts'

export type { OnProgress, TransferSignal } from './calls/transfers.ts'
export type { RemoteEntry, RemoteListing, RemotePiece } from './remote-reads.ts'

type Common = {
  readonly onProgress?: OnProgress | undefined
  /** Ends it; what was sent so far goes, what was received so far stays to go on with. */
  readonly signal?: TransferSignal | undefined
  /** False: begin anew even where something of it is there already. Default true. */
  readonly resume?: boolean | undefined
}
export type UploadOptions = Common & {
  /** Permission bits; default: those of the local file, and what the device gives for bytes. */
  readonly mode?: number | undefined
  /** Compress on the way: RawFileTransfer. */
  readonly compress?: boolean | undefined
  readonly onWaiting?: OnWaiting | undefined
}
type OfHandoff = {
  /** Id of a handoff that was given to this agent: the path is one of its artifacts. */
  readonly handoff?: string | undefined
}
export type DownloadOptions = Common &
  OfHandoff & {
    /** Permission bits of the local file; default: those of the remote one. */
    readonly mode?: number | undefined
  }

/** `startedAt`: bytes that were there already. */
export type Transferred = { readonly size: number; readonly sha256: string; readonly startedAt: number }

export type ReadOptions = Pick<Common, 'onProgress' | 'signal'> &
  OfHandoff & {
    /** Where to begin; default 0. */
    readonly offset?: number | undefined
    /** No more than that. */
    readonly maxBytes: number
  }

export type FileClient = {
  /** Sends a local file, or bytes. */
  upload(source: string | Uint8Array, remotePath: string, options?: UploadOptions): Promise<Transferred>
  /** Receives a file, whole or not at all. */
  download(remotePath: string, localPath: string, options?: DownloadOptions): Promise<Transferred>
  /** A piece of a file, into memory. */
  read(remotePath: string, options: ReadOptions): Promise<RemotePiece>
  /** What a remote directory holds; undefined: it is a file. */
  list(remotePath: string, options?: Pick<Common, 'signal'>): Promise<RemoteListing | undefined>
  /** Makes a directory and those that it lies in; one that is there gets the mode. */
  makeDirectory(remotePath: string, mode?: number): Promise<void>
  /** Makes a symbolic link, in place of a file or link of that name. */
  makeLink(remotePath: string, target: string): Promise<void>
}

/** Not worth a round trip to ask how much of it is there. */
const RESUMED_BYTES = 65_536
const PERMISSIONS = 0o777
const ZEROS = Buffer.alloc(CHUNK_BYTES)

/** An error of this machine about a file that somebody named. */
function localError(path: string, what: string, cause: unknown): unknown {
  const errno = errnoOf(cause)
  if (errno === undefined) return cause
  return misuse(`${path} cannot be ${what}, since ${errnoText(errno)}.`, { path }, cause)
}

async function digestFile(path: string, bytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const hash = createHash('sha256')
  if (bytes > 0)
    for await (const part of createReadStream(path, { end: bytes - 1 })) hash.update(part as Buffer)
  return hash.digest()
}

function bytesSource(bytes: Uint8Array): FileSource {
  return {
    size: bytes.length,
    async read(position, target) {
      const part = bytes.subarray(position, position + target.length)
      target.set(part)
      return part.length
    },
    prefix: async (length) => createHash('sha256').update(bytes.subarray(0, length)).digest(),
  }
}

type Opened = {
  readonly source: FileSource
  readonly sha256: Buffer
  readonly mode: number | undefined
  close(): Promise<void>
}

async function openLocal(path: string): Promise<Opened> {
  let handle: FileHandle | undefined
  try {
    // A FIFO would wait here for ever.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = await handle.stat()
    if (!stats.isFile()) throw misuse(`${path} is no regular file, so it cannot be sent.`, { path })
    const file = handle
    return {
      source: {
        size: stats.size,
        read: async (position, target) => (await file.read(target, 0, target.length, position)).bytesRead,
        prefix: (bytes) => digestFile(path, bytes),
      },
      sha256: await digestFile(path),
      mode: stats.mode & PERMISSIONS,
      close: () => file.close(),
    }
  } catch (cause) {
    await handle?.close()
    throw localError(path, 'read', cause)
  }
}

/** Work of any number of transfers, one after the other, that the signal ends. */
async function withSignal<Result>(
  signal: TransferSignal | undefined,
  work: (start: Start) => Promise<Result>,
): Promise<Result> {
  const aborted = defer<never>()
  aborted.promise.catch(() => {})
  let reason: SassError | undefined
  let cancel = (_: SassError) => {}
  const abort = () => {
    reason = new SassError('CONNECTION_LOST', 'The transfer was given up before its end.', {}, signal?.reason)
    cancel(reason)
    aborted.reject(reason)
  }
  const start: Start = async (make) => {
    if (reason !== undefined) throw reason
    const transfer = make()
    cancel = transfer.cancel
    return transfer.done
  }
  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort, { once: true })
  try {
    // Whoever gives up while the link is away does not wait for it.
    return await Promise.race([work(start), aborted.promise])
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/**
 * Base64 of one Zstandard frame that says its size.
 * @throws SassError RUNTIME_UNSUITABLE on a Node.js that has no Zstandard
 */
function pack(piece: Uint8Array): Uint8Array {
  if (typeof zlib.zstdCompressSync !== 'function')
    throw new SassError(
      'RUNTIME_UNSUITABLE',
      `Node.js ${process.version} cannot compress by Zstandard, so nothing was sent; send the file as it is, or use Node.js 22.15 or later.`,
    )
  return Buffer.from(zlib.zstdCompressSync(piece).toString('base64'), 'latin1')
}

const idOf = (handoff: string | undefined) => (handoff === undefined ? undefined : handoffIdBytes(handoff))

/** Its hidden name until it is whole. */
function partialOf(path: string): string {
  const name = basename(path)
  const short = name.length > 80 ? createHash('sha256').update(name).digest('hex') : name
  return join(dirname(path), `.${short}.sass-edge.part`)
}

/** What of the file is here already, opened to be gone on with. */
async function openPartial(path: string, resumes: boolean): Promise<FileHandle> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_TRUNC } = constants
  return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | (resumes ? 0 : O_TRUNC), 0o600)
}

function fileTarget(
  handle: FileHandle,
  total: (what: Incoming) => void,
  onProgress: OnProgress | undefined,
): FileTarget {
  let position = 0
  let size = 0
  return {
    async begin(what) {
      if (what.isDirectory) throw misuse('The path on the device is a directory; copy it with -r.')
      position = what.offset
      size = what.size
      total(what)
      await handle.truncate(position)
      onProgress?.(position, size)
    },
    async write(bytes) {
      if (position + bytes.length > size)
        throw new SassError(
          'FRAME_MALFORMED',
          'The device sent more than it had announced, so nothing was kept.',
        )
      // A hole stays one.
      if (ZEROS.compare(bytes, 0, bytes.length, 0, bytes.length) !== 0) {
        for (let done = 0; done < bytes.length; )
          done += (await handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten
      }
      position += bytes.length
      onProgress?.(position, size)
    },
  }
}

/** The files of the device behind that link. A transfer that breaks off goes on when the link is back. */
export function createFileClient(link: Pick<Link, 'use'>): FileClient {
  /** Goes on with what is here already, and after a cut with what came until then. */
  async function downloadOn(
    caller: Caller,
    start: Start,
    remotePath: string,
    localPath: string,
    { onProgress, mode, handoff, resume = true }: DownloadOptions,
  ): Promise<Transferred> {
    const partial = partialOf(localPath)
    const there = await stat(localPath).catch(() => undefined)
    if (there?.isFile() === false && !there.isDirectory())
      throw misuse(`${localPath} is no regular file, so it is not replaced by one; name another place.`, {
        path: localPath,
      })
    const handle = await openPartial(partial, resume).catch((cause: unknown) => {
      throw localError(localPath, 'written', cause)
    })
    let what: Incoming | undefined
    try {
      const { size: here } = await handle.stat()
      const known = here === 0 ? undefined : await digestFile(partial)
      const target = fileTarget(
        handle,
        (incoming) => {
          what = incoming
        },
        onProgress,
      )
      const asked = { path: remotePath, offset: here, sha256: known, handoff: idOf(handoff) }
      const { sha256, size } = await start(() => receiveFile(caller, target, asked))
      await handle.truncate(size)
      // From the disk: what is there is what was meant, whoever else wrote to it.
      if (!(await digestFile(partial)).equals(sha256)) {
        await handle.truncate(0)
        const sentence = `${localPath} would not be what the device has, so it was not written; ask for it again.`
        throw new SassError('FILE_DIGEST_MISMATCH', sentence, { path: localPath })
      }
      await handle.chmod(mode ?? (what?.mode ?? 0o600) & PERMISSIONS)
      await handle.sync()
      await rename(partial, localPath)
      syncDirectory(dirname(localPath))
      return { size, sha256: encodeHex(sha256), startedAt: what?.offset ?? 0 }
    } catch (cause) {
      // What nothing has come into is nothing to go on with.
      if ((await handle.stat()).size === 0) await unlink(partial).catch(() => {})
      throw localError(localPath, 'written', cause)
    } finally {
      await handle.close()
    }
  }

  async function make(metadata: MetadataInput): Promise<void> {
    const nothing = bytesSource(new Uint8Array(0))
    await link.use((caller) => sendFile(caller, nothing, { metadata, resumes: false }).done, true)
  }

  return {
    async upload(from, remotePath, options = {}) {
      const { onProgress, onWaiting, signal, mode, compress = false, resume = true } = options
      const opened: Opened =
        typeof from === 'string'
          ? await openLocal(from)
          : {
              source: bytesSource(from),
              sha256: createHash('sha256').update(from).digest(),
              mode: undefined,
              close: async () => {},
            }
      try {
        const { source, sha256 } = opened
        const metadata = {
          remote_path: remotePath,
          total_size: source.size,
          mode: mode ?? opened.mode,
          sha256,
        }
        let tries = 0
        const sendOn = (caller: Caller) =>
          sendFile(caller, source, {
            metadata,
            resumes: (resume || tries++ > 0) && source.size > RESUMED_BYTES,
            pack: compress ? pack : undefined,
            onProgress,
            onWaiting,
          })
        const { startedAt } = await withSignal(signal, (start) =>
          link.use((caller) => start(() => sendOn(caller)), true),
        )
        return { size: source.size, sha256: sha256.toString('hex'), startedAt }
      } finally {
        await opened.close()
      }
    },
    download(remotePath, localPath, options = {}) {
      let tries = 0
      return withSignal(options.signal, (start) =>
        link.use((caller) => {
          const resume = options.resume !== false || tries++ > 0
          return downloadOn(caller, start, remotePath, localPath, { ...options, resume })
        }, true),
      )
    },
    read: (remotePath, { offset = 0, maxBytes, onProgress, signal, handoff }) => {
      const wish = { path: remotePath, offset, maxBytes, onProgress, handoff: idOf(handoff) }
      return withSignal(signal, (start) => link.use((caller) => readPiece(caller, start, wish), true))
    },
    list: (remotePath, { signal } = {}) =>
      withSignal(signal, (start) => link.use((caller) => listRemote(caller, start, remotePath), true)),
    makeDirectory: (remotePath, mode) => make({ remote_path: remotePath, mode, kind: 1 }),
    makeLink: (remotePath, target) => make({ remote_path: remotePath, target, kind: 2 }),
  }
}
