/**
 * Ways past the gate, tried by a session of a real daemon; then the servers of the test, the name server and the record
 * are looked at: nothing came that the list does not have.
 * @module
 */
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { helloMessage, records } from '../egress/hello.ts'
import { attack, judge } from './attacks.node.ts'
import { type Branched, everyone, inSession, PYTHON, type Who } from './branched.node.ts'
import { changeConfig, sleep, until } from './daemon.node.ts'
import { egressOf, missing, openWorld, type World } from './egress-world.node.ts'

const FLOOD = 10_000
/** docs/egress.md, bounds. */
const CONNECTIONS_OF_A_SESSION = 256
const QUESTIONS_OF_A_SESSION = 3

const hex = (bytes: readonly number[]): string => Buffer.from(bytes).toString('hex')

const HELLOS = {
  'its name': hex(records(helloMessage({ names: ['allowed.example'] }))),
  'another name': hex(records(helloMessage({ names: ['other.example'] }))),
  'a name below': hex(records(helloMessage({ names: ['x.allowed.example'] }))),
  'NUL in the name': hex(records(helloMessage({ names: ['other.example\0allowed.example'] }))),
  'two names': hex(records(helloMessage({ names: ['allowed.example', 'other.example'] }))),
  'no name': hex(records(helloMessage({ names: [] }))),
  'no extensions': hex(records(helloMessage({ hasExtensions: false }))),
  ECH: hex(records(helloMessage({ names: ['allowed.example'], extensions: [[0xfe0d, [0, 1, 2, 3]]] }))),
  'another name in small records': hex(records(helloMessage({ names: ['other.example'] }), 20)),
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return port
}

