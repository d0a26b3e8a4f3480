/**
 * Work that is handed on, on a whole daemon: what the worker may, who is named in the record, when it ends, and what
 * becomes of tokens that are none.
 * @module
 */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { TIER_NAMES } from '../../src/base/tool-name.ts'
import { type Client, connect } from '../../src/client/client.node.ts'
import { outcome, startWithAgents } from './agentic.node.ts'
import { client } from './agents.node.ts'
import {
  changeConfig,
  configPath,
  type Daemon,
  environment,
  type Json,
  PROGRAM,
  until,
} from './daemon.node.ts'

/** What is refused is told, and each refusal is judged by itself. */
const TOLD: Json = { defense: { deny_response: 'reason', levels: { automatic: false } } }
const REFUSED = 'CAPABILITY_DENIED'

function asWorker(daemon: Daemon, delegation: Uint8Array, agent = 'worker'): Promise<Client> {
  const { port, fingerprint: pin, seed } = daemon
  return connect({
    ...{ host: '127.0.0.1', port, agent, privateKey: seed(agent), pin },
    ...{ reconnect: false, delegation },
  })
}

const decided = (daemon: Daemon): Json[] => daemon.audit().filter(({ type }) => type === 'decision')
const told = (daemon: Daemon, what: string): Json[] =>
  daemon.audit().filter((event) => event['type'] === 'identity' && event['what'] === what)

/** An orchestrator that may hand on, and a worker with the tools of T3. */
async function start(t: Test, change: Json = {}): Promise<Daemon> {
  const daemon = await startWithAgents(t, { ...TOLD, ...change }, [
    ['boss', '--tier', 'T5'],
    ['worker', '--tier', 'T3'],
    ['other', '--tier', 'T3'],
  ])
  writeFileSync(join(daemon.workspace, 'text'), 'x\n')
  return daemon
}

t.test(
  'a worker does what both may and what was handed on, in a session that is named after all of them (JF-054, JF-R04, JF-R08)',
  async (t) => {
    const daemon = await start(t)
    const boss = await client(daemon, 'boss')
    const { token } = await boss.delegate('worker', {
      tools: ['Read', 'Glob'],
      commands: ['cat', 'ls', 'touch'],
    })
    const worker = await asWorker(daemon, token)
    t.equal(await outcome(worker.execute('cat', ['text'])), 'done', 'what was handed on')
    t.equal(await outcome(worker.execute('touch', ['new'])), REFUSED, 'a tool that was not')
    t.equal(await outcome(worker.execute('head', ['text'])), REFUSED, 'a command that was not')
    const its = await worker.capabilities()
    t.same(its.allowed_commands, ['cat', 'ls', 'touch'])
    // The same agent without a token has what it is listed with.
    const itself = await client(daemon, 'worker')
    t.equal(await outcome(itself.execute('head', ['text'])), 'done')
    t.equal(await outcome(itself.execute('touch', ['new'])), 'done')
    await until('the records', () => told(daemon, 'delegation_used').length === 1)
    const orchestrator = told(daemon, 'delegated')[0]?.['instance']
    t.match(told(daemon, 'delegated'), [{ agent: 'boss', worker: 'worker', user: 'configuration' }])
    t.match(told(daemon, 'delegation_used'), [{ agent: 'worker', orchestrator, user: 'configuration' }])
    const own = decided(daemon).filter(({ acts_for }) => acts_for !== undefined)
    t.ok(own.length >= 4, 'its authentication and its commands')
    for (const event of own) {
      t.match(event, { agent: 'worker', acts_for: 'boss', orchestrator, user: 'configuration' })
      t.not(event['instance'], null)
    }
    const status = JSON.parse((await daemon.cli(['status', '--json'])).stdout.toString()) as {
      link: { sessions: Json[] }
    }
    t.ok(status.link.sessions.some(({ acts_for }) => acts_for === orchestrator))
    await Promise.all([boss.close(), worker.close(), itself.close()])
  },
)

