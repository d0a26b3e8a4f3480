/**
 * The order of a stream of output whose data is compressed in part, and what becomes of it when it cannot be read.
 * @module
 */
import t from 'tap'
import { createOutputDecoder, type FrameReader } from '../../../src/client/calls/output-decoder.ts'
import { createFrameReader } from '../../../src/client/link/zstd-frames.node.ts'
import { createOutputCoders } from '../../../src/edge/host/zstd.node.ts'
import type { SassError } from '../../../src/errors.ts'
import { type StreamResponse, streamResponse } from '../../../src/wire/messages.ts'
import { readMessage } from '../../../src/wire/schema.ts'

function response(data: Uint8Array, encoding: 0 | 1): StreamResponse {
  const read = readMessage(streamResponse, streamResponse.encode({ source: 0, data, encoding }), 'strict')
  if (!read.ok) throw new Error('no message')
  return read.value
}

function decoder(open: (() => FrameReader) | undefined = createFrameReader) {
  const heard: string[] = []
  const { promise: failure, resolve } = Promise.withResolvers<SassError>()
  const made = createOutputDecoder(open, resolve)
  const push = (message: StreamResponse) =>
    made.push(message, ({ data }) => heard.push(Buffer.from(data ?? []).toString()))
  return { ...made, push, heard, failure }
}

async function coded(pieces: readonly string[]): Promise<Uint8Array[]> {
  const coder = createOutputCoders().open()
  const all: Uint8Array[] = []
  for (const piece of pieces)
    all.push(
      await new Promise((resolve) => coder?.code(Buffer.from(piece), (data) => resolve(data as Uint8Array))),
    )
  coder?.close()
  return all
}

t.test('plain data is given at once where nothing waits', (t) => {
  const { push, heard, close } = decoder()
  push(response(Buffer.from('one'), 0))
  t.strictSame(heard, ['one'])
  close()
  push(response(Buffer.from('two'), 0))
  t.strictSame(heard, ['one'], 'and nothing after the end')
  t.end()
})

t.test('what comes after compressed data waits for it; lent bytes may change meanwhile', async (t) => {
  const { push, heard, close } = decoder()
  const [first, second] = await coded(['compressed one', 'compressed two'])
  const lent = Buffer.from('plain')
  const { promise: done, resolve } = Promise.withResolvers<void>()
  push(response(first as Uint8Array, 1))
  push(response(lent, 0))
  lent.fill('x')
  push(response(second as Uint8Array, 1))
  t.strictSame(heard, [])
  const wait = setInterval(() => heard.length === 3 && resolve(), 1)
  await done
  clearInterval(wait)
  t.strictSame(heard, ['compressed one', 'plain', 'compressed two'])
  push(response(Buffer.from('at once again'), 0))
  t.strictSame(heard.at(-1), 'at once again')
  close()
})

t.test('what cannot be read, or was not asked for, ends it with a reason', async (t) => {
  for (const open of [createFrameReader, undefined]) {
    const { push, heard, failure } = decoder(open)
    push(response(Buffer.from('no frame of any kind'), 1))
    push(response(Buffer.from('after it'), 0))
    t.match(await failure, { code: 'FRAME_MALFORMED', message: /compressed output that cannot be read/ })
    push(response(Buffer.from('later'), 0))
    t.strictSame(heard, [])
  }
})
