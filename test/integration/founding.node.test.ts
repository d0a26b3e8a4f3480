/**
 * Founding rules on a whole daemon: what a new installation with them lets a new agent do, what contains it at once, and
 * which configuration is none.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { outcome } from './agentic.node.ts'
import { client, levels, question } from './agents.node.ts'
import {
  changeConfig,
  configPath,
  type Daemon,
  type Json,
  sassEdge,
  startDaemon,
  temporary,
  until,
} from './daemon.node.ts'
import { enroll, invite } from './enrolling.node.ts'
import { MESSAGE, told } from './handoffs.node.ts'

t.setTimeout(240_000)

const REFUSED = 'CAPABILITY_DENIED'
const TOLD: Json = { defense: { deny_response: 'reason' }, session: { max_sessions: 32 } }

/** As `init` leaves it, with founding rules or without, and some more agents. */
async function installed(
  t: Test,
  strict: readonly string[],
  agents: readonly string[][] = [],
): Promise<string> {
  const directory = temporary(t)
  const run = async (...words: string[]) => {
    const ran = await sassEdge(words, { cwd: directory })
    if (ran.code !== 0) throw new Error(ran.stderr)
  }
  await run('init', '--port', '0', ...strict)
  for (const words of agents) await run('agent', 'add', ...words)
  changeConfig(directory, TOLD)
  return directory
}

const configOf = (directory: string): Json => JSON.parse(readFileSync(configPath(directory), 'utf8'))

t.test(
  'with founding rules a new agent reads, is told the three, and a human is asked about what nothing lists (JF-R42)',
  async (t) => {
    const directory = await installed(t, ['--strict'], [['said', '--tier', 'T2']])
    t.match(configOf(directory), {
      security: { founding_rules: true },
      capabilities: { default: { forbidden_commands: ['shutdown', 'mkfs*', 'insmod'] } },
    })
    changeConfig(directory, { capabilities: { default: { allowed_commands: ['cat', 'touch'] } } })
    const daemon = await startDaemon(t, directory)
    const shown = JSON.parse((await daemon.cli(['agent', 'list', '--json'])).stdout.toString()) as {
      agents: Json[]
    }
    t.match(
      Object.fromEntries(shown.agents.map(({ name, tier }) => [name, tier])),
      { agent: 'T1', said: 'T2', operator: 'T3' },
      'but for who was given more',
    )
    const agent = await client(daemon)
    const rules = await agent.rules()
    for (const sentence of [
      /hand nothing on/,
      /for a human to decide/,
      /deceive nobody/,
      /shutdown, mkfs\*, insmod/,
    ])
      t.match(rules, sentence)
    t.equal(await outcome(agent.execute('cat', ['/etc/hostname'])), 'done')
    t.equal(await outcome(agent.execute('touch', ['x'])), REFUSED, 'it writes nothing')
    const unlisted = outcome(agent.execute('head', ['/etc/hostname']))
    const { id } = await question(daemon)
    t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
    t.equal(await unlisted, 'done')

    const home = temporary(t)
    const joined = await enroll(home, await invite(daemon, 'late'), '--name', 'here')
    t.equal(joined.code, 0, joined.stderr)
    const listed = (await daemon.cli(['agent', 'list', '--json'])).stdout.toString()
    t.match(JSON.parse(listed), { enrolled: [{ name: 'late', tier: 'T1' }] })
    const late = (...words: string[]) => sassEdge(['exec', 'here', '--', ...words], { cwd: home })
    t.match(await late('cat', '/etc/hostname'), { code: 0 }, 'whoever enrols reads')
    t.not((await late('touch', 'x')).code, 0, 'and does no more')
    await agent.close()
  },
)

type Breach = {
  readonly agent: string
  readonly rule: string
  readonly tries: (daemon: Daemon) => Promise<string>
}

