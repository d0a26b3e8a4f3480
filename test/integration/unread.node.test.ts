/**
 * Callers who ask and never read the answers: the daemon stops reading them, keeps no pile of answers, and everybody
 * else is served as ever.
 * @module
 */
import { readFileSync } from 'node:fs'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { framesIn, isServed, known, type Wire } from './connections.node.ts'
import { ON_REAL_FILES, sleep, startNew, until } from './daemon.node.ts'

const PING = 11
const UNKNOWN = 999
const FLOODERS = 5
/** Requests of one connection that may wait in the daemon: what its socket had read before the pause held. */
const WAITING_BYTES = 256 * 1_024
/** More than the kernel keeps for one connection, both ways. */
const REQUESTS = 1_500_000
/** Nothing is taken for so long: nobody reads any more. */
const STILL_MS = 2_000

const daemon = await startNew(t, { ...ON_REAL_FILES, session: { max_per_agent: null } })

type Queues = { readonly unsent: number; readonly unread: number }
const NOTHING: Queues = { unsent: 0, unread: 0 }

/** One frame after the other, their streams counted from 3 on. */
function requests(method: number, count: number): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, index) => encodeFrame(3 + 2 * index, 'OPEN', new Map(), method)),
  )
}

/** What the kernel keeps of the connection that has `port` on one end, by end: received and not read, sent and not there. */
function queuesOf(port: number): { mine: Queues; daemons: Queues } {
  const ends = { mine: NOTHING, daemons: NOTHING }
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, local, remote, , queues = ''] = line.trim().split(/\s+/)
    const [unsent = 0, unread = 0] = queues.split(':').map((digits) => Number.parseInt(digits, 16))
    const has = (end = '') => Number.parseInt(end.split(':')[1] ?? '', 16) === port
    if (has(local)) ends.mine = { unsent, unread }
    else if (has(remote)) ends.daemons = { unsent, unread }
  }
  return ends
}

/** Bytes that the daemon took of one connection, and those of its answers that have left it. */
function trafficOf({ socket }: Wire<TLSSocket>): { taken: number; answered: number } {
  const { mine, daemons } = queuesOf(socket.localPort ?? 0)
  return {
    taken: socket.bytesWritten - mine.unsent - daemons.unread,
    answered: socket.bytesRead + mine.unread + daemons.unsent,
  }
}

/** Writes until the daemon takes nothing more, however long a turn of it is; how many bytes were not written. */
async function flood(wire: Wire<TLSSocket>, bytes: Buffer): Promise<number> {
  const { socket } = wire
  for (let at = 0; at < bytes.length && !socket.destroyed; at += 65_536) {
    if (socket.write(bytes.subarray(at, at + 65_536))) continue
    const drained = new Promise<true>((resolve) => socket.once('drain', () => resolve(true)))
    for (let before = trafficOf(wire).taken; !(await Promise.race([drained, sleep(STILL_MS)])); ) {
      const { taken } = trafficOf(wire)
      if (taken === before) return bytes.length - at
      before = taken
    }
  }
  return 0
}

/** Resolves when nothing more has come for a while. */
async function allRead(wires: readonly Wire<TLSSocket>[]): Promise<void> {
  let lastMs = performance.now()
  for (const { socket } of wires) socket.on('data', () => (lastMs = performance.now()))
  await until('every answer', () => performance.now() - lastMs > STILL_MS)
}

/**
 * Whoever floods, and somebody else beside it. `perByte`: answers in bytes for each byte of requests, where none is read.
 * Returns what that was this time.
 */
async function everybody(t: Test, bytes: Buffer, perByte?: number): Promise<number> {
  const isRead = perByte === undefined
  const { port, fingerprint: pin } = daemon
  const other = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin })
  const wires = await Promise.all(Array.from({ length: FLOODERS }, () => known(daemon)))
  let [slowest, isFlooding] = [0, true]
  const watching = (async () => {
    while (isFlooding) {
      const begin = performance.now()
      await other.ping()
      slowest = Math.max(slowest, performance.now() - begin)
      await sleep(5)
    }
  })()
  if (!isRead) for (const { socket } of wires) socket.pause()
  const left = await Promise.all(wires.map((wire) => flood(wire, bytes)))
  if (isRead) await allRead(wires)
  isFlooding = false
  await watching
  t.comment(`slowest Ping of another caller ${slowest.toFixed(0)} ms`)
  const traffic = wires.map(trafficOf)
  if (!isRead) {
    t.ok(
      left.every((count) => count > 0),
      'they are not read any further',
    )
    const waiting = traffic.map(({ taken, answered }) => Math.round(taken - answered / perByte))
    t.ok(
      waiting.every((count) => count < WAITING_BYTES),
      `what was taken is answered, and has left: ${waiting} bytes have not`,
    )
  }
  for (const { socket } of wires) socket.destroy()
  await other.close()
  await isServed(t, daemon)
  const sum = (what: 'taken' | 'answered') => traffic.reduce((total, of) => total + of[what], 0)
  return sum('answered') / sum('taken')
}

for (const [what, method] of [
  ['Ping', PING],
  ['methods that nobody has', UNKNOWN],
] as const) {
  t.test(`an unread flood of requests for ${what} stops being read, and costs others nothing`, async (t) => {
    const perByte = await everybody(t, requests(method, REQUESTS / 4))
    await everybody(t, requests(method, REQUESTS), perByte)
  })
}

t.test('whoever reads again is answered in full', async (t) => {
  const wire = await known(daemon)
  wire.socket.pause()
  const count = 20_000
  wire.socket.write(requests(UNKNOWN, count))
  await sleep(500)
  wire.socket.resume()
  await until('every answer', () => framesIn(wire.received()).length === count + 1)
  t.pass('none is lost')
  wire.socket.destroy()
})

t.test(
  'one PING may be in flight: a second one before the answer has left ends the connection',
  async (t) => {
    const two = await known(daemon)
    two.socket.write(Buffer.concat([encodeFrame(0, 'PING', 1), encodeFrame(0, 'PING', 2)]))
    t.equal(await two.closed, 'reset')
    const one = await known(daemon)
    const pongs = () => framesIn(one.received()).filter(({ kind }) => kind === 'PONG')
    for (let nonce = 1; nonce <= 100; nonce++) {
      one.socket.write(encodeFrame(0, 'PING', nonce))
      await until('a PONG', () => pongs().length === nonce)
    }
    t.same(
      pongs().map(({ payload }) => payload),
      Array.from({ length: 100 }, (_, index) => index + 1),
      'one after the other is answered',
    )
    one.socket.destroy()
    await isServed(t, daemon)
  },
)
