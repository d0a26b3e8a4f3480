/**
 * What people are told of the gate of a real daemon: what passes and is refused in `status`, whom the work in a branch
 * has talked to, also after a restart, and why a command was refused. Names that only the device's table of hosts has are
 * reached through the gate as any other.
 * @module
 */
import t, { type Test } from 'tap'
import { type Branched, everyone, inSession, run, type Who } from './branched.node.ts'
import { type Json, until } from './daemon.node.ts'
import { egressOf, missing, openWorld } from './egress-world.node.ts'

async function json(daemon: Branched, ...args: readonly string[]): Promise<Json> {
  const { stdout, stderr, code } = await daemon.cli(['--json', ...args])
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout.toString()) as Json
}

async function told(t: Test, who: Who): Promise<void> {
  const world = await openWorld(t)
  world.names.set('a.example', [world.address(1)])
  world.names.set('b.example', [world.address(2)])
  world.hosts(`${world.address(3)} plc.example\n`)
  const daemon = await world.start(who, {
    sandbox: { egress: ['a.example', 'plc.example', 'a.example:8080'] },
  })
  for (const last of [1, 3])
    await world.http(last, 80, (_request, response) => response.end('x'.repeat(5_000)))
  t.equal((await json(daemon, 'status'))['gate'], null, 'nothing is told while no session has had a gate')

  daemon.put('reach.sh', 'curl -s -o /dev/null -m 20 "$@"; code=$?; echo x > made; exit $code\n')
  const sourceOf = async (): Promise<unknown> => {
    const { stdout } = await daemon.cli(['exec', '--json', '--', 'sh', '-c', 'true'])
    return (JSON.parse(stdout.toString().trim().split('\n').at(-1) ?? '') as Json)['source']
  }
  t.equal(await sourceOf(), 'TOOL_OUTPUT')
  const failed = async (...args: readonly string[]) =>
    (await daemon.cli(['exec', '--', 'sh', './reach.sh', ...args])).stderr
  t.notMatch(await failed('http://a.example/'), 'refused')
  t.notMatch(await failed('http://plc.example/'), 'refused', 'a name of the device’s own table')
  t.equal(world.hits.length, 2)
  t.equal(await sourceOf(), 'NETWORK_EXTERNAL', 'what it prints from now on may be from there')
  t.match(await failed('http://b.example/'), 'b.example refused: sandbox.egress does not list it')
  t.match(
    await failed('http://10.0.0.1/', 'http://a.example:81/', 'https://a.example:8080/'),
    /10\.0\.0\.1:80 refused: sandbox\.egress does not list it/,
  )
  t.match(
    await failed('http://a.example:81/'),
    /^(?!.*127\.64).*a\.example:81 refused: nothing listens there/s,
  )
  daemon.put(
    'udp.sh',
    `exec ${'/usr/bin/python3'} -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("192.0.2.1", 123)); s.send(b"x"); s.recv(1)'`,
  )
  t.match(
    (await daemon.cli(['exec', '--', 'sh', './udp.sh'])).stderr,
    /192\.0\.2\.1:123 \(UDP\) refused: sandbox\.egress has no entry with protocol udp for it/,
  )
  t.equal(world.hits.length, 2, 'nothing of it came to a server')

  const gate = (await json(daemon, 'status'))['gate'] as Json
  t.match(gate, { passed: 2, sessions: 1, received_bytes: Number })
  t.ok(Number(gate['refused']) >= 2 && Number(gate['received_bytes']) > 10_000)
  const lately = gate['lately'] as readonly Json[]
  t.ok(
    lately.some(({ host, port, reason }) => host === 'b.example' && port === null && reason === 'unlisted'),
  )
  t.ok(lately.some(({ host, port }) => host === '10.0.0.1' && port === 80))
  const words = (await daemon.cli(['status'])).stdout.toString()
  t.match(words, /^gate {7}0 connections open in 1 session; 2 passed, \d+ refused/m)
  t.match(words, /refused lately: .*10\.0\.0\.1:80 \(unlisted\)/)

  const talked = [
    { host: 'plc.example', port: 80, connections: 1, sent_bytes: Number, received_bytes: Number },
    { host: 'a.example', port: 80, connections: 1, sent_bytes: Number, received_bytes: Number },
  ]
  const shows = async (): Promise<readonly Json[]> =>
    (await json(daemon, 'branch', 'diff'))['talked_to'] as readonly Json[]
  t.match(
    (await shows()).toSorted((one, other) => (String(one['host']) < String(other['host']) ? 1 : -1)),
    talked,
  )
  const line = (await daemon.cli(['branch', 'diff'])).stderr
  t.match(line, /This work talked to: .*a\.example:80 \(\d+ B out, 5\.\d+ kB in\)/)
  await daemon.stop()
  await daemon.start()
  t.equal((await shows()).length, 2, 'it is there after a restart')
  t.equal(await sourceOf(), 'NETWORK_EXTERNAL')
  await failed('http://a.example/')
  await until('it goes on', async () =>
    (await shows()).some(({ host, connections }) => host === 'a.example' && connections === 2),
  )
  t.ok(egressOf(daemon).some(({ name, what }) => name === 'a.example' && what === 'passed'))
  await inSession(daemon, async (client) => {
    await run(client, 'sh', ['-c', 'echo y > other'])
    t.strictSame((await client.changes(() => {})).talkedTo, [], 'another branch has talked to nobody')
  })
}

for (const who of everyone(t)) {
  const lacking = missing()
  if (lacking !== undefined) {
    t.comment(`skipped: ${lacking}`)
    break
  }
  await t.test(
    `people are told what the gate does, and that output may be from there (JF-042), daemon of ${who.name}`,
    (t) => told(t, who),
  )
}
