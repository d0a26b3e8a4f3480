/**
 * Who may do what, on a whole daemon: tools and tiers, those who act for others, who is known by which instance, and
 * what becomes of an agent that keeps trying for what it has not.
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { TIER_NAMES, TIERS, type Tier, type Tool } from '../../src/base/tool-name.ts'
import { decisions, outcome, startWithAgents } from './agentic.node.ts'
import { client, levels } from './agents.node.ts'
import {
  auditEvents,
  changeConfig,
  configPath,
  type Daemon,
  install,
  type Json,
  ON_REAL_FILES,
  sassEdge,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'
import { told } from './handoffs.node.ts'
import { bytesOf, installPlanned, manifest, plan } from './planned.node.ts'

/** What is refused is told, and each refusal is judged by itself. */
const TOLD: Json = { defense: { deny_response: 'reason', levels: { automatic: false } } }
const REFUSED = 'CAPABILITY_DENIED'
const CONTAINED = 'ROGUE_AGENT_DETECTED'

/** A command for each tool. */
type CommandTool = Exclude<Tool, 'Task'>
const ONE_OF_EACH: Readonly<Record<CommandTool, readonly string[]>> = {
  Read: ['cat', 'text'],
  Glob: ['ls'],
  Grep: ['grep', 'x', 'text'],
  Write: ['touch', 'new'],
  Edit: ['sed', '-i', 's/x/x/', 'text'],
  Bash: ['sync'],
  WebFetch: ['whois', '--version'],
}
const TOOL_NAMES = Object.keys(ONE_OF_EACH) as CommandTool[]

/** The record of the next decision about a command; its line is whole once it is signed. */
async function nextDecision(daemon: Daemon, work: () => Promise<unknown>): Promise<Json | undefined> {
  const before = decisions(daemon).length
  await work()
  await until('its record', () => decisions(daemon).length > before)
  return decisions(daemon)[before]
}

/** What came of it: `done` also where there is no such program, since then it was let through. */
async function tried(agent: Awaited<ReturnType<typeof client>>, tool: CommandTool): Promise<string> {
  const [command = '', ...args] = ONE_OF_EACH[tool]
  const came = await outcome(agent.execute(command, args))
  return came === 'SPAWN_FAILED' ? 'done' : came
}

t.test(
  'each tier has its tools and no other, a list of tools narrows it, and each answer is recorded (JF-030, JF-R05, JF-R06, JF-F13)',
  async (t) => {
    const daemon = await startWithAgents(t, TOLD, [
      ...TIER_NAMES.map((tier) => [tier.toLowerCase(), '--tier', tier]),
      ...TOOL_NAMES.map((tool) => [`only-${tool}`, '--tier', 'T5', '--tools', tool]),
    ])
    writeFileSync(join(daemon.workspace, 'text'), 'x\n')
    const callers = [
      ...TIER_NAMES.map((tier) => [tier.toLowerCase(), tier, TIERS[tier]] as const),
      ...TOOL_NAMES.map((tool) => [`only-${tool}`, 'T5', [tool]] as const),
    ]
    for (const [name, tier, tools] of callers) {
      const agent = await client(daemon, name)
      // Of one tool in a list that one, and two that are not in it.
      const own = tools.filter((tool): tool is CommandTool => tool !== 'Task')
      const others: readonly CommandTool[] = ['Read', 'Write', 'Grep']
      const some = tools.length > 1 ? TOOL_NAMES : [...own, ...others].slice(0, 3)
      for (const tool of some) {
        const isGiven = (tools as readonly Tool[]).includes(tool)
        const record = await nextDecision(daemon, async () =>
          t.equal(await tried(agent, tool), isGiven ? 'done' : REFUSED, `${tool} by ${name}`),
        )
        const refused = { response: 'R4', layer: 'tool_access', rule: `tools.${tier}` }
        t.match(record, { agent: name, ...(isGiven ? { response: 'R1' } : refused) })
      }
      await agent.close()
    }
    await daemon.stop()
    const config = JSON.parse(readFileSync(configPath(daemon.directory), 'utf8')) as { agents: Json[] }
    const [first, ...others] = config.agents
    for (const tools of ['Read', null, {}, ['Reed'], ['Memory-Keeper']]) {
      changeConfig(daemon.directory, { agents: [{ ...first, tools }, ...others] })
      const { code } = await sassEdge(['run'], { cwd: daemon.directory })
      t.equal(code, 125, `${JSON.stringify(tools)} is no list of tools`)
    }
  },
)

