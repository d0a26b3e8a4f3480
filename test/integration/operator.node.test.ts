/**
 * What waits for an operator or for its turn, and what an operator changes while the daemon runs: questions, the
 * queue, the configuration.
 * @module
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { publicKeyOf } from '../../src/base/crypto/ed25519.node.ts'
import { encodeBase64Url } from '../../src/base/encoding/base64.ts'
import { type Client, connect, type Waiting } from '../../src/client/client.node.ts'
import { question, questions } from './agents.node.ts'
import { isServed, tls } from './connections.node.ts'
import {
  changeConfig,
  configPath,
  type Daemon,
  install,
  ON_REAL_FILES,
  sleep,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'

const HOLD = { defense: { vi_swap: { hold_seconds: 1 } } }

function client({ port, fingerprint: pin, seed }: Daemon): Promise<Client> {
  return connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: seed(), pin })
}

t.test('a file with secrets is read only after a yes, and not after a no or silence', async (t) => {
  const daemon = await startNew(t, { ...HOLD, confirm: { timeout_seconds: 2 } })
  writeFileSync(join(daemon.workspace, '.env'), 'TOKEN=geheim\n')
  const agent = await client(daemon)
  const heard: Waiting[] = []
  const read = () => agent.execute('cat', ['.env'], { onWaiting: (what) => void heard.push(what) })

  const approved = read()
  const asked = await question(daemon)
  t.match(asked, { agent: 'agent', rule: 'sensitive_files', shown: { action: { argv: ['cat', '.env'] } } })
  t.equal((await daemon.cli(['confirm', 'approve', asked.id, '--yes'])).code, 0)
  t.equal(Buffer.from((await approved).stdout).toString(), 'TOKEN=geheim\n')
  t.same(heard, [{ kind: 'operator' }])
  const again = await daemon.cli(['confirm', 'approve', asked.id, '--yes'])
  t.not(again.code, 0, 'a question is answered once')

  const denied = t.rejects(read(), { code: 'CONFIRMATION_DENIED' })
  const { id } = await question(daemon)
  t.not(id, asked['id'], 'a yes holds for one command, not for the next')
  t.equal((await daemon.cli(['confirm', 'deny', id, '--yes'])).code, 0)
  await denied

  const begin = performance.now()
  const silent = t.rejects(read(), { code: 'CONFIRMATION_TIMEOUT' })
  await question(daemon)
  await silent
  t.ok(performance.now() - begin > 1_900, 'after the time for an answer, and not before')
  t.same(await questions(daemon), [])
  await agent.close()

  const records = daemon.audit().filter(({ type }) => type === 'confirmation')
  t.same(
    records.map(({ what }) => what),
    ['asked', 'approved', 'asked', 'denied', 'asked', 'timed_out'],
  )
  t.match(records[1], { by: /./, digest: /^[0-9a-f]{64}$/ })
  t.notMatch(JSON.stringify(daemon.audit()), 'geheim')
  t.notMatch(JSON.stringify(daemon.audit()), '.env')
})

t.test(
  'who types the command in a script reads that a human is asked, and programs have an event',
  async (t) => {
    const daemon = await startNew(t)
    writeFileSync(join(daemon.workspace, '.env'), 'TOKEN=geheim\n')
    for (const more of [[], ['--json']]) {
      const running = daemon.cli(['exec', ...more, '--', 'cat', '.env'])
      const { id } = await question(daemon)
      t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
      const { code, stdout, stderr } = await running
      t.equal(code, 0)
      t.equal(stderr, more.length > 0 ? '' : 'sass-edge: waiting for an operator (sass-edge confirm list)\n')
      if (more.length === 0) t.equal(stdout.toString(), 'TOKEN=geheim\n')
      else
        t.strictSame(JSON.parse(stdout.toString().split('\n')[0] ?? ''), {
          event: 'waiting',
          kind: 'operator',
        })
    }
  },
)

t.test('who leaves while a human is asked takes the question along', async (t) => {
  const daemon = await startNew(t)
  writeFileSync(join(daemon.workspace, '.env'), '')
  const agent = await client(daemon)
  const asked = t.rejects(agent.execute('cat', ['.env']))
  await question(daemon)
  await agent.close()
  await asked
  await until('no question', async () => (await questions(daemon)).length === 0)
})

t.test('with one place callers wait in line, hear where they stand, and none is passed over', async (t) => {
  const names = ['second', 'third']
  const directory = await install(t, { ...ON_REAL_FILES, execution: { max_concurrent: 1 } })
  const seeds = new Map(names.map((name, index) => [name, new Uint8Array(32).fill(index + 1)]))
  const { agents } = JSON.parse(readFileSync(configPath(directory), 'utf8'))
  const listed = [...seeds].map(([name, seed]) => ({ name, public_key: encodeBase64Url(publicKeyOf(seed)) }))
  changeConfig(directory, { agents: [...agents, ...listed] })
  const daemon = await startDaemon(t, directory)
  const { port, fingerprint: pin } = daemon
  const first = await client(daemon)
  const holding = first.stream('sleep', ['300'], { output() {} })
  holding.exit.catch(() => {})
  await until('the place to be taken', async () => (await first.ping()).active_processes === 1)

  const order: string[] = []
  const positions: Record<string, number[]> = {}
  const waiting = []
  for (const [agent, privateKey] of seeds) {
    const own = await connect({ host: '127.0.0.1', port, agent, privateKey, pin })
    const heard: number[] = []
    positions[agent] = heard
    const onWaiting = (what: Waiting) => void (what.kind === 'queued' && heard.push(what.position))
    waiting.push(
      own.execute('sh', ['-c', 'echo $$ >> order'], { onWaiting }).then(({ exitCode }) => {
        t.equal(exitCode, 0)
        order.push(agent)
        return own.close()
      }),
    )
    await until('its place in line', () => heard.length > 0)
  }
  t.same(positions, { second: [1], third: [2] })
  t.notOk(existsSync(join(daemon.workspace, 'order')), 'nothing has begun')
  await first.cancel(holding.id)
  await Promise.all(waiting)
  t.same(order, names)
  t.same(positions, { second: [1], third: [2, 1] })
  t.equal(readFileSync(join(daemon.workspace, 'order'), 'utf8').trim().split('\n').length, 2)
  await first.close()
})

async function reloaded(t: Test, daemon: Daemon, event: string): Promise<string> {
  const before = daemon.log().length
  daemon.signal('SIGHUP')
  await until(event, () =>
    daemon
      .log()
      .slice(before)
      .some((line) => line.includes(` ${event} `)),
  )
  const [line = ''] = daemon
    .log()
    .slice(before)
    .filter((one) => one.includes(` ${event} `))
  t.comment(line)
  return line
}

t.test(
  'SIGHUP takes over a good file at once, keeps sessions and commands, and refuses a bad one',
  async (t) => {
    const daemon = await startNew(t, HOLD)
    const agent = await client(daemon)
    const running = agent.stream('sh', ['-c', 'read line; echo "$line"'], { output() {}, stdin: true })
    t.equal((await agent.execute('uname')).exitCode, 0)

    changeConfig(daemon.directory, { capabilities: { default: { denied_commands: ['uname'] } } })
    t.match(await reloaded(t, daemon, 'reloaded'), /policy=/)
    await t.rejects(agent.execute('uname'), { code: 'CAPABILITY_CMD_DENIED' }, 'in the session that is open')
    t.equal((await agent.execute('true')).exitCode, 0)

    const good = readFileSync(configPath(daemon.directory), 'utf8')
    writeFileSync(configPath(daemon.directory), good.replace('"denied_commands"', '"denied_comands"'))
    t.match(await reloaded(t, daemon, 'reload_failed'), /denied_comands is not a known key/)
    await t.rejects(agent.execute('uname'), { code: 'CAPABILITY_CMD_DENIED' }, 'the old one holds')

    writeFileSync(configPath(daemon.directory), good)
    changeConfig(daemon.directory, {
      execution: { max_concurrent: 7 },
      capabilities: { default: { denied_commands: [] } },
    })
    t.match(await reloaded(t, daemon, 'reloaded'), /needs_restart="?execution/)
    t.equal((await agent.execute('uname')).exitCode, 0)
    running.write(Buffer.from('still here\n'))
    running.end()
    t.match(await running.exit, { exitCode: 0 })
    await agent.close()
  },
)

t.test('a reload before the first caller is what the first caller finds', async (t) => {
  const daemon = await startNew(t, HOLD)
  changeConfig(daemon.directory, {
    policy: { rules_file: 'rules.json' },
    capabilities: { default: { denied_commands: ['id'] } },
  })
  const rule = {
    id: 'own.no-uname',
    argv: { program: ['uname'] },
    action: 'deny',
    severity: 'medium',
    description: 'A rule of the test.',
    why: 'It is a test.',
    examples: { match: ['uname'], pass: ['true'] },
  }
  writeFileSync(join(daemon.directory, '.sass-edge/rules.json'), JSON.stringify({ rules: [rule] }))
  await reloaded(t, daemon, 'reloaded')
  const agent = await client(daemon)
  await t.rejects(agent.execute('id'), { code: 'CAPABILITY_CMD_DENIED' })
  await t.rejects(agent.execute('uname'), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
  t.match(
    daemon.audit().filter(({ response }) => response === 'STATUS' || response === 'R4'),
    [
      { response: 'STATUS', rule: 'default.denied_commands' },
      { response: 'R4', rule: 'own.no-uname' },
    ],
  )
  await agent.close()
})

t.test('sass-edge reload says what came of it; a removed agent is gone at once', async (t) => {
  const daemon = await startNew(t)
  const agent = await client(daemon)
  const held = agent.stream('sleep', ['300'], { output() {} })
  held.exit.catch(() => {})
  await until('its command', async () => (await agent.ping()).active_processes === 1)
  const config = JSON.parse(readFileSync(configPath(daemon.directory), 'utf8'))
  changeConfig(daemon.directory, {
    agents: config.agents.filter(({ name }: { name: string }) => name !== 'agent'),
  })
  const checked = await daemon.cli(['check'])
  t.equal(checked.code, 0, `asked before, while it runs: ${checked.stderr}`)
  t.match(String(checked.stdout), 'listen.port: not tried, since the daemon of this state runs')
  const done = await daemon.cli(['reload'])
  t.match(done, { code: 0, stdout: /The policy is [0-9a-f]+ now\./ })
  await agent.closed
  const status = async () => JSON.parse((await daemon.cli(['jobs', '--json', '--all'])).stdout.toString())
  await until('the end of its command', async () => !JSON.stringify(await status()).includes('"running"'))
  await t.rejects(client(daemon), 'and it is not let in again')
  changeConfig(daemon.directory, { agents: config.agents, policy: { rules_file: 'none.json' } })
  t.equal((await daemon.cli(['check'])).code, 125)
  const failed = await daemon.cli(['reload'])
  t.equal(failed.code, 125)
  t.match(failed.stderr, /Nothing was changed, the old configuration holds\. .*none\.json cannot be read/)
  await t.rejects(client(daemon), 'not even the part of it that is good')
})

t.test('acl.allow is taken over for new connections', async (t) => {
  const daemon = await startNew(t)
  changeConfig(daemon.directory, { acl: { allow: ['192.0.2.0/24'] } })
  await reloaded(t, daemon, 'reloaded')
  t.equal(await (await tls(daemon.port)).closed, 'reset')
  changeConfig(daemon.directory, { acl: { allow: ['127.0.0.0/8'] } })
  await reloaded(t, daemon, 'reloaded')
  await sleep(10)
  await isServed(t, daemon)
})
