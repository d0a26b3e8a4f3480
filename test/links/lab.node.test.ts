import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createRandom } from '../fuzz/engine.ts'
import { until } from '../integration/daemon.node.ts'
import { type Lab, startLab } from './lab.node.ts'
import { unacknowledgedBytes } from './small-buffers.node.ts'

const host = '127.0.0.1'

function noise(bytes: number, seed = 1): Buffer {
  const random = createRandom(seed)
  return Buffer.from(Uint8Array.from({ length: bytes }, () => random.below(256)))
}

/** A server that does `serve` with each connection. */
async function server(t: Test, serve: (socket: Socket) => void): Promise<{ host: string; port: number }> {
  const listening = createServer({ allowHalfOpen: true }, (socket) => {
    t.teardown(() => socket.destroy())
    // The laboratory ends before the server does.
    socket.on('error', () => undefined)
    serve(socket)
  })
  listening.listen(0, host)
  t.teardown(() => listening.close())
  await once(listening, 'listening')
  return { host, port: (listening.address() as AddressInfo).port }
}

async function lab(t: Test, serve: (socket: Socket) => void): Promise<Lab> {
  const made = await startLab({ target: await server(t, serve), seed: 1 })
  t.teardown(() => made.close())
  return made
}

type End = { readonly socket: Socket; bytes: Buffer; how: 'open' | 'fin' | 'rst' }

/** One end of a connection: what came, and how it ended. */
function end(t: Test, socket: Socket): End {
  const state: End = { socket, bytes: Buffer.alloc(0), how: 'open' }
  socket.on('data', (bytes: Buffer) => {
    state.bytes = Buffer.concat([state.bytes, bytes])
  })
  socket.on('end', () => {
    state.how = 'fin'
  })
  socket.on('error', () => {
    state.how = 'rst'
  })
  t.teardown(() => socket.destroy())
  return state
}

const dial = (t: Test, port: number) => end(t, connect({ port, host, allowHalfOpen: true }))

t.test('bytes arrive unchanged both ways and are counted, whatever the link does to them', async (t) => {
  const bytes = noise(300_000)
  const { port, link, counts, countsOf } = await lab(t, (socket) => socket.pipe(socket))
  link.setDelay(3, 5)
  link.setRate(3_000_000)
  const client = dial(t, port)
  client.socket.end(bytes)
  await until('a third of it', () => counts().down > 100_000)
  link.stall()
  const { down } = counts()
  await new Promise((resolve) => setTimeout(resolve, 30))
  t.equal(counts().down, down, 'nothing passes a stalled link')
  link.go()
  link.setRate(undefined)
  await until('the end', () => client.how === 'fin')
  t.equal(
    createHash('sha256').update(client.bytes).digest('hex'),
    createHash('sha256').update(bytes).digest('hex'),
  )
  t.match(counts(), { up: 300_000, down: 300_000, connections: 1 })
  t.strictSame(countsOf(0), { up: 300_000, down: 300_000 })
  await until('no connection is left', () => counts().open === 0)
})

t.test('a cut comes after exactly so many bytes, of the connection that was named', async (t) => {
  for (const how of ['rst', 'fin'] as const)
    for (const direction of ['up', 'down'] as const)
      for (const bytes of [0, 1, 1_447, 1_448, 1_449, 20_000]) {
        const served: End[] = []
        const { port, link, counts, close } = await lab(t, (socket) => {
          served.push(end(t, socket))
          socket.write(noise(30_000, 2))
        })
        link.cutAfter({ direction, bytes, connection: 1, how })
        const first = dial(t, port)
        await until('the first connection', () => served.length === 1)
        const second = dial(t, port)
        second.socket.write(noise(30_000, 3))
        await until('both ends', () => served[1]?.how === how && second.how === how)
        const [got, sent] = direction === 'up' ? [served[1]?.bytes, 3] : [second.bytes, 2]
        t.strictSame(got, noise(30_000, sent).subarray(0, bytes), `${direction} ${bytes} ${how}`)
        t.equal(first.how, 'open')
        t.ok(counts()[direction] >= bytes)
        await close()
      }
})