t.test(
  'a tool with a manifest is called by whoever has all that its tier gives, for each of the 25 pairs (JF-F13)',
  async (t) => {
    const tools = TIER_NAMES.map((tier) =>
      manifest(`tool-${tier}`, '/usr/bin/wc', ['-l', '--', { arg: 'file' }], { tier }),
    )
    const directory = await installPlanned(t, TOLD, tools)
    for (const tier of TIER_NAMES)
      t.equal((await sassEdge(['agent', 'add', tier, '--tier', tier], { cwd: directory })).code, 0)
    const daemon = await startDaemon(t, directory)
    for (const own of TIER_NAMES) {
      const agent = await client(daemon, own)
      for (const tier of TIER_NAMES) {
        const signed = bytesOf(plan(daemon, [[`tool-${tier}`, { file: '/dev/null' }]]))
        const isSound = TIERS[tier].every((tool) => TIERS[own].includes(tool))
        const answer = isSound ? /^done$/ : /^INTENT_REJECTED .*whoever would run it does not have/
        t.match(await told(agent.plans.run(signed)), answer, `a tool of ${tier} by an agent of ${own}`)
      }
      await agent.close()
    }
    const ran = daemon.audit().filter(({ type }) => type === 'tool_executed')
    t.equal(ran.length, 16, 'T1 runs one, T2 and T4 three each, T3 four and T5 all')
  },
)

t.test(
  'the third try of a tool that an agent has not contains it, whatever tool and session, and people are told (JF-087)',
  async (t) => {
    const daemon = await startWithAgents(t, { defense: { deny_response: 'reason' } }, [
      ['reader', '--tier', 'T1'],
    ])
    for (const [count, tool] of (['Write', 'Edit', 'Bash'] as const).entries()) {
      t.same(await levels(daemon), [], `after ${count} tries`)
      const agent = await client(daemon, 'reader')
      t.equal(await tried(agent, tool), REFUSED, tool)
      await agent.close()
    }
    t.match(await levels(daemon), [{ scope: 'agent', name: 'reader', level: 'CONTAIN', why: /tool_access/ }])
    t.ok(
      daemon.log().some((line) => line.includes('level scope=agent name=reader') && line.includes('CONTAIN')),
      'the log says it at once',
    )
    const agent = await client(daemon, 'reader')
    const record = await nextDecision(daemon, async () =>
      t.equal(await tried(agent, 'Read'), CONTAINED, 'not even what it has'),
    )
    t.match(record, { rule: 'level.contain' })
    await agent.close()
  },
)

t.test(
  'a delegate has what both have, its record names the one above, and hands nothing on (JF-031, JF-032, JF-054, JF-F14, JF-F20, JF-R08)',
  async (t) => {
    const pairs = TIER_NAMES.flatMap((above) =>
      TIER_NAMES.map((own) => ({ above, own, name: `${own}-for-${above}` })),
    )
    /** Those alone can be configured whose delegate is given no more than the one above, and may hand nothing on. */
    const isSound = (above: Tier, own: Tier) =>
      own !== 'T5' && TIERS[own].every((tool) => TIERS[above].includes(tool))
    const directory = await install(t, TOLD)
    const add = (...words: string[]) => sassEdge(['agent', 'add', ...words], { cwd: directory })
    for (const tier of TIER_NAMES) t.equal((await add(tier, '--tier', tier)).code, 0)
    for (const { above, own, name } of pairs) {
      const { code, stderr } = await add(name, '--tier', own, '--delegated-by', above)
      t.equal(code, isSound(above, own) ? 0 : 125, `${name}: ${stderr}`)
    }
    const deeper = await add('further', '--tier', 'T1', '--delegated-by', 'T1-for-T1')
    t.match(deeper, { code: 125, stderr: /work may be handed on only once/ })

    changeConfig(directory, TOLD)
    const daemon = await startDaemon(t, directory)
    writeFileSync(join(daemon.workspace, 'text'), 'x\n')
    for (const { above, own, name } of pairs.filter((pair) => isSound(pair.above, pair.own))) {
      const agent = await client(daemon, name)
      for (const tool of ['Grep', 'Edit', 'WebFetch'] as const) {
        const both = TIERS[own].includes(tool) && TIERS[above].includes(tool)
        const record = await nextDecision(daemon, async () =>
          t.equal(await tried(agent, tool), both ? 'done' : REFUSED, `${tool} by ${name}`),
        )
        t.match(record, { agent: name, acts_for: above })
      }
      await agent.close()
    }
    await daemon.stop()

    // Nor by hand: what the file says of more than one step is no configuration.
    const config = JSON.parse(readFileSync(configPath(directory), 'utf8')) as { agents: Json[] }
    const changed = config.agents.map((agent) =>
      agent['name'] === 'T1' ? { ...agent, delegated_by: 'T2' } : agent,
    )
    changeConfig(directory, { agents: changed })
    const refused = await sassEdge(['run'], { cwd: directory })
    t.match(refused, { code: 125, stderr: /work may be handed on only once/ })
  },
)

