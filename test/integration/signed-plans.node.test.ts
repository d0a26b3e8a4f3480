/**
 * Plans that come in envelopes: one to the device runs with the authority of its issuer and its results come back signed,
 * one to an agent waits under its session until that agent runs it.
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/intent/canonical/python-json.ts'
import { client } from './agents.node.ts'
import { changeConfig, type Daemon, type Json, sassEdge, startDaemon, until } from './daemon.node.ts'
import { told } from './handoffs.node.ts'
import { contentsFor } from './intent.node.ts'
import { installPlanned, plan } from './planned.node.ts'

const CAPABILITIES = {
  capability_set_id: 'caps_plans',
  version: '1',
  allowed_actions: [{ action_type: 'count', compiler_id: 'c', allowed_templates: ['execution_plan'] }],
  tool_permissions: [{ tool: 'count', allowed_args: ['file'] }],
}

function template(
  id: string,
  properties: Json,
  senders: readonly string[],
  receivers: readonly string[],
): Json {
  return {
    ...{ template_id: id, version: '1', schema_purpose: 'For tests.' },
    json_schema: {
      type: 'object',
      required: Object.keys(properties),
      properties,
      additionalProperties: false,
    },
    policy_metadata: { max_payload_bytes: 262_144, allowed_senders: senders, allowed_receivers: receivers },
    ...{ capability_set_id: 'caps_plans', capability_set_version: '1' },
  }
}

const TEXT = { type: 'string', maxLength: 128 }
const PLAN = template(
  'execution_plan',
  { plan: { type: 'object' } },
  ['agent'],
  ['device', 'operator', 'agent'],
)
const RESULT = template(
  'tool_result',
  { plan_id: TEXT, tool_call_id: TEXT, tool_name: TEXT, session_id: TEXT, result: { type: 'object' } },
  ['device'],
  ['agent', 'operator'],
)

async function run(directory: string, args: readonly string[]): Promise<Buffer> {
  const result = await sassEdge(args, { cwd: directory, timeoutMs: 60_000 })
  if (result.code !== 0) throw new Error(`${args.join(' ')}: ${result.stderr}`)
  return result.stdout
}

/** A device with a vault of the two templates. */
async function withVault(t: Test): Promise<Daemon> {
  const directory = await installPlanned(t)
  await run(directory, ['keygen', 'dispatcher'])
  await run(directory, ['intent', 'vault', 'vault', '--dispatcher', 'dispatcher.pub', '--identity'])
  for (const [name, value] of Object.entries({ caps: CAPABILITIES, plan: PLAN, result: RESULT })) {
    writeFileSync(join(directory, `${name}.json`), JSON.stringify(value))
    const shown = (await run(directory, ['intent', 'digest', `${name}.json`])).toString()
    const sha256 = /[0-9a-f]{64}/.exec(shown)?.[0] ?? ''
    const key = ['--vault', 'vault', '--dispatcher', 'dispatcher.key', '--sha256', sha256]
    await run(directory, ['intent', 'publish', `${name}.json`, ...key])
  }
  const { sha256Of } = await import('./planned.node.ts')
  changeConfig(directory, {
    intent: { vault: 'vault', dispatcher_pin: sha256Of(join(directory, 'dispatcher.pub')), poll_ms: 50 },
  })
  changeConfig(directory, { intent: { vault: join(directory, 'vault') } })
  return startDaemon(t, directory)
}

/** Packs the plan for a receiver, and drops it into that inbox. */
async function drop(daemon: Daemon, value: JsonObject, receiver: string): Promise<void> {
  const { directory } = daemon
  writeFileSync(join(directory, 'payload.json'), JSON.stringify({ plan: value }))
  await run(directory, [
    ...['intent', 'pack', '--agent', 'agent', '--key', '.sass-edge/keys/agent.key', '--to', receiver],
    ...['--template', 'execution_plan@1', '--vault', 'vault', '--payload', 'payload.json'],
    ...['--session', String(value['session_id'])],
    ...['--out', join(directory, '.sass-edge/state/intent/inbox', receiver)],
  ])
}

const planEvents = (daemon: Daemon): Json[] => daemon.audit().filter(({ type }) => type === 'plan')

