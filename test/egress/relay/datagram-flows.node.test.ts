/** Datagrams between senders on the loopback and servers of the test, through a gate: every socket is a real one. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { DATAGRAMS_BURST, DATAGRAMS_PER_SECOND } from '../../../src/egress/limits.ts'
import { datagrams, listOf, openWorld, type WorldOptions } from '../gate-world.node.ts'

const SERVER = '127.188.0.31'
const FLOOD = 20_000

type Answer = (bytes: Buffer, from: { readonly address: string; readonly port: number }, own: Socket) => void

async function serve(t: Test, answer: Answer, host = SERVER) {
  const heard: string[] = []
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  socket.on('message', (bytes, from) => {
    heard.push(bytes.toString('latin1'))
    answer(bytes, from, socket)
  })
  socket.bind(0, host)
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { heard, port: socket.address().port }
}

const echo: Answer = (bytes, { address, port }, own) => own.send(`to ${bytes}`, port, address)

async function world(t: Test, entry: Readonly<Record<string, unknown>>, more: Partial<WorldOptions> = {}) {
  const one = await openWorld({
    ...{ directory: t.testdir(), entries: [{ protocol: 'udp', ...entry }] },
    ...more,
  })
  t.teardown(one.close)
  const [realPort = 0] = one.realPlaces.values()
  return { ...one, realPort }
}

/** A sender of the session. */
async function sender(t: Test, realPort: number) {
  const heard: string[] = []
  const failures: (string | undefined)[] = []
  const socket = createSocket('udp4')
  socket.on('message', (bytes) => heard.push(bytes.toString('latin1')))
  socket.on('error', (error: NodeJS.ErrnoException) => failures.push(error.code))
  socket.connect(realPort, '127.0.0.1')
  await once(socket, 'connect')
  let isOpen = true
  const close = (): void => {
    if (isOpen) socket.close()
    isOpen = false
  }
  t.teardown(close)
  return { heard, failures, send: (text: string) => socket.send(text), close }
}

t.test('what a sender says comes to the place, and its answers to that sender alone', async (t) => {
  const server = await serve(t, echo)
  const { realPort, until, session, told, lines } = await world(
    t,
    { host: SERVER, ports: [server.port] },
    { haste: 400 },
  )
  const [one, other] = [await sender(t, realPort), await sender(t, realPort)]
  one.send('a')
  other.send('bb')
  one.send('')
  await until(() => one.heard.length === 2 && other.heard.length === 1)
  t.strictSame([one.heard.toSorted(), other.heard], [['to ', 'to a'], ['to bb']])
  t.equal(session.counts.connections, 2)
  await until(() => lines.length === 2)
  t.equal(session.counts.connections, 0, 'a minute without a word is the end')
  t.strictSame(told, lines)
  const place = { address: SERVER, port: server.port, protocol: 'udp', verdict: 'passed', reason: undefined }
  t.match(
    lines.toSorted((first, second) => first.sentBytes - second.sentBytes),
    [
      { ...place, name: undefined, sentBytes: 1, receivedBytes: 7 },
      { ...place, sentBytes: 2, receivedBytes: 5 },
    ],
  )
  t.ok(lines.every(({ durationMs }) => durationMs >= 60_000))
  one.send('again')
  await until(() => one.heard.includes('to again'))
})

t.test('nobody else is heard by a flow, and nobody else can be where the gate is', async (t) => {
  const stranger = createSocket('udp4')
  t.teardown(() => stranger.close())
  const server = await serve(t, (bytes, { address, port }, own) => {
    stranger.send('forged', port, address, () => own.send(`to ${bytes}`, port, address))
  })
  const { realPort, until } = await world(t, { host: SERVER, ports: [server.port] })
  const one = await sender(t, realPort)
  for (let turn = 1; turn <= 5; turn++) {
    one.send(`${turn}`)
    await until(() => one.heard.length === turn)
  }
  t.strictSame(one.heard, ['to 1', 'to 2', 'to 3', 'to 4', 'to 5'])
  const thief = createSocket({ type: 'udp4', reuseAddr: true })
  thief.bind(realPort, '127.0.0.1')
  const [failure] = (await once(thief, 'error')) as [NodeJS.ErrnoException]
  t.equal(failure.code, 'EADDRINUSE')
  thief.close()
})

t.test('a place of IPv6 is reached', async (t) => {
  const server = await serve(t, echo, '::1')
  const { realPort, until, lines, session } = await world(t, { host: '::1', ports: [server.port] })
  const one = await sender(t, realPort)
  one.send('six')
  await until(() => one.heard.length === 1)
  await session.end()
  t.match(lines, [{ address: '::1', verdict: 'passed', reason: 'ended', sentBytes: 3, receivedBytes: 6 }])
})

t.test('a place where nobody is is told to be so', async (t) => {
  const socket = createSocket('udp4').bind(0, SERVER)
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  const { realPort, until, lines } = await world(t, { host: SERVER, ports: [port] }, { haste: 400 })
  const one = await sender(t, realPort)
  one.send('a')
  await new Promise((resolve) => setTimeout(resolve, 20))
  one.send('b')
  await until(() => lines.length === 1)
  t.match(lines, [{ verdict: 'failed', reason: 'unreachable', sentBytes: 2, receivedBytes: 0 }])
})