t.test('a cut of a connection that there is counts from its beginning', async (t) => {
  const served: End[] = []
  const { port, link, counts } = await lab(t, (socket) => served.push(end(t, socket)))
  const client = dial(t, port)
  client.socket.write(noise(100))
  await until('the first bytes', () => counts().up === 100)
  t.throws(() => link.cutAfter({ direction: 'up', bytes: 99 }), /100|arrived/)
  link.cutAfter({ direction: 'up', bytes: 150 })
  client.socket.write(noise(100))
  await until('the cut', () => client.how === 'rst' && served[0]?.how === 'rst')
  t.equal(served[0]?.bytes.length, 150)
  const next = dial(t, port)
  next.socket.write('x')
  await until('the next', () => served[1]?.bytes.length === 1)
  link.cut('fin')
  await until('its end', () => next.how === 'fin' && served[1]?.how === 'fin')
})

t.test('a connection that fell silent swallows everything, and new ones work', async (t) => {
  const served: End[] = []
  const { port, link, counts } = await lab(t, (socket) => served.push(end(t, socket)))
  const client = dial(t, port)
  client.socket.write('before')
  await until('the first bytes', () => served[0]?.bytes.length === 6)
  link.halfOpen()
  client.socket.write(noise(1_000_000))
  served[0]?.socket.write(noise(1_000_000))
  await until('both were swallowed', () => client.socket.writableLength === 0)
  served[0]?.socket.resetAndDestroy()
  const next = dial(t, port)
  next.socket.write('after')
  await until('the next', () => served[1]?.bytes.length === 5)
  t.match(client, { bytes: Buffer.alloc(0), how: 'open' })
  t.match(counts(), { up: 11, down: 0, connections: 2, open: 2 })
  link.halfOpen('client')
  await until('one side knows', () => next.how === 'rst')
  served[1]?.socket.write(noise(100_000))
  await until('the other does not', () => served[1]?.socket.writableLength === 0)
  t.equal(served[1]?.how, 'open')
})

t.test('what a link has no room for stays with its sender', async (t) => {
  const { port, link, counts } = await lab(t, (socket) => socket.resume())
  const client = dial(t, port)
  client.socket.write('x')
  await until('the first byte', () => counts().up === 1)
  link.stall()
  client.socket.write(noise(40_000))
  await until('the sender is stuck', () => {
    const unsent = unacknowledgedBytes(client.socket)
    return unsent > 20_000 && unsent < 40_000
  })
  t.equal(counts().up, 1)
  link.go()
  await until('all of it', () => counts().up === 40_001)
})

t.test('a receiver that does not read holds its sender back', async (t) => {
  const { port, counts } = await lab(t, (socket) => socket.pause())
  const client = dial(t, port)
  client.socket.write(Buffer.alloc(64 * 1_048_576))
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.ok(counts().up < 16 * 1_048_576, `${counts().up} bytes were taken`)
})

t.test('connections are refused as often as was said, and ends that are gone are told', async (t) => {
  const { port, link, aim, counts } = await lab(t, (socket) => socket.end('hello'))
  link.refuse(2)
  const refused = [dial(t, port), dial(t, port)]
  await until('both are reset', () => refused.every(({ how }) => how === 'rst'))
  const served = dial(t, port)
  await until('the third is served', () => served.how === 'fin')
  t.equal(served.bytes.toString(), 'hello')
  t.equal(counts().connections, 1)
  link.refuse()
  const third = dial(t, port)
  await until('it is reset', () => third.how === 'rst')
  link.admit()
  aim({ host, port: 1 })
  const nobody = dial(t, port)
  await until('a reset where nothing listens', () => nobody.how === 'rst')
})

t.test('nothing of a client arrives before the way back has been gone once', async (t) => {
  const served: End[] = []
  const { port, link, counts } = await lab(t, (socket) => served.push(end(t, socket)))
  link.stall('down')
  const client = dial(t, port)
  client.socket.write('first')
  await until('the other side knows of it', () => served.length === 1)
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(counts().up, 0)
  link.go()
  await until('its first bytes', () => served[0]?.bytes.length === 5)
})
