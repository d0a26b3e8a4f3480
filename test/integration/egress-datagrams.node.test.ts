/**
 * Datagrams of sessions of a real daemon: what is listed answers, and nothing else is reached, by whatever address,
 * sender or number of them; then the servers of the test and the record are looked at.
 * @module
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { DATAGRAMS_BURST, DATAGRAMS_PER_SECOND } from '../../src/egress/limits.ts'
import { attack, judge } from './attacks.node.ts'
import { type Branched, everyone, inSession, PYTHON, type Who } from './branched.node.ts'
import { changeConfig, sleep, until } from './daemon.node.ts'
import { egressOf, missing, openWorld, type World } from './egress-world.node.ts'

const PORT = 5_000
const FLOOD = 100_000
const SENDERS = 10_000
/** docs/egress.md, bounds. */
const FLOWS_OF_A_SESSION = 256

/** A socket of the device; with what it has heard. */
async function heardAt(t: Test, address: string, port: number, isEcho: boolean) {
  const heard: string[] = []
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4')
  socket.on('message', (bytes, from) => {
    heard.push(bytes.toString('latin1'))
    if (isEcho) socket.send(`to ${bytes.toString('latin1')}`, from.port, from.address)
  })
  socket.bind(port, address)
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return { heard, port: socket.address().port }
}

async function datagrams(t: Test, who: Who): Promise<void> {
  const world = await openWorld(t)
  world.names.set('allowed.example', [world.address(1)])
  const [listed, budget] = [await world.udp(1, PORT), await world.udp(1, PORT + 10)]
  const unlisted = [
    ...[await world.udp(1, PORT + 1), await world.udp(2, PORT), await world.udp(2, PORT + 1)],
    await world.udp(2, PORT + 20),
  ]
  const six = await heardAt(t, '::1', 0, true)
  const own = await heardAt(t, '127.0.0.1', 0, true)
  const entry = { host: world.address(1), ports: [PORT], protocol: 'udp' }
  const daemon = await world.start(who, {
    listen: { port: own.port },
    sandbox: {
      egress: [
        ...['allowed.example', `${world.address(2)}:${PORT + 20}`, entry],
        { host: world.address(1), ports: [PORT + 10], protocol: 'udp', bytes_per_hour: 200 },
        { host: '::1', ports: [six.port], protocol: 'udp' },
        { host: '127.0.0.1', ports: [own.port], protocol: 'udp' },
      ],
    },
  })
  const place = {
    ...{ address: world.address(1), other: world.address(2), port: PORT, tcp: PORT + 20 },
    ...{ six: six.port, daemon: own.port, budget: PORT + 10 },
  }
  const findings = await attack(daemon, 'datagrams', JSON.stringify(place))
  judge(t, findings, {
    ...{ listed: 'to listed', 'listed, of IPv6': 'to six', 'listed, as IPv4 in IPv6': 'to mapped' },
    'listed, not connected': ['to far', true],
    ...{ name: /^127\./, 'name afterwards': /^127\./ },
    "another's answers": [['to mine'], ['to forged']],
    // 50 bytes with an answer of 53, and 50 more.
    'beyond its bytes': 1,
  })
  for (const { received } of unlisted) t.strictSame(received, [], 'what is not listed heard nothing')
  t.strictSame(own.heard, [], 'nor what is of the daemon itself')
  t.ok(budget.received.length <= 2, `${budget.received.length} datagrams within 200 bytes`)
  t.notOk(listed.received.some((text) => text.includes('EVIL')))
  const flows = egressOf(daemon).filter(({ protocol }) => protocol === 'udp')
  for (const [reason, verdict] of [
    ['own_port', 'refused'],
    ['budget', 'refused'],
  ])
    t.ok(
      flows.some((one) => one['reason'] === reason && one['what'] === verdict),
      `the record says ${reason}`,
    )
  t.notOk(flows.some(({ port }) => port === PORT + 1 || port === PORT + 20))

  await t.test('what is open ends with the list, and with the session', (t) => ends(t, daemon, world, entry))
  await t.test('people are told which places were of UDP', (t) => told(t, daemon, world))
  await t.test('a flood', (t) => flood(t, daemon, world, listed))
  await t.test('ten thousand senders', (t) => senders(t, daemon, world, listed))
}

const HOLD = `import socket, sys, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.connect((sys.argv[1], int(sys.argv[2])))
one.settimeout(0.2)
while True:
    try:
        one.send(b"hold")
        print(one.recv(10), flush=True)
    except TimeoutError:
        print("silence", flush=True)
    except OSError as error:
        print(error.errno, flush=True)
    time.sleep(0.05)
`