t.test('no datagram passes beyond the bytes of its hour', async (t) => {
  const server = await serve(t, echo)
  const { realPort, until, lines } = await world(t, {
    ...{ host: SERVER, ports: [server.port], bytes_per_hour: 20 },
  })
  const one = await sender(t, realPort)
  one.send('1234')
  await until(() => one.heard.length === 1)
  one.send('1234567890')
  one.send('5')
  await until(() => one.heard.length === 2)
  t.strictSame(one.heard, ['to 1234', 'to 5'], 'what is left is for whoever needs no more')
  t.strictSame(server.heard, ['1234', '5'])
  one.send('678')
  await until(() => lines.length >= 2)
  t.strictSame(one.heard.length, 2, 'an answer counts as well')
  t.match(lines[0], { verdict: 'refused', reason: 'budget', sentBytes: 4, receivedBytes: 7 })
})

t.test('a list that changes ends flows, and nothing hears what it has not', async (t) => {
  const server = await serve(t, echo)
  const entry = { host: SERVER, ports: [server.port], protocol: 'udp' }
  const { realPort, until, lines, session } = await world(t, entry)
  const one = await sender(t, realPort)
  one.send('a')
  await until(() => one.heard.length === 1)
  session.relist(listOf([{ ...entry, bytes_per_hour: 5_000 }]))
  await until(() => lines.length === 1)
  one.send('b')
  await until(() => one.heard.length === 2)
  session.relist(listOf([`${SERVER}:${server.port}`]))
  await until(() => lines.length === 2)
  t.strictSame(
    lines.map(({ verdict, reason, sentBytes }) => [verdict, reason, sentBytes]),
    [
      ['refused', 'delisted', 1],
      ['refused', 'delisted', 1],
    ],
  )
  one.send('c')
  await until(() => one.failures.includes('ECONNREFUSED'))
  const again = datagrams()
  const unlisted = datagrams()
  session.relist(listOf([entry]), {
    listeners: [],
    datagrams: [
      { fd: again.fd, address: { family: 4, bytes: [127, 188, 0, 31] }, port: server.port },
      { fd: unlisted.fd, address: { family: 4, bytes: [127, 188, 0, 32] }, port: server.port },
    ],
  })
  const [second, none] = [await sender(t, again.realPort), await sender(t, unlisted.realPort)]
  second.send('d')
  none.send('e')
  await until(() => second.heard.length === 1 && none.failures.length === 1)
  t.strictSame(server.heard, ['a', 'b', 'd'])
})

t.test('the end of a session closes all that it had', async (t) => {
  const server = await serve(t, echo)
  const before = readdirSync('/proc/self/fd').length
  const { realPort, until, session, lines } = await world(t, { host: SERVER, ports: [server.port] })
  const senders = await Promise.all(Array.from({ length: 20 }, () => sender(t, realPort)))
  for (const one of senders) one.send('x')
  await until(() => senders.every(({ heard }) => heard.length === 1))
  t.equal(session.counts.connections, 20)
  await session.end()
  t.equal(lines.length, 20)
  for (const { close } of senders) close()
  await until(() => readdirSync('/proc/self/fd').length <= before)
})

t.test('the daemon’s own ports are not reached', async (t) => {
  const server = await serve(t, echo, '127.0.0.1')
  const ports = [server.port]
  const { realPort, until, lines } = await world(t, { host: '127.0.0.1', ports }, { ownPorts: ports })
  const one = await sender(t, realPort)
  one.send('x')
  await until(() => lines.length === 1)
  t.match(lines, [{ protocol: 'udp', verdict: 'refused', reason: 'own_port' }])
  t.strictSame(server.heard, [])
})

t.test('a flood is dropped beyond its pace, and names are asked for meanwhile', async (t) => {
  const server = await serve(t, () => {})
  const entry = { host: SERVER, ports: [server.port], protocol: 'udp' }
  const gate = await world(t, entry, { entries: [entry, 'a.example'] })
  const one = await sender(t, gate.realPort)
  const begin = performance.now()
  let asked = 0
  for (let sent = 0; sent < FLOOD; sent++) {
    one.send('x'.repeat(100))
    if (sent % 500 > 0) continue
    await new Promise((resolve) => setImmediate(resolve))
    if (sent % 5_000 === 0 && (await gate.addressOf('a.example')) === '127.64.0.1') asked++
  }
  t.equal(asked, FLOOD / 5_000)
  const seconds = (performance.now() - begin) / 1_000
  const passed = server.heard.length
  t.comment(`of ${FLOOD} in ${seconds.toFixed(2)} s ${passed} passed`)
  t.ok(passed > 0 && passed <= DATAGRAMS_BURST + (seconds + 1) * DATAGRAMS_PER_SECOND)
  t.equal(gate.session.counts.connections, 1)
  await gate.until(() => {
    one.send('afterwards')
    return server.heard.includes('afterwards')
  })
})

t.test('senders without number are bounded', async (t) => {
  const server = await serve(t, () => {})
  const { realPort, session, until } = await world(t, { host: SERVER, ports: [server.port] })
  const senders = await Promise.all(Array.from({ length: 400 }, () => sender(t, realPort)))
  for (const one of senders) one.send('x')
  await until(() => session.counts.connections === 256)
  await new Promise((resolve) => setTimeout(resolve, 300))
  for (const one of senders) one.send('y')
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(session.counts.connections, 256)
  t.ok(new Set(server.heard).size === 2)
})
