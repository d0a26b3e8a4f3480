import { once } from 'node:events'
import t from 'tap'
import { listener, listOf, openWorld, received, serve } from './gate-world.node.ts'

const GET = 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n'

t.test('a name that is listed is reached by the address that stands for it, and recorded', async (t) => {
  const upstream = await serve((socket) => socket.once('data', () => socket.end(ANSWER)), {
    host: '127.88.0.1',
    port: 80,
  })
  if (upstream === undefined) return t.comment('skipped: port 80 cannot be listened on')
  const world = await openWorld({
    directory: t.testdir(),
    entries: ['a.example', '127.88.0.1:80'],
    hosts: '127.88.0.1 a.example\n',
  })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const address = await world.addressOf('a.example')
  t.equal(address, '127.64.0.1')
  const client = world.connect(address, 80)
  client.write(GET)
  t.strictSame(await received(client), { text: ANSWER, isReset: false })
  client.end()
  await world.until(() => world.lines.length > 0)
  t.match(world.lines, [
    {
      ...{ name: 'a.example', address: '127.88.0.1', port: 80, verdict: 'passed', reason: undefined },
      ...{ sentBytes: GET.length, receivedBytes: ANSWER.length, times: 1 },
    },
  ])
  t.strictSame(world.told, world.lines)

  const other = world.connect(address, 80)
  other.write(GET.replace('a.example', 'b.example'))
  t.strictSame(await received(other), { text: '', isReset: true })
  const second = world.connect(address, 80)
  second.write(GET + GET.replace('a.example', 'b.example'))
  t.strictSame(await received(second), { text: '', isReset: true })
  const bare = world.connect('127.88.0.2', 80)
  t.strictSame(await received(bare), { text: '', isReset: true })
  await world.until(() => world.lines.length >= 3)
  t.strictSame(
    world.lines.slice(1).map(({ name, address, reason }) => [name ?? address, reason]),
    [
      ['a.example', 'http_other_host'],
      ['127.88.0.2', 'unlisted'],
    ],
  )
  t.equal(upstream.connections(), 1, 'nothing of it came to the server')
  await world.until(() => world.session.counts.connections === 0)
})

t.test('a name that is not listed does not exist', async (t) => {
  const world = await openWorld({ directory: t.testdir(), entries: ['a.example'] })
  t.teardown(world.close)
  const answer = await world.lookUp('b.example')
  t.equal((answer[3] ?? 0) & 15, 3)
  t.match(world.lines, [{ name: 'b.example', verdict: 'refused', reason: 'unlisted' }])
  t.equal((await world.lookUp('a.example', 28))[7], 0, 'no IPv6')
  t.equal(await world.addressOf('localhost'), '127.0.0.1')
})

t.test('both ways end by themselves, and a reset is passed on', async (t) => {
  let upstreamText = ''
  let isCut = false
  const upstream = await serve((socket) => {
    socket.on('data', (bytes) => {
      upstreamText += bytes
      if (upstreamText === 'cut') socket.resetAndDestroy()
    })
    socket.on('error', () => {
      isCut = true
    })
    socket.on('end', () => socket.end('all of it'))
  })
  if (upstream === undefined) throw new Error('no server')
  const world = await openWorld({ directory: t.testdir(), entries: [`127.0.0.1:${upstream.port}`] })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const client = world.connect('127.0.0.1', upstream.port)
  client.end('half')
  t.strictSame(await received(client), { text: 'all of it', isReset: false })
  t.equal(upstreamText, 'half')
  upstreamText = ''
  const cut = world.connect('127.0.0.1', upstream.port)
  cut.write('cut')
  t.strictSame(await received(cut), { text: '', isReset: true })
  const cutting = world.connect('127.0.0.1', upstream.port)
  cutting.write('x')
  await world.until(() => upstreamText.endsWith('x'))
  cutting.resetAndDestroy()
  await world.until(() => isCut)
  await world.until(() => world.session.counts.connections === 0)
  t.strictSame(
    world.lines.map(({ verdict, sentBytes, receivedBytes }) => [verdict, sentBytes, receivedBytes]),
    [
      ['passed', 4, 9],
      ['passed', 3, 0],
      ['passed', 1, 0],
    ],
  )
})

