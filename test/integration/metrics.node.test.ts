/**
 * Figures for Prometheus from a real daemon: over its own socket and the admin socket, moving by what really happened;
 * and a scraper that means harm.
 * @module
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { METRICS_CONNECTIONS, METRICS_HEADER_BYTES } from '../../src/limits.ts'
import { authenticateFrame, isServed, tls } from './connections.node.ts'
import {
  changeConfig,
  type Daemon,
  install,
  ON_REAL_FILES,
  sassEdge,
  sleep,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'
import { type Family, readExposition, sampleOf } from './exposition.ts'

const SOCKET = 'state/metrics.sock'

type Answer = { readonly status: number; readonly type: string; readonly body: string }
type Place = { readonly socketPath: string } | { readonly host: string; readonly port: number }

function ask(place: Place, path = '/metrics', method = 'GET', headers = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ ...place, path, method, headers, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.once('end', () => {
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body })
      })
    })
    asked.once('error', reject)
    asked.end()
  })
}

const socketOf = ({ directory }: Daemon): Place => ({ socketPath: join(directory, '.sass-edge', SOCKET) })

async function scrape(place: Place): Promise<ReadonlyMap<string, Family>> {
  const { status, type, body } = await ask(place)
  if (status !== 200) throw new Error(`${status}: ${body}`)
  if (type !== 'text/plain; version=0.0.4; charset=utf-8') throw new Error(type)
  return readExposition(body)
}

/** What a sample has grown by. */
function grown(
  before: ReadonlyMap<string, Family>,
  after: ReadonlyMap<string, Family>,
  name: string,
  labels = '',
): number {
  const had = sampleOf(before, name, labels)
  return sampleOf(after, name, labels) - (Number.isNaN(had) ? 0 : had)
}

t.test('counters move by what happened, and both ways in tell the same', async (t) => {
  const daemon = await startNew(t, {
    ...ON_REAL_FILES,
    metrics: { listen: SOCKET },
  })
  const place = socketOf(daemon)
  t.equal(statSync(join(daemon.directory, '.sass-edge', SOCKET)).mode & 0o777, 0o600)
  const before = await scrape(place)
  t.equal(sampleOf(before, 'sass_edge_executions_started_total'), 0)
  t.equal(sampleOf(before, 'sass_edge_level', 'level="NORMAL"'), 1)
  t.ok(sampleOf(before, 'process_resident_memory_bytes') > 10_000_000)
  t.equal(sampleOf(before, 'process_open_fds') > 10, true)
  const started = sampleOf(before, 'process_start_time_seconds')
  t.ok(
    Math.abs(started - statSync(`/proc/${daemon.pid}`).ctimeMs / 1_000) < 20,
    'the start is a time of Unix',
  )

  t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0)
  t.equal((await daemon.cli(['exec', '--', 'sh', '-c', 'exit 3'])).code, 3)
  t.equal((await daemon.cli(['exec', '--', 'sh', '-c', 'kill -9 $$'])).code, 137)
  await daemon.cli(['exec', '--timeout', '1', '--', 'sleep', '60'])
  const refused = await daemon.cli(
    ['exec', '--timeout', '3', '--reconnect', '0', '--', 'cat', '/etc/shadow'],
    {
      timeoutMs: 5_000,
    },
  )
  t.not(refused.code, 0)
  await until('all that ended is counted', async () => {
    return grown(before, await scrape(place), 'sass_edge_executions_ended_total', 'result="timed_out"') === 1
  })

  const after = await scrape(place)
  for (const [name, labels, by] of [
    ['sass_edge_executions_started_total', '', 4],
    ['sass_edge_executions_ended_total', 'result="succeeded"', 1],
    ['sass_edge_executions_ended_total', 'result="failed"', 1],
    ['sass_edge_executions_ended_total', 'result="signalled"', 1],
    ['sass_edge_executions_ended_total', 'result="timed_out"', 1],
    ['sass_edge_executions_ended_total', 'result="not_started"', 0],
    ['sass_edge_responses_total', 'response="R4"', 1],
    ['sass_edge_verdicts_total', 'layer="13policy",response="VI_SWAP"', 1],
    ['sass_edge_connections_total', 'transport="tls"', 5],
    ['sass_edge_executions_running', '', 0],
    ['sass_edge_rings_used', '', 0],
  ] as const)
    t.equal(grown(before, after, name, labels), by, `${name}{${labels}} has grown by ${by}`)
  t.ok(grown(before, after, 'sass_edge_network_receive_bytes_total') > 5 * 1_000)
  t.ok(grown(before, after, 'sass_edge_audit_records_total') > 10)
  t.ok(grown(before, after, 'sass_edge_log_lines_total', 'level="warn"') >= 1)

  const { stdout, code } = await daemon.cli(['metrics'])
  t.equal(code, 0)
  const told = readExposition(stdout.toString())
  t.strictSame([...told.keys()], [...after.keys()], 'the same families')
  t.equal(sampleOf(told, 'sass_edge_executions_started_total'), 4)
  t.equal(sampleOf(told, 'sass_edge_connections', 'phase="open"'), 1, 'its own connection')
  const asAgent = await daemon.cli(['metrics', '--agent', 'agent'], { timeoutMs: 3_000 })
  t.notMatch(asAgent.stdout.toString(), /sass_edge_/, 'no agent is told')
  t.equal(grown(after, await scrape(place), 'sass_edge_responses_total', 'response="R4"'), 1)
})

