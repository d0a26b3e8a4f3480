import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, createServer, Socket } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createClock } from '../../../src/edge/host/clock.node.ts'
import { createRelay } from '../../../src/egress/relay/relay.node.ts'
import { relayConnection } from '../../../src/egress/relay/relay-connection.node.ts'
import type { RelayReport } from '../../../src/egress/relay/relay-messages.ts'
import { duplicate, received, serve } from '../gate-world.node.ts'

type Handled = { readonly _handle?: { readonly fd?: number } | null }

/** A connection: the client's side, and the descriptor of the other. */
async function pair(): Promise<{ client: Socket; fd: number }> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const place = server.address()
  const client = connect(typeof place === 'object' ? (place?.port ?? 0) : 0, '127.0.0.1')
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const fd = duplicate((socket as unknown as Handled)._handle?.fd ?? -1)
  socket.destroy()
  server.close()
  return { client, fd }
}

function relayOf() {
  const reports: RelayReport[] = []
  const relay = createRelay(undefined, createClock(), (report) => reports.push(report))
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { relay, reports, until }
}

/** A relay, and a server that gives back what it is sent. */
async function echoing(t: Test) {
  const upstream = await serve((socket) => socket.pipe(socket))
  if (upstream === undefined) throw new Error('no server')
  const { relay, reports, until } = relayOf()
  t.teardown(async () => {
    upstream.server.close()
    await relay.close()
  })
  return { upstream, relay, reports, until }
}

const NONE = { kind: 'none' } as const

t.test('bytes pass to the first address that answers, and are counted', async (t) => {
  const { upstream, relay, reports, until } = await echoing(t)
  relay.prepare()
  const { client, fd } = await pair()
  const addresses = ['127.0.0.2', '127.0.0.1']
  relay.connect({ id: 7, fd, addresses, port: upstream.port, guard: NONE, leaseBytes: undefined })
  const bytes = Buffer.alloc(2_000_000, 'abc')
  client.end(bytes)
  const { text } = await received(client)
  t.ok(text === bytes.toString('latin1'))
  await until(() => reports.length > 0)
  t.strictSame(reports, [
    {
      kind: 'closed',
      id: 7,
      address: '127.0.0.1',
      sentBytes: 2_000_000,
      receivedBytes: 2_000_000,
      reason: undefined,
    },
  ])
})

t.test('what is let passes, and then more is asked for', async (t) => {
  const { upstream, relay, reports, until } = await echoing(t)
  const { client, fd } = await pair()
  relay.connect({ id: 1, fd, addresses: ['127.0.0.1'], port: upstream.port, guard: NONE, leaseBytes: 100 })
  client.end(Buffer.alloc(50_000))
  let bytes = 0
  client.on('data', (part) => {
    bytes += part.length
  })
  await until(() => reports.length === 1)
  t.strictSame(reports, [{ kind: 'lease', id: 1 }])
  t.ok(bytes <= 32_768, 'a buffer of the other way at most')
  relay.grant(1, 1_000_000)
  await until(() => bytes === 50_000)
  await until(() => reports.length === 2)
  t.match(reports[1], { kind: 'closed', sentBytes: 50_000, receivedBytes: 50_000, reason: undefined })
})

t.test('a client that is guarded and silent, or wrong, never comes to the server', async (t) => {
  const upstream = await serve(() => {})
  if (upstream === undefined) throw new Error('no server')
  const { relay, reports, until } = relayOf()
  t.teardown(async () => {
    upstream.server.close()
    await relay.close()
  })
  const guard = { kind: 'tls', name: 'a.example' } as const
  const plan = { addresses: ['127.0.0.1'], port: upstream.port, guard, leaseBytes: undefined }
  const [silent, wrong, reset] = [await pair(), await pair(), await pair()]
  for (const [id, { fd }] of [silent, wrong, reset].entries()) relay.connect({ id, fd, ...plan })
  silent.client.end()
  wrong.client.write('GET / HTTP/1.1\r\n')
  t.strictSame(await received(wrong.client), { text: '', isReset: true })
  relay.reset(2, 'delisted')
  t.strictSame(await received(reset.client), { text: '', isReset: true })
  await until(() => reports.length === 3)
  const reasons = reports.map((report) => (report.kind === 'closed' ? `${report.id} ${report.reason}` : ''))
  t.strictSame(reasons.sort(), ['0 silent', '1 not_tls', '2 delisted'])
  t.equal(upstream.connections(), 0)
})