t.test('a server that speaks first is heard, and one that is not there is said to be so', async (t) => {
  const upstream = await serve((socket) => socket.write('SSH-2.0-x\r\n'))
  if (upstream === undefined) throw new Error('no server')
  const gone = await serve(() => {})
  gone?.server.close()
  const world = await openWorld({
    directory: t.testdir(),
    entries: [`a.example:${upstream.port}`, `127.0.0.1:${upstream.port}`, `127.0.0.1:${gone?.port}`],
    hosts: '127.0.0.1 a.example',
  })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const client = world.connect(await world.addressOf('a.example'), upstream.port)
  const [bytes] = (await once(client, 'data')) as [Buffer]
  t.equal(bytes.toString(), 'SSH-2.0-x\r\n')
  client.resetAndDestroy()
  t.strictSame(await received(world.connect('127.0.0.1', gone?.port ?? 0)), { text: '', isReset: true })
  await world.until(() => world.lines.some(({ reason }) => reason === 'unreachable'))
})

t.test('a listed name that resolves to the daemon or inside leads nowhere', async (t) => {
  const upstream = await serve(() => {})
  if (upstream === undefined) throw new Error('no server')
  const { port } = upstream
  const world = await openWorld({
    directory: t.testdir(),
    entries: [`a.example:${port}`, `b.example:${port + 1}`, `127.0.0.1:${port}`],
    hosts: '127.0.0.1 a.example\n::ffff:127.0.0.1 b.example\n169.254.169.254 b.example\n',
    ownPorts: [port],
  })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const first = world.connect(await world.addressOf('a.example'), port)
  t.strictSame(await received(first), { text: '', isReset: true })
  const second = world.connect(await world.addressOf('b.example'), port + 1)
  t.strictSame(await received(second), { text: '', isReset: true })
  t.strictSame(
    world.lines.map(({ reason }) => reason),
    ['own_port', 'internal_address'],
  )
  t.equal(upstream.connections(), 0)
})

t.test('a human is asked once, and the answer lets through or not', async (t) => {
  const upstream = await serve((socket) => socket.end('hello'))
  if (upstream === undefined) throw new Error('no server')
  let say = (_answer: 'yes' | 'no'): void => {}
  const world = await openWorld({
    directory: t.testdir(),
    entries: [`10.0.0.0/8:${upstream.port}`],
    unlisted: 'ask',
    answer: () =>
      new Promise((resolve) => {
        say = resolve
      }),
  })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const clients = [0, 1].map(() => received(world.connect('127.0.0.1', upstream.port)))
  await world.until(() => world.session.counts.connections === 2)
  t.strictSame(world.questions, [{ session: 's1', host: '127.0.0.1', port: upstream.port }])
  say('yes')
  for (const client of clients) t.strictSame(await client, { text: 'hello', isReset: false })

  const address = (await world.lookUp('d.example')).slice(-4).join('.')
  const refused = received(world.connect(address, upstream.port))
  await world.until(() => world.questions.length === 2)
  say('no')
  t.match(await refused, { isReset: true })
  t.match(world.lines.at(-1), { name: 'd.example', verdict: 'refused', reason: 'denied' })

  const other = (await world.lookUp('e.example')).slice(-4).join('.')
  void received(world.connect(other, upstream.port))
  await world.until(() => world.questions.length === 3)
  await world.session.end()
  t.match(world.withdrawn, [{ host: 'e.example' }])
})

