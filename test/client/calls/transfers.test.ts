import { createHash } from 'node:crypto'
import t from 'tap'
import type { OpenStream, StreamEvents } from '../../../src/client/calls/call-words.ts'
import type { Caller } from '../../../src/client/calls/caller.ts'
import {
  type FileSource,
  type FileTarget,
  receiveFile,
  sendFile,
} from '../../../src/client/calls/transfers.ts'
import { SassError } from '../../../src/errors.ts'
import { type FileChunk, fileChunk, fileDownloadRequest } from '../../../src/wire/file-messages.ts'
import { readMessage } from '../../../src/wire/schema.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
const turn = () => new Promise((resolve) => setImmediate(resolve))

type Staged = {
  readonly method: string
  readonly request: Record<string, unknown>
  readonly events: StreamEvents
  readonly sent: Uint8Array[]
  readonly deeds: string[]
  credit: number
  consumed: number
}

function read(type: typeof fileChunk | typeof fileDownloadRequest, value: unknown): Record<string, unknown> {
  const message = readMessage<unknown>(type, value, 'strict')
  if (!message.ok) throw new Error(JSON.stringify(message.problems))
  return message.value as Record<string, unknown>
}

/** A connection whose streams a test plays the device for. */
function stage(credit = 65_536) {
  const streams: Staged[] = []
  const open: Caller['open'] = (method, request, _more, events) => {
    const staged: Staged = {
      method,
      request: read(method === 'FileDownload' ? fileDownloadRequest : fileChunk, request),
      events,
      sent: [],
      deeds: [],
      credit,
      consumed: 0,
    }
    streams.push(staged)
    const stream: OpenStream = {
      credit: () => staged.credit,
      message(payload, dataBytes) {
        staged.sent.push((read(fileChunk, payload) as FileChunk).data?.slice() ?? new Uint8Array(0))
        staged.credit -= dataBytes
      },
      end: () => staged.deeds.push('end'),
      consumed(bytes) {
        staged.consumed += bytes
      },
      reset: () => staged.deeds.push('reset'),
    }
    return stream
  }
  return { caller: { open } as Caller, streams }
}

function sourceOf(bytes: Uint8Array, isCut = false): FileSource {
  return {
    size: bytes.length + (isCut ? 10 : 0),
    async read(position, target) {
      const part = bytes.subarray(position, position + target.length)
      target.set(part)
      return part.length
    },
    prefix: async (length) => sha256(bytes.subarray(0, length)),
  }
}

const metadata = { remote_path: 'f', total_size: 100, sha256: sha256(new Uint8Array(100)) }
const begun = (offset: number, bytes: Uint8Array) => ({ source: 2, offset, sha256: sha256(bytes) })
const done = { success: true, message: '', bytes_written: 0, sha256: undefined }
const all = (parts: readonly Uint8Array[]) => Buffer.concat(parts)

t.test('what is sent waits for credit, and ends with the answer', async (t) => {
  const { caller, streams } = stage(40)
  const bytes = Buffer.from('0123456789'.repeat(10))
  const shown: number[] = []
  const transfer = sendFile(caller, sourceOf(bytes), {
    metadata,
    resumes: false,
    onProgress: (at) => shown.push(at),
  })
  await turn()
  const [stream] = streams
  t.match(stream?.request, { metadata: { remote_path: 'f', total_size: 100, offset: 0 } })
  t.equal(all(stream?.sent ?? []).toString(), bytes.toString('utf8', 0, 40))
  if (stream !== undefined) stream.credit = 200
  stream?.events.credit()
  await turn()
  t.ok(all(stream?.sent ?? []).equals(bytes))
  t.strictSame(stream?.deeds, ['end'])
  stream?.events.ended(done)
  t.match(await transfer.done, { sentBytes: 100, startedAt: 0 })
  t.strictSame(shown, [0, 40, 100])
})

t.test('it goes on where both have the same, and anew where they have not', async (t) => {
  const bytes = Buffer.from('0123456789'.repeat(10))
  for (const [has, offset, expected] of [
    [bytes.subarray(0, 30), 30, bytes.subarray(30)],
    [new Uint8Array(0), 0, bytes],
  ] as const) {
    const { caller, streams } = stage()
    const transfer = sendFile(caller, sourceOf(bytes), { metadata, resumes: true })
    await turn()
    t.match(streams[0]?.request, { metadata: { offset: 100 } })
    t.strictSame(streams[0]?.sent, [], 'nothing before the answer')
    streams[0]?.events.message(begun(offset, has), 0)
    await turn()
    await turn()
    t.ok(all(streams[0]?.sent ?? []).equals(expected))
    streams[0]?.events.ended(done)
    t.match(await transfer.done, { startedAt: offset })
  }
  const { caller, streams } = stage()
  const transfer = sendFile(caller, sourceOf(bytes), { metadata, resumes: true })
  streams[0]?.events.message(begun(30, Buffer.alloc(30)), 0)
  for (let turns = 0; turns < 5; turns++) await turn()
  t.strictSame(streams[0]?.deeds, ['reset'])
  t.match(streams[1]?.request, { metadata: { offset: 0 } })
  t.ok(all(streams[1]?.sent ?? []).equals(bytes))
  streams[1]?.events.ended(done)
  t.match(await transfer.done, { startedAt: 0, sentBytes: 100 })
})

