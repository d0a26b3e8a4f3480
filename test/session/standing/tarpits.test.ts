/**
 * R5: one static frame, to a bounded number of peers, at its pace, and to nobody who does not read.
 * @module
 */
import { readdirSync } from 'node:fs'
import { createServer, connect as dial, type Socket } from 'node:net'
import t from 'tap'
import { adjudicate } from '../../../src/defense/adjudicator.ts'
import { createSocketTransport } from '../../../src/edge/sockets/socket-transport.node.ts'
import {
  TARPIT_CHUNK_BYTES,
  TARPIT_CHUNKS,
  TARPIT_CONCURRENT,
  TARPIT_DELAY_MS,
  TARPIT_SEND_TIMEOUT_MS,
} from '../../../src/limits.ts'
import { createTarpits, type TarpitLimits } from '../../../src/session/standing/tarpits.ts'
import { createConnection } from '../../../src/wire/connection.ts'
import { methodNamed } from '../../../src/wire/methods.ts'
import { FACTS, LEDGER, NOBODY, POLICY } from '../../defense/staged-facts.ts'
import { stageClock, stageRandom, stageTransport } from '../stage.ts'

/** As the configuration has it where nothing is set. */
const DEFAULTS: TarpitLimits = {
  mode: 'drip',
  dailyBytes: null,
  chunkBytes: TARPIT_CHUNK_BYTES,
  totalBytes: TARPIT_CHUNK_BYTES * TARPIT_CHUNKS,
  delayMs: TARPIT_DELAY_MS,
  concurrent: TARPIT_CONCURRENT,
  sendTimeoutMs: TARPIT_SEND_TIMEOUT_MS,
}

/** The last of 32 that came at once is served so much later: two in a turn, a turn each millisecond. */
const SPREAD_MS = 15
const DAY_MS = 86_400_000
/** Chunks that go out in one piece. */
const SMALL = { chunkBytes: 1_000, totalBytes: 640_000 }

function stage(change: Partial<TarpitLimits> = {}) {
  const clock = stageClock()
  const tarpits = createTarpits({ ...DEFAULTS, ...change }, clock, stageRandom())
  /** Holds `count` new peers; each must find a place. */
  const fill = (count: number) =>
    Array.from({ length: count }, () => {
      const transport = stageTransport()
      const handle = tarpits.hold(transport)
      if (handle === undefined) throw new Error('no place')
      return { ...handle, transport, writes: transport.writes, deeds: transport.deeds }
    })
  return { clock, tarpits, fill }
}

