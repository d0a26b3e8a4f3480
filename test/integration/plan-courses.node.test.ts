/**
 * What may come over a signed plan while it runs, each on a real device: a human who is asked, one who never answers,
 * a call that is answered with a deception, the end of the daemon, the end of the session. What follows never runs, and
 * the result says of each call what became of it.
 * @module
 */
import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Client, PlanResult, Waiting } from '../../src/client/client.node.ts'
import type { JsonObject } from '../../src/intent/canonical/python-json.ts'
import { client, question } from './agents.node.ts'
import { type Daemon, type Json, ON_REAL_FILES, startDaemon, until } from './daemon.node.ts'
import { told } from './handoffs.node.ts'
import { bytesOf, installPlanned, MAKE, plan, sha256Of } from './planned.node.ts'

/** Makes a directory, does what is asked about or denied, makes another one. */
const AROUND = (file: string) =>
  [
    ['make', { path: 'before' }],
    ['count', { file }],
    ['make', { path: 'after' }],
  ] as const

const rule = (severity: string) => ({
  id: `own.${severity}`,
  argv: { program: ['wc'], operands: [severity] },
  ...{ action: 'deny', severity, description: 'A rule of the test.', why: 'It is a test.' },
  examples: { match: [`wc ${severity}`], pass: ['true'] },
})

async function start(t: Test, change: Json = {}): Promise<Daemon> {
  const directory = await installPlanned(t, {
    ...ON_REAL_FILES,
    policy: { rules_file: 'rules.json' },
    defense: { vi_swap: { hold_seconds: 1 }, tarpit: { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 } },
    ...change,
  })
  writeFileSync(
    join(directory, '.sass-edge/rules.json'),
    JSON.stringify({ rules: ['medium', 'critical'].map(rule) }),
  )
  const daemon = await startDaemon(t, directory)
  writeFileSync(join(daemon.workspace, '.env'), 'TOKEN=geheim\n')
  return daemon
}

const states = ({ calls }: PlanResult): string[] => calls.map(({ state }) => state)
const isThere = (daemon: Daemon, name: string): boolean => existsSync(join(daemon.workspace, name))

/** Which call has begun and not ended, as its caller is told; -1: none. */
async function reached(agent: Client, { plan_id: planId }: JsonObject): Promise<number> {
  // Nobody knows it before its run has begun.
  const state = await agent.plans.state({ planId: String(planId) }).catch(() => undefined)
  return state === undefined ? -1 : states(state).indexOf('begun')
}

/** What an operator is told of it, who is told all. */
async function asOperator(daemon: Daemon, { plan_id: planId }: JsonObject): Promise<PlanResult> {
  const operator = await client(daemon, 'operator')
  const result = await operator.plans.state({ planId: String(planId) })
  await operator.close()
  return result
}

t.test(
  'whoever runs a plan is told that a call of it waits for a human, and what the human said',
  async (t) => {
    const daemon = await start(t)
    const agent = await client(daemon)
    t.teardown(() => agent.close())
    for (const [answer, state, reason] of [
      ['approve', ['exited', 'exited', 'exited'], ''],
      ['deny', ['exited', 'refused', 'waiting'], /^CONFIRMATION_DENIED .*said no/],
    ] as const) {
      const heard: Waiting[] = []
      const signed = plan(daemon, [
        ['count', { file: '/dev/null' }],
        ['count', { file: '.env' }],
        ['make', { path: answer }],
      ])
      let printed = ''
      const ran = agent.plans.run(
        bytesOf(signed),
        (_source, bytes) => {
          printed += Buffer.from(bytes).toString()
        },
        (what) => void heard.push(what),
      )
      const { id, shown } = await question(daemon)
      t.match(
        shown,
        { more: { plan: signed['plan_id'], tool: 'count' } },
        'the human sees of which plan it is',
      )
      t.same(heard, [{ kind: 'operator' }], 'told while it waits')
      t.match(states(await agent.plans.state({ planId: String(signed['plan_id']) })), ['exited', 'waiting'])
      t.equal((await daemon.cli(['confirm', answer, id, '--yes'])).code, 0)
      const result = await ran
      t.same(states(result), state)
      t.match(result.calls[1]?.why, reason)
      t.equal(printed, answer === 'approve' ? '0 /dev/null\n1 .env\n' : '0 /dev/null\n', 'and nothing else')
      t.equal(isThere(daemon, answer), answer === 'approve', 'what follows runs after a yes alone')
    }
  },
)

t.test('as a user types it: the terminal says that an operator is asked', async (t) => {
  const daemon = await start(t)
  writeFileSync(join(daemon.directory, 'w.json'), JSON.stringify(plan(daemon, AROUND('.env'))))
  const ran = daemon.cli(['intent', 'run', 'w.json'])
  const { id } = await question(daemon)
  t.equal((await daemon.cli(['confirm', 'approve', id, '--yes'])).code, 0)
  const { code, stdout, stderr } = await ran
  t.equal(code, 0, stderr)
  t.equal(stdout.toString(), '1 .env\n')
  t.match(stderr, /^sass-edge: waiting for an operator \(sass-edge confirm list\)\n/)
})