/** A service of the device that no list has: whoever reaches it has got past. */
async function victimOf(t: Test): Promise<{ readonly port: number; readonly heard: string[] }> {
  const heard: string[] = []
  const server = createServer((socket) => {
    heard.push('connection')
    socket.on('error', () => {})
    socket.on('data', (bytes) => heard.push(String(bytes)))
    socket.end('VICTIM')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { port: (server.address() as { port: number }).port, heard }
}

const REBOUND: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'unspecified.example': ['0.0.0.0'],
  'metadata.example': ['169.254.169.254'],
  'private.example': ['10.0.0.1', '192.168.0.1', '172.16.0.1', '100.64.0.1'],
}
/** The last four bytes are 127.0.0.1. */
const REBOUND_SIX: Readonly<Record<string, string>> = {
  'mapped.example': '00000000000000000000ffff7f000001',
  'six-loopback.example': '00000000000000000000000000000001',
  'nat64.example': '0064ff9b00000000000000007f000001',
  'sixtofour.example': '20027f00000100000000000000000001',
}

async function bypass(t: Test, who: Who): Promise<void> {
  const world = await openWorld(t)
  const victim = await victimOf(t)
  const daemonPort = await freePort()
  world.names.set('allowed.example', [world.address(1)])
  world.names.set('other.example', [world.address(2)])
  for (const [name, addresses] of Object.entries(REBOUND)) world.names.set(name, addresses)
  for (const [name, bytes] of Object.entries(REBOUND_SIX)) world.six.set(name, bytes)
  const rebound = [...Object.keys(REBOUND), ...Object.keys(REBOUND_SIX)]
  await world.http(1, 80, (_request, response) => response.end('ANSWER'))
  for (const [last, port] of [
    [1, 443],
    [1, 8883],
    [2, 80],
    [2, 443],
  ] as const)
    await world.tcp(last, port, (socket) => socket.once('data', () => socket.end('ANSWER')))
  const udp = await world.udp(1, 5_000)
  const ports = [80, 443, victim.port, daemonPort]
  const daemon = await world.start(who, {
    listen: { port: daemonPort },
    sandbox: {
      egress: [
        ...['allowed.example', 'allowed.example:8883'],
        ...rebound.map((host) => ({ host, ports })),
        // The daemon's own port is refused though it is listed.
        ...[`127.0.0.1:${daemonPort}`, `[::1]:${daemonPort}`],
      ],
    },
  })
  const bare = [world.address(2), world.address(1), '0.0.0.0', '127.0.0.1', '::1', '::', '::ffff:127.0.0.1']
  const place = {
    ...{ hellos: HELLOS, bare, rebound, victim: victim.port, daemon: daemonPort },
    ...{ address: world.address(1), udp: 5_000 },
  }
  const findings = await attack(daemon, 'egress', JSON.stringify(place))
  judge(t, findings, {
    ...{ name: true, 'name in another case': true, 'name with a dot': true },
    ...{ HTTP: 'HTTP/1.1 200 OK', 'TLS: its name': 'ANSWE' },
    'names with an address of a thousand': 0,
    // What the first one brought is not what the second one asked for; sent in one piece both are reset.
    'HTTP: second request later': false,
    // Events of devices and routes, of which there is nothing in such a network.
    'netlink 20': String,
  })
  t.strictSame(victim.heard, [], 'the service of the device heard nothing')
  t.strictSame(udp.received, [])
  const evil = world.hits.filter(({ bytes }) => /EVIL|other\.example|CONNECT|SSH-/.test(bytes()))
  t.strictSame(
    evil.map(({ address, port, bytes }) => `${address}:${port} ${bytes().slice(0, 200)}`),
    [],
  )
  t.strictSame(
    world.hits.filter(({ address }) => address === world.address(2)),
    [],
    'nobody came to the server that is not listed',
  )
  const asked = new Set(world.questions.map((question) => question.split(' ')[0]))
  t.strictSame(
    [...asked].filter((name) => name !== 'allowed.example' && !rebound.includes(name ?? '')),
    [],
    'no name was asked for that is not listed',
  )
  const reasons = new Set(egressOf(daemon).map(({ reason }) => reason))
  for (const reason of [
    ...['unlisted', 'own_port', 'internal_address', 'hello_other_name', 'hello_without_name'],
    ...['hello_encrypted', 'hello_malformed', 'not_tls', 'http_other_host', 'http_malformed'],
  ])
    t.ok(reasons.has(reason), `the record says ${reason}`)

  await t.test('what is open ends with the list, and with the session', (t) => ends(t, daemon, world))
  await t.test('ten thousand connections at once', (t) => flood(t, daemon, world))
  await t.test('a flood of questions for a human', (t) => questions(t, daemon))
}

const HOLD = `import socket, sys, time
one = socket.create_connection((socket.gethostbyname("allowed.example"), 8883), 10)
one.sendall(b"hello")
print(one.recv(10) == b"", flush=True)
`

async function ends(t: Test, daemon: Branched, world: World): Promise<void> {
  await world.tcp(3, 8883, (socket) => void socket.resume())
  world.names.set('allowed.example', [world.address(3)])
  // What was found is kept for some seconds.
  await sleep(6_000)
  daemon.put('hold.py', HOLD)
  const held = () => world.open(3, 8883)
  const client = await daemon.open()
  const start = () => {
    const running = client.stream(PYTHON ?? '', ['./hold.py'], { output: () => undefined })
    running.exit.catch(() => undefined)
    return running
  }
  start()
  await until('it is connected', () => held() === 1)
  const before = egressOf(daemon).length
  changeConfig(daemon.directory, { sandbox: { egress: ['allowed.example'] } })
  t.equal((await daemon.cli(['reload'])).code, 0)
  await until('the list has ended it', () => held() === 0)
  changeConfig(daemon.directory, { sandbox: { egress: ['allowed.example', 'allowed.example:8883'] } })
  t.equal((await daemon.cli(['reload'])).code, 0)
  const running = start()
  await until('it is connected again', () => held() === 1)
  t.equal((await daemon.cli(['kill', running.id, 'KILL'])).code, 0)
  await client.close()
  await until('the end of its session has ended it', () => held() === 0)
  await until('the record says why', () =>
    egressOf(daemon)
      .slice(before)
      .some(({ reason }) => reason === 'delisted'),
  )
}

/** What a session is held by, and its connections. */
const HOLDING = ['net:[]', 'mnt:[]', 'pid:[]', 'socket:[]']

async function flood(t: Test, daemon: Branched, world: World): Promise<void> {
  await world.http(4, 80, (_request, response) => void setTimeout(() => response.end('ANSWER'), 500))
  world.names.set('many.allowed.example', [world.address(4)])
  changeConfig(daemon.directory, { sandbox: { egress: ['*.allowed.example'] } })
  t.equal((await daemon.cli(['reload'])).code, 0)
  await inSession(daemon, async (client) => {
    await client.execute('true', [])
  })
  const [descriptors, before] = [daemon.descriptors(), daemon.descriptorKinds()]
  const place = { names: ['many.allowed.example'], count: FLOOD, seconds: 8 }
  const [findings] = await Promise.all([
    attack(daemon, 'egress_flood', JSON.stringify(place)),
    // Whoever else comes meanwhile is served.
    sleep(2_000).then(async () => t.equal((await daemon.cli(['status'])).code, 0)),
  ])
  t.comment(`of ${findings['opened']} connections ${findings['answered']} were answered within the test`)
  t.ok(Number(findings['opened']) >= 500 && Number(findings['answered']) > 0)
  t.ok(world.peak(4, 80) <= CONNECTIONS_OF_A_SESSION, `${world.peak(4, 80)} at once`)
  await until('all of them are gone', () => world.open(4, 80) === 0)
  const more = () => HOLDING.filter((kind) => (daemon.descriptorKinds()[kind] ?? 0) > (before[kind] ?? 0))
  await until('the daemon holds none', () => daemon.descriptors() <= descriptors && more().length === 0)
  t.strictSame(
    more(),
    [],
    `before: ${JSON.stringify(before)}, now: ${JSON.stringify(daemon.descriptorKinds())}`,
  )
}

async function questions(t: Test, daemon: Branched): Promise<void> {
  changeConfig(daemon.directory, { security: { unlisted_domains: 'ask' }, confirm: { timeout_seconds: 120 } })
  t.equal((await daemon.cli(['reload'])).code, 0)
  const names = Array.from({ length: 50 }, (_, index) => `ask${index}.other.example`)
  const place = { names, count: 500, seconds: 12 }
  const running = attack(daemon, 'egress_flood', JSON.stringify(place))
  const asked = async () => {
    const { stdout } = await daemon.cli(['--json', 'confirm', 'list'])
    return (JSON.parse(stdout.toString()) as { confirmations: readonly { id: string }[] }).confirmations
  }
  await until('people are asked', async () => (await asked()).length === QUESTIONS_OF_A_SESSION)
  for (const { id } of await asked()) t.equal((await daemon.cli(['confirm', 'deny', id, '--yes'])).code, 0)
  t.match(await running, { answered: 0 })
  const reasons = egressOf(daemon).map(({ reason }) => reason)
  t.ok(reasons.includes('too_many_asked') && reasons.includes('denied'))
  t.ok((await asked()).length <= QUESTIONS_OF_A_SESSION)
}

for (const who of everyone(t)) {
  const lacking = PYTHON === undefined ? 'what tries this needs python3' : missing()
  if (lacking !== undefined) {
    t.comment(`skipped: ${lacking}`)
    break
  }
  await t.test(`nothing gets past the gate, daemon of ${who.name} (JF-016, JF-065, JF-F16)`, (t) =>
    bypass(t, who),
  )
}
