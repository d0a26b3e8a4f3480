/**
 * What the record says of security events on a whole daemon: categories and severities, kinds and risks, tiers and
 * depths; and who is told at once of what is critical.
 * @module
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { outcome, startWithAgents } from './agentic.node.ts'
import { client, question } from './agents.node.ts'
import { changeConfig, type Daemon, install, type Json, sassEdge, startDaemon, until } from './daemon.node.ts'
import { send } from './handoffs.node.ts'

t.setTimeout(90_000)

const TOLD: Json = { defense: { deny_response: 'reason', levels: { automatic: false } } }

const ended = (daemon: Daemon): Json[] => daemon.audit().filter(({ type }) => type === 'execution_ended')

t.test(
  'records are of eight categories, a denial is critical, and a call of a tool has all that names it (JF-056)',
  async (t) => {
    const daemon = await startWithAgents(
      t,
      {
        ...TOLD,
        security: { confirm_dangerous_actions: true },
        capabilities: { default: { allowed_commands: ['cat', 'ls', 'touch'] } },
      },
      [['boss', '--tier', 'T5'], ['worker'], ['helper'], ['reader', '--tier', 'T1']],
    )
    const agent = await client(daemon)
    t.equal(await outcome(agent.execute('ls', ['.'])), 'done')
    await until('its end', () => ended(daemon).length === 1)
    const end = ended(daemon)[0] ?? {}
    const call = daemon
      .audit()
      .find(({ type, execution }) => type === 'decision' && execution === end['execution'])
    t.match(call, {
      ...{ category: 'tool', severity: 'info', tool: 'Glob', tool_tier: 'T1', tier: 'T3' },
      ...{ action_digest: /^[0-9a-f]{64}$/, warrant: end['warrant'] },
    })
    t.match(end, { category: 'tool', state: 'finished', exit_code: 0, duration_ms: Number })
    t.notOk('security' in (call ?? {}), 'what is permitted is no security event')

    const reader = await client(daemon, 'reader')
    t.equal(await outcome(reader.execute('touch', ['x'])), 'CAPABILITY_DENIED')
    const asked = outcome(agent.execute('head', ['x']))
    t.equal((await daemon.cli(['confirm', 'deny', (await question(daemon)).id, '--yes'])).code, 0)
    t.equal(await asked, 'CONFIRMATION_DENIED')
    writeFileSync(join(daemon.workspace, 'note'), `ghp_${'aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7'}\n`)
    await agent.execute('cat', ['note'])
    await until('it is hidden', () => daemon.audit().some(({ type }) => type === 'redacted'))
    await send(agent)
    await (await client(daemon, 'boss')).delegate('worker')
    t.equal((await daemon.cli(['reload'])).code, 0)

    const events = daemon.audit()
    const one = (category: string, of: (event: Json) => boolean) => {
      const found = events.find(of)
      t.equal(found?.['category'], category)
      return found?.['severity']
    }
    const decided = (method: string, response: string) => (event: Json) =>
      event['type'] === 'decision' && event['method'] === method && event['response'] === response
    t.equal(
      one('gate', ({ rule }) => rule === 'tools.T1'),
      'critical',
      'denied',
    )
    t.equal(one('gate', decided('Execute', 'R3')), 'warning', 'a human was asked')
    t.equal(one('gate', decided('Execute', 'STATUS')), 'warning', 'told in a sentence')
    t.equal(
      one('firewall', ({ type }) => type === 'redacted'),
      'warning',
    )
    t.equal(
      one('handoff', ({ type, what }) => type === 'handoff' && what === 'sent'),
      'info',
    )
    t.equal(one('routing', decided('Delegate', 'R1')), 'info')
    t.equal(
      one('routing', ({ what }) => what === 'delegated'),
      'info',
    )
    t.equal(one('lifecycle', decided('Authenticate', 'R1')), 'info')
    t.equal(
      one('configuration', ({ type, what }) => type === 'daemon' && what === 'started'),
      'info',
    )
    t.equal(
      one('human', ({ type }) => type === 'confirmation'),
      'warning',
    )
    const replayed = await daemon.cli(['audit', 'replay'])
    t.equal(replayed.code, 0, replayed.stdout.toString())
  },
)

t.test(
  'a record says when, who, in which session, what and how grave, the tiers, and of work that was handed over how critical and how deep (JF-057)',
  async (t) => {
    const daemon = await startWithAgents(t, TOLD, [
      ['boss', '--tier', 'T5'],
      ['worker'],
      ['helper'],
      ['reader', '--tier', 'T1'],
    ])
    const reader = await client(daemon, 'reader')
    t.equal(await outcome(reader.execute('touch', ['x'])), 'CAPABILITY_DENIED')
    const boss = await client(daemon, 'boss')
    const { port, fingerprint: pin, seed } = daemon
    const worker = await connect({
      ...{ host: '127.0.0.1', port, agent: 'worker', privateKey: seed('worker'), pin },
      ...{ reconnect: false, delegation: (await boss.delegate('worker')).token },
    })
    t.equal(await outcome(worker.execute('ls')), 'done')
    await send(boss, { criticality: 'C3' })
    const lines = readFileSync(join(daemon.directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8')
    for (const line of lines.split('\n').slice(0, -1))
      t.match(JSON.parse(line), {
        timestamp: /^\d{4}-.*Z$/,
        event: { type: String, severity: /^(info|warning|critical)$/, category: String },
      })
    const decisions = daemon.audit().filter(({ type }) => type === 'decision')
    const last = (agent: string, method: string) =>
      decisions.findLast((event) => event['agent'] === agent && event['method'] === method)
    t.match(last('reader', 'Execute'), {
      ...{ session: /^[0-9a-f]+$/, instance: /^reader-/, tier: 'T1', tool: 'Write', tool_tier: 'T2' },
      ...{
        rule: 'tools.T1',
        code: 'CAPABILITY_DENIED',
        severity: 'critical',
        security: 'rights',
        risk: 'high',
      },
    })
    t.match(last('worker', 'Execute'), { orchestrator: /^boss-/, acts_for: 'boss', depth: 1, tier: 'T3' })
    t.match(last('boss', 'SendHandoff'), { criticality: 'C3', depth: 1, tier: 'T5' })
    t.notOk('depth' in (last('boss', 'Delegate') ?? {}), 'who acts for itself')
  },
)

t.test(
  'security events have eight kinds and four risks, and a program of the operator is told of a critical one at once (JF-R30)',
  async (t) => {
    const directory = await install(t, {
      ...{ defense: { deny_response: 'reason' } },
      capabilities: { default: { forbidden_commands: ['shutdown'] } },
    })
    const program = join(directory, 'alert')
    writeFileSync(program, '#!/bin/sh\nid -u > "$0.uid"; cat >> "$0.out"\n', { mode: 0o700 })
    chmodSync(program, 0o766)
    changeConfig(directory, { alerts: { program } })
    const check = async () => {
      const { code, stdout } = await sassEdge(['check'], { cwd: directory })
      return `${code} ${stdout}`
    }
    t.match(await check(), /^[1-9]\d* .*alert has mode 0766, so others can change it/s, 'what others write')
    changeConfig(directory, { alerts: { program: join(directory, 'none') } })
    t.match(await check(), /^[1-9]\d* .*none cannot be run/s, 'or that is not there')
    writeFileSync(`${program}-2`, readFileSync(program), { mode: 0o700 })
    changeConfig(directory, { alerts: { program: `${program}-2` } })

    const daemon = await startDaemon(t, directory)
    const agent = await client(daemon)
    t.not(
      await outcome(agent.execute('cat', [join(directory, '.sass-edge/state/audit/audit.jsonl')])),
      'done',
    )
    t.notOk(existsSync(`${program}-2.out`), 'what is less is told to nobody')
    const again = await client(daemon)
    t.not(await outcome(again.execute('shutdown')), 'done')
    const alerts = () => daemon.audit().filter(({ type }) => type === 'alert')
    await until('the alert', () => alerts().length > 0)
    t.match(alerts(), [{ what: 'told', records: 2, exit_code: 0, category: 'human', severity: 'info' }])
    const told = readFileSync(`${program}-2.out`, 'utf8').trimEnd().split('\n')
    t.match(
      told.map((line) => JSON.parse(line)),
      [
        {
          type: 'decision',
          rule: 'default.forbidden_commands',
          security: 'command',
          risk: 'critical',
          agent: 'agent',
        },
        { type: 'level', to: 'CONTAIN', security: 'behaviour', risk: 'critical' },
      ],
    )
    t.equal(readFileSync(`${program}-2.uid`, 'utf8').trim(), String(process.getuid?.()))
    const refused = daemon.audit().filter(({ type, risk }) => type === 'decision' && risk !== undefined)
    t.match(refused[0], { rule: 'protected.daemon', security: 'command', risk: 'high' })
    const replayed = await daemon.cli(['audit', 'replay'])
    t.equal(replayed.code, 0, replayed.stdout.toString())
  },
)