t.test('a token that is none gets no session, and a second use is on the record', async (t) => {
  const daemon = await start(t)
  const boss = await client(daemon, 'boss')
  const { token } = await boss.delegate('worker')
  t.equal(await outcome(asWorker(daemon, token, 'other')), REFUSED, 'of another worker')
  const worker = await asWorker(daemon, token)
  t.equal(await outcome(asWorker(daemon, token)), REFUSED, 'used already')
  t.equal(await outcome(asWorker(daemon, new Uint8Array(32))), REFUSED, 'nobody’s')
  const short = await boss.delegate('worker', { seconds: 1 })
  await until('its end', () => performance.now() > 0 && Date.now() / 1_000 > short.expiresAt + 1)
  t.equal(await outcome(asWorker(daemon, short.token)), REFUSED, 'expired')
  await until('the records', () => decided(daemon).filter(({ layer }) => layer === 'delegation').length === 4)
  const refused = decided(daemon).filter(({ layer }) => layer === 'delegation')
  t.match(
    refused.map(({ agent, rule, severity }) => [agent, rule, severity]),
    [
      ['other', 'delegation.token_not_its', 'critical'],
      ['worker', 'delegation.token_used', 'critical'],
      ['worker', 'delegation.token_unknown', 'warning'],
      ['worker', /delegation.token_(?:expired|unknown)/, 'warning'],
    ],
  )
  await Promise.all([boss.close(), worker.close()])
})

t.test(
  'whoever has been handed work cannot hand it on, and the try is critical (JF-R39, JF-F20, JF-031)',
  async (t) => {
    const daemon = await startWithAgents(t, TOLD, [
      ['boss', '--tier', 'T5'],
      ['worker', '--tier', 'T5'],
      ['other', '--tier', 'T3'],
    ])
    const boss = await client(daemon, 'boss')
    const worker = await asWorker(daemon, (await boss.delegate('worker')).token)
    t.equal(await outcome(worker.delegate('other')), REFUSED)
    await until('the record', () => decided(daemon).some(({ rule }) => rule === 'delegation.depth'))
    t.match(
      decided(daemon)
        .filter(({ action }) => action === 'delegate')
        .at(-1),
      { response: 'R4', layer: 'delegation', severity: 'critical', agent: 'worker', acts_for: 'boss' },
    )
    await Promise.all([boss.close(), worker.close()])
  },
)

t.test('of the five tiers T5 alone hands work on (JF-F13, JF-R06)', async (t) => {
  const names = TIER_NAMES.map((tier) => tier.toLowerCase())
  const daemon = await startWithAgents(
    t,
    TOLD,
    TIER_NAMES.map((tier) => [tier.toLowerCase(), '--tier', tier]),
  )
  for (const name of names) {
    const agent = await client(daemon, name)
    t.equal(await outcome(agent.delegate('agent')), name === 't5' ? 'done' : REFUSED, name)
    await agent.close()
  }
  const rules = () => decided(daemon).filter(({ action }) => action === 'delegate')
  await until('the records', () => rules().length === 5)
  t.same(
    rules().map(({ layer, rule }) => [layer, rule]),
    [
      ...['T1', 'T2', 'T3', 'T4'].map((tier) => ['tool_access', `tools.${tier}`]),
      ['all', rules()[4]?.['rule']],
    ],
  )
})