t.test('what is open ends with the session, or when the list does not have it any more', async (t) => {
  let closed = 0
  const upstream = await serve((socket) => {
    socket.write('hello')
    socket.on('close', () => closed++)
  })
  if (upstream === undefined) throw new Error('no server')
  const { port } = upstream
  const world = await openWorld({ directory: t.testdir(), entries: [`127.0.0.0/8:${port}`] })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const [first, second] = [world.connect('127.0.0.1', port), world.connect('127.0.0.1', port)]
  await Promise.all([once(first, 'data'), once(second, 'data')])
  world.session.relist(listOf([`127.0.0.1:${port}`]))
  t.equal(world.session.counts.connections, 2, 'what the new list has goes on')
  const ends = [received(first), received(second)]
  world.session.relist([])
  for (const end of ends) t.strictSame(await end, { text: '', isReset: true })
  await world.until(() => closed === 2)
  t.strictSame(
    world.lines.map(({ verdict, reason }) => [verdict, reason]),
    [
      ['refused', 'delisted'],
      ['refused', 'delisted'],
    ],
  )
  const more = await listener()
  world.session.relist(listOf([`127.0.0.1:${port}`]), { listeners: [{ fd: more.fd, port }], datagrams: [] })
  const third = world.connect('127.0.0.1', port)
  await once(third, 'data')
  const end = received(third)
  await world.session.end()
  t.strictSame(await end, { text: '', isReset: true })
  t.match(world.lines.at(-1), { verdict: 'passed', reason: 'ended', receivedBytes: 5 })
  t.equal(world.session.counts.connections, 0)
  const late = await received(world.connect('127.0.0.1', port))
  t.ok(late.isReset || late.text === '', 'nobody listens any more')
})

t.test('bytes of an hour are bounded, and both ways count', async (t) => {
  const upstream = await serve((socket) => socket.end(Buffer.alloc(3_000_000)))
  if (upstream === undefined) throw new Error('no server')
  const { port } = upstream
  const world = await openWorld({
    directory: t.testdir(),
    entries: [{ host: '127.0.0.1', ports: [port], bytes_per_hour: 4_000_000 }],
  })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const first = await received(world.connect('127.0.0.1', port))
  t.equal(first.text.length, 3_000_000)
  const second = await received(world.connect('127.0.0.1', port))
  t.ok(second.isReset && second.text.length < 1_100_000)
  await world.until(() => world.session.counts.connections === 0)
  t.match(world.lines.at(-1), { verdict: 'refused', reason: 'budget' })
  const third = await received(world.connect('127.0.0.1', port))
  t.strictSame(third, { text: '', isReset: true })
})

t.test('what nobody reads is not read from the other side', async (t) => {
  let written = 0
  const upstream = await serve((socket) => {
    const more = (): void => {
      while (socket.write(Buffer.alloc(65_536))) written += 65_536
    }
    socket.on('drain', more)
    more()
  })
  if (upstream === undefined) throw new Error('no server')
  const world = await openWorld({ directory: t.testdir(), entries: [`127.0.0.1:${upstream.port}`] })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const client = world.connect('127.0.0.1', upstream.port)
  client.pause()
  await world.until(() => written > 0)
  let before = -1
  while (before !== written) {
    before = written
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  t.ok(written < 32 * 1_048_576, `${written} bytes are in queues of the kernel`)
  client.resetAndDestroy()
  await world.until(() => world.session.counts.connections === 0)
})

t.test('a thousand connections at once: 256 are taken, the others wait', async (t) => {
  const upstream = await serve((socket) => socket.resume())
  if (upstream === undefined) throw new Error('no server')
  const world = await openWorld({ directory: t.testdir(), entries: [`127.0.0.1:${upstream.port}`] })
  t.teardown(async () => {
    upstream.server.close()
    await world.close()
  })
  const clients = Array.from({ length: 400 }, () => world.connect('127.0.0.1', upstream.port))
  await world.until(() => upstream.connections() === 256)
  t.equal(world.session.counts.connections, 256)
  for (const client of clients.slice(0, 256)) client.resetAndDestroy()
  await world.until(() => upstream.connections() === 400)
  for (const client of clients) client.resetAndDestroy()
  await world.until(() => world.session.counts.connections === 0)
  t.equal(world.lines.length > 0, true)
})

t.test('a flood of questions is held back, and goes on', async (t) => {
  const world = await openWorld({ directory: t.testdir(), entries: ['a.example'] })
  t.teardown(world.close)
  for (let index = 0; index < 129; index++) await world.lookUp('a.example')
  t.equal(await world.addressOf('a.example'), '127.64.0.1')
})
