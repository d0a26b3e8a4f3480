/**
 * An agent that sends files as no honest client would.
 * @module
 */
import t from 'tap'
import { fileChunk } from '../../src/wire/file-messages.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { framesIn, known } from './connections.node.ts'
import { startNew, until } from './daemon.node.ts'

const MIB = 1_048_576
const FILE_UPLOAD = 5
const daemon = await startNew(t)

t.test('a file in single bytes holds what it is, and not each of them', { timeout: 120_000 }, async (t) => {
  const wire = await known(daemon, 'agent', { window: MIB })
  const before = daemon.anonymousKib()
  const send = (kind: 'OPEN' | 'MSG', chunk: Parameters<typeof fileChunk.encode>[0]) =>
    encodeFrame(3, kind, fileChunk.encode(chunk), kind === 'OPEN' ? FILE_UPLOAD : undefined)
  wire.socket.write(send('OPEN', { metadata: { remote_path: 'bytes', total_size: MIB, offset: 0, kind: 0 } }))
  const some = Buffer.concat(Array(MIB / 64).fill(send('MSG', { data: Uint8Array.of(65) })))
  for (let count = 0; count < 64; count++) wire.socket.write(some)
  wire.socket.write(encodeFrame(3, 'END'))
  let most = 0
  await until('its end', () => {
    most = Math.max(most, daemon.anonymousKib() - before)
    return framesIn(wire.received()).some(({ kind, stream }) => kind === 'END' && stream === 3)
  })
  t.ok(most < 96 * 1_024, `${most} KiB more`)
  wire.socket.destroy()
})
