/**
 * One file to a device or from it, on a connection, without a file: where the bytes come from and where they go is for
 * whoever calls. Sending stops where the device gives no credit, and receiving gives none before what came is taken.
 * An upload that goes on where another was cut off first compares what the device says that it has.
 * Rules: docs/protocol.md, section 3 (files).
 * @module
 */
import { defer } from '../../base/deferred.ts'
import { SassError } from '../../errors.ts'
import { CHUNK_BYTES } from '../../limits.ts'
import {
  type FileChunk,
  type FileDownloadEnd,
  type FileOutcome,
  fileChunk,
  fileDownloadRequest,
  type fileMetadata,
} from '../../wire/file-messages.ts'
import { SYSTEM } from '../../wire/frame.ts'
import type { Finding, StreamResponse } from '../../wire/messages.ts'
import type { MessageInput } from '../../wire/schema.ts'
import type { OpenStream } from './call-words.ts'
import type { Caller } from './caller.ts'
import type { OnWaiting } from './waiting.ts'

export type MetadataInput = MessageInput<typeof fileMetadata>

/** What is sent: a file, or bytes. */
export type FileSource = {
  readonly size: number
  /** Fills the beginning of `target` from `position`; resolves with how much, 0 where there is no more. */
  read(position: number, target: Uint8Array): Promise<number>
  /** SHA-256 of the first bytes. */
  prefix(bytes: number): Promise<Uint8Array>
}

/** Hears how far it is: bytes that are there, the ones that were there before included. */
export type OnProgress = (done: number, total: number) => void

