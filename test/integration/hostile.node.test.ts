/**
 * Those whom nobody knows, against a real daemon: other protocols, broken handshakes, crowds, dawdlers.
 * Each gets what it should and nothing more; the next honest client is served at once.
 * @module
 */
import { createServer, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { UNAUTHENTICATED_CONNECTIONS } from '../../src/limits.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import {
  authenticateFrame,
  framesIn,
  type How,
  isServed,
  refusals,
  refusedOnce,
  tcp,
  tls,
  type Wire,
} from './connections.node.ts'
import { ON_REAL_FILES, startNew, until } from './daemon.node.ts'

/**
 * 128 places at the gate with a handshake begun in each, and a thousand sockets that the collector finds later. What
 * stayed behind of each of four thousand would be far more.
 */
const CROWD_KIB = 32 * 1_024
const GRACE_MS = 10_000

// Descriptors are counted: those of connections, not those of where commands run.
const daemon = await startNew(t, ON_REAL_FILES)
const { port } = daemon

/** The first bytes of an honest client. */
function clientHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const server = createServer((socket: Socket) => {
      socket.on('error', () => {})
      socket.once('data', (bytes: Buffer) => {
        resolve(bytes)
        socket.destroy()
        server.close()
      })
    })
    server.listen(0, '127.0.0.1', () => {
      const bound = server.address()
      const where = typeof bound === 'object' && bound !== null ? bound.port : 0
      connectTls({
        host: '127.0.0.1',
        port: where,
        ALPNProtocols: ['x-sakirpc-v5'],
        minVersion: 'TLSv1.3',
      }).on('error', () => {})
    })
  })
}

/** Sends one byte of `bytes` every 200 ms; how it ended, and after how long. */
async function dawdle(wire: Wire, bytes: Uint8Array, begin: number): Promise<{ how: How; ms: number }> {
  let at = 0
  const timer = setInterval(() => wire.socket.write(bytes.subarray(at, ++at)), 200)
  const how = await wire.closed
  clearInterval(timer)
  return { how, ms: performance.now() - begin }
}

const slow = await startNew(t)
const dawdlers = (async () => {
  const hello = await clientHello()
  const begin = performance.now()
  const greeted = await tls(slow.port)
  const silent = await tls(slow.port)
  const mute = tcp(slow.port)
  return Promise.all([
    dawdle(tcp(slow.port), hello, begin),
    dawdle(greeted, authenticateFrame(greeted.socket, 'agent', slow.seed()), begin),
    dawdle(silent, new Uint8Array(0), begin),
    dawdle(mute, new Uint8Array(0), begin),
  ])
})()

t.test('whatever is not TLS is reset without a byte of an answer', async (t) => {
  const openings: Record<string, string | Buffer> = {
    'an SSH client': 'SSH-2.0-OpenSSH_9.6\r\n',
    'a browser': 'GET / HTTP/1.1\r\nHost: device\r\n\r\n',
    'HTTP/2 in the clear': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'TLS of another kind of record': Buffer.from('1703030005', 'hex'),
    'a zero': Buffer.from([0]),
    noise: Buffer.alloc(100_000, 0xa5),
  }
  for (const [name, bytes] of Object.entries(openings)) {
    const attack = async (): Promise<void> => {
      const wire = tcp(port)
      wire.socket.write(bytes)
      t.equal(await wire.closed, 'reset', name)
      t.equal(wire.received().length, 0)
    }
    await refusedOnce(t, daemon, /response=DROP layer=transport rule=frame .*first byte/, attack)
  }
  await isServed(t, daemon)
})

t.test('only TLS 1.3 completes a handshake (SS-04)', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.1'] as const) {
    await refusedOnce(t, daemon, /response=DROP .*TLS handshake that failed/, async () => {
      const wire = await tls(port, { minVersion: 'TLSv1', maxVersion, ciphers: 'DEFAULT@SECLEVEL=0' })
      t.not(await wire.closed, 'fin')
      t.equal(wire.socket.getProtocol() === 'TLSv1.3' || wire.received().length > 0, false)
    })
  }
  await isServed(t, daemon)
})

t.test('both suites work, and no other does (SS-05)', async (t) => {
  for (const suite of ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']) {
    const wire = await tls(port, { ciphers: suite })
    t.equal(wire.socket.getCipher().standardName, suite)
    wire.socket.write(authenticateFrame(wire.socket, 'agent', daemon.seed()))
    await until('an answer', () => framesIn(wire.received()).length > 0)
    t.equal(framesIn(wire.received())[0]?.kind, 'END')
    wire.socket.destroy()
  }
  await refusedOnce(t, daemon, /response=DROP .*TLS handshake that failed/, async () => {
    const wire = await tls(port, { ciphers: 'TLS_AES_128_GCM_SHA256' })
    t.not(await wire.closed, 'fin')
  })
})