t.test('what runs and who waits can be seen while it does', async (t) => {
  const daemon = await startNew(t, {
    ...ON_REAL_FILES,
    metrics: { listen: SOCKET },
    capabilities: { default: { max_concurrent: 1 } },
    execution: { max_concurrent: 1 },
  })
  const place = socketOf(daemon)
  const first = daemon.cli(['exec', '--', 'sh', '-c', 'yes | head -c 40000000; read x < /dev/null; sleep 1'])
  await until('it runs', async () => sampleOf(await scrape(place), 'sass_edge_executions_running') === 1)
  const second = daemon.cli(['exec', '--', 'true'])
  await until('one waits', async () => sampleOf(await scrape(place), 'sass_edge_queue_length') === 1)
  const families = await scrape(place)
  t.equal(sampleOf(families, 'sass_edge_rings'), 1)
  t.equal(sampleOf(families, 'sass_edge_rings_used'), 1)
  t.equal(sampleOf(families, 'sass_edge_sessions', 'state="executing"'), 1)
  t.equal(sampleOf(families, 'sass_edge_connections', 'phase="open"'), 2)
  t.equal((await first).code, 0)
  t.equal((await second).code, 0)
  t.equal(sampleOf(await scrape(place), 'sass_edge_queue_length'), 0)
})

t.test('a client that takes nothing stalls its command, and that is seen', async (t) => {
  const daemon = await startNew(t, { ...ON_REAL_FILES, metrics: { listen: SOCKET } })
  const place = socketOf(daemon)
  const { connect } = await import('../../src/client/client.node.ts')
  const { port, fingerprint: pin } = daemon
  const client = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin })
  const { promise: taken, resolve: take } = Promise.withResolvers<void>()
  const running = client.stream('sh', ['-c', 'yes | head -c 30000000'], { output: () => taken })
  await until(
    'it is held back',
    async () => sampleOf(await scrape(place), 'sass_edge_executions_stalled') === 1,
  )
  take()
  t.equal((await running.exit).exitCode, 0)
  t.equal(sampleOf(await scrape(place), 'sass_edge_executions_stalled'), 0)
  await client.close()
})