t.test(
  'a plan to the device runs with the authority of its issuer, and results come back',
  { timeout: 120_000 },
  async (t) => {
    const daemon = await withVault(t)
    const signed = plan(daemon, [['count', { file: '/dev/null' }]])
    await drop(daemon, signed, 'device')
    await until('the end of the plan', () => planEvents(daemon).some(({ what }) => what === 'ended'))
    t.match(planEvents(daemon).at(-1), {
      what: 'ended',
      end: 'done',
      agent: 'agent',
      plan_id: signed['plan_id'],
    })
    const source = daemon.audit().find(({ type, action }) => type === 'decision' && action === 'execute')
    t.match(source, { agent: 'agent', source: 'intent', tool_name: 'count', response: 'R1' })
    const results = () => [...contentsFor(daemon.directory, 'agent').values()]
    await until('both results', () => results().length >= 2)
    const payloads = results()
      .map((bytes) => JSON.parse(Buffer.from(bytes).toString('utf8')) as { payload: Json; sender_id: string })
      .map(({ payload, sender_id }) => ({ ...payload, sender_id }))
    t.match(
      payloads.find((one) => (one as Json)['tool_call_id'] === 'c0'),
      {
        ...{
          sender_id: 'device',
          plan_id: signed['plan_id'],
          tool_name: 'count',
          session_id: signed['session_id'],
        },
        result: { state: 'exited', number: 0, stdout: { encoding: 'utf-8', data: '0 /dev/null\n' } },
      },
    )
    t.match(
      payloads.find((one) => (one as Json)['tool_call_id'] === 'summary'),
      { result: { state: 'done' } },
    )
    await drop(daemon, signed, 'device')
    await until('the refusal', () => planEvents(daemon).some(({ code }) => code === 'used'))
    const other = plan(daemon, [['make', { path: 'x' }]])
    await drop(daemon, other, 'device')
    await until(
      'the other refusal',
      () => planEvents(daemon).some(({ code }) => code === 'argument_not_allowed'),
      20_000,
    )
    t.equal((await daemon.cli(['audit', 'replay'])).code, 0)
    await daemon.stop()
    const journal = new DatabaseSync(join(daemon.directory, '.sass-edge/state/intent/plans.sqlite'))
    journal.prepare('INSERT INTO untold VALUES (?)').run(String(signed['plan_id']))
    const again = await startDaemon(t, daemon.directory)
    await until('that all is told', () => journal.prepare('SELECT 1 FROM untold').get() === undefined)
    journal.close()
    await again.stop()
    t.equal(results().length, 2, 'what is told a second time is no second result')
    t.equal(again.audit().filter(({ what }) => what === 'rejected').length, 0, 'and fills no quarantine')
  },
)

t.test(
  'a plan to an agent waits under its session, and is run by that agent alone (SA-40)',
  { timeout: 120_000 },
  async (t) => {
    const daemon = await withVault(t)
    const signed = plan(daemon, [['count', { file: '/dev/null' }]])
    const session = String(signed['session_id'])
    await drop(daemon, signed, 'operator')
    const kept = join(daemon.directory, '.sass-edge/state/intent/plans/operator', `${session}.plan.json`)
    await until(
      'the kept plan',
      () => {
        try {
          return readFileSync(kept).length > 0
        } catch {
          return false
        }
      },
      20_000,
    )
    const status = async () => JSON.parse((await daemon.cli(['status', '--json'])).stdout.toString())
    t.match(await status(), { signed_work: { waiting: 1, quarantined: 0, plans_running: 0, plans_kept: 1 } })
    t.match(
      (await daemon.cli(['status'])).stdout.toString(),
      /^signed +1 envelope waiting, 0 in quarantine, 0 to be sent; 0 plans running, 1 kept$/m,
    )
    const [agent, operator] = [await client(daemon), await client(daemon, 'operator')]
    t.teardown(() => Promise.all([agent.close(), operator.close()]))
    t.match(await told(agent.plans.run({ sessionId: session })), /none is kept for you/)
    t.match(await told(agent.plans.run({ sessionId: '../evil' })), /none is kept for you/)
    t.match(await operator.plans.run({ sessionId: session }), {
      state: 'done',
      sessionId: session,
      issuer: 'agent',
    })
    t.match(await told(operator.plans.run({ sessionId: session })), /run before/)
    t.match(await status(), { signed_work: { plans_kept: 0 } }, 'what was run is not kept')
  },
)
