/**
 * What a link carries, with a real daemon: flights of the handshake and of a reconnect, compressed output, the counts
 * that `status` tells, and a connection on which nothing happens.
 * @module
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dayBytes, exchangeBytes, pingsOfDay } from '../../bench/bytes.node.ts'
import { startFlightCounter } from '../../bench/flights.node.ts'
import { startRelay } from '../../bench/relay.node.ts'
import { type Client, type ConnectOptions, connect } from '../../src/client/client.node.ts'
import { KEEPALIVE_MAX_MS, KEEPALIVE_MS } from '../../src/limits.ts'
import { startLab } from '../links/lab.node.ts'
import { type Daemon, install, type Json, startDaemon, startNew, until } from './daemon.node.ts'

const plain = await startNew(t)
const metered = await startNew(t, { listen: { profile: 'metered' } })

function enter(daemon: Daemon, more: Partial<ConnectOptions> & { port?: number } = {}): Promise<Client> {
  const { port, fingerprint: pin } = daemon
  return connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin, ...more })
}

type Link = { readonly today: Carried; readonly sessions: readonly (Carried & { readonly agent: string })[] }
type Carried = { readonly received_bytes: number; readonly sent_bytes: number }

/** What `status` tells of the link; asked over the admin socket, which is none. */
async function linkOf(daemon: Daemon): Promise<Link> {
  const { stdout } = await daemon.cli(['status', '--json'])
  return (JSON.parse(stdout.toString()) as Json)['link'] as Link
}

/** Once nothing more is on its way. */
async function settledLink(daemon: Daemon): Promise<Link> {
  let last = await linkOf(daemon)
  await until('a link that is quiet', async () => {
    const before = last
    last = await linkOf(daemon)
    return before.today.received_bytes === last.today.received_bytes
  })
  return last
}

t.test(
  'whatever either side prefers there is no second hello: three flights each way to the first exit',
  async (t) => {
    for (const daemon of [plain, metered]) {
      for (const groups of ['default', 'metered'] as const) {
        const counter = await startFlightCounter({ host: '127.0.0.1', port: daemon.port })
        const client = await enter(daemon, { port: counter.port, groups })
        await client.execute('true')
        const sides = counter.connections[0]?.map(({ from }) => from)
        t.strictSame(sides, ['client', 'server', 'client', 'server', 'client', 'server'], groups)
        const bytes = counter.connections[0]?.reduce((sum, flight) => sum + flight.bytes, 0) ?? 0
        t.ok(bytes < (groups === 'default' ? 4_300 : 1_900), `${bytes} bytes`)
        await client.close()
        await counter.stop()
      }
    }
  },
)

t.test(
  'a first command goes with the authentication: three round trips to its exit, that of TCP included',
  async (t) => {
    for (const daemon of [plain, metered]) {
      const counter = await startFlightCounter({ host: '127.0.0.1', port: daemon.port })
      const output: Buffer[] = []
      const options = { output: (_source: string, bytes: Uint8Array) => void output.push(Buffer.from(bytes)) }
      const first = { command: 'sh', args: ['-c', 'seq 300; exit 7'], options }
      const client = await enter(daemon, { port: counter.port, first })
      t.equal((await client.first?.exit)?.exitCode, 7)
      t.equal(Buffer.concat(output).toString().split('\n').length, 301)
      const sides = counter.connections[0]?.map(({ from }) => from).slice(0, 4)
      t.strictSame(sides, ['client', 'server', 'client', 'server'])
      t.equal((await client.execute('true')).exitCode, 0, 'and it goes on as ever')
      await client.close()
      await counter.stop()
    }
  },
)

t.test('a first command of somebody who is not let in is not begun', async (t) => {
  const marker = join(t.testdir(), 'ran')
  const first = { command: 'touch', args: [marker], options: { output() {} } }
  await t.rejects(enter(plain, { privateKey: new Uint8Array(32).fill(9), first, reconnect: false }), {
    code: 'CONNECT_FAILED',
  })
  t.notOk(existsSync(marker))
})

