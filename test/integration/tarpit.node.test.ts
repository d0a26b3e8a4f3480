/**
 * Slow noise for whoever cannot prove who it is: what it looks like from outside, whom it holds and for how long.
 * @module
 */
import t from 'tap'
import { encodeFrame, type Frame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { authenticateFrame, framesIn, isServed, refusals, tls } from './connections.node.ts'
import { startNew, until } from './daemon.node.ts'

const CHUNK_BYTES = 256
const CHUNKS = 4
const TARPIT = { chunk_bytes: CHUNK_BYTES, total_bytes: CHUNK_BYTES * CHUNKS, delay_ms: 400 }

const daemon = await startNew(t, { defense: { tarpit: TARPIT } })
const { port } = daemon

/** Noise as a tarpit sends it: every frame the same, shaped like output, without a text. */
function isNoise(frames: readonly Frame[]): boolean {
  return frames.every(({ stream, kind, payload }) => {
    const message = payload as ReadonlyMap<number, unknown>
    const data = message.get(2)
    return (
      stream === 1 &&
      kind === 'MSG' &&
      message.size === 2 &&
      message.get(1) === 0 &&
      data instanceof Uint8Array &&
      data.length === CHUNK_BYTES
    )
  })
}

t.test('a forged, foreign or replayed proof, and any request before one, gets slow noise', async (t) => {
  const seed = daemon.seed()
  const operator = daemon.seed('operator')
  let captured = new Uint8Array(0)
  const honest = await tls(port)
  captured = authenticateFrame(honest.socket, 'agent', seed) as typeof captured
  honest.socket.write(captured)
  await until('an answer', () => framesIn(honest.received()).length > 0)
  t.equal(framesIn(honest.received())[0]?.kind, 'END', 'on its own connection the proof is good')
  honest.socket.destroy()

  const attacks: Record<string, (wire: Awaited<ReturnType<typeof tls>>) => Uint8Array> = {
    AUTH_SIGNATURE_INVALID: ({ socket }) =>
      authenticateFrame(socket, 'agent', seed, { signature: new Uint8Array(64).fill(1) }),
    'AUTH_SIGNATURE_INVALID, replayed': () => captured,
    'AUTH_KEY_NOT_FOUND, another’s name': ({ socket }) => authenticateFrame(socket, 'agent', operator),
    'AUTH_KEY_NOT_FOUND, nobody’s name': ({ socket }) => authenticateFrame(socket, 'nobody', seed),
    'AUTH_INVALID, incomplete': () => encodeFrame(1, 'OPEN', new Map([[1, 'agent']]), 8),
    'AUTH_REQUIRED, Ping': () => encodeFrame(1, 'OPEN', new Map(), 11),
    'LOCALHOST_UNAUTHORIZED, Execute': () =>
      encodeFrame(1, 'OPEN', executeRequest.encode({ command: 'touch', args: ['x'] }), 1),
  }
  const audited = daemon.audit().length
  const lines = refusals(daemon).length
  const seen = Object.entries(attacks).map(async ([name, attack]) => {
    const wire = await tls(port)
    wire.socket.write(attack(wire))
    const begin = performance.now()
    t.equal(await wire.closed, 'fin', name)
    const frames = framesIn(wire.received())
    t.equal(frames.length, CHUNKS)
    t.ok(isNoise(frames))
    t.ok(performance.now() - begin > TARPIT.delay_ms * (CHUNKS - 1))
  })
  await Promise.all([...seen, isServed(t, daemon)])
  t.equal(refusals(daemon).length - lines, seen.length, 'one line each')
  const codes = daemon
    .audit()
    .slice(audited)
    .filter(({ response }) => response === 'R5')
    .map(({ code }) => String(code))
  const expected = Object.keys(attacks).map((name) => name.replace(/,.*/, ''))
  // Who has not even tried to prove anything is counted, not written: a scanner must not fill the disk.
  t.same(codes.sort(), expected.filter((code) => code !== 'AUTH_REQUIRED').sort())
})

t.test('the tarpit holds 32; whoever comes next is reset (SS-43)', async (t) => {
  const wires = await Promise.all(Array.from({ length: 40 }, () => tls(port)))
  for (const { socket } of wires) socket.write(encodeFrame(1, 'OPEN', new Map(), 11))
  await isServed(t, daemon)
  const ends = await Promise.all(
    wires.map(async (wire) => ({ how: await wire.closed, bytes: wire.received() })),
  )
  const held = ends.filter(({ how }) => how === 'fin')
  t.equal(held.length, 32)
  t.ok(held.every(({ bytes }) => framesIn(bytes).length === CHUNKS))
  const dropped = ends.filter(({ how }) => how === 'reset')
  t.equal(dropped.length, 8)
  t.ok(dropped.every(({ bytes }) => bytes.length === 0))
})

t.test('who does not read the noise is let go when a write is not taken in time (SS-44)', async (t) => {
  const tarpit = { delay_ms: 1, send_timeout_ms: 2_000 }
  const device = await startNew(t, { defense: { tarpit } })
  const held = async (): Promise<number> =>
    JSON.parse((await device.cli(['status', '--json'])).stdout.toString()).active_tarpits
  await isServed(t, device)
  const idle = device.descriptors()
  const wire = await tls(device.port)
  wire.socket.pause()
  wire.socket.write(encodeFrame(1, 'OPEN', new Map(), 11))
  await until('a place in the tarpit', async () => (await held()) === 1)
  await until('the end of its place', async () => (await held()) === 0)
  t.equal(wire.socket.destroyed, false, 'the peer has done nothing')
  await until('its descriptor', () => device.descriptors() <= idle)
  wire.socket.resume()
  t.equal(await wire.closed, 'reset')
})
