/**
 * Sessions with a network of kind `gate` of a real daemon: what nothing lists is refused at once, nothing of it can be
 * changed, and nothing is left of fifty.
 * @module
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname } from 'node:os'
import t, { type Test } from 'tap'
import { attack, judge } from './attacks.node.ts'
import { type Branched, everyone, inSession, PYTHON, run, startBranched, type Who } from './branched.node.ts'
import { until } from './daemon.node.ts'

const SESSIONS = 50

/** Networks that the daemon holds, by a thread or a descriptor. */
function networksOf(daemon: Branched): readonly string[] {
  const place = `/proc/${daemon.pid()}`
  const links = [
    ...readdirSync(`${place}/fd`).map((name) => `${place}/fd/${name}`),
    ...readdirSync(`${place}/task`).map((name) => `${place}/task/${name}/ns/net`),
  ]
  const found = links.flatMap((path) => {
    try {
      return [readlinkSync(path)]
    } catch {
      return []
    }
  })
  return [...new Set(found.filter((target) => target.startsWith('net:')))]
}

async function closed(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who, {
    sandbox: { network: 'gate' },
    security: { unlisted_domains: 'deny' },
  })
  const abstract = `sass-edge-network-${process.pid}-${who.name}`
  const servers = [createServer((socket) => socket.end()), createServer((socket) => socket.end())]
  const [server, named] = servers
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  await new Promise<void>((resolve) => named?.listen(`\0${abstract}`, resolve))
  t.teardown(() => servers.map((one) => one.close()))
  const port = String((server?.address() as { port: number } | undefined)?.port)
  judge(t, await attack(daemon, 'networks'), {
    'a server of its own': 'done',
    resolver: 'nameserver 127.0.0.1\n',
  })
  const own = `127.0.0.1 localhost\n127.0.1.1 ${hostname()}\n::1 localhost ip6-localhost ip6-loopback\n`
  t.equal(await daemon.sh('cat /etc/hosts'), own, 'none of the names that the device lists')
  judge(t, await attack(daemon, 'sockets', abstract, port), {
    interfaces: Array,
    'abstract among themselves': 'done',
    'path of its own': 'done',
  })
}

/** A daemon that cannot go back to the device's network has sessions with one of their own beside each other. */
async function besideEachOther(t: Test, who: Who): Promise<void> {
  const all = { allowed_commands: ['*'], allowed_paths: ['$WORKSPACE'], allowed_env: ['*'] }
  const capabilities = (network: string) => ({ default: { ...all, network } })
  const shows = (daemon: Branched) => daemon.sh('cat /etc/resolv.conf; readlink /proc/self/ns/net')
  for (const [device, own] of [
    ['none', 'gate'],
    ['gate', 'none'],
  ] as const) {
    const daemon = await startBranched(t, who, {
      sandbox: { network: device },
      capabilities: capabilities(own),
    })
    const said = await shows(daemon)
    t.notMatch(said, networksOf(daemon)[0] ?? '')
    t.equal(said.startsWith('nameserver 127.0.0.1\n'), own === 'gate')
  }
  const daemon = await startBranched(t, who, {
    sandbox: { network: 'gate', trust_network: true },
    security: { opaque: 'allow' },
    capabilities: capabilities('host'),
  })
  if (who.name === 'user')
    await t.rejects(shows(daemon), { code: 'SANDBOX_UNAVAILABLE', message: /not root/ })
  else t.ok((await shows(daemon)).includes(readlinkSync('/proc/self/ns/net')))
}

/** A command that has failed is told where it was refused, and no other one is. */
async function tells(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who, { sandbox: { network: 'gate' } })
  daemon.put(
    'reach.py',
    'import socket, sys\nsocket.socket().connect_ex(("127.0.0.1", 8080))\nsys.exit(int(sys.argv[1]))\n',
  )
  const said = async (code: string) =>
    (await daemon.cli(['exec', '--', PYTHON ?? '', './reach.py', code])).stderr
  t.match(await said('7'), /127\.0\.0\.1:8080 refused: nothing listens there/)
  t.notMatch(await said('0'), /refused/)
  await inSession(daemon, async (client) => {
    await run(client, PYTHON ?? '', ['./reach.py', '0'])
    const running = client.stream('false', [], { output: () => undefined })
    t.equal((await running.exit).refused, undefined)
  })
}

async function leavesNothing(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who, { sandbox: { network: 'gate' } })
  const milliseconds: number[] = []
  const once = () =>
    inSession(daemon, async (client) => {
      const begin = performance.now()
      await run(client, 'true', [])
      const middle = performance.now()
      await run(client, 'true', [])
      milliseconds.push(2 * middle - begin - performance.now())
    })
  await once()
  // The device's, and the one that a user's threads rest in.
  const most = who.name === 'root' ? 1 : 2
  await until('the first one has gone', () => networksOf(daemon).length <= most)
  const [networks, descriptors] = [networksOf(daemon), daemon.descriptors()]
  for (let turn = 0; turn < SESSIONS; turn++) await once()
  await until('descriptors as before', () => daemon.descriptors() <= descriptors)
  await until('networks as before', () => networksOf(daemon).length <= most)
  t.strictSame(networksOf(daemon), networks)
  milliseconds.sort((a, b) => a - b)
  t.comment(`a place with a network takes ${milliseconds[SESSIONS / 2]?.toFixed(1)} ms in the middle`)
}

for (const who of everyone(t)) {
  if (PYTHON === undefined) {
    t.comment('skipped: what tries this needs python3')
    break
  }
  await t.test(`a session is alone in its network, daemon of ${who.name}`, (t) => closed(t, who))
  await t.test(`networks of several kinds, daemon of ${who.name}`, (t) => besideEachOther(t, who))
  await t.test(`a command hears what was refused, daemon of ${who.name}`, (t) => tells(t, who))
  await t.test(`nothing is left of ${SESSIONS} networks, daemon of ${who.name}`, (t) => leavesNothing(t, who))
}