t.test(
  'with its orchestrator ends what was handed on: where that goes, is taken off the list, or its time is over (JF-R03)',
  async (t) => {
    const daemon = await start(t)
    const going = await client(daemon, 'boss')
    const first = await asWorker(daemon, (await going.delegate('worker')).token)
    const late = await going.delegate('worker')
    const ran = first.stream('sleep', ['300'], { output() {} })
    ran.exit.catch(() => {})
    await ran.started
    await going.close()
    await first.closed
    t.equal(await outcome(asWorker(daemon, late.token)), REFUSED, 'nor does a token begin one')

    const timed = await client(daemon, 'boss')
    const second = await asWorker(daemon, (await timed.delegate('worker', { seconds: 1 })).token)
    await second.closed

    const third = await asWorker(daemon, (await timed.delegate('worker')).token)
    const { agents } = JSON.parse(readFileSync(configPath(daemon.directory), 'utf8')) as { agents: Json[] }
    changeConfig(daemon.directory, { agents: agents.filter(({ name }) => name !== 'boss') })
    t.equal((await daemon.cli(['reload'])).code, 0)
    await Promise.all([timed.closed, third.closed])
    await until('the records', () => told(daemon, 'delegation_ended').length === 3)
    t.same(
      told(daemon, 'delegation_ended').map(({ why }) => why),
      ['orchestrator_ended', 'time_over', 'orchestrator_ended'],
    )
  },
)

t.test('a worker with a narrower set gets no more by it, nor reaches what it runs elsewhere', async (t) => {
  const daemon = await start(t, {
    capabilities: {
      narrow: { allowed_commands: ['cat', 'sleep'], allowed_paths: ['$WORKSPACE'], allowed_env: ['A*'] },
    },
  })
  const { agents } = JSON.parse(readFileSync(configPath(daemon.directory), 'utf8')) as { agents: Json[] }
  const change = (who: string) =>
    agents.map((agent) => (agent['name'] === who ? { ...agent, capability: 'narrow' } : agent))
  for (const who of ['worker', 'boss']) {
    changeConfig(daemon.directory, { agents: change(who) })
    t.equal((await daemon.cli(['reload'])).code, 0)
    const boss = await client(daemon, 'boss')
    const worker = await asWorker(daemon, (await boss.delegate('worker')).token)
    t.equal(await outcome(worker.execute('cat', ['text'])), 'done', `${who} is narrow`)
    t.equal(await outcome(worker.execute('ls')), 'CAPABILITY_CMD_DENIED')
    t.equal(await outcome(worker.execute('cat', ['text'], { environment: { B: '1' } })), 'FRAME_MALFORMED')
    const itself = await client(daemon, 'worker')
    const ran = itself.stream('sleep', ['300'], { output() {} })
    ran.exit.catch(() => {})
    await ran.started
    t.equal(await outcome(worker.signal(ran.id, 9)), 'PROCESS_NOT_FOUND', 'what runs elsewhere is not its')
    t.same(await worker.executions().then((list) => list.filter(({ command }) => command === 'sleep')), [])
    await itself.cancel(ran.id)
    await Promise.all([boss.close(), worker.close(), itself.close()])
  }
})

t.test(
  'an alarm about whoever has handed work on holds for the work, and ends what runs of it',
  async (t) => {
    const daemon = await start(t)
    const boss = await client(daemon, 'boss')
    const worker = await asWorker(daemon, (await boss.delegate('worker')).token)
    const itself = await client(daemon, 'worker')
    const level = (...words: string[]) => daemon.cli(['level', 'set', ...words])
    const of = ['session', boss.sessionId]
    t.equal((await level(...of, 'RESTRICT')).code, 0)
    t.equal(await outcome(worker.execute('touch', ['new'])), REFUSED, 'of its session')
    t.equal(await outcome(itself.execute('touch', ['new'])), 'done')
    t.equal((await level(...of, 'NORMAL')).code, 0)
    const sleeps = async (of: Client) => {
      const ran = of.stream('sleep', ['300'], { output() {} })
      ran.exit.catch(() => {})
      await ran.started
      return ran
    }
    const ran = await sleeps(worker)
    const other = await sleeps(itself)
    t.equal((await level('agent', 'boss', 'CONTAIN')).code, 0)
    t.match(await ran.exit.catch((cause: unknown) => cause), { signal: 9 })
    await itself.cancel(other.id)
    await Promise.all([boss.close(), worker.close(), itself.close()])
  },
)