t.test(
  '640 chunks of 64 KiB out of one buffer, one each 500 ms, to 32 peers; the next gets R6 (SS-43)',
  (t) => {
    const { clock, tarpits, fill } = stage()
    t.strictSame(
      [DEFAULTS.chunkBytes, TARPIT_CHUNKS, DEFAULTS.delayMs, DEFAULTS.concurrent],
      [65_536, 640, 500, 32],
    )
    const peers = fill(TARPIT_CONCURRENT)
    t.equal(tarpits.held, 32)
    const stranger = { ...FACTS, identity: NOBODY, session: undefined }
    t.match(adjudicate(stranger, POLICY, { ...LEDGER, tarpitsFree: 1 }), { response: 'TARPIT' })
    t.match(adjudicate(stranger, POLICY, { ...LEDGER, tarpitsFree: tarpits.free }), { response: 'DROP' })
    t.equal(clock.timers, 1, 'one timer for all')
    // A chunk is written in pieces of one TLS record each.
    const first = peers[0]?.writes.map(({ bytes }) => bytes) ?? []
    const pieces = first.length
    t.ok(first.every((piece) => piece.length <= 16_384))
    const frameBytes = first.reduce((sum, piece) => sum + piece.length, 0)
    t.ok(frameBytes >= 65_536 && frameBytes < 65_600, '64 KiB and their head')
    const haveAll = (chunks: number) => peers.every((peer) => peer.writes.length === chunks * pieces)
    clock.pass(499)
    t.ok(haveAll(1))
    clock.pass(1 + SPREAD_MS)
    t.ok(haveAll(2))
    clock.pass(499 - SPREAD_MS)
    t.ok(haveAll(2), 'each at its own 500 ms')
    clock.pass(500 * 637 + 1 + SPREAD_MS)
    t.ok(haveAll(640) && peers.every((peer) => !peer.deeds.includes('end')))
    clock.pass(500)
    t.ok(haveAll(640) && peers.every((peer) => peer.deeds.at(-1) === 'end'))
    t.equal(tarpits.totalBytes, 32 * 640 * frameBytes)
    t.ok(
      peers.every((peer) => peer.writes.every(({ bytes }, index) => bytes === first[index % pieces])),
      'always the same objects',
    )
    t.ok(
      first.every((piece) => piece.buffer === first[0]?.buffer),
      'which are views of one buffer',
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

t.test('whoever comes when no place is free is not held, and nothing is done with it', (t) => {
  const { tarpits, fill } = stage({ concurrent: 2 })
  const [first] = fill(2)
  const intruders = Array.from({ length: 1_000 }, () => stageTransport())
  t.ok(intruders.every((transport) => tarpits.hold(transport) === undefined))
  t.ok(intruders.every(({ writes, deeds }) => writes.length === 0 && deeds.length === 0))
  t.strictSame([tarpits.held, tarpits.free, tarpits.totalServed], [2, 0, 2])
  first?.release()
  t.ok(tarpits.hold(stageTransport()))
  t.equal(tarpits.hold(stageTransport()), undefined)
  t.end()
})

t.test('a held peer has one closure for all its writes', (t) => {
  const { clock, tarpits } = stage(SMALL)
  const taken: (() => void)[] = []
  tarpits.hold(
    stageTransport({
      write(_bytes, callback) {
        if (callback === undefined) return
        taken.push(callback)
        callback()
      },
    }),
  )
  clock.pass(5_000)
  t.equal(taken.length, 11)
  t.equal(new Set(taken).size, 1)
  t.end()
})

t.test('chunks that are due together go out two in a turn, and nobody is passed over', (t) => {
  const { clock, tarpits, fill } = stage({ ...SMALL, concurrent: 64, delayMs: 1 })
  const peers = fill(64)
  const sent = () => peers.reduce((sum, peer) => sum + peer.writes.length, 0)
  clock.pass(1)
  t.equal(sent(), 64 + 2)
  clock.pass(31)
  t.equal(sent(), 128)
  t.ok(
    peers.every((peer) => peer.writes.length === 2),
    'the pace is too fast for so many, and they share what there is',
  )
  t.equal(tarpits.held, 64)
  t.end()
})

t.test('hold sends nothing, and lets go when drip would have', (t) => {
  const { clock, tarpits, fill } = stage({ mode: 'hold' })
  const peers = fill(32)
  t.equal(clock.timers, 1)
  clock.pass(319_999)
  t.ok(peers.every((peer) => peer.writes.length === 0 && peer.deeds.join() === 'pause'))
  t.equal(tarpits.held, 32)
  clock.pass(1)
  t.ok(peers.every((peer) => peer.deeds.join() === 'pause,end'))
  clock.pass(3_000)
  t.ok(peers.every((peer) => peer.deeds.join() === 'pause,end,reset'))
  t.strictSame([tarpits.held, tarpits.totalBytes, clock.timers], [0, 0, 0])
  t.equal(tarpits.totalMs, 32 * 323_000)
  t.end()
})

t.test('when the budget of the day is used up, dripping turns to silence for the rest of the time', (t) => {
  const limits = { chunkBytes: 1_000, totalBytes: 10_000, concurrent: 2 }
  const frameBytes = (() => {
    const { tarpits, fill } = stage(limits)
    fill(1)
    return tarpits.totalBytes
  })()
  const { clock, tarpits, fill } = stage({ ...limits, dailyBytes: frameBytes * 7 + 1 })
  const [first, second] = fill(2)
  clock.pass(500 * 4 + SPREAD_MS)
  t.strictSame([first?.writes.length, second?.writes.length], [4, 3])
  t.equal(tarpits.totalBytes, frameBytes * 7)
  clock.pass(500 * 6 - SPREAD_MS - 1)
  t.strictSame([first?.deeds, second?.deeds], [['pause'], ['pause']], 'open until 10 chunks would be out')
  clock.pass(1 + SPREAD_MS)
  t.strictSame(
    [first?.deeds, second?.deeds],
    [
      ['pause', 'end'],
      ['pause', 'end'],
    ],
  )
  clock.pass(3_000)
  t.equal(tarpits.held, 0)
  const [third] = fill(1)
  clock.pass(4_000)
  t.strictSame([third?.writes.length, third?.deeds], [0, ['pause']], 'the next is silent from its start')
  t.equal(tarpits.totalBytes, frameBytes * 7)
  t.end()
})

t.test('a day later there is noise again, for those who come then', (t) => {
  const { clock, tarpits, fill } = stage({
    chunkBytes: 1_000,
    totalBytes: 1_000_000,
    dailyBytes: 2_500,
    concurrent: 2,
  })
  clock.pass(DAY_MS - 2_000)
  const [yesterday] = fill(1)
  clock.pass(1_999)
  t.equal(yesterday?.writes.length, 2)
  clock.pass(1)
  const [today] = fill(1)
  clock.pass(10_000)
  t.strictSame([yesterday?.writes.length, today?.writes.length], [2, 2])
  clock.pass(DAY_MS * 3)
  t.equal(tarpits.held, 0)
  t.equal(fill(1)[0]?.writes.length, 1, 'also when whole days have passed in between')
  t.end()
})

t.test('without a budget for anything nothing is sent', (t) => {
  const { clock, fill } = stage({ dailyBytes: 0 })
  const [peer] = fill(1)
  clock.pass(10_000)
  t.strictSame([peer?.writes.length, peer?.deeds], [0, ['pause']])
  t.end()
})

t.test('it counts peers, bytes and time, of those that are held too', (t) => {
  const { clock, tarpits, fill } = stage({ chunkBytes: 1_000, totalBytes: 100_000 })
  const [first] = fill(2)
  clock.pass(1_000)
  first?.release()
  clock.pass(500)
  t.strictSame([tarpits.held, tarpits.totalServed, tarpits.totalMs], [1, 2, 2_500])
  const frame = first?.writes[0]?.bytes.length ?? 0
  t.equal(tarpits.totalBytes, frame * 7)
  t.end()
})

t.test('a write that is taken late delays the next chunk, and is no reason to end', (t) => {
  const { clock, tarpits } = stage(SMALL)
  const transport = stageTransport()
  transport.takesAtOnce = false
  tarpits.hold(transport)
  clock.pass(700)
  t.equal(transport.writes.length, 1)
  transport.writes[0]?.taken?.()
  clock.pass(299)
  t.equal(transport.writes.length, 1)
  clock.pass(1)
  t.equal(transport.writes.length, 2)
  clock.pass(2_999)
  t.strictSame(transport.deeds, ['pause'])
  clock.pass(1)
  t.strictSame(transport.deeds, ['pause', 'reset'], 'the second was not taken in 3 s')
  t.strictSame([tarpits.held, clock.timers], [0, 0])
  t.end()
})

t.test('a chunk goes out piece by piece as it is taken, and all of it has 3 s', (t) => {
  const { clock, tarpits } = stage()
  const transport = stageTransport()
  transport.takesAtOnce = false
  tarpits.hold(transport)
  t.equal(transport.writes.length, 1)
  clock.pass(1_000)
  transport.writes[0]?.taken?.()
  t.equal(transport.writes.length, 2)
  clock.pass(1_999)
  t.strictSame(transport.deeds, ['pause'])
  clock.pass(1)
  t.strictSame(transport.deeds, ['pause', 'reset'])
  transport.writes[1]?.taken?.()
  t.equal(transport.writes.length, 2)
  t.end()
})

t.test('a pause that is longer than the time for a write is kept, and so is that time', (t) => {
  const { clock, tarpits, fill } = stage({ ...SMALL, delayMs: 10_000 })
  const [reader] = fill(1)
  const lazy = stageTransport()
  lazy.takesAtOnce = false
  tarpits.hold(lazy)
  clock.pass(2_999)
  t.strictSame(lazy.deeds, ['pause'])
  clock.pass(1)
  t.strictSame(lazy.deeds, ['pause', 'reset'])
  clock.pass(6_999)
  t.equal(reader?.writes.length, 1)
  clock.pass(1)
  t.equal(reader?.writes.length, 2)
  t.end()
})

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
  const { clock, tarpits } = stage(SMALL)
  const transport = stageTransport()
  const held = tarpits.hold(transport)
  clock.pass(600)
  held?.release()
  held?.release()
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
  held?.release()
  transport.writes[0]?.taken?.()
  t.strictSame([clock.timers, transport.writes.length], [0, 1])
  t.end()
})

t.test('with no places there is never one free', (t) => {
  const { tarpits } = stage({ concurrent: 0 })
  t.equal(tarpits.free, 0)
  t.equal(tarpits.hold(stageTransport()), undefined)
  t.end()
})