t.test('a first command that no frame holds is refused, and its connection is not left open', async (t) => {
  const environment = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, index) => [`NAME_${index}`, 'x'.repeat(2_000)]),
  )
  const first = { command: 'true', args: [], options: { output() {}, environment } }
  const before = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  await t.rejects(enter(plain, { first, reconnect: false }), { code: 'USAGE', message: /not sent/ })
  await until('its end', () => {
    return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length <= before
  })
})

t.test('who comes back asks in the same flight: three round trips to the first byte', async (t) => {
  const lab = await startLab({ target: { host: '127.0.0.1', port: plain.port }, seed: 1 })
  const counter = await startFlightCounter({ host: '127.0.0.1', port: lab.port })
  const client = await enter(plain, { port: counter.port })
  const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
  let text = ''
  const output = (_source: string, bytes: Uint8Array) => {
    text += Buffer.from(bytes).toString()
    one.resolve()
    const asked = counter.connections.at(-1)?.filter(({ from }) => from === 'client') ?? []
    if (text.endsWith('two\n')) two.resolve(asked.length)
  }
  const running = client.stream('sh', ['-c', 'echo one; sleep 2; echo two; exec sleep 60'], { output })
  await one.promise
  lab.link.cut()
  t.equal(await two.promise, 2, 'the hello, and all the rest')
  t.equal(text, 'one\ntwo\n')
  t.equal(counter.connections.length, 2)
  await client.cancel(running.id)
  await client.close()
  await counter.stop()
  await lab.close()
})

t.test('status tells what the link has carried, to the byte, by session and for the day', async (t) => {
  const before = await settledLink(plain)
  const relay = await startRelay({ host: '127.0.0.1', port: plain.port })
  const client = await enter(plain, { port: relay.port })
  await client.execute('head', ['-c', '100000', '/dev/urandom'])
  const link = await settledLink(plain)
  const { toServer, toClient } = relay.counts()
  t.equal(link.today.received_bytes - before.today.received_bytes, toServer)
  t.equal(link.today.sent_bytes - before.today.sent_bytes, toClient)
  t.ok(toClient > 100_000)
  const agents = link.sessions.filter(({ agent }) => agent === 'agent')
  t.match(agents, [{ received_bytes: toServer, sent_bytes: toClient }])
  const { session, today, sessions } = await client.status()
  t.ok((session?.received ?? 0) >= toServer && (session?.sent ?? 0) >= toClient, 'an agent hears of its own')
  t.strictSame([today, sessions], [undefined, []], 'and of nothing else')
  const said = (await plain.cli(['status'])).stdout.toString()
  t.match(said, /^link {7}received [\d.]+ k?B, sent [\d.]+ k?B since \d{4}-\d\d-\d\dT\d\d:\d\dZ$/m)
  t.match(said, /^ {11}received [\d.]+ kB, sent [\d.]+ kB in session [0-9a-f]{8} of agent$/m)
  const own = (await plain.cli(['status', '--agent', 'agent'])).stdout.toString()
  t.match(own, /^link {7}received [\d.]+ k?B, sent [\d.]+ k?B in this session$/m)
  await client.close()
  await relay.stop()
})

t.test('it goes on where it was after a restart', async (t) => {
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  const client = await enter(daemon)
  await client.execute('true')
  await client.close()
  const before = await settledLink(daemon)
  await daemon.stop()
  const { today } = await linkOf(await startDaemon(t, directory))
  t.ok(today.sent_bytes >= before.today.sent_bytes && today.sent_bytes > 1_000, `${today.sent_bytes} bytes`)
})