t.test('one that is listed as acting for another has its network and its numbers, too', async (t) => {
  const daemon = await start(t, {
    capabilities: {
      narrow: { allowed_commands: ['*'], allowed_paths: ['*'], timeout_seconds: 7, network: 'none' },
    },
  })
  const { agents } = JSON.parse(readFileSync(configPath(daemon.directory), 'utf8')) as { agents: Json[] }
  const changed: Json = { boss: { capability: 'narrow' }, worker: { delegated_by: 'boss' } }
  changeConfig(daemon.directory, {
    agents: agents.map((agent) => ({ ...agent, ...(changed[String(agent['name'])] as Json | undefined) })),
  })
  t.equal((await daemon.cli(['reload'])).code, 0)
  const worker = await client(daemon, 'worker')
  t.match(await worker.capabilities(), { timeout_seconds: 7 })
  let text = ''
  const output = (_source: unknown, bytes: Uint8Array) => {
    text += Buffer.from(bytes).toString()
  }
  await worker.stream('cat', ['/proc/net/dev'], { output }).exit
  t.same(
    text.match(/^ *[a-z0-9]+:/gm)?.map((name) => name.trim()),
    ['lo:'],
  )
  await worker.close()
})

t.test('by the command line: delegate prints a token and stays, and what it gave ends with it', async (t) => {
  const daemon = await start(t)
  const words = ['delegate', '--agent', 'boss', '--to', 'worker', '--tools', 'Read', '--command', 'cat']
  const child = spawn(PROGRAM, words, {
    cwd: daemon.directory,
    env: environment(daemon.directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let token = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    token += text
  })
  await until('a token', () => token.endsWith('\n'))
  const file = join(daemon.directory, 'token')
  writeFileSync(file, token)
  const exec = (...more: string[]) =>
    daemon.cli(['exec', '--agent', 'worker', '--delegation', ...more, '--', 'cat', 'text'])
  const ran = await exec(file)
  t.match(ran, { code: 0 })
  t.equal(ran.stdout.toString(), 'x\n')
  t.match(await exec(token.trim()), { stderr: /was used already/ })
  t.match(await exec('nothing'), { code: 125, stderr: /neither a token nor a file/ })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGINT')
  t.equal(await ended, 0)
  const unable = await daemon.cli(['delegate', '--agent', 'boss', '--to', 'boss'])
  t.match(unable, { code: 125, stdout: Buffer.alloc(0), stderr: /cannot hand work on to itself/ })
})

t.test(
  'an instance that an operator terminates ends for good, with what it runs, asks and has handed on (JF-055)',
  async (t) => {
    const daemon = await start(t)
    const boss = await client(daemon, 'boss')
    const worker = await asWorker(daemon, (await boss.delegate('worker')).token)
    const ran = boss.stream('sleep', ['300'], { output() {} })
    ran.exit.catch(() => {})
    await ran.started
    await until('the record', () => told(daemon, 'delegated').length === 1)
    const instance = String(told(daemon, 'delegated')[0]?.['instance'])
    t.match(await daemon.cli(['terminate', instance]), { code: 0 })
    await Promise.all([boss.closed, worker.closed])
    t.match(await daemon.cli(['terminate', instance]), { stderr: /no session of that instance/ })
    await until('the records', () => told(daemon, 'delegation_ended').length === 1)
    t.match(told(daemon, 'terminated'), [{ agent: 'boss', instance, why: 'operator', by: 'admin' }])
    const again = connect({
      ...{ host: '127.0.0.1', port: daemon.port, agent: 'boss', privateKey: daemon.seed('boss') },
      ...{ pin: daemon.fingerprint, reconnect: false, resumeSessionId: boss.sessionId },
    })
    const next = await again
    t.not(next.sessionId, boss.sessionId, 'whoever comes back is another instance')
    t.equal(await outcome(next.execute('true')), 'done')
    await next.close()
  },
)