t.test(
  'who somebody is and where it stands is looked up at every request, by its name and its instance (JF-025, JF-073)',
  async (t) => {
    const daemon = await startWithAgents(t, TOLD, [['other']])
    const [one, two] = [await client(daemon), await client(daemon)]
    const came = () => Promise.all([one, two].map((agent) => outcome(agent.execute('true'))))
    t.same(await came(), ['done', 'done'])
    await until('both records', () => decisions(daemon).length === 2)
    const instances = new Set(decisions(daemon).map(({ instance }) => instance))
    t.equal(instances.size, 2, 'two sessions of one name are two instances')
    t.equal((await daemon.cli(['level', 'set', 'session', one.sessionId, 'CONTAIN'])).code, 0)
    t.same(await came(), [CONTAINED, 'done'], 'one of them is contained, and the other is not')
    t.equal((await daemon.cli(['level', 'set', 'session', one.sessionId, 'NORMAL'])).code, 0)
    t.same(await came(), ['done', 'done'])

    const { agents } = JSON.parse(readFileSync(configPath(daemon.directory), 'utf8')) as { agents: Json[] }
    const taken = async (change: (agent: Json) => readonly Json[]) => {
      const changed = agents.flatMap((agent) => (agent['name'] === 'agent' ? change(agent) : [agent]))
      changeConfig(daemon.directory, { agents: changed })
      t.equal((await daemon.cli(['reload'])).code, 0)
    }
    await taken((agent) => [{ ...agent, tools: ['Grep'] }])
    t.same(await came(), [REFUSED, REFUSED], 'what is taken from the name is taken from both')
    await taken((agent) => [agent])
    t.same(await came(), ['done', 'done'])
    await taken(() => [])
    await Promise.all([one.closed, two.closed])
    await t.rejects(client(daemon), 'and where it is listed no more, it is nobody')
  },
)

t.test(
  'one try at what is forbidden contains the agent until an operator lets it go on (JF-R07)',
  async (t) => {
    const daemon = await startNew(t, {
      ...ON_REAL_FILES,
      defense: { deny_response: 'reason' },
      capabilities: {
        default: {
          allowed_commands: ['*'],
          allowed_paths: ['*'],
          forbidden_commands: ['shutdown', 'rm -rf'],
        },
      },
    })
    const exec = (...argv: readonly string[]) => daemon.cli(['exec', '--', ...argv])
    t.equal((await exec('echo', 'shutdown')).code, 0, 'a word is no command')
    t.not((await exec('sh', '-c', 'true && shutdown -h now')).code, 0)
    const event = auditEvents(daemon.directory).findLast(({ rule }) => rule === 'default.forbidden_commands')
    t.match(event, { type: 'decision', severity: 'critical', layer: 'capability' })
    t.match(
      auditEvents(daemon.directory).findLast(({ type }) => type === 'level'),
      { scope: 'agent', name: 'agent', to: 'CONTAIN' },
    )
    t.not((await exec('echo', 'x')).code, 0)
    t.equal((await daemon.cli(['level', 'set', 'agent', 'agent', 'NORMAL'])).code, 0)
    t.equal((await exec('echo', 'x')).code, 0)
  },
)