t.test('failed proofs, penalties, tarpits and reloads are counted', async (t) => {
  const directory = await install(t, {
    metrics: { listen: SOCKET },
    acl: { penalties: { exempt: [] } },
    defense: { tarpit: { mode: 'hold' } },
  })
  const daemon = await startDaemon(t, directory)
  const place = socketOf(daemon)
  for (let count = 1; count <= 4; count++) {
    const wire = await tls(daemon.port)
    const signature = new Uint8Array(64).fill(count)
    wire.socket.write(authenticateFrame(wire.socket, 'agent', daemon.seed(), { signature }))
    await until(
      'it is held',
      async () => sampleOf(await scrape(place), 'sass_edge_tarpit_clients_total') === count,
    )
  }
  const families = await scrape(place)
  t.equal(sampleOf(families, 'sass_edge_offences_total', 'reason="auth_failed"'), 4)
  t.equal(
    sampleOf(families, 'sass_edge_penalties_total'),
    1,
    '15 seconds are a penalty, and time has passed since the first',
  )
  t.equal(sampleOf(families, 'sass_edge_penalties_active'), 1)
  t.equal(sampleOf(families, 'sass_edge_verdicts_total', 'layer="identity",response="TARPIT"'), 4)
  t.equal(sampleOf(families, 'sass_edge_tarpit_clients'), 4)
  t.equal(sampleOf(families, 'sass_edge_connections', 'phase="tarpit"'), 4)
  t.match(daemon.log().join('\n'), / warn penalty source=127\.0\.0\.1 reason=auth_failed$/m)
  await tls(daemon.port)
  t.equal(sampleOf(await scrape(place), 'sass_edge_connections_turned_away_total', 'transport="tls"'), 1)

  const path = join(directory, '.sass-edge/sass.edge.json')
  t.equal((await daemon.cli(['reload'])).code, 0)
  const good = readFileSync(path)
  writeFileSync(path, '{')
  daemon.signal('SIGHUP')
  await until('a failed reload', async () => {
    return sampleOf(await scrape(place), 'sass_edge_config_reloads_total', 'result="failed"') === 1
  })
  writeFileSync(path, good)
  t.equal(sampleOf(await scrape(place), 'sass_edge_config_reloads_total', 'result="ok"'), 1)
})

t.test('a command that was cut off with its daemon is counted by the next one', async (t) => {
  const directory = await install(t, { ...ON_REAL_FILES, metrics: { listen: SOCKET } })
  const first = await startDaemon(t, directory)
  t.equal((await first.cli(['exec', '--detach', '--', 'sleep', '300'])).code, 0)
  first.signal('SIGKILL')
  await first.ended
  const second = await startDaemon(t, directory)
  await until('it is found', async () => {
    return sampleOf(await scrape(socketOf(second)), 'sass_edge_executions_lost_total') === 1
  })
  const families = await scrape(socketOf(second))
  t.equal(sampleOf(families, 'sass_edge_executions_started_total'), 0)
})

async function loopback(
  t: Test,
): Promise<{ readonly daemon: Daemon; readonly place: { host: string; port: number } }> {
  const daemon = await startNew(t, { metrics: { listen: '127.0.0.1:0' } })
  const port = Number(/ metrics=127\.0\.0\.1:(\d+)/.exec(daemon.log().join('\n'))?.[1])
  return { daemon, place: { host: '127.0.0.1', port } }
}

t.test('there is one page, to be read, by whoever asks for an address', async (t) => {
  const { daemon, place } = await loopback(t)
  t.equal((await ask(place)).status, 200)
  t.equal((await ask(place, '/metrics?x=1')).status, 200)
  const head = await ask(place, '/metrics', 'HEAD')
  t.strictSame([head.status, head.body], [200, ''])
  for (const path of ['/', '/metrics/', '/../metrics', '//metrics', 'http://127.0.0.1/metrics', '/%6detrics'])
    t.equal((await ask(place, path)).status, 404, path)
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH'])
    t.equal((await ask(place, '/metrics', method)).status, 405, method)
  for (const host of ['localhost', 'localhost:9464', '127.0.0.1', '[::1]:9464'])
    t.equal((await ask(place, '/metrics', 'GET', { host })).status, 200, host)
  for (const host of [
    'attacker.example',
    'attacker.example:9464',
    '127.0.0.1.attacker.example',
    '127.0.0.1@evil',
  ])
    t.equal((await ask(place, '/metrics', 'GET', { host })).status, 421, host)
  await isServed(t, daemon)
})

function raw(place: { host: string; port: number }): {
  readonly socket: Socket
  readonly over: Promise<string>
} {
  const socket = connectTcp(place)
  let text = ''
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece
  })
  socket.on('error', () => {})
  return { socket, over: new Promise((resolve) => socket.once('close', () => resolve(text))) }
}

