/**
 * The anomaly monitor of a whole daemon: what contains an agent and what does not, drift from a plan, how full a context
 * is, what the record says of it, and what outlives a restart.
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createMonitor } from '../../src/defense/anomaly/monitor.ts'
import { client, levels } from './agents.node.ts'
import { auditEvents, type Daemon, install, type Json, startDaemon, until } from './daemon.node.ts'

const MIB = 1_048_576
const SETTINGS = { sigma: 3, consecutive: 3, driftPermille: 300 }

/** An agent that works since yesterday, as a daemon would have kept it. */
function usual(directory: string): void {
  const monitor = createMonitor(SETTINGS)
  for (let number = 1; number <= 60; number++)
    monitor.take('agent', { kind: 'turn', turn: { atMs: number * 10_000, bytes: 500, ending: 'done' } })
  writeFileSync(join(directory, '.sass-edge/state/baselines.json'), JSON.stringify(monitor.kept()))
}

const anomalies = (daemon: Daemon): Json[] =>
  auditEvents(daemon.directory).filter(({ type }) => type === 'anomaly')
const status = async (daemon: Daemon): Promise<Json> =>
  JSON.parse((await daemon.cli(['status', '--json'])).stdout.toString())

t.test(
  'three outputs in a row that are out of all proportion contain the agent, and its branch is saved (JF-045, JF-084, JF-090, JF-095, JF-R31)',
  async (t) => {
    const directory = await install(t, {})
    usual(directory)
    const daemon = await startDaemon(t, directory)
    t.match(await status(daemon), {
      watched: [{ agent: 'agent', turns: 60, calibrated: true, alerts: 0, beyond: [] }],
    })
    const agent = await client(daemon)
    await agent.execute('sh', ['-c', 'echo mine > left-by-it'])
    const sleeping = agent.stream('sleep', ['300'], { output: () => {} })
    sleeping.exit.catch(() => {})
    let bytes = 0
    for (let number = 0; number < 3; number++) {
      const piece = agent.stream('head', ['-c', `${20 * MIB}`, '/dev/zero'], {
        output: (_source, given) => {
          bytes += given.length
        },
      })
      await piece.exit
    }
    t.equal(bytes, 60 * MIB, 'what was printed before is delivered')
    await until('containment', async () => (await levels(daemon)).length > 0)
    t.match(await levels(daemon), [
      {
        scope: 'agent',
        name: 'agent',
        level: 'CONTAIN',
        why: /3 anomalous turns in a row by agent, record \d+/,
      },
    ])
    t.match(anomalies(daemon), [
      {
        ...{ what: 'beyond', measure: 'volume', agent: 'agent', value: 20 * MIB, sigma: 3 },
        ...{ category: 'firewall', severity: 'warning', turn: Number, step: Number, mean: Number },
        ...{ sigma_squared: Number, limit: Number, samples: Number },
      },
      { what: 'beyond', measure: 'fill' },
      { what: 'in_a_row', measure: 'turns', value: 3, severity: 'critical' },
    ])
    await until('the checkpoint', () =>
      auditEvents(daemon.directory).some(({ type, what }) => type === 'branch' && what === 'preserved'),
    )
    const replay = await daemon.cli(['audit', 'replay'])
    t.equal(replay.code, 0, replay.stdout.toString())
    t.match(
      (await daemon.cli(['status'])).stdout.toString(),
      /^watched +agent: \d+ turns, calibrated, 2 alerts/m,
    )
    await agent.close()
  },
)

t.test('an ordinary session with many failures in a row goes on, and raises nothing (JF-R37)', async (t) => {
  const directory = await install(t, {})
  usual(directory)
  const daemon = await startDaemon(t, directory)
  const agent = await client(daemon)
  for (let number = 0; number < 18; number++) {
    const { exitCode } = await agent.execute('grep', ['nothing', '/etc/hostname'])
    t.equal(exitCode, 1)
  }
  t.equal((await agent.execute('true', [])).exitCode, 0)
  t.same(await levels(daemon), [])
  t.same(anomalies(daemon), [])
  await agent.close()
})

t.test(
  'an agent that leaves its plan is told of within three commands (JF-046, JF-085, JF-T04)',
  async (t) => {
    const directory = await install(t, { capabilities: { default: { plan: ['echo', 'cat'] } } })
    const daemon = await startDaemon(t, directory)
    const agent = await client(daemon)
    for (let number = 0; number < 20; number++) await agent.execute('echo', [`${number}`])
    for (let number = 0; number < 3; number++) await agent.execute('ls', [])
    await until('drift', () => anomalies(daemon).length > 0)
    t.match(anomalies(daemon), [{ what: 'drift', value: 150, limit: 300, samples: 20 }])
    t.same(await levels(daemon), [], 'it is told, and goes on')
    const decisions = auditEvents(daemon.directory).filter(({ action }) => action === 'execute')
    t.same(
      decisions.map(({ plan }) => plan),
      [...Array(20).fill('inside'), ...Array(3).fill('outside')],
    )
    const replay = await daemon.cli(['audit', 'replay'])
    t.equal(replay.code, 0, replay.stdout.toString())
    await agent.close()
  },
)

