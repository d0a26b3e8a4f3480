/**
 * A connection that the daemon had ended in an orderly way once stayed open for as long as its peer liked.
 * @module
 */
import { zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { encodeFrame } from '../../src/wire/frame.ts'
import { isServed, known, tls } from '../integration/connections.node.ts'
import { ON_REAL_FILES, startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE, isOver } from './streams.node.ts'

const PEERS = 6

t.test('a peer that does not end its side after the daemon has ended is reset', async (t) => {
  const daemon = await startNew(t, { ...ON_REAL_FILES, session: { max_per_agent: null } })
  // What a first caller leaves open belongs to the daemon.
  await isServed(t, daemon)
  const before = daemon.descriptors()
  const raw_payload = zstdCompressSync(Buffer.alloc(6 * 1_048_576)).toString('base64')
  for (let peer = 0; peer < PEERS; peer++) {
    const wire = await known(daemon)
    wire.socket.removeAllListeners('end')
    wire.socket.allowHalfOpen = true
    wire.socket.write(command(3, EXECUTE, { command: '', raw_payload }))
    await until('code 55', () => isOver(wire, 3))
    t.teardown(() => wire.socket.destroy())
  }
  t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0)
  await until('the descriptors', () => daemon.descriptors() <= before)
})

t.test('a peer that stays after the last of the noise is reset', async (t) => {
  const daemon = await startNew(t, {
    ...ON_REAL_FILES,
    defense: { tarpit: { total_bytes: 65_536, delay_ms: 100, send_timeout_ms: 500 } },
  })
  // What a first caller leaves open belongs to the daemon.
  await isServed(t, daemon)
  const before = daemon.descriptors()
  for (let peer = 0; peer < PEERS; peer++) {
    const wire = await tls(daemon.port)
    wire.socket.removeAllListeners('end')
    wire.socket.allowHalfOpen = true
    wire.socket.write(encodeFrame(1, 'OPEN', new Map(), 11))
    await until('noise', () => wire.received().length > 65_536)
    t.teardown(() => wire.socket.destroy())
  }
  await until('the descriptors', () => daemon.descriptors() <= before)
})