t.test('a scraper that means harm gets nothing and costs little', async (t) => {
  const { daemon, place } = await loopback(t)
  const descriptors = daemon.descriptors()

  const huge = raw(place)
  huge.socket.write(`GET /metrics HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(10 * METRICS_HEADER_BYTES)}`)
  t.equal(await huge.over, '', 'a head that is too long')
  const noHttp = raw(place)
  noHttp.socket.write('\x16\x03\x01\x00\x05hello\r\n\r\n')
  t.equal(await noHttp.over, '')
  const smuggled = raw(place)
  const once = 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
  smuggled.socket.write(once.repeat(20))
  t.equal((await smuggled.over).match(/HTTP\/1\.1 200/g)?.length, 1, 'one answer a connection')
  for (const ask of ['CONNECT 10.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n', 'GET /metrics HTTP/1.1\r\n\r\n']) {
    const odd = raw(place)
    odd.socket.write(ask)
    t.notMatch(await odd.over, /sass_edge_/)
  }
  const upgrade = raw(place)
  upgrade.socket.write(
    'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n',
  )
  t.notMatch(await upgrade.over, /101/)

  // Those that ask slowly, and those that never read, take all the places there are, and no more than that.
  const slow = Array.from({ length: 40 }, () => raw(place))
  for (const { socket } of slow) socket.write('GET /metrics HTTP/1.1\r\nX-')
  await until(
    'the others are turned away',
    () => slow.filter(({ socket }) => socket.closed).length >= 40 - METRICS_CONNECTIONS,
  )
  t.ok(daemon.descriptors() - descriptors <= METRICS_CONNECTIONS + 2, 'few descriptors')
  await isServed(t, daemon)
  await Promise.all(slow.map(({ over }) => over))
  const body = raw(place)
  body.socket.write('POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000000\r\n\r\n')
  const feed = setInterval(() => body.socket.write('a'.repeat(1_000)), 50)
  t.match(await body.over, /^HTTP\/1\.1 405/)
  clearInterval(feed)
  const deaf = Array.from({ length: METRICS_CONNECTIONS }, () => connectTcp(place))
  for (const socket of deaf)
    socket
      .on('error', () => {})
      .pause()
      .write(once)
  await sleep(300)
  t.equal((await ask(place)).status, 200, 'who does not read is not waited for')
  for (const socket of deaf) socket.destroy()
  await until('all is given back', () => daemon.descriptors() <= descriptors + 2)
  await isServed(t, daemon)
})

t.test('another place than the device itself is an error of the configuration', async (t) => {
  const directory = await install(t)
  for (const [listen, said] of [
    ['0.0.0.0:9464', /metrics\.listen is no loopback address with a port \(write 127\.0\.0\.1:9464 or/],
    ['192.0.2.1:9464', /no loopback address/],
    ['[::]:9464', /no loopback address/],
    [':9464', /no loopback address/],
    ['localhost:9464', /no loopback address/],
    ['127.0.0.1:99999', /no loopback address/],
    [
      '/tmp/metrics.sock',
      /lies neither in state_directory nor beside listen\.admin_socket \(write \/.*\/metrics\.sock\)/,
    ],
    ['admin.sock', /metrics\.listen is listen\.admin_socket/],
    [`state/${'x'.repeat(120)}`, /metrics\.listen is \d+ bytes long/],
  ] as const) {
    changeConfig(directory, { metrics: { listen } })
    const { code, stderr } = await sassEdge(['run'], { cwd: directory })
    t.equal(code, 125, listen)
    t.match(stderr, said)
  }
  const port = 40_000 + (process.pid % 20_000)
  changeConfig(directory, { listen: { port }, metrics: { listen: `127.0.0.1:${port}` } })
  t.match(
    (await sassEdge(['run'], { cwd: directory })).stderr,
    /metrics\.listen has the port of listen\.port/,
  )
})

t.test('what lies at the place is nobody’s to remove, and a socket of a dead daemon is', async (t) => {
  const directory = await install(t, { metrics: { listen: SOCKET } })
  const path = join(directory, '.sass-edge', SOCKET)
  const first = await startDaemon(t, directory)
  first.signal('SIGKILL')
  await first.ended
  const second = await startDaemon(t, directory)
  t.equal((await ask(socketOf(second))).status, 200)
  await second.stop()
  writeFileSync(path, 'mine')
  const { code, stderr } = await sassEdge(['run'], { cwd: directory })
  t.equal(code, 125)
  t.match(stderr, /metrics\.sock is not a socket, so the metrics socket cannot be made/)
  t.equal(readFileSync(path, 'utf8'), 'mine')
})