t.test(
  'what comes together in a session and no entry of its set covers is told, once for each (JF-R31)',
  async (t) => {
    const directory = await install(t, {
      capabilities: { default: { combinations: ['untrusted+outward', 'secret+change'] } },
      security: { sensitive_files: 'allow', toxic_combinations: 'allow' },
    })
    const daemon = await startDaemon(t, directory)
    writeFileSync(join(daemon.workspace, '.env'), 'A=b\n')
    const agent = await client(daemon)
    for (const argv of [
      ['curl', 'http://127.0.0.1:1/'],
      ['curl', 'http://127.0.0.1:1/'],
    ])
      await agent.execute(argv[0] ?? '', argv.slice(1)).catch(() => {})
    t.same(anomalies(daemon), [], 'what is declared')
    t.equal((await agent.execute('cat', ['.env'])).exitCode, 0, 'it is permitted')
    await agent.execute('cat', ['.env'])
    await agent.execute('rm', ['-f', 'nothing'])
    await until('both', () => anomalies(daemon).length === 2)
    t.match(anomalies(daemon), [
      { what: 'combination', value: 'untrusted+secret+outward', agent: 'agent', severity: 'warning' },
      { what: 'combination', value: 'untrusted+secret+outward+change', turn: Number },
    ])
    const next = await client(daemon)
    await next.execute('cat', ['.env'])
    await next.execute('rm', ['-f', 'nothing'])
    t.equal(anomalies(daemon).length, 2, 'another session has done nothing else')
    t.match((await daemon.cli(['metrics'])).stdout.toString(), /anomalies_total\{measure="combination"\} 2/)
    const replay = await daemon.cli(['audit', 'replay'])
    t.equal(replay.code, 0, replay.stdout.toString())
    await Promise.all([agent.close(), next.close()])
  },
)

t.test('an agent is told how full its context must be, and its branch is saved (JF-092)', async (t) => {
  const directory = await install(t, { defense: { anomaly: { window_tokens: 10_000 } } })
  const daemon = await startDaemon(t, directory)
  const agent = await client(daemon)
  const notices: (string | undefined)[] = []
  const print = async (bytes: number) => {
    const { notice } = await agent.stream('sh', ['-c', `echo > file; head -c ${bytes} /dev/zero`], {
      output: () => {},
    }).exit
    notices.push(notice)
  }
  for (const bytes of [20_000, 8_000, 4_000, 3_200, 3_000]) await print(bytes)
  t.match(notices, [
    undefined,
    /about 70 %/,
    /about 80 % .* saves the branch/,
    /about 88 % .* has saved/,
    undefined,
  ])
  t.match(anomalies(daemon), [
    { what: 'window', value: 700, limit: 700, window: 10_000 },
    { what: 'window', value: 800, limit: 800 },
    { what: 'window', value: 880, limit: 880 },
  ])
  await until('the checkpoint', () =>
    auditEvents(daemon.directory).some(({ type, what }) => type === 'branch' && what === 'preserved'),
  )
  await agent.close()
})

t.test('baselines outlive a restart, and a file that is none begins anew', async (t) => {
  const directory = await install(t, {})
  const path = join(directory, '.sass-edge/state/baselines.json')
  writeFileSync(path, '[["agent", {"volume": 1}]]')
  const daemon = await startDaemon(t, directory)
  const agent = await client(daemon)
  for (let number = 0; number < 5; number++) await agent.execute('echo', ['abc'])
  await agent.close()
  await daemon.stop()
  t.match(JSON.parse(readFileSync(path, 'utf8')), [['agent', { volume: { count: 5, largest: 4 } }]])
  const again = await startDaemon(t, directory)
  t.match(await status(again), { watched: [{ agent: 'agent', turns: 5 }] })
  const other = await client(again)
  for (let number = 0; number < 2; number++)
    await other.stream('head', ['-c', `${20 * MIB}`, '/dev/zero'], { output: () => {} }).exit
  await other.close()
  await until('an alert', () => anomalies(again).length > 0)
  t.match(anomalies(again), [{ measure: 'volume' }])
  const replay = await again.cli(['audit', 'replay'])
  t.equal(replay.code, 0, 'and a replay goes on from them')
})