/** Each by somebody of its own; what it is answered with. */
const BREACHES: readonly Breach[] = [
  {
    ...{ agent: 'worker', rule: 'delegation.depth' },
    async tries(daemon) {
      const { token } = await (await client(daemon, 'boss')).delegate('worker')
      const { port, fingerprint: pin, seed } = daemon
      const worker = await connect({
        ...{ host: '127.0.0.1', port, agent: 'worker', privateKey: seed('worker'), pin },
        ...{ reconnect: false, delegation: token },
      })
      return outcome(worker.delegate('reader'))
    },
  },
  {
    ...{ agent: 'decider', rule: 'method.operator' },
    async tries(daemon) {
      const { operator } = await client(daemon, 'decider')
      return outcome(operator.answerConfirmation('0'.repeat(32), true, '0'.repeat(64)))
    },
  },
  {
    ...{ agent: 'reader', rule: 'protected.daemon' },
    async tries(daemon) {
      const chain = join(daemon.directory, '.sass-edge/state/audit/audit.jsonl')
      return outcome((await client(daemon, 'reader')).execute('cat', [chain]))
    },
  },
  {
    ...{ agent: 'sender', rule: 'handoff.from' },
    async tries(daemon) {
      const forged = { ...MESSAGE, to_agent: 'boss', from_agent: 'boss' }
      return told((await client(daemon, 'sender')).handoffs.send(forged))
    },
  },
  {
    ...{ agent: 'boss', rule: 'default.forbidden_commands' },
    tries: async (daemon) => outcome((await client(daemon, 'boss')).execute('shutdown', ['-h', 'now'])),
  },
]

const AGENTS = [
  ['boss', '--tier', 'T5'],
  ['worker', '--tier', 'T5'],
  ...['decider', 'reader', 'sender'].map((name) => [name]),
]
const contained = async (daemon: Daemon): Promise<readonly unknown[]> =>
  (await levels(daemon)).filter(({ level }) => level === 'CONTAIN').map(({ name }) => name)

t.test(
  'the first breach of a founding rule contains the agent, as one try at a forbidden command does (JF-R07)',
  async (t) => {
    const daemon = await startDaemon(t, await installed(t, ['--strict'], AGENTS))
    for (const { agent, rule, tries } of BREACHES) {
      t.not(await tries(daemon), 'done', rule)
      await until('containment', async () => (await contained(daemon)).length > 0)
      t.strictSame(await contained(daemon), [agent], rule)
      const decided = daemon.audit().filter(({ type }) => type === 'decision')
      t.match(
        decided.findLast((event) => event['rule'] === rule),
        { agent, severity: 'critical', enhanced: { incident: 'critical' } },
      )
      t.not(await outcome((await client(daemon, agent)).execute('true')), 'done', 'and does nothing more')
      t.equal((await daemon.cli(['level', 'set', 'agent', agent, 'NORMAL'])).code, 0)
    }
    const replayed = await daemon.cli(['audit', 'replay'])
    t.equal(replayed.code, 0, replayed.stdout.toString())
  },
)

t.test('without founding rules the same is refused, and contains nobody at once', async (t) => {
  const daemon = await startDaemon(t, await installed(t, [], AGENTS))
  for (const { rule, tries } of BREACHES.slice(0, -1)) t.not(await tries(daemon), 'done', rule)
  t.strictSame(await contained(daemon), [])
})

t.test(
  'a set without its founding rules is not loaded, at a start, at a reload and by check (JF-R07, JF-R26)',
  async (t) => {
    const directory = await installed(t, ['--strict'])
    const refusedWith = async (change: Json, said: RegExp) => {
      const before = configOf(directory)
      changeConfig(directory, change)
      for (const words of [['check'], ['run']]) {
        const ran = await sassEdge(words, { cwd: directory })
        t.not(ran.code, 0)
        t.match(`${ran.stdout}${ran.stderr}`, said, words.join())
      }
      changeConfig(directory, before)
    }
    const few =
      /default\.forbidden_commands forbids 2 commands while security\.founding_rules is true, and 3 is the least/
    const two = { capabilities: { default: { forbidden_commands: ['shutdown', 'shutdown', 'insmod'] } } }
    await refusedWith(two, few)
    await refusedWith(
      { security: { confirm_dangerous_actions: false } },
      /confirm_dangerous_actions is false/,
    )
    changeConfig(directory, { security: { confirm_dangerous_actions: true } })
    await refusedWith({ security: { opaque: 'allow' } }, /security\.opaque lets run what nobody has read/)
    changeConfig(directory, { security: { opaque: 'ask' } })

    const daemon = await startDaemon(t, directory)
    changeConfig(directory, two)
    const reload = await daemon.cli(['reload'])
    t.not(reload.code, 0)
    t.match(`${reload.stdout}${reload.stderr}`, few)
    const agent = await client(daemon)
    t.match(await agent.rules(), /mkfs\*/, 'what was loaded goes on')
    changeConfig(directory, { security: { founding_rules: false } })
    t.equal((await daemon.cli(['reload'])).code, 0, 'who does not want them has none')
    await agent.close()
  },
)