t.test('a refusal, a lost link, a shorter file and a change of mind each end it', async (t) => {
  const bytes = Buffer.alloc(100)
  const refusal = new SassError('FILE_TOO_LARGE', 'No.')
  const { caller, streams } = stage(10)
  const refused = sendFile(caller, sourceOf(bytes), { metadata, resumes: false })
  await turn()
  streams[0]?.events.failed(refusal)
  await t.rejects(refused.done, refusal)
  const waiting = sendFile(caller, sourceOf(bytes), { metadata, resumes: true })
  streams[1]?.events.failed(refusal)
  await t.rejects(waiting.done, refusal)
  const cut = sendFile(stage().caller, sourceOf(bytes, true), { metadata, resumes: false })
  await t.rejects(cut.done, { code: 'FILE_IO' })
  const cancelled = sendFile(caller, sourceOf(bytes), { metadata, resumes: false })
  await turn()
  cancelled.cancel(refusal)
  await t.rejects(cancelled.done, refusal)
  t.strictSame(streams[2]?.deeds, ['reset'])
})

t.test('what is packed fits its credit', async (t) => {
  const { caller, streams } = stage(4_096)
  const bytes = Buffer.alloc(10_000, 'x')
  const transfer = sendFile(caller, sourceOf(bytes), {
    metadata,
    resumes: false,
    pack: (piece) => Buffer.from(Buffer.from(piece).toString('base64')),
  })
  for (let turns = 0; turns < 20 && streams[0]?.deeds.length === 0; turns++) {
    await turn()
    t.ok((streams[0]?.credit ?? -1) >= 0)
    if (streams[0] !== undefined) streams[0].credit = 4_096
    streams[0]?.events.credit()
  }
  t.equal(streams[0]?.method, 'RawFileTransfer')
  const plain = (streams[0]?.sent ?? []).map((data) => Buffer.from(Buffer.from(data).toString(), 'base64'))
  t.ok(all(plain).equals(bytes))
  streams[0]?.events.ended(done)
  await transfer.done
})

function targetOf() {
  const got: string[] = []
  const target: FileTarget = {
    async begin({ size, offset, mode, isDirectory }) {
      got.push(`${size} ${offset} ${mode} ${isDirectory}`)
    },
    async write(bytes) {
      await turn()
      got.push(Buffer.from(bytes).toString())
    },
  }
  return { got, target }
}

t.test('what is received is taken in order, and credit follows what was taken', async (t) => {
  const { caller, streams } = stage()
  const { got, target } = targetOf()
  const transfer = receiveFile(caller, target, { path: 'f', offset: 3, sha256: sha256(Buffer.from('abc')) })
  const [stream] = streams
  t.match(stream?.request, { remote_path: 'f', offset: 3 })
  stream?.events.message({ metadata: { total_size: 9, offset: 3, mode: 0o644, kind: 0 } }, 0)
  const borrowed = Buffer.from('def')
  stream?.events.message({ data: borrowed }, 3)
  borrowed.fill('x')
  stream?.events.message({ data: Buffer.from('ghi') }, 3)
  t.equal(stream?.consumed, 0)
  stream?.events.ended({ sha256: sha256(Buffer.from('abcdefghi')), total_size: 9 })
  t.match(await transfer.done, { size: 9 })
  t.strictSame(got, ['9 3 420 false', 'def', 'ghi'])
  t.equal(stream?.consumed, 6)
})

t.test('what came before a refusal is taken; a full disk leaves the stream', async (t) => {
  const lost = new SassError('CONNECTION_LOST', 'It broke.')
  const { caller, streams } = stage()
  const { got, target } = targetOf()
  const first = receiveFile(caller, target, { path: 'f' })
  streams[0]?.events.message({ metadata: { total_size: 9, offset: 0, kind: 0 } }, 0)
  streams[0]?.events.message({ data: Buffer.from('abc') }, 3)
  streams[0]?.events.failed(lost)
  await t.rejects(first.done, lost)
  t.strictSame(got, ['9 0 0 false', 'abc'])
  const full = new Error('full')
  const second = receiveFile(caller, { ...target, write: () => Promise.reject(full) }, { path: 'f' })
  streams[1]?.events.message({ data: Buffer.from('abc') }, 3)
  streams[1]?.events.message({ data: Buffer.from('abc') }, 3)
  await t.rejects(second.done, full)
  t.strictSame(streams[1]?.deeds, ['reset'])
  t.equal(streams[1]?.consumed, 0)
  const third = receiveFile(caller, target, { path: 'f' })
  third.cancel(lost)
  await t.rejects(third.done, lost)
})