async function ends(t: Test, daemon: Branched, world: World, entry: object): Promise<void> {
  const list = (egress: readonly unknown[]) => changeConfig(daemon.directory, { sandbox: { egress } })
  const reload = async () => t.equal((await daemon.cli(['reload'])).code, 0)
  list(['allowed.example', entry])
  await reload()
  daemon.put('hold.py', HOLD)
  const [client, other] = [await daemon.open(), await daemon.open()]
  await other.execute('true', [])
  let text = ''
  const said = client.stream(PYTHON ?? '', ['./hold.py', world.address(1), `${PORT}`], {
    output: (_source, bytes) => {
      text += Buffer.from(bytes).toString()
    },
  })
  said.exit.catch(() => undefined)
  await until('it is answered', () => text.includes('to hold'))
  const before = egressOf(daemon).length
  list(['allowed.example'])
  await reload()
  await until('the kernel refuses it', () => text.includes('111'))
  await until('the record says why', () =>
    egressOf(daemon)
      .slice(before)
      .some(({ reason, protocol, sent_bytes }) => reason === 'delisted' && protocol === 'udp' && sent_bytes),
  )
  text = ''
  list(['allowed.example', entry])
  await reload()
  await until('it is answered again', () => text.includes('to hold'))
  const held = daemon.descriptors()
  t.equal((await daemon.cli(['kill', said.id, 'KILL'])).code, 0)
  await client.close()
  await until('the end of its session has closed its sockets', () => daemon.descriptors() < held - 4)
  await until('and is recorded', () =>
    egressOf(daemon).some(({ reason, protocol }) => reason === 'ended' && protocol === 'udp'),
  )
  await other.close()
}

async function told(t: Test, daemon: Branched, world: World): Promise<void> {
  const where = `${world.address(1)}:${PORT}/udp`
  const tail = (await daemon.cli(['audit', 'tail', '--tool', 'egress', '-n', '200'])).stdout.toString()
  t.match(tail, `port=${PORT}/udp`)
  t.notMatch(tail, 'protocol=')
  daemon.put(
    'say.py',
    'import socket, sys\none = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\none.connect((sys.argv[1], int(sys.argv[2])))\none.send(b"x")\none.settimeout(2)\nprint(one.recv(9))\nopen("said", "w").close()\n',
  )
  const say = (port: number) =>
    daemon.cli(['exec', '--', PYTHON ?? '', './say.py', world.address(1), `${port}`])
  const { code, stdout, stderr } = await say(PORT)
  t.equal(code, 0, stderr)
  t.match(stdout.toString(), 'to x')
  t.match(
    (await say(PORT + 1)).stderr,
    /:5001 \(UDP\) refused: sandbox\.egress has no entry with protocol udp/,
  )
  changeConfig(daemon.directory, { sandbox: { egress: ['allowed.example'] } })
  t.equal((await daemon.cli(['reload'])).code, 0)
  t.match(
    (await daemon.cli(['branch', 'diff'])).stderr,
    new RegExp(`This work talked to: ${where} \\(\\d+ B out, [^)]* in\\)`),
  )
  const entry = { host: world.address(1), ports: [PORT], protocol: 'udp' }
  changeConfig(daemon.directory, { sandbox: { egress: ['allowed.example', entry] } })
  t.equal((await daemon.cli(['reload'])).code, 0)
}

/** Milliseconds that the daemon takes to answer, in the middle. */
async function median(daemon: Branched, isOver: () => boolean): Promise<number> {
  const times: number[] = []
  await inSession(daemon, async (client) => {
    while (!isOver()) {
      const begin = performance.now()
      await client.ping()
      times.push(performance.now() - begin)
      await sleep(10)
    }
  })
  return times.sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0
}

type Heard = { readonly received: readonly string[] }

async function flood(t: Test, daemon: Branched, world: World, { received }: Heard): Promise<void> {
  const place = { address: world.address(1), port: PORT, count: FLOOD, isMany: false, pause: 0.03 }
  let isOver = false
  setTimeout(() => {
    isOver = true
  }, 3_000)
  const quiet = await median(daemon, () => isOver)
  const before = received.length
  const begin = performance.now()
  isOver = false
  const running = attack(daemon, 'datagram_flood', JSON.stringify(place)).finally(() => {
    isOver = true
  })
  const [findings, busy] = await Promise.all([running, median(daemon, () => isOver)])
  const seconds = (performance.now() - begin) / 1_000
  const passed = received.length - before
  t.comment(
    `${FLOOD} datagrams in ${seconds.toFixed(1)} s, ${passed} passed; a ping took ${quiet.toFixed(2)} ms without and ${busy.toFixed(2)} ms with them: ${(busy / quiet).toFixed(2)}`,
  )
  t.match(findings, { name: /^127\./ }, 'names are answered after it')
  t.ok(passed > 0 && passed <= DATAGRAMS_BURST + (seconds + 1) * DATAGRAMS_PER_SECOND, `${passed} passed`)
}

async function senders(t: Test, daemon: Branched, world: World, { received }: Heard): Promise<void> {
  const before = received.length
  const descriptors = daemon.descriptors()
  const place = { address: world.address(1), port: PORT, count: SENDERS, isMany: true, pause: 0.3 }
  const findings = await attack(daemon, 'datagram_flood', JSON.stringify(place))
  t.match(findings, { name: /^127\./ }, 'names are answered')
  const passed = received.length - before
  t.comment(`of ${SENDERS} senders ${passed} had a flow`)
  t.ok(passed > 0 && passed <= FLOWS_OF_A_SESSION)
  await until('their sockets are closed', () => daemon.descriptors() <= descriptors + 8)
}

for (const who of everyone(t)) {
  const lacking = PYTHON === undefined ? 'what tries this needs python3' : missing()
  if (lacking !== undefined) {
    t.comment(`skipped: ${lacking}`)
    break
  }
  await t.test(`datagrams go where the list has them, daemon of ${who.name}`, (t) => datagrams(t, who))
}