t.test('a human who never answers: the call is refused, and what follows never runs', async (t) => {
  const daemon = await start(t, { confirm: { timeout_seconds: 1 } })
  const agent = await client(daemon)
  t.teardown(() => agent.close())
  const result = await agent.plans.run(bytesOf(plan(daemon, AROUND('.env'))))
  t.match(result, { state: 'call_failed' })
  t.same(states(result), ['exited', 'refused', 'waiting'])
  t.match(result.calls[1]?.why, /^CONFIRMATION_TIMEOUT /)
  t.same([isThere(daemon, 'before'), isThere(daemon, 'after')], [true, false])
})

for (const [severity, code] of [
  ['medium', 'RESPONSE_VI_SWAP_ENGAGED'],
  ['critical', 'CONNECTION_LOST'],
] as const)
  t.test(
    `a call that is answered with a deception (${severity}) ends the plan, and says nothing`,
    async (t) => {
      const daemon = await start(t)
      const agent = await client(daemon)
      t.teardown(() => agent.close())
      const signed = plan(daemon, AROUND(severity))
      const planId = String(signed['plan_id'])
      await t.rejects(agent.plans.run(bytesOf(signed)), { code })
      t.same(states(await asOperator(daemon, signed)), ['exited', 'unanswered', 'waiting'])
      t.same([isThere(daemon, 'before'), isThere(daemon, 'after')], [true, false])
      t.match(
        daemon.audit().findLast(({ type }) => type === 'plan'),
        { what: 'ended', end: 'call_failed' },
      )
      t.equal((await daemon.cli(['level', 'set', 'agent', 'agent', 'NORMAL'])).code, 0)
      const later = await client(daemon)
      const state = await later.plans.state({ planId })
      t.match([state.state, ...states(state)], ['running', 'exited', 'begun', 'waiting'], 'it learns nothing')
      t.match(await told(later.plans.run(bytesOf(signed))), /run before/)
      await later.close()
    },
  )

t.test(
  'an agent that is contained while a call of its plan waits: the call is answered with nothing',
  async (t) => {
    const daemon = await start(t)
    const agent = await client(daemon)
    t.teardown(() => agent.close())
    const signed = plan(daemon, AROUND('.env'))
    const ran = t.rejects(agent.plans.run(bytesOf(signed)), { code: 'RESPONSE_VI_SWAP_ENGAGED' })
    await question(daemon)
    t.equal((await daemon.cli(['level', 'set', 'agent', 'agent', 'CONTAIN', '--why', 'a test'])).code, 0)
    await ran
    t.same(states(await asOperator(daemon, signed)), ['exited', 'unanswered', 'waiting'])
    t.notOk(isThere(daemon, 'after'))
  },
)

const FIVE = Array.from({ length: 5 }, (_, at) => [
  ['pause', { seconds: '1' }] as const,
  ['make', { path: `slow-${at}` }] as const,
]).flat()

for (const how of ['SIGTERM', 'sass-edge drain'])
  t.test(`${how} while five slow calls run: what has run is said, and nothing runs after`, async (t) => {
    const daemon = await start(t, { execution: { drain_seconds: 20 } })
    const agent = await client(daemon)
    t.teardown(() => agent.close())
    const signed = plan(daemon, FIVE)
    const ran = agent.plans.run(bytesOf(signed))
    await until('the second pause', async () => (await reached(agent, signed)) === 2)
    if (how === 'SIGTERM') daemon.signal('SIGTERM')
    else await daemon.cli(['drain'])
    const result = await ran
    t.equal(result.state, 'stopped')
    const begun = states(result).filter((state) => state !== 'waiting')
    t.same(new Set(begun), new Set(['exited']), 'what had begun ended by itself')
    t.ok(begun.length >= 3 && begun.length < 6, `${begun.length} of ten`)
    t.same(await daemon.ended, { code: 0, signal: null })
    const next = await startDaemon(t, daemon.directory)
    const later = await client(next)
    const planId = String(signed['plan_id'])
    t.strictSame(await later.plans.state({ planId }), result, 'the next daemon says the same')
    t.match(await told(later.plans.run(bytesOf(signed))), /run before/)
    await later.close()
    t.notOk(isThere(daemon, 'slow-2'))
  })

t.test('a call that outlasts a drain is ended with it, and told as that', async (t) => {
  const daemon = await start(t, { execution: { drain_seconds: 1 } })
  const agent = await client(daemon)
  t.teardown(() => agent.close())
  const ran = agent.plans.run(
    bytesOf(
      plan(daemon, [
        ['pause', { seconds: '100' }],
        ['make', { path: 'after' }],
      ]),
    ),
  )
  await until('its start', async () => (await agent.ping()).active_processes === 1)
  daemon.signal('SIGTERM')
  const { state, calls } = await ran
  t.equal(state, 'call_failed')
  t.match(calls, [{ state: 'signalled', number: 15, why: /went down/ }, { state: 'waiting' }])
  await daemon.ended
  t.notOk(isThere(daemon, 'after'))
})

