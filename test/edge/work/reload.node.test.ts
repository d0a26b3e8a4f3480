/**
 * Reload: a good file takes over at once and whole, a bad one changes nothing, and who is listed no more is gone.
 * @module
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'
import { encodeBase64Url } from '../../../src/base/encoding/base64.ts'
import { createPenalties } from '../../../src/defense/penalties.ts'
import { createRandom } from '../../../src/edge/host/clock.node.ts'
import { loadConfig } from '../../../src/edge/setup/config-file.node.ts'
import { createReload, reloadableOf } from '../../../src/edge/work/reload.node.ts'
import type { AuditEvent, Clock } from '../../../src/ports.ts'
import type { Caller } from '../../../src/session/callers/identities.ts'
import { createSessions, type Session } from '../../../src/session/callers/sessions.ts'
import type { ReloadResult, Rooms } from '../../../src/session/common/rooms.ts'
import { createConfirmations } from '../../../src/session/standing/confirmations.ts'
import { directoryForVault, makeDiskVault } from '../../intent/disk-vault.node.ts'

const keyOf = (seed: number) => encodeBase64Url(publicKeyOf(new Uint8Array(32).fill(seed)))
const AGENT = { name: 'ci', public_key: keyOf(1) }
const OTHER = { name: 'bo', public_key: keyOf(2) }
const BASE = { state_directory: 'state', agents: [AGENT, OTHER] }
const RULE = {
  id: 'own.no-ls',
  argv: { program: ['ls'] },
  action: 'deny',
  severity: 'high',
  description: 'Listing.',
  why: 'It is a test.',
  examples: { match: ['ls'], pass: ['pwd'] },
}

type Stage = {
  readonly rooms: Rooms
  readonly done: string[]
  readonly audited: AuditEvent[]
  write(value: unknown): void
  reload(): Promise<ReloadResult>
  session(name: string): Session
}

async function stage(t: Test, value: object = BASE, wallMs = () => 0): Promise<Stage> {
  const directory = t.testdir({ 'edge.json': JSON.stringify(value), 'own.json': '' })
  const path = join(directory, 'edge.json')
  const write = (next: unknown) => writeFileSync(path, typeof next === 'string' ? next : JSON.stringify(next))
  const { config } = loadConfig(path)
  const done: string[] = []
  const audited: AuditEvent[] = []
  let now = 1_000
  const clock: Clock = { monotonicMs: () => now++, wallMs, after: () => () => {} }
  const reloadable = await reloadableOf(config, path, 500)
  const log = { write: (_level: string, event: string) => void done.push(`log ${event}`) }
  const audit = { append: (event: AuditEvent) => void audited.push(event) }
  const rooms = {
    ...reloadable,
    clock,
    isReady: false,
    sessions: createSessions({ maxSessions: 9, maxDurationMs: 60_000, bindAddress: false }, () => {}),
    penalties: createPenalties(reloadable.penaltySettings),
    executions: {
      endWhere: (fits: (execution: { sessionId: string }) => boolean) =>
        done.push(...['1', '2', '3'].filter((sessionId) => fits({ sessionId })).map((id) => `kill ${id}`)),
    },
    confirmations: createConfirmations(clock, createRandom(), hostSha256, () => ({
      timeoutMs: 1_000,
      pendingPerSession: 1,
    })),
    queue: { pump: () => void done.push('pump') },
    egress: { relist: () => void done.push('relist') },
  } as unknown as Rooms
  let sessions = 0
  return {
    rooms,
    done,
    audited,
    write,
    reload: createReload({ config, configPath: path, clock, log, audit } as never, () => rooms),
    session(name) {
      const caller = rooms.identities.find(name) as Caller
      const id = String(++sessions)
      const made = { idBytes: new Uint8Array(16), id, instance: `${name}-1`, isProven: true }
      const session = rooms.sessions.create(made, caller, '192.0.2.7', 0)
      if (session === undefined) throw new Error('no place')
      session.dismissHolder = () => void done.push(`dismiss ${name}`)
      return session
    },
  }
}

t.test('a changed file holds at once: set, tier, rules, settings, allow-list', async (t) => {
  const { rooms, reload, write, session, audited } = await stage(t)
  const held = session('ci')
  const before = rooms.settings.policyVersion
  write({
    ...BASE,
    agents: [{ ...AGENT, tier: 'T1', capability: 'narrow' }, OTHER],
    capabilities: { default: { allowed_commands: ['*'] }, narrow: { allowed_commands: ['ls'] } },
    confirm: { timeout_seconds: 7 },
    defense: { vi_swap: { hold_seconds: 9 }, deny_response: 'reason' },
    acl: { allow: ['10.0.0.0/8'] },
    quota: { output_bytes: 5, ticks_per_task: 3 },
    session: { keepalive_seconds: 30 },
  })
  const result = await reload()
  t.match(result, { ok: true, needsRestart: [] })
  t.match(rooms.identities.find('ci'), { tier: 'T1', capability: 'narrow' })
  t.same(rooms.policy.capabilities['narrow']?.allowed_commands, ['ls'])
  t.match(rooms.settings, {
    confirmTimeoutMs: 7_000,
    viHoldMs: 9_000,
    denyResponse: 'reason',
    outputBytes: 5,
    keepaliveMs: 30_000,
    startedAtMs: 500,
  })
  t.equal(rooms.policy.quota.ticksPerTask, 3)
  t.equal(rooms.settings.isAllowed('10.1.2.3'), true)
  t.equal(rooms.settings.isAllowed('127.0.0.1'), false)
  t.not(rooms.settings.policyVersion, before)
  t.equal(result.ok && result.policyVersion, rooms.settings.policyVersion)
  t.match(audited, [{ type: 'daemon', what: 'reloaded', policy: rooms.settings.policyVersion }])
  t.match(audited, [{ care: 'C3', denied_from: /^[0-9a-f]{64}$/, denied: /^[0-9a-f]{64}$/ }])
  t.not(audited[0]?.['denied'], audited[0]?.['denied_from'])
  t.equal(held.state, 'ACTIVE', 'and its session goes on')
  t.equal(rooms.isReady, true, 'what judges commands is loaded as well')
  t.ok(rooms.policy.rules.count > 100)
})

t.test('the same file again is the same policy', async (t) => {
  const { rooms, reload, audited } = await stage(t)
  const before = rooms.settings.policyVersion
  t.match(await reload(), { ok: true, policyVersion: before, needsRestart: [] })
  t.same(
    audited.map(({ care }) => care),
    [undefined],
    'and nothing that needs care',
  )
})

t.test('a broken file, broken rules and a rule that is not there change nothing, and say so', async (t) => {
  const { rooms, reload, write, session, audited, done } = await stage(t)
  const held = session('ci')
  const { settings, policy, identities, penalties } = rooms
  const bad: readonly (readonly [unknown, RegExp])[] = [
    ['{"agents": [', /is not valid JSON/],
    [{ ...BASE, agnts: [] }, /agnts is not a known key/],
    [{ ...BASE, listen: { port: 70_000 } }, /listen\.port is 70000/],
    [{ ...BASE, policy: { rules_file: 'own.json' } }, /own\.json cannot be used/],
    [{ ...BASE, policy: { rules_file: 'none.json' } }, /none\.json cannot be read, since it does not exist/],
    [{ ...BASE, policy: { disabled_rules: ['no.such-rule'] } }, /names "no\.such-rule", which is no rule/],
    [
      {
        ...BASE,
        capabilities: { default: { allowed_commands: ['git'] } },
        policy: { broad_patterns: 'refuse' },
      },
      /The policy allows more than it seems to/,
    ],
  ]
  for (const [value, problem] of bad) {
    write(value)
    const result = await reload()
    t.match(result, { ok: false, problem: /^Nothing was changed, the old configuration holds\. / })
    t.match(!result.ok && result.problem, problem)
  }
  t.equal(audited.filter(({ what }) => what === 'reload_failed').length, bad.length)
  t.equal(done.filter((line) => line === 'log reload_failed').length, bad.length)
  t.equal(rooms.settings, settings)
  t.equal(rooms.policy, policy)
  t.equal(rooms.identities, identities)
  t.equal(rooms.penalties, penalties)
  t.equal(rooms.isReady, false)
  t.equal(held.state, 'ACTIVE')
  write(BASE)
  t.match(await reload(), { ok: true }, 'and the next good one is taken')
})

t.test(
  'who is listed no more, with another key, or in another role, is gone with what it runs',
  async (t) => {
    const changes: Record<string, readonly object[]> = {
      'listed no more': [OTHER],
      'another key': [{ ...AGENT, public_key: keyOf(3) }, OTHER],
      'another role': [{ ...AGENT, role: 'operator' }, OTHER],
      'another name': [{ ...AGENT, name: 'ci2' }, OTHER],
    }
    for (const [name, agents] of Object.entries(changes)) {
      const { reload, write, session, done } = await stage(t)
      const gone = session('ci')
      const kept = session('bo')
      write({ ...BASE, agents })
      t.match(await reload(), { ok: true })
      t.equal(gone.state, 'DESTROYED', name)
      t.equal(kept.state, 'ACTIVE')
      t.same(
        done.filter((line) => /^(kill|dismiss)/.test(line)),
        ['kill 1', 'dismiss ci'],
      )
    }
  },
)

t.test('the admin socket’s session stays, whoever is listed', async (t) => {
  const { rooms, reload, write, done } = await stage(t)
  const admin = {
    ...(rooms.identities.find('ci') as Caller),
    name: 'local-admin',
    publicKey: new Uint8Array(0),
  }
  const made = { idBytes: new Uint8Array(16), id: '9', instance: 'x', isProven: true }
  const session = rooms.sessions.create(made, admin, 'local', 0)
  write({ ...BASE, agents: [] })
  t.match(await reload(), { ok: true })
  t.equal(session?.state, 'ACTIVE')
  t.notOk(done.some((line) => line.startsWith('kill')))
})

t.test('what only a restart takes over is named, and everything else holds already', async (t) => {
  const { rooms, reload, write } = await stage(t)
  const { ringBytes } = rooms.settings
  write({
    ...BASE,
    listen: { port: 19_285 },
    session: { ring_bytes: 2_097_152, max_sessions: 3, keepalive_seconds: 31 },
    execution: { max_concurrent: 3 },
    quota: { queue: 3 },
    defense: { tarpit: { delay_ms: 1 }, localhost: { bytes: 1 }, levels: { automatic: false } },
    log: { level: 'debug' },
    security: { workspace_root: 'elsewhere' },
    audit: { directory: 'elsewhere' },
    tls: { groups: 'metered' },
  })
  const result = await reload()
  t.same(result.ok && [...result.needsRestart].sort(), [
    'audit',
    'defense.levels',
    'defense.localhost',
    'defense.tarpit',
    'execution',
    'listen',
    'log',
    'quota.queue',
    // Its branch roots follow from the workspace.
    'sandbox',
    'security.workspace_root',
    'session.max_sessions',
    'session.ring_bytes',
    'tls',
  ])
  t.equal(rooms.settings.keepaliveMs, 31_000)
  t.equal(rooms.settings.ringBytes, ringBytes, 'the rings are those that were made at the start')
  write(BASE)
  t.match(await reload(), { ok: true, needsRestart: [] }, 'compared with what the daemon was started with')
})

t.test('what signed work needs is looked at, although only a restart takes it over', async (t) => {
  const { rooms, reload, write, audited } = await stage(t)
  const before = rooms.settings
  const vault = join(t.testdirName, 'nowhere')
  write({ ...BASE, intent: { vault, dispatcher_pin: 'ab'.repeat(32) } })
  const gone = await reload()
  t.match(gone, { ok: false, problem: /^Nothing was changed, the old configuration holds\. .*nowhere/ })
  write({ ...BASE, intent: { tools: join(t.testdirName, 'no-tools') } })
  t.match(await reload(), { ok: false, problem: /no-tools/ })
  t.equal(rooms.settings, before)
  t.match(audited, [{ what: 'reload_failed' }, { what: 'reload_failed' }])
  const { directory, pin } = await makeDiskVault(directoryForVault(t))
  write({ ...BASE, intent: { vault: directory, dispatcher_pin: pin } })
  t.match(await reload(), { ok: true, needsRestart: ['intent'] }, 'named once')
  write({ ...BASE, intent: { vault: directory, dispatcher_pin: 'cd'.repeat(32) } })
  t.match(await reload(), { ok: false, problem: /dispatcher_pin/ })
})

t.test(
  'penalties outlive a reload that does not change them, and are begun anew by one that does',
  async (t) => {
    const { rooms, reload, write } = await stage(t)
    for (let count = 0; count < 4; count++) rooms.penalties.add('192.0.2.9', 'auth_failed', 1_000)
    t.equal(rooms.penalties.isActive('192.0.2.9', 1_000), true)
    write({ ...BASE, confirm: { timeout_seconds: 3 } })
    await reload()
    t.equal(rooms.penalties.isActive('192.0.2.9', 1_000), true)
    write({ ...BASE, acl: { penalties: { exempt: ['192.0.2.0/24'] } } })
    await reload()
    t.equal(rooms.penalties.isActive('192.0.2.9', 1_000), false)
    t.equal(rooms.penalties.add('192.0.2.9', 'violation', 1_000), 'none', 'exempt now')
    t.equal(rooms.settings.isExempt('192.0.2.9'), true)
  },
)

t.test('of two reloads at once the file that was read last holds', async (t) => {
  const { rooms, reload, write } = await stage(t)
  write({
    ...BASE,
    confirm: { timeout_seconds: 3 },
    policy: { rules_file: 'own.json', default_rules: false },
  })
  writeFileSync(join(t.testdirName, 'own.json'), JSON.stringify({ rules: [RULE] }))
  const first = reload()
  await Promise.resolve()
  const second = reload()
  await first
  write({ ...BASE, confirm: { timeout_seconds: 4 } })
  const third = reload()
  t.match(await Promise.all([first, second, third]), [{ ok: true }, { ok: true }, { ok: true }])
  t.equal(rooms.settings.confirmTimeoutMs, 4_000)
})

t.test('a clock that is set back changes nothing: what decides has the monotonic one', async (t) => {
  let wall = 2_000_000_000_000
  const { rooms, reload, session } = await stage(t, BASE, () => wall)
  const held = session('ci')
  const before = { version: rooms.settings.policyVersion, expires: held.expiresAtMs }
  rooms.penalties.add('192.0.2.9', 'violation', rooms.clock.monotonicMs())
  wall = 0
  await reload()
  rooms.sessions.tick(rooms.clock.monotonicMs())
  t.same({ version: rooms.settings.policyVersion, expires: held.expiresAtMs }, before)
  t.equal(held.state, 'ACTIVE')
  t.equal(rooms.settings.startedAtMs, 500)
  t.equal(rooms.penalties.isActive('192.0.2.9', rooms.clock.monotonicMs()), true)
})

t.test('a daemon without a file has nothing to read again', async (t) => {
  const { rooms } = await stage(t)
  const { config } = loadConfig(join(t.testdirName, 'edge.json'))
  const log = { write() {} }
  const audit = { append() {} }
  const reload = createReload(
    { config, configPath: undefined, clock: rooms.clock, log, audit } as never,
    () => rooms,
  )
  t.match(await reload(), { ok: false, problem: /started without a configuration file/ })
})

t.test('own rules take part, and the version names them (JF-N11)', async (t) => {
  const { rooms, reload, write } = await stage(t)
  writeFileSync(join(t.testdirName, 'own.json'), JSON.stringify({ rules: [RULE] }))
  write({ ...BASE, policy: { rules_file: 'own.json', default_rules: false } })
  const first = await reload()
  t.equal(rooms.policy.rules.count, 1)
  writeFileSync(join(t.testdirName, 'own.json'), JSON.stringify({ rules: [{ ...RULE, severity: 'low' }] }))
  const second = await reload()
  t.ok(first.ok && second.ok && first.policyVersion !== second.policyVersion, 'the file is part of it')
})