/** What is used of an `AbortSignal`, whose name programs without the types of Node or of a browser do not know. */
export type TransferSignal = {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options: { readonly once: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export type Sent = {
  readonly sha256: Uint8Array | undefined
  readonly sentBytes: number
  readonly startedAt: number
}

/** A transfer under way; cancelling it leaves its stream and rejects `done`. */
export type Transfer<Result> = { readonly done: Promise<Result>; cancel(error: SassError): void }

export type SendOptions = {
  readonly metadata: MetadataInput
  /** Go on with what the device has of it. */
  readonly resumes: boolean
  /** RawFileTransfer: each piece goes as this gives it, at most four thirds of its size and some 100 bytes long. */
  readonly pack?: ((piece: Uint8Array) => Uint8Array) | undefined
  readonly onProgress?: OnProgress | undefined
  readonly onWaiting?: OnWaiting | undefined
}

/** Of a piece that is packed: so that what comes of it fits a chunk, compressible or not. */
const PACKED_PIECE_BYTES = 48_000
const PACKING_BYTES = 256

function isSame(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b !== undefined && a.length === b.length && a.every((byte, index) => byte === b[index])
}

type Begun = { readonly offset: number; readonly sha256: Uint8Array | undefined }

/** One try of an upload. */
function attemptSend(caller: Caller, source: FileSource, options: SendOptions, offset: number) {
  const begun = defer<Begun>()
  const outcome = defer<FileOutcome>()
  // Whoever waits for one of the two has seen the error; the other must not end the process.
  begun.promise.catch(() => {})
  outcome.promise.catch(() => {})
  let isOver = false
  let wake = () => {}
  const fail = (error: SassError) => {
    isOver = true
    begun.reject(error)
    outcome.reject(error)
    wake()
  }
  const method = options.pack === undefined ? 'FileUpload' : 'RawFileTransfer'
  const { remote_path, total_size = 0, kind = 0, mode, sha256: digest, target } = options.metadata
  const metadata = { remote_path, total_size, offset, kind, mode, sha256: digest, target }
  const request = fileChunk.encode({ metadata })
  const stream: OpenStream = caller.open(method, request, true, {
    message(value) {
      const { source: from, offset: at, sha256 } = value as StreamResponse
      if (from === SYSTEM && at !== undefined) begun.resolve({ offset: at, sha256 })
    },
    ended(value) {
      isOver = true
      outcome.resolve(value as FileOutcome)
      wake()
    },
    failed: fail,
    credit: () => wake(),
    onWaiting: options.onWaiting,
  })

  /** Bytes of the file that the credit allows now; 0: none. */
  function allowed(): number {
    const credit = stream.credit()
    if (options.pack === undefined) return Math.min(credit, CHUNK_BYTES)
    return Math.max(0, Math.min(Math.floor((credit * 3) / 4) - PACKING_BYTES, PACKED_PIECE_BYTES))
  }

  async function sendFrom(start: number): Promise<void> {
    const buffer = new Uint8Array(Math.min(CHUNK_BYTES, Math.max(1, source.size - start)))
    options.onProgress?.(start, source.size)
    for (let position = start; position < source.size && !isOver; ) {
      const length = Math.min(allowed(), source.size - position, buffer.length)
      if (length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      const count = await source.read(position, buffer.subarray(0, length))
      if (count === 0)
        throw new SassError(
          'FILE_IO',
          'The file became shorter while it was sent; send it again when it is left alone.',
        )
      if (isOver) return
      const piece = buffer.subarray(0, count)
      const data = options.pack?.(piece) ?? piece
      stream.message(fileChunk.encode({ data }), data.length)
      position += count
      options.onProgress?.(position, source.size)
    }
    if (!isOver) stream.end()
  }

  return { begun: begun.promise, outcome: outcome.promise, stream, sendFrom, fail }
}

export function sendFile(caller: Caller, source: FileSource, options: SendOptions): Transfer<Sent> {
  let current = attemptSend(caller, source, options, options.resumes ? source.size : 0)
  let cancelled: SassError | undefined

  async function beginning(): Promise<number> {
    if (!options.resumes || source.size === 0) return 0
    const { offset, sha256 } = await current.begun
    if (offset > 0 && offset <= source.size && isSame(await source.prefix(offset), sha256)) return offset
    if (offset === 0) return 0
    // It has something else there under our name: that goes, and all of ours is sent.
    current.stream.reset()
    if (cancelled !== undefined) throw cancelled
    current = attemptSend(caller, source, options, 0)
    return 0
  }

  async function run(): Promise<Sent> {
    const startedAt = await beginning()
    try {
      await current.sendFrom(startedAt)
    } catch (cause) {
      current.stream.reset()
      throw cause
    }
    const { sha256 } = await current.outcome
    return { sha256, sentBytes: source.size - startedAt, startedAt }
  }

  return {
    done: run(),
    cancel(error) {
      cancelled = error
      current.stream.reset()
      current.fail(error)
    },
  }
}

export type Incoming = {
  readonly size: number
  readonly offset: number
  readonly mode: number
  readonly isDirectory: boolean
}

/** Where what is received goes. A promise holds the next credit back until it is settled. */
export type FileTarget = {
  begin(what: Incoming): Promise<void>
  /** `bytes` are its own. */
  write(bytes: Uint8Array): Promise<void>
}

export type Received = {
  readonly sha256: Uint8Array
  readonly size: number
  /** Where the device found orders to whoever reads it. */
  readonly findings: readonly Finding[] | undefined
}

export type ReceiveOptions = {
  readonly path: string
  readonly offset?: number
  /** SHA-256 of the `offset` bytes that are here already. */
  readonly sha256?: Uint8Array | undefined
  /** The handoff that has brought it; undefined: it is a file of the device. */
  readonly handoff?: Uint8Array | undefined
}

export function receiveFile(caller: Caller, target: FileTarget, options: ReceiveOptions): Transfer<Received> {
  const result = defer<Received>()
  result.promise.catch(() => {})
  let tail: Promise<void> = Promise.resolve()
  let isOver = false

  function fail(error: unknown): void {
    isOver = true
    result.reject(error)
  }

  /** One after the other; what fails once takes the rest with it. */
  function next(step: () => Promise<void>, after: () => void = () => {}): void {
    tail = tail.then(async () => {
      if (isOver) return
      try {
        await step()
        if (!isOver) after()
      } catch (cause) {
        stream.reset()
        fail(cause)
      }
    })
  }

  const request = fileDownloadRequest.encode({
    remote_path: options.path,
    offset: options.offset ?? 0,
    sha256: options.sha256,
    handoff_id: options.handoff,
  })
  const stream: OpenStream = caller.open('FileDownload', request, false, {
    message(value, dataBytes) {
      const { metadata, data } = value as FileChunk
      if (metadata !== undefined) {
        const { total_size: size, offset, mode = 0, kind } = metadata
        next(() => target.begin({ size, offset, mode, isDirectory: kind === 1 }))
      }
      if (data === undefined) return
      const own = new Uint8Array(data)
      next(
        () => target.write(own),
        () => stream.consumed(dataBytes),
      )
    },
    ended(value) {
      const { sha256, total_size: size, findings } = value as FileDownloadEnd
      const own = new Uint8Array(sha256)
      next(async () => result.resolve({ sha256: own, size, findings }))
    },
    failed(error) {
      // What came before it is still being taken.
      next(async () => fail(error))
    },
    credit() {},
  })

  return {
    done: result.promise,
    cancel(error) {
      stream.reset()
      fail(error)
    },
  }
}