t.test('what the thread had when it ended is lost, and another one is started', async (t) => {
  const upstream = await serve((socket) => socket.write('hello'))
  if (upstream === undefined) throw new Error('no server')
  const { relay, reports, until } = relayOf()
  t.teardown(async () => {
    upstream.server.close()
    await relay.close()
  })
  const plan = { addresses: ['127.0.0.1'], port: upstream.port, guard: NONE, leaseBytes: undefined }
  const first = await pair()
  relay.connect({ id: 1, fd: first.fd, ...plan })
  await once(first.client, 'data')
  await relay.close()
  await until(() => reports.length === 1)
  t.match(reports, [{ kind: 'closed', id: 1, reason: 'lost' }])
  const second = await pair()
  relay.connect({ id: 2, fd: second.fd, ...plan })
  const [bytes] = (await once(second.client, 'data')) as [Buffer]
  t.equal(bytes.toString(), 'hello')
  second.client.resetAndDestroy()
  await until(() => reports.length === 2)
})

t.test('the thread alone yields to others', async (t) => {
  const { relay, reports, until } = relayOf()
  t.teardown(relay.close)
  const { client, fd } = await pair()
  relay.connect({ id: 1, fd, addresses: ['127.0.0.1'], port: 1, guard: NONE, leaseBytes: undefined })
  await until(() => reports.length === 1)
  t.match(reports, [{ kind: 'closed', reason: 'unreachable', address: undefined }])
  client.destroy()
  const nices = readdirSync('/proc/self/task').map(
    (id) => readFileSync(`/proc/self/task/${id}/stat`, 'utf8').split(') ')[1]?.split(' ')[16],
  )
  const own = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ')[16]
  t.equal(nices.filter((nice) => Number(nice) === Math.max(5, Number(own))).length >= 1, true)
  t.ok(Number(own) < 5, 'the main thread does not')
})

t.test('when there was nothing for a while the thread ends, and comes back', async (t) => {
  const clock = createClock()
  const reports: RelayReport[] = []
  const soon = { ...clock, after: (ms: number, done: () => void) => clock.after(Math.min(ms, 20), done) }
  const relay = createRelay(undefined, soon, (report) => reports.push(report))
  t.teardown(relay.close)
  const threads = () => readdirSync('/proc/self/task').length
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const before = threads()
  for (const id of [1, 2]) {
    const { client, fd } = await pair()
    relay.connect({ id, fd, addresses: ['127.0.0.1'], port: 1, guard: NONE, leaseBytes: undefined })
    t.equal(threads(), before + 1)
    await until(() => reports.length === id)
    client.destroy()
    await until(() => threads() === before)
  }
})

/** What this process has open that is a socket; a thread's are its own as well. */
function sockets(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const name = readlinkSync(`/proc/self/fd/${fd}`)
      return name.startsWith('socket:') ? name : []
    } catch {
      return []
    }
  })
}

t.test('a thread that ends before it took a connection loses no descriptor', async (t) => {
  const { relay, reports, until } = relayOf()
  relay.prepare()
  const { client, fd } = await pair()
  const name = readlinkSync(`/proc/self/fd/${fd}`)
  t.ok(sockets().includes(name))
  relay.connect({ id: 1, fd, addresses: ['127.0.0.1'], port: 1, guard: NONE, leaseBytes: undefined })
  await relay.close()
  await until(() => reports.length > 0)
  t.match(reports, [{ kind: 'closed', id: 1, reason: 'lost' }])
  t.notOk(sockets().includes(name))
  client.destroy()
})

t.test('connections that end as they are reset are closed', async (t) => {
  const ends: (() => void)[] = []
  const upstream = await serve((socket) => void ends.push(() => socket.end('x')))
  if (upstream === undefined) return void t.fail('no server')
  t.teardown(() => upstream.server.close())
  const before = sockets()
  let closed = 0
  const pairs = await Promise.all(Array.from({ length: 40 }, pair))
  const connections = pairs.map(({ fd }, id) =>
    relayConnection(
      { id, fd, addresses: ['127.0.0.1'], port: upstream.port, guard: NONE, leaseBytes: undefined },
      () => closed++,
    ),
  )
  while (ends.length < connections.length) await sleep(1)
  // The other side ends eight of them, and a byte that comes some turns behind that resets them: once both are read in
  // one turn.
  const bell = await pair()
  const ringing = new Socket({ fd: bell.fd })
  for (let from = 0; from < connections.length; from += 8) {
    const rung = once(ringing, 'data')
    ringing.once('data', () => {
      for (const connection of connections.slice(from, from + 8)) connection.reset('ended')
    })
    for (const end of ends.slice(from, from + 8)) end()
    for (let turns = from / 8; turns > 0; turns--) await setImmediate()
    bell.client.write('x')
    await rung
  }
  while (closed < connections.length) await sleep(1)
  for (const one of [...pairs.map(({ client }) => client), bell.client, ringing]) one.destroy()
  await sleep(100)
  t.strictSame(
    sockets().filter((name) => !before.includes(name)),
    [],
  )
})
