/**
 * What an incident leaves behind for whoever must look into it: the branch as it was left, nothing that still waits, and
 * what happened, to whom, and what to do next.
 * @module
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import { levels, question } from './agents.node.ts'
import { type Daemon, install, startDaemon, until } from './daemon.node.ts'

const rule = (name: string, more: object) => ({
  id: `own.${name}`,
  argv: { program: [name] },
  action: 'deny',
  description: 'A rule of the test.',
  why: 'It is a test.',
  examples: { match: [`${name} 1`], pass: ['true'] },
  ...more,
})
const RULES = JSON.stringify({
  rules: ['high', 'critical'].map((severity) => rule(`x${severity}`, { severity })),
})
const CHANGE = {
  policy: { rules_file: 'rules.json' },
  defense: {
    vi_swap: { hold_seconds: 1 },
    tarpit: { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 },
  },
}

function client({ port, fingerprint: pin, seed }: Daemon, agent = 'agent'): Promise<Client> {
  return connect({ host: '127.0.0.1', port, agent, privateKey: seed(agent), pin })
}

t.test(
  'at a checkpoint and in containment the state is saved, and a human finds it as it was left (JF-094)',
  async (t) => {
    const directory = await install(t, CHANGE)
    writeFileSync(join(directory, '.sass-edge/rules.json'), RULES)
    const daemon = await startDaemon(t, directory)
    const agent = await client(daemon)
    const branch = agent.sessionId
    const checkpoints = async () =>
      JSON.parse((await daemon.cli(['branch', 'checkpoint', branch, '--list', '--json'])).stdout.toString())
        .checkpoints
    const listed = async () => Buffer.from((await agent.execute('ls')).stdout).toString()
    await agent.execute('touch', ['before'])
    const running = agent.execute('sh', ['-c', 'sleep 12; touch late'])
    await until('its start', async () => (await agent.ping()).active_processes === 1)
    await t.rejects(agent.execute('xhigh'), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
    t.match(await levels(daemon), [{ scope: 'session', level: 'CHECKPOINT' }])
    t.strictSame(await checkpoints(), [], 'what runs is let to its end first')
    await running
    await until('the state', async () => (await checkpoints()).length === 1)
    t.match(await checkpoints(), [
      { number: 1, files: 2, label: /^CHECKPOINT: 13policy own\.xhigh by agent, record \d+$/ },
    ])

    const waits = agent.execute('rm', ['before'])
    const { id } = await question(daemon)
    t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
    await waits
    t.equal((await daemon.cli(['level', 'set', 'session', branch, 'NORMAL'])).code, 0)
    t.equal(await listed(), 'late\n')
    const restored = await daemon.cli(['branch', 'checkpoint', branch, '--restore', '1', '--yes'])
    t.equal(restored.code, 0, restored.stderr)
    t.equal(await listed(), 'before\nlate\n', 'as it was left')

    await t.rejects(agent.execute('xcritical'))
    await until('the state of the contained', async () => (await checkpoints()).length === 2)
    t.match((await checkpoints()).at(-1), {
      label: /^CONTAIN: 13policy own\.xcritical by agent, record \d+$/,
    })
    t.match(
      daemon.audit().filter(({ what }) => what === 'preserved'),
      [
        { type: 'branch', branch, number: 1, files: 2, by: null, instance: /^agent-/ },
        { type: 'branch', branch, number: 2 },
      ],
    )
  },
)

for (const how of ['by hand', 'by an incident'])
  t.test(
    `containment ${how} cuts off, saves, cancels what is pending, and tells who, why and what next (JF-R33)`,
    async (t) => {
      const directory = await install(t, CHANGE)
      writeFileSync(join(directory, '.sass-edge/rules.json'), RULES)
      const daemon = await startDaemon(t, directory)
      const agent = await client(daemon)
      const branch = agent.sessionId
      const said = async (...words: string[]) =>
        JSON.parse((await daemon.cli([...words, '--json'])).stdout.toString())
      writeFileSync(join(daemon.workspace, '.env'), 'SECRET=1')
      await agent.execute('touch', ['left'])
      const runs = agent.execute('sleep', ['60']).catch(() => 'ended')
      await until('its start', async () => (await agent.ping()).active_processes === 1)
      const waits = agent.execute('cat', ['.env']).catch(() => 'refused')
      await until('the question', async () => (await said('confirm', 'list')).confirmations.length === 1)

      if (how === 'by hand')
        t.equal(
          (await daemon.cli(['level', 'set', 'agent', 'agent', 'CONTAIN', '--why', 'it looks odd'])).code,
          0,
        )
      else await agent.execute('xcritical').catch(() => {})

      await Promise.all([runs, waits])
      t.strictSame((await said('confirm', 'list')).confirmations, [], 'nothing is asked for it any more')
      t.match(
        daemon.audit().findLast(({ type }) => type === 'confirmation'),
        { what: /^(denied|withdrawn)$/, agent: 'agent' },
      )
      t.match(
        daemon.audit().findLast(({ type }) => type === 'execution_ended'),
        { signal: 9 },
      )
      const refused = await daemon.cli(['exec', '--', 'touch', 'new'])
      t.not(refused.code, 0, 'no access')
      t.notMatch(refused.stderr, /CONTAIN|denied|refused/i, 'and it is not told')
      await until(
        'the state',
        async () => (await said('branch', 'checkpoint', branch, '--list')).checkpoints.length === 1,
      )
      t.match(
        (await daemon.cli(['branch', 'diff', branch, '--stat'])).stdout.toString(),
        /left/,
        'as it was left',
      )

      const why = how === 'by hand' ? 'it looks odd' : '13policy own.xcritical'
      const shown = (await daemon.cli(['level', 'show'])).stdout.toString()
      t.match(shown, new RegExp(`agent +agent +CONTAIN .*${why}`))
      t.match(shown, /let it go on:\n {2}sass-edge level set agent agent NORMAL\n/)
      t.ok(
        daemon.log().some((line) => line.includes('level scope=agent name=agent') && line.includes(why)),
        'and the log says it at once',
      )
      t.match(
        daemon.audit().findLast(({ to }) => to === 'CONTAIN'),
        { name: 'agent', instance: /./, why },
      )
      t.equal((await daemon.cli(['level', 'set', 'agent', 'agent', 'NORMAL'])).code, 0)
      t.equal((await daemon.cli(['exec', '--', 'touch', 'new'])).code, 0)
    },
  )

t.test(
  'after an incident the state is restored, checked and summed up, and all others go on (JF-R36)',
  async (t) => {
    const directory = await install(t, CHANGE)
    writeFileSync(join(directory, '.sass-edge/rules.json'), RULES)
    const daemon = await startDaemon(t, directory)
    const [agent, other] = await Promise.all([client(daemon), client(daemon)])
    const branch = agent.sessionId
    writeFileSync(join(daemon.workspace, 'real'), 'old')
    for (const name of ['kept', 'real']) await agent.execute('sh', ['-c', `echo mine >${name}`])
    await agent.execute('xhigh').catch(() => {})
    const list = async () =>
      JSON.parse((await daemon.cli(['branch', 'checkpoint', branch, '--list', '--json'])).stdout.toString())
        .checkpoints
    await until('the state', async () => (await list()).length === 1)
    t.equal((await daemon.cli(['level', 'set', 'session', branch, 'NORMAL'])).code, 0)
    await agent.execute('sh', ['-c', 'rm kept; echo spoilt >real'])
    writeFileSync(join(daemon.workspace, 'real'), 'changed by somebody')

    const others = other.execute('sleep', ['5'])
    await until('its start', async () => (await other.ping()).active_processes === 1)
    const restore = () => daemon.cli(['branch', 'checkpoint', branch, '--restore', '1', '--yes'])
    const { code, stdout } = await restore()
    t.equal(code, 0)
    t.match(stdout.toString(), /as it was at checkpoint 1: 2 changes, 1 in conflict with the real files/)
    t.match(
      daemon.audit().findLast(({ what }) => what === 'restored'),
      { branch, changes: 2, conflicts: 1 },
    )
    const shown = JSON.parse((await daemon.cli(['branch', 'diff', branch, '--json'])).stdout.toString())
    t.equal(
      daemon.audit().findLast(({ what }) => what === 'restored')?.['digest'],
      shown.digest,
      'as it is shown',
    )
    t.equal(Buffer.from((await agent.execute('cat', ['kept', 'real'])).stdout).toString(), 'mine\nmine\n')
    t.equal((await others).exitCode, 0, 'another session has gone on')
    t.equal(daemon.audit().filter(({ what }) => what === 'started').length, 1, 'without a restart')

    const { seq } = daemon.audit().find(({ to }) => to === 'CHECKPOINT') ?? {}
    const told = JSON.parse((await daemon.cli(['audit', 'incident', `${seq}`, '--json'])).stdout.toString())
    t.match(told, {
      incident: seq,
      about: [/^agent-/, branch],
      levels: [
        { to: 'CHECKPOINT', why: /xhigh/ },
        { to: 'NORMAL', from: 'CHECKPOINT' },
      ],
      saved: [{ what: 'preserved', number: 1, files: 2 }],
      restored: [{ number: 1, changes: 2, conflicts: 1, digest: shown.digest }],
      merged: [],
    })
    t.notOk(JSON.stringify(told).includes(other.sessionId), 'and nothing of another session')
    const lines = (await daemon.cli(['audit', 'incident', `${seq}`])).stdout.toString()
    t.match(lines, /\nsaved: 1\n {2}\d+ .*what=preserved/)

    await agent.execute('rm', ['kept'])
    const saved = readdirSync(join(directory, '.sass-edge/state'), {
      recursive: true,
      encoding: 'utf8',
    }).find((path) => /checkpoints\/1\/\d+\/\w+\/.*kept$/.test(path))
    const path = join(directory, '.sass-edge/state', saved ?? 'none')
    writeFileSync(path, 'ours\n')
    const altered = await restore()
    t.not(altered.code, 0)
    t.match(altered.stderr, /is not what was saved \(its content is another one\)/)
    rmSync(path)
    const refused = await restore()
    t.not(refused.code, 0)
    t.match(refused.stderr, /is not what was saved \(1 files of 2, /)
    t.equal(
      Buffer.from((await agent.execute('ls')).stdout).toString(),
      'real\n',
      'and the branch is as it is',
    )
  },
)