t.test('a handshake without the application protocol, or with another, is dropped (SS-07)', async (t) => {
  for (const ALPNProtocols of [[], ['h2'], ['http/1.1', 'x-sakirpc-v4']]) {
    await refusedOnce(
      t,
      daemon,
      /response=DROP layer=transport .*(application protocol|handshake)/,
      async () => {
        const wire = await tls(port, { ALPNProtocols })
        wire.socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
        t.not(await wire.closed, 'fin', `offering ${ALPNProtocols.join()}`)
        t.equal(wire.received().length, 0)
      },
    )
  }
  await isServed(t, daemon)
})

t.test('a handshake of noise is reset; one who comes and goes is no event at all', async (t) => {
  await refusedOnce(t, daemon, /response=DROP .*TLS handshake that failed/, async () => {
    const wire = tcp(port)
    wire.socket.write(Buffer.concat([Buffer.from('1603010200', 'hex'), Buffer.alloc(512, 0x5a)]))
    t.equal(await wire.closed, 'reset')
  })
  const before = refusals(daemon).length
  for (let round = 0; round < 20; round++) tcp(port).socket.destroy()
  const wire = await tls(port)
  wire.socket.end()
  t.equal(await wire.closed, 'fin')
  await isServed(t, daemon)
  t.equal(refusals(daemon).length, before)
})

t.test('a malformed frame before authentication is reset without a byte', async (t) => {
  const bodies: Record<string, string | Buffer> = {
    'a length over 1 KiB': '590401',
    'a length of 4 GiB': '5affffffff',
    'a length of 2^63': '5b8000000000000000',
    'an indefinite length': '5f41',
    'a reserved length': '5c',
    'a length that is not the shortest': '5805',
    'an empty frame': '40',
    'no byte string': '8301',
    'over 4 KiB in all': Buffer.concat([Buffer.from('590400', 'hex'), Buffer.alloc(5_000)]),
    'a body that is no CBOR': '42ff00',
    'an unknown kind': '4483010900',
    'a STATUS from a client': '468301 03a10100'.replace(' ', ''),
    'a CREDIT too early': '4483010400',
    'a PING too early': '4483000600',
    'a GOAWAY': '468300 08a10100'.replace(' ', ''),
    'a MSG on a stream that was never open': '44830101a0',
    'an even stream': Buffer.from(encodeFrame(2, 'OPEN', new Map(), 8)),
  }
  for (const [name, bytes] of Object.entries(bodies)) {
    await refusedOnce(t, daemon, /response=DROP layer=transport rule=frame/, async () => {
      const wire = await tls(port)
      wire.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'hex') : bytes)
      t.equal(await wire.closed, 'reset', name)
      t.equal(wire.received().length, 0)
    })
  }
  await isServed(t, daemon)
})

t.test('an address that is not allowed is reset before a byte', async (t) => {
  const device = await startNew(t, { acl: { allow: ['10.0.0.0/8'] } })
  for (const start of [() => tcp(device.port), () => tls(device.port)]) {
    const wire = await start()
    t.equal(await wire.closed, 'reset')
    t.equal(wire.received().length, 0)
  }
  const status = JSON.parse((await device.cli(['status', '--json'])).stdout.toString())
  t.equal(status.responses.R6, 2)
  t.equal(refusals(device).filter((line) => line.includes('layer=acl rule=acl.allow')).length, 2)
  t.equal((await device.cli(['exec', '--', 'true'])).code, 255)
})

t.test('a thousand half-open connections keep nobody out and leave nothing behind', async (t) => {
  await isServed(t, daemon)
  const descriptors = daemon.descriptors()
  const before = daemon.anonymousKib()
  const most: number[] = []
  for (let round = 0; round < 4; round++) {
    const wires = Array.from({ length: 1_000 }, () => tcp(port))
    let gone = 0
    for (const { closed } of wires) void closed.then(() => gone++)
    // The oldest at the gate makes room for the newest, so an honest one has to be faster than those still to come.
    await until('the whole crowd', () => gone >= 1_000 - UNAUTHENTICATED_CONNECTIONS)
    await Promise.all([isServed(t, daemon), isServed(t, daemon), isServed(t, daemon)])
    for (const [index, { socket }] of wires.entries()) {
      if (index % 2 === 0) socket.write(Buffer.from('16030102000100', 'hex'))
    }
    await isServed(t, daemon)
    most.push(daemon.anonymousKib() - before)
    t.ok(
      daemon.descriptors() <= descriptors + UNAUTHENTICATED_CONNECTIONS + 4,
      'no more than the gate has places',
    )
    for (const { socket } of wires) socket.destroy()
    await until('the descriptors of all of them', () => daemon.descriptors() <= descriptors)
  }
  t.comment(`daemon: ${before} KiB before; with a crowd of a thousand ${most.join(', ')} KiB more`)
  t.ok(Math.max(...most) < CROWD_KIB)
})

t.test('who dawdles over handshake or proof is cut off after the grace of 10 s', async (t) => {
  await isServed(t, slow)
  for (const { how, ms } of await dawdlers) {
    t.equal(how, 'reset')
    t.ok(ms > GRACE_MS - 1_000 && ms < GRACE_MS + 20_000, `after ${Math.round(ms)} ms`)
  }
  const late = slow.log().filter((line) => line.includes('rule=login_grace'))
  t.equal(late.length, 4, 'one line each')
  await isServed(t, slow)
})
