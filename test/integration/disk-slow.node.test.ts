/**
 * A real daemon on a disk that takes seconds to keep what is written, as its kernel tells it: strace(1) holds every
 * fsync(2) and fdatasync(2) of the daemon back, or lets them fail, and lets them pass again.
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import {
  type Daemon,
  install,
  type Json,
  ON_REAL_FILES,
  sassEdge,
  sleep,
  startDaemon,
  until,
} from './daemon.node.ts'

const SECONDS = 3
const CALLS = 'fsync,fdatasync'

function connectTo({ port, fingerprint: pin, seed }: Daemon, agent = 'agent'): Promise<Client> {
  // A daemon that halts ends its connections: what waited is then refused, and not asked again.
  return connect({ host: '127.0.0.1', port, agent, privateKey: seed(agent), pin, reconnect: false })
}

type Disk = { wellAgain(): Promise<void> }

/** Until the end of the test, or until it is well again; undefined where nobody may trace the daemon. */
async function illDisk(t: Test, { pid }: Daemon, how: string): Promise<Disk | undefined> {
  if (spawnSync('strace', ['-V']).status !== 0) return undefined
  const strace: ChildProcess = spawn(
    'strace',
    ['-f', '-p', `${pid}`, '-e', `trace=${CALLS}`, '-e', `inject=${CALLS}:${how}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  strace.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(strace, 'exit')
  const wellAgain = async () => {
    strace.kill('SIGINT')
    await ended
  }
  t.teardown(wellAgain)
  await until('strace', () => said.includes('attached') || strace.exitCode !== null)
  if (strace.exitCode === null) return { wellAgain }
  return undefined
}

const MAX_CONCURRENT = 8

/** An agent that has done something, and whose disk is ill from here on; undefined where it cannot be made so. */
async function staged(t: Test, how: string, audit: Json) {
  const directory = await install(t, {
    ...ON_REAL_FILES,
    audit,
    session: { keepalive_seconds: 1 },
    defense: { vi_swap: { hold_seconds: 1 } },
    capabilities: { default: { max_concurrent: MAX_CONCURRENT } },
  })
  const daemon = await startDaemon(t, directory)
  const client = await connectTo(daemon)
  await client.execute('true')
  const disk = await illDisk(t, daemon, how)
  if (disk !== undefined) return { daemon, client, disk }
  t.comment('skipped: strace(1) is not here, or may not trace')
  t.pass()
  return undefined
}

async function verified(directory: string): Promise<boolean> {
  const { stdout } = await sassEdge(['audit', 'verify', '--json'], { cwd: directory })
  return JSON.parse(stdout.toString()).ok
}

/** The last level of alarm that the disk led to. */
const levelOf = (daemon: Daemon) =>
  daemon
    .log()
    .map((line) => / level scope=daemon name=Storage .*to=([A-Z]+)/.exec(line)?.[1])
    .findLast((to) => to !== undefined)

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

const made = (daemon: Daemon) => readdirSync(daemon.workspace)

/** How many commands the chain permits, whether or not the disk keeps it yet. */
const permitted = (daemon: Daemon) =>
  readFileSync(join(daemon.directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8').match(
    /"action":"execute"[^\n]*"response":"R1"/g,
  )?.length ?? 0

t.test(
  'a disk that takes 3 s: nothing is done before its record is kept, and nobody else waits for it',
  async (t) => {
    const stage = await staged(t, `delay_enter=${SECONDS}s`, { fsync: 'always' })
    if (stage === undefined) return
    const { daemon, client, disk } = stage
    const other = await connectTo(daemon, 'operator')
    const beforeKib = daemon.anonymousKib()
    const before = permitted(daemon)
    const began = performance.now()
    const ends = Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const { exitCode } = await client.execute('sh', [
          '-c',
          `sleep 0.2; echo $(date +%s%3N) > made-${index}`,
        ])
        return exitCode
      }),
    )
    await until('as many as may run', () => permitted(daemon) - before >= MAX_CONCURRENT)
    await sleep(300)
    t.equal(permitted(daemon) - before, MAX_CONCURRENT, 'no more are permitted than there are places')
    let slowestPingMs = 0
    while (performance.now() - began < SECONDS * 1_000 - 300) {
      t.same(made(daemon), [], 'nothing is done yet')
      slowestPingMs = Math.max(slowestPingMs, await timed(() => other.ping()))
      await sleep(100)
    }
    t.same(await ends, new Array(12).fill(0), 'then everything is')
    t.equal(made(daemon).length, 12)
    t.ok(
      slowestPingMs < (SECONDS * 1_000) / 2,
      `pings of somebody else are answered, the slowest within ${slowestPingMs.toFixed(0)} ms`,
    )
    const moreMib = (daemon.anonymousKib() - beforeKib) / 1_024
    t.ok(moreMib < 8, `${moreMib.toFixed(1)} MiB more memory`)
    t.notOk(
      daemon.log().some((line) => / peer_lost |connection_failed/.test(line)),
      'and no connection was given up',
    )
    t.equal(levelOf(daemon), undefined, 'which is slow, and no alarm')
    await disk.wellAgain()
    const quickMs = await timed(() => client.execute('true'))
    t.ok(quickMs < SECONDS * 1_000, `well again: ${quickMs.toFixed(0)} ms`)
    await daemon.stop()
    t.ok(await verified(daemon.directory))
  },
)

t.test('who leaves before its record is kept has done nothing, and the record says so', async (t) => {
  const stage = await staged(t, `delay_enter=${SECONDS}s`, { fsync: 'always' })
  if (stage === undefined) return
  const { daemon, client, disk } = stage
  const before = permitted(daemon)
  client.execute('touch', ['never']).catch(() => {})
  await until('its permission', () => permitted(daemon) > before)
  await client.close().catch(() => {})
  await sleep(SECONDS * 1_000 + 500)
  t.same(made(daemon), [])
  await disk.wellAgain()
  await daemon.stop()
  t.match(
    daemon.audit().findLast(({ type }) => type === 'execution_not_started'),
    { reason: 'its stream ended before its record was kept' },
  )
  t.ok(await verified(daemon.directory))
})

for (const fsync of ['always', 'interval'])
  t.test(
    `a disk that takes 8 s restricts, says so, and is trusted again when it is well: ${fsync}`,
    async (t) => {
      const stage = await staged(t, 'delay_enter=8s', { fsync })
      if (stage === undefined) return
      const { daemon, client, disk } = stage
      const reading = client.execute('true')
      await until('RESTRICT', () => levelOf(daemon) === 'RESTRICT')
      t.ok(
        daemon
          .log()
          .some((line) =>
            /The disk of the record takes 5\.\d s to keep what is written: look what/.test(line),
          ),
        'in plain words',
      )
      t.match((await daemon.cli(['level', 'show'])).stdout.toString(), /RESTRICT/, 'an operator may look')
      // Four times what would contain the agent, were it its fault.
      for (let index = 0; index < 4; index++)
        await t.rejects(client.execute('touch', ['restricted']), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
      t.same(made(daemon), [])
      await disk.wellAgain()
      await until('its end', () => levelOf(daemon) === 'NORMAL')
      t.match(await reading, { exitCode: 0 }, 'what only reads goes on')
      t.match(await client.execute('touch', ['after']), { exitCode: 0 }, 'nobody is blamed')
      await daemon.stop()
      t.ok(await verified(daemon.directory))
    },
  )

t.test('a disk that does not answer for 30 s halts the daemon, which goes on when it does', async (t) => {
  const stage = await staged(t, 'delay_enter=100s', { fsync: 'always' })
  if (stage === undefined) return
  const { daemon, client, disk } = stage
  const waiting = client.execute('touch', ['never']).then(
    () => 'done',
    () => 'refused',
  )
  await until('HALT', () => levelOf(daemon) === 'HALT')
  t.ok(
    daemon.log().some((line) => /has not kept what was written for 3\d\.\d s: look at it/.test(line)),
    'in plain words',
  )
  t.equal(await waiting, 'refused')
  t.match((await daemon.cli(['level', 'show'])).stdout.toString(), /HALT/, 'an operator may look')
  await disk.wellAgain()
  await until('its end', () => levelOf(daemon) === 'NORMAL')
  t.same(made(daemon), [], 'what waited then was never done')
  const again = await connectTo(daemon)
  t.match(await again.execute('touch', ['after']), { exitCode: 0 })
  await daemon.stop()
  t.ok(await verified(daemon.directory))
})

t.test('a disk that fails to keep what it took: HALT, without anybody asking, until a restart', async (t) => {
  const stage = await staged(t, 'error=EIO', { fsync: 'always' })
  if (stage === undefined) return
  const { daemon, client, disk } = stage
  const refused = await client.execute('touch', ['never']).then(
    () => 'done',
    () => 'refused',
  )
  t.equal(refused, 'refused')
  await until('HALT', () => levelOf(daemon) === 'HALT')
  // Whichever of its files it loses first.
  await until('plain words in the log', () =>
    daemon
      .log()
      .some((line) =>
        /does not keep what is written to (?:the audit chain|\S+), since the system says EIO, so nothing more is done/.test(
          line,
        ),
      ),
  )
  await disk.wellAgain()
  await sleep(2_500)
  t.equal(levelOf(daemon), 'HALT', 'nobody knows what the disk has')
  t.same(made(daemon), [])
  await daemon.stop()
  t.ok(await verified(daemon.directory))
  const again = await startDaemon(t, daemon.directory)
  const next = await connectTo(again)
  t.match(await next.execute('touch', ['after']), { exitCode: 0 })
  await next.close()
  await again.stop()
  t.ok(await verified(daemon.directory))
})
