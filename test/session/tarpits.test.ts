/**
 * R5: one static frame, to a bounded number of peers, at its pace, and to nobody who does not read.
 * @module
 */
import { readdirSync } from 'node:fs'
import { createServer, connect as dial, type Socket } from 'node:net'
import t from 'tap'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import { createSocketTransport } from '../../src/edge/socket-transport.node.ts'
import {
  TARPIT_CHUNK_BYTES,
  TARPIT_CHUNKS,
  TARPIT_CONCURRENT,
  TARPIT_DELAY_MS,
  TARPIT_SEND_TIMEOUT_MS,
} from '../../src/limits.ts'
import { createTarpits } from '../../src/session/tarpits.ts'
import { createConnection } from '../../src/wire/connection.ts'
import { methodNamed } from '../../src/wire/methods.ts'
import { FACTS, LEDGER, NOBODY, POLICY } from '../defense/staged-facts.ts'
import { stageClock, stageRandom, stageTransport } from './stage.ts'

/** As the configuration has it where nothing is set. */
const DEFAULTS = {
  chunkBytes: TARPIT_CHUNK_BYTES,
  totalBytes: TARPIT_CHUNK_BYTES * TARPIT_CHUNKS,
  delayMs: TARPIT_DELAY_MS,
  concurrent: TARPIT_CONCURRENT,
  sendTimeoutMs: TARPIT_SEND_TIMEOUT_MS,
}

function stage(change: Partial<typeof DEFAULTS> = {}) {
  const clock = stageClock()
  return { clock, tarpits: createTarpits({ ...DEFAULTS, ...change }, clock, stageRandom()) }
}

t.test(
  '640 chunks of 64 KiB out of one buffer, one each 500 ms, to 32 peers; the next gets R6 (SS-43)',
  (t) => {
    const { clock, tarpits } = stage()
    t.strictSame(
      [DEFAULTS.chunkBytes, TARPIT_CHUNKS, DEFAULTS.delayMs, DEFAULTS.concurrent],
      [65_536, 640, 500, 32],
    )
    const peers = Array.from({ length: TARPIT_CONCURRENT }, () => stageTransport())
    for (const peer of peers) {
      t.ok(tarpits.free > 0)
      tarpits.hold(peer)
    }
    t.equal(tarpits.held, 32)
    const stranger = { ...FACTS, identity: NOBODY, session: undefined }
    t.match(adjudicate(stranger, POLICY, { ...LEDGER, tarpitsFree: 1 }), { response: 'TARPIT' })
    t.match(adjudicate(stranger, POLICY, { ...LEDGER, tarpitsFree: tarpits.free }), { response: 'DROP' })
    t.equal(clock.timers, 32, 'a peer costs one timer')
    clock.pass(499)
    t.ok(peers.every((peer) => peer.writes.length === 1))
    clock.pass(1)
    t.ok(peers.every((peer) => peer.writes.length === 2))
    clock.pass(500 * 637 + 499)
    t.ok(peers.every((peer) => peer.writes.length === 639))
    clock.pass(1)
    t.ok(peers.every((peer) => peer.writes.length === 640 && !peer.deeds.includes('end')))
    clock.pass(500)
    t.ok(peers.every((peer) => peer.writes.length === 640 && peer.deeds.at(-1) === 'end'))
    const frame = peers[0]?.writes[0]?.bytes
    t.ok(
      peers.every((peer) => peer.writes.every(({ bytes }) => bytes === frame)),
      'always the same object',
    )
    t.equal(tarpits.held, 32, 'their ends are waited for')
    clock.pass(DEFAULTS.sendTimeoutMs)
    t.ok(
      peers.every((peer) => peer.deeds.at(-1) === 'reset'),
      'and not for long',
    )
    t.strictSame([tarpits.held, tarpits.free, clock.timers], [0, 32, 0])
    t.end()
  },
)

t.test('the noise is a well-formed message of output on the stream that a client opens first', (t) => {
  const { tarpits } = stage({ chunkBytes: 1_000, totalBytes: 1_000 })
  const transport = stageTransport()
  tarpits.hold(transport)
  const seen: unknown[] = []
  const client = createConnection(
    'client',
    () => {},
    (event) => seen.push(event.kind === 'message' && event.message.ok ? event.message.value : event),
  )
  client.open(methodNamed('ExecuteStream'), new Map(), false)
  client.receive(transport.writes[0]?.bytes ?? new Uint8Array(0))
  t.match(seen, [{ source: 0, data: { length: 1_000 } }])
  t.end()
})

t.test('nothing that a held peer sends is read', (t) => {
  const { tarpits } = stage()
  const transport = stageTransport()
  tarpits.hold(transport)
  t.equal(transport.deeds[0], 'pause')
  t.end()
})

t.test(
  'a write that is not taken within 3 s ends the connection and frees its descriptor (SS-44)',
  async (t) => {
    t.equal(TARPIT_SEND_TIMEOUT_MS, 3_000)
    const descriptors = () => readdirSync('/proc/self/fd').length
    const { clock, tarpits } = stage({ delayMs: 1 })
    const server = createServer({ pauseOnConnect: true })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
    // A peer that never reads: the kernel takes a few chunks for it, then no more.
    const lazy = dial({ port: typeof address === 'object' ? (address?.port ?? 0) : 0, host: '127.0.0.1' })
    lazy.on('error', () => {})
    const socket = await accepted
    socket.on('error', () => {})
    const before = descriptors()
    const transport = createSocketTransport(socket, {
      kind: 'tls',
      remoteAddress: '127.0.0.1',
      agreement: { version: '', suite: '', alpn: '' },
      peerUserId: undefined,
      exportKeyingMaterial: () => undefined,
      reset: () => socket.resetAndDestroy(),
    })
    tarpits.hold(transport)
    // A write waits when the kernel has taken nothing of it for many turns in a row.
    let waited = 0
    let left = -1
    for (let turn = 0; turn < 5_000 && waited < 50; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      waited = socket.writableLength > 0 && socket.writableLength === left ? waited + 1 : 0
      left = socket.writableLength
      if (left === 0) clock.pass(1)
    }
    t.ok(socket.writableLength > 0, 'a write waits')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    clock.pass(2_900)
    t.notOk(socket.destroyed)
    t.equal(tarpits.held, 1)
    clock.pass(100)
    t.ok(socket.destroyed)
    await closed
    t.equal(tarpits.held, 0)
    t.equal(descriptors(), before - 1)
    lazy.destroy()
    server.close()
  },
)

t.test('a peer that goes frees its place once, and nothing more is sent to it', (t) => {
  const { clock, tarpits } = stage()
  const transport = stageTransport()
  const held = tarpits.hold(transport)
  clock.pass(600)
  held.release()
  held.release()
  t.strictSame([tarpits.held, tarpits.free, clock.timers], [0, 32, 0])
  clock.pass(10_000)
  t.equal(transport.writes.length, 2)
  t.strictSame(transport.deeds, ['pause'], 'neither ended nor reset: it is gone')
  t.end()
})

t.test('what is taken after the peer has gone starts nothing', (t) => {
  const { clock, tarpits } = stage()
  const transport = stageTransport()
  transport.takesAtOnce = false
  const held = tarpits.hold(transport)
  held.release()
  transport.writes[0]?.taken?.()
  t.equal(clock.timers, 0)
  t.end()
})

t.test('with no places there is never one free', (t) => {
  t.equal(stage({ concurrent: 0 }).tarpits.free, 0)
  t.end()
})