t.test('-z gives the same bytes, and sends less than half of them', async (t) => {
  const script = 'seq -f "line %g of a text that says much the same again and again" 1 20000'
  const sent = async (option: string) => {
    const before = await settledLink(plain)
    const { stdout, code } = await plain.cli(['exec', option, '--', 'sh', '-c', script])
    t.equal(code, 0)
    const after = await settledLink(plain)
    return { stdout, bytes: after.today.sent_bytes - before.today.sent_bytes }
  }
  const packed = await sent('-z')
  const whole = await sent('--no-compress')
  t.ok(packed.stdout.equals(whole.stdout))
  t.ok(whole.bytes > whole.stdout.length)
  t.ok(packed.bytes < whole.bytes / 2, `${packed.bytes} and ${whole.bytes} bytes`)
  const both = await plain.cli(['exec', '-z', '--no-compress', '--', 'true'])
  t.equal(both.code, 125)
})

t.test('a slow link is found out, and has output compressed by itself', async (t) => {
  const down = async (compression: ConnectOptions['compression']) => {
    const lab = await startLab({ target: { host: '127.0.0.1', port: plain.port }, seed: 1 })
    lab.link.setRate(10_000)
    const client = await enter(plain, { port: lab.port, compression })
    const { stdout } = await client.execute('seq', ['-f', 'line %g of a text', '1', '800'])
    t.equal(stdout.length, 15_092)
    await client.close()
    await lab.close()
    return lab.counts().down
  }
  const byItself = await down(undefined)
  const never = await down('never')
  t.ok(byItself < never / 2, `${byItself} and ${never} bytes`)
})

t.test(
  'compressed output over a link that breaks again and again is complete, every byte once',
  async (t) => {
    const lab = await startLab({ target: { host: '127.0.0.1', port: plain.port }, seed: 1 })
    const cuts = 12
    // Each one a little later: after the handshake, and somewhere in the frame.
    for (let connection = 0; connection < cuts; connection++)
      lab.link.cutAfter({ direction: 'down', bytes: 4_000 + connection * 301, connection })
    const client = await enter(plain, { port: lab.port, compression: 'always' })
    const pieces: Buffer[] = []
    const running = client.stream('seq', ['1', '7919', '300000000'], {
      output(_, bytes) {
        pieces.push(Buffer.from(bytes))
      },
    })
    const { exitCode } = await running.exit
    t.equal(exitCode, 0)
    const wanted = Array.from({ length: 37_884 }, (_, index) => `${1 + index * 7_919}\n`).join('')
    t.equal(Buffer.concat(pieces).toString(), wanted)
    t.equal(lab.counts().connections, cuts + 1)
    t.ok(lab.counts().down < wanted.length, `${lab.counts().down} bytes`)
    await client.close()
    await lab.close()
  },
)

t.test(
  'a device whose link is paid by the byte says so, and its clients have output compressed',
  async (t) => {
    const before = await settledLink(metered)
    const client = await enter(metered)
    const { stdout } = await client.execute('seq', ['1', '20000'])
    t.equal(stdout.length, 108_894)
    await client.close()
    const after = await settledLink(metered)
    t.ok(after.today.sent_bytes - before.today.sent_bytes < stdout.length / 2)
  },
)

t.test(
  'a day on which nothing happens costs at most 0.35 MB, 0.08 where it is paid by the byte',
  async (t) => {
    const hasty = await startNew(t, { session: { keepalive_seconds: 1 } })
    const relay = await startRelay({ host: '127.0.0.1', port: hasty.port })
    const client = await enter(hasty, { port: relay.port })
    const exchange = await exchangeBytes(client, relay)
    await client.close()
    await relay.stop()
    t.ok(dayBytes(pingsOfDay(KEEPALIVE_MS), exchange) <= 350_000)
    t.ok(dayBytes(24 * 60, exchange) <= 350_000, 'also where every answer is late')
    t.ok(dayBytes(pingsOfDay(KEEPALIVE_MAX_MS), exchange) <= 80_000)
  },
)