t.test('terminate in the middle of a plan ends the call that runs, and nothing runs after', async (t) => {
  const daemon = await start(t)
  const agent = await client(daemon)
  t.teardown(() => agent.close())
  const signed = plan(daemon, FIVE)
  const ran = told(agent.plans.run(bytesOf(signed)))
  await until('the second pause', async () => (await reached(agent, signed)) === 2)
  const { instance } = daemon.audit().find(({ what }) => what === 'begun') ?? {}
  t.equal((await daemon.cli(['terminate', String(instance)])).code, 0)
  t.match(await ran, /^CONNECTION_LOST|^SESSION/)
  await until('the end of the plan', async () => (await asOperator(daemon, signed)).state !== 'running')
  const result = await asOperator(daemon, signed)
  t.equal(result.state, 'call_failed')
  t.match(result.calls.slice(0, 4), [
    { state: 'exited' },
    { state: 'exited' },
    { state: 'signalled' },
    { state: 'waiting' },
  ])
  t.notOk(isThere(daemon, 'slow-1'))
  t.equal((await daemon.cli(['audit', 'verify'])).code, 0)
  t.equal((await daemon.cli(['audit', 'replay'])).code, 0)
})

t.test('terminate while a call waits for a human: it is never done', async (t) => {
  const daemon = await start(t)
  const agent = await client(daemon)
  t.teardown(() => agent.close())
  const signed = plan(daemon, AROUND('.env'))
  const ran = told(agent.plans.run(bytesOf(signed)))
  await question(daemon)
  const { instance } = daemon.audit().find(({ what }) => what === 'begun') ?? {}
  t.equal((await daemon.cli(['terminate', String(instance)])).code, 0)
  await ran
  const result = await asOperator(daemon, signed)
  t.equal(result.state, 'call_failed')
  t.same(states(result), ['exited', 'refused', 'waiting'])
  t.notOk(isThere(daemon, 'after'))
})

t.test(
  'a tool that was changed between two calls of one plan does not run, and is told (JF-R25)',
  async (t) => {
    const directory = await installPlanned(t, ON_REAL_FILES)
    const program = join(directory, 'program')
    copyFileSync('/usr/bin/mkdir', program)
    chmodSync(program, 0o755)
    const path = join(directory, 'tools/make.tool.json')
    writeFileSync(path, JSON.stringify({ ...MAKE, executable: program, sha256: sha256Of(program) }))
    const daemon = await startDaemon(t, directory)
    const agent = await client(daemon)
    t.teardown(() => agent.close())
    const signed = plan(daemon, [
      ['make', { path: 'before' }],
      ['pause', { seconds: '2' }],
      ['make', { path: 'after' }],
      ['count', { file: '/dev/null' }],
    ])
    const ran = agent.plans.run(bytesOf(signed))
    await until('the first one', () => isThere(daemon, 'before'))
    const changed = Buffer.concat([readFileSync(program), Buffer.from('x')])
    writeFileSync(`${program}.new`, changed, { mode: 0o755 })
    renameSync(`${program}.new`, program)
    const result = await ran
    t.same(states(result), ['exited', 'exited', 'refused', 'waiting'])
    t.match(result.calls[2]?.why, /not the file that the tool make/)
    t.notOk(isThere(daemon, 'after'))

    // The manifest that says so of the new file holds from a reload on; what lay there before does not exist any more.
    t.equal((await daemon.cli(['reload'])).code, 0)
    const gone = plan(daemon, [['make', { path: 'after' }]])
    t.match(await told(agent.plans.run(bytesOf(gone))), /^INTENT_REJECTED .*c0 wants make/)
    writeFileSync(path, JSON.stringify({ ...MAKE, executable: program, sha256: sha256Of(program) }))
    t.match(await told(agent.plans.run(bytesOf(gone))), /^INTENT_REJECTED /, 'not by being there')
    t.equal((await daemon.cli(['reload'])).code, 0)
    t.match(await agent.plans.run(bytesOf(gone)), { state: 'done' })
    t.ok(isThere(daemon, 'after'))
  },
)

t.test(
  'a daemon that is killed while a human is asked: the call had not begun, and is told as that',
  async (t) => {
    const daemon = await start(t)
    const agent = await client(daemon)
    t.teardown(() => agent.close())
    const signed = plan(daemon, AROUND('.env'))
    const ran = told(agent.plans.run(bytesOf(signed)))
    await question(daemon)
    daemon.signal('SIGKILL')
    await daemon.ended
    await ran
    const next = await startDaemon(t, daemon.directory)
    const result = await asOperator(next, signed)
    t.equal(result.state, 'interrupted')
    t.same(states(result), ['exited', 'waiting', 'waiting'])
    t.notOk(isThere(daemon, 'after'))
  },
)
