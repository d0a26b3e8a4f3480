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
/**
 * What may wait for five connections is under 1 MiB; the rest is when Node's heap is collected: how large it gets differs
 * by some 25 MiB from one time to the next. A pile of answers was 124 MiB.
 */
const GROWTH_KIB = 60 * 1_024
/** More than the kernel keeps for one connection, both ways. */
const REQUESTS = 1_500_000
/** Nothing is taken for so long: nobody reads any more. */
const STILL_MS = 1_000

const daemon = await startNew(t, { ...ON_REAL_FILES, session: { max_per_agent: null } })

/** One frame after the other, their streams counted from 3 on. */
function requests(method: number, count: number): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, index) => encodeFrame(3 + 2 * index, 'OPEN', new Map(), method)),
  )
}

/** Writes until nothing more is taken; how many bytes were not. */
async function flood({ socket }: Wire<TLSSocket>, bytes: Buffer): Promise<number> {
  for (let at = 0; at < bytes.length && !socket.destroyed; at += 65_536) {
    if (socket.write(bytes.subarray(at, at + 65_536))) continue
    const isTaken = await Promise.race([
      new Promise<boolean>((resolve) => socket.once('drain', () => resolve(true))),
      sleep(STILL_MS).then(() => false),
    ])
    if (!isTaken) return bytes.length - at
  }
  return 0
}

const rssKib = (): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${daemon.pid}/status`, 'utf8'))?.[1] ?? 0)

/** Resolves when nothing more has come for a while. */
async function allRead(wires: readonly Wire<TLSSocket>[]): Promise<void> {
  let lastMs = performance.now()
  for (const { socket } of wires) socket.on('data', () => (lastMs = performance.now()))
  await until('every answer', () => performance.now() - lastMs > STILL_MS)
}

/** `usual`: how large the daemon got while the answers were read. Returns how large it was this time, in KiB. */
async function everybody(t: Test, bytes: Buffer, usual?: number): Promise<number> {
  const isRead = usual === undefined
  const { port, fingerprint: pin } = daemon
  const other = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin })
  const wires = await Promise.all(Array.from({ length: FLOODERS }, () => known(daemon)))
  let [largest, slowest, isFlooding] = [0, 0, true]
  const watching = (async () => {
    while (isFlooding) {
      const begin = performance.now()
      await other.ping()
      slowest = Math.max(slowest, performance.now() - begin)
      largest = Math.max(largest, rssKib())
      await sleep(5)
    }
  })()
  if (!isRead) for (const { socket } of wires) socket.pause()
  const left = await Promise.all(wires.map((wire) => flood(wire, bytes)))
  if (isRead) await allRead(wires)
  isFlooding = false
  await watching
  t.comment(`${largest} KiB at most; slowest Ping of another caller ${slowest.toFixed(0)} ms`)
  if (!isRead) {
    t.ok(
      left.every((count) => count > 0),
      'they are not read any further',
    )
    t.ok(largest - usual < GROWTH_KIB, 'the answers do not pile up')
  }
  for (const { socket } of wires) socket.destroy()
  await other.close()
  await isServed(t, daemon)
  return largest
}

for (const [what, method] of [
  ['Ping', PING],
  ['methods that nobody has', UNKNOWN],
] as const) {
  t.test(`an unread flood of requests for ${what} stops being read, and costs others nothing`, async (t) => {
    const usual = await everybody(t, requests(method, REQUESTS / 4))
    await everybody(t, requests(method, REQUESTS), usual)
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
