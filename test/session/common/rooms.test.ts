/**
 * The one door to the decision: what is counted, recorded and logged before a verdict is known to anybody.
 * @module
 */
import t from 'tap'
import { adviceFor } from '../../../src/defense/describe.ts'
import type { Facts } from '../../../src/defense/facts.ts'
import { Warrant } from '../../../src/defense/warrant.ts'
import { REFUSALS_PER_MINUTE, TASKS_PER_SESSION, VIOLATIONS_TO_CONTAIN } from '../../../src/limits.ts'
import { capabilityOf, decide, nextCycle } from '../../../src/session/common/rooms.ts'
import { AGENT, executing, FACTS, NOBODY, REQUEST } from '../../defense/staged-facts.ts'
import { callerNamed, HOSTILE, type StageOptions, stageRooms } from '../stage.ts'

const allowed: Facts = { ...FACTS, action: executing(['ls'], '/bin/ls') }
const denied: Facts = { ...FACTS, action: executing(['rm'], '/bin/rm') }
const hostile: Facts = { ...FACTS, action: executing([HOSTILE], '/bin/rm') }

t.test('what is decided about a known caller is recorded with its response, layer and rule', (t) => {
  const { rooms, audit } = stageRooms()
  const verdict = decide(rooms, allowed)
  decide(rooms, denied)
  t.match(audit.events, [
    {
      type: 'decision',
      response: 'R1',
      layer: 'all',
      agent: 'bot',
      session_state: 'EXECUTING',
      method: 'Execute',
    },
    {
      type: 'decision',
      response: 'STATUS',
      layer: 'capability',
      rule: 'default.denied_commands',
      warrant: null,
    },
  ])
  t.equal(audit.events[0]?.['warrant'], 'warrant' in verdict && verdict.warrant.id)
  t.not(audit.events[0]?.['action_digest'], audit.events[1]?.['action_digest'])
  t.end()
})

t.test('answers that only tell are counted and not recorded, their refusals are recorded', (t) => {
  const { rooms, audit } = stageRooms()
  const reading: Facts = { ...FACTS, action: { kind: 'read', method: 'Ping' } }
  decide(rooms, reading)
  t.strictSame([audit.events.length, rooms.responses.get(1)], [0, 1])
  decide(rooms, { ...reading, session: { id: 'x', state: 'expired' } })
  t.match(audit.events, [{ response: 'R2', action: 'read' }])
  t.end()
})

t.test('strangers are counted and logged, whoever fails to prove a name is recorded', (t) => {
  const { rooms, audit, logged } = stageRooms()
  decide(rooms, { ...FACTS, identity: NOBODY, session: undefined })
  t.strictSame([audit.events.length, rooms.responses.get(5)], [0, 1])
  t.strictSame(
    logged.map(({ event }) => event),
    ['refused', 'penalty'],
  )
  decide(rooms, {
    ...FACTS,
    identity: { kind: 'failed', code: 'AUTH_INVALID', why: 'w' },
    session: undefined,
  })
  t.match(audit.events, [{ response: 'R5', agent: null, code: 'AUTH_INVALID', severity: 'critical' }])
  t.end()
})

t.test('a verdict that cannot be recorded is nobody’s: the failure comes in its place', (t) => {
  const { rooms, audit } = stageRooms()
  audit.failure = new Error('disk full')
  t.throws(() => decide(rooms, allowed), { message: 'disk full' })
  t.throws(() => decide(rooms, denied), { message: 'disk full' })
  t.end()
})

t.test('a verdict that cannot be recorded halts the daemon, once, whatever it was', (t) => {
  for (const facts of [allowed, denied]) {
    const { rooms, audit, steps, spawner } = stageRooms()
    audit.failure = new Error('disk full')
    t.throws(() => decide(rooms, facts))
    t.throws(() => decide(rooms, facts))
    t.match(steps, [{ scope: 'daemon', name: 'Storage', to: 'HALT', why: 'disk full', by: '' }])
    audit.failure = undefined
    t.match(decide(rooms, allowed), { response: 'DROP', rule: 'level.halt' }, 'until the disk was looked at')
    t.equal(spawner.children.length, 0)
  }
  t.end()
})

t.test('without a record the admin socket may connect and authenticate, and nothing but that', (t) => {
  const { rooms, audit, logged } = stageRooms()
  audit.failure = new Error('disk full')
  const admin = { ...FACTS.source, transport: 'admin', address: 'local' } as const
  const operator = { ...AGENT, name: 'admin', role: 'operator' } as const
  const arrives: Facts = {
    ...FACTS,
    source: admin,
    identity: NOBODY,
    session: undefined,
    request: undefined,
    action: { kind: 'connect', address: 'local' },
  }
  t.match(decide(rooms, arrives), { response: 'EXECUTE' })
  const enters: Facts = {
    ...arrives,
    identity: operator,
    request: { ...REQUEST, method: 'Authenticate' },
    action: { kind: 'authenticate', name: 'admin', isNew: true },
  }
  t.match(decide(rooms, enters), { response: 'EXECUTE' })
  t.match(logged.at(-1), { event: 'not_recorded', fields: { action: 'authenticate', reason: 'disk full' } })
  t.throws(() => decide(rooms, { ...enters, source: FACTS.source }), 'over the network nobody is let in')
  const change = { kind: 'set_level', scope: 'daemon', name: '', level: 'NORMAL' } as const
  for (const action of [change, { kind: 'reload' }, executing(['ls'], '/bin/ls')] as const)
    t.throws(() => decide(rooms, { ...enters, session: FACTS.session, request: REQUEST, action }))
  t.equal(rooms.levels.daemon, 'HALT')
  t.end()
})

t.test('a caller that is refused all the time has so many records in a minute, the rest is counted', (t) => {
  const { rooms, audit } = stageRooms({ automatic: false })
  for (let count = 0; count < REFUSALS_PER_MINUTE + 30; count++) decide(rooms, denied)
  t.equal(audit.events.length, REFUSALS_PER_MINUTE)
  decide(rooms, allowed)
  t.match(audit.events.at(-1), { response: 'R1' }, 'what is permitted always has one')
  decide(rooms, { ...denied, identity: { ...AGENT, name: 'other' } as Facts['identity'] })
  t.match(audit.events.at(-1), { response: 'STATUS', agent: 'other' }, 'nobody else is concerned')
  decide(rooms, { ...denied, request: { ...REQUEST, problems: 'x' } })
  const record = rooms.refusals.tick(60_000)
  t.same(record, {
    type: 'refusals',
    counts: { 'STATUS capability default.denied_commands': 30, 'STATUS completeness message': 1 },
  })
  decide(rooms, denied)
  t.match(audit.events.at(-1), { response: 'STATUS', agent: 'bot' }, 'and in the next minute again')
  t.end()
})

t.test('what is counted raises the level all the same, and is told in the log', (t) => {
  const { rooms, steps, logged } = stageRooms()
  for (let count = 0; count < REFUSALS_PER_MINUTE; count++) rooms.refusals.mayWriteAlone('bot')
  for (let count = 0; count < VIOLATIONS_TO_CONTAIN; count++) decide(rooms, hostile)
  t.match(steps, [{ scope: 'agent', name: 'bot', to: 'CONTAIN' }])
  t.equal(logged.length, VIOLATIONS_TO_CONTAIN)
  t.notOk('seq' in (logged[0]?.fields ?? {}), 'without a record there is no number of one')
  t.end()
})

t.test('the same violation is that of layer, rule and program: others are counted by themselves', (t) => {
  const { rooms, steps } = stageRooms({ capability: { denied_paths: ['/srv/work/secret'] } })
  const tries = (program: string) =>
    decide(rooms, { ...FACTS, action: executing([program, 'secret'], `/bin/${program}`) })
  for (let count = 1; count < VIOLATIONS_TO_CONTAIN; count++)
    for (const program of ['rm', 'dd', 'mv']) tries(program)
  t.strictSame(steps, [])
  tries('/srv/work/rm')
  t.match(steps, [{ scope: 'agent', name: 'bot', to: 'CONTAIN', why: /^The same violation 3 times/ }])
  t.end()
})

t.test('what is permitted makes no line in the log; a mistake is less than a violation there', (t) => {
  const { rooms, logged } = stageRooms()
  decide(rooms, allowed)
  decide(rooms, hostile)
  decide(rooms, {
    ...allowed,
    request: { ...REQUEST, problems: 'x' },
  })
  t.match(logged, [
    {
      level: 'warn',
      event: 'refused',
      fields: { agent: 'bot', response: 'VI_SWAP', reason: /nobody sees/ },
    },
    { level: 'info', event: 'refused', fields: { response: 'STATUS', layer: 'completeness' } },
  ])
  t.end()
})

t.test('decisions are numbered, and a set is found only under its own name', (t) => {
  const { rooms } = stageRooms()
  t.strictSame([nextCycle(rooms), nextCycle(rooms), nextCycle(rooms)], [1, 2, 3])
  t.ok(capabilityOf(rooms, 'default'))
  for (const name of ['', 'toString', '__proto__', 'Default']) t.equal(capabilityOf(rooms, name), undefined)
  t.end()
})

/** A session of `bot`, live. */
function withSession(options: StageOptions = {}) {
  const staged = stageRooms(options)
  const session = staged.rooms.sessions.create(
    { idBytes: new Uint8Array(16), id: FACTS.session?.id ?? '', instance: 'bot-x', isProven: true },
    callerNamed(staged, 'bot'),
    FACTS.source.address,
    0,
  )
  if (session === undefined) throw new Error('no session')
  return { ...staged, session }
}
const running = (argv: readonly string[]): Facts => ({ ...FACTS, action: executing(argv, `/bin/${argv[0]}`) })

t.test('a record names the instance, and says more where a second look is worth it', (t) => {
  const { rooms, audit } = stageRooms({
    rules: [{ action: 'deny', severity: 'low', argv: { program: ['who'] } }],
  })
  const known = { ...AGENT, instance: 'bot-20270115T080000Z-00000000' } as Facts['identity']
  decide(rooms, { ...allowed, identity: known })
  decide(rooms, { ...running(['who']), identity: known })
  decide(rooms, { ...hostile, identity: known })
  const [plain, noted, refused] = audit.events
  t.equal(plain?.['instance'], 'bot-20270115T080000Z-00000000')
  t.notOk('enhanced' in (plain ?? {}))
  t.match(noted, { response: 'R1', layer: '13policy', rule: 'staged.rule-0', severity: 'warning' })
  t.match(noted?.['enhanced'], {
    challenge: 'none',
    approvals: 0,
    terminal: false,
    device: '1',
    inode: '2',
    links: 0,
    incident: null,
  })
  t.match(refused?.['enhanced'], { incident: 'violation' })
  t.end()
})

t.test('what a stranger is refused for costs its address, each by its reason', (t) => {
  const stranger: Facts = { ...FACTS, identity: NOBODY, session: undefined, action: undefined }
  for (const [which, facts, reason, isActive] of [
    ['a request before Authenticate', stranger, 'violation', true],
    [
      'a proof that does not hold',
      { ...stranger, identity: { kind: 'failed', code: 'AUTH_INVALID', why: 'w' } },
      'auth_failed',
      false,
    ],
    [
      'silence until the grace is over',
      { ...stranger, request: undefined, identity: { kind: 'none', dismissed: 'grace' } },
      'grace_exceeded',
      false,
    ],
    [
      'a malformed frame',
      { ...stranger, transport: { ...FACTS.transport, frameProblem: 'noise' } },
      'refused',
      false,
    ],
    [
      'an answer that is wrong',
      { ...FACTS, request: { ...REQUEST, challenge: 'failed' } },
      'auth_failed',
      false,
    ],
  ] as const) {
    const { rooms, clock } = stageRooms()
    decide(rooms, facts as Facts)
    t.match(rooms.penalties.list(clock.monotonicMs()), [{ source: '192.0.2.1', reason, isActive }], which)
  }
  t.end()
})

t.test(
  'what a caller is refused for by its rights costs its address nothing, nor does what the admin socket does',
  (t) => {
    const { rooms, clock } = stageRooms()
    decide(rooms, denied)
    decide(rooms, { ...FACTS, request: { ...REQUEST, problems: 'x' } })
    decide(rooms, { ...FACTS, session: { id: 'x', state: 'unknown' } })
    decide(rooms, {
      ...FACTS,
      transport: { ...FACTS.transport, frameProblem: 'noise' } as Facts['transport'],
    })
    decide(rooms, {
      ...FACTS,
      identity: { kind: 'none', dismissed: 'crowd' },
      request: undefined,
      session: undefined,
    })
    const admin = { ...FACTS.source, transport: 'admin', address: 'local' } as const
    decide(rooms, { ...FACTS, source: admin, identity: NOBODY, session: undefined })
    decide(rooms, { ...FACTS, source: { ...FACTS.source, isAllowed: false } })
    t.strictSame(rooms.penalties.list(clock.monotonicMs()), [])
    t.end()
  },
)

t.test('what a rule denies raises the level that goes with its severity', (t) => {
  for (const [severity, step] of [
    ['medium', { scope: 'session', name: FACTS.session?.id, to: 'RESTRICT' }],
    ['high', { scope: 'session', name: FACTS.session?.id, to: 'CHECKPOINT' }],
    ['critical', { scope: 'agent', name: 'bot', to: 'CONTAIN' }],
  ] as const) {
    const { rooms, steps, session } = withSession({
      rules: [{ action: 'deny', severity, argv: { program: ['who'] } }],
    })
    decide(rooms, running(['who']), session)
    t.match(steps, [{ ...step, why: /^13policy staged\.rule-0 by bot, record \d+$/, by: '' }])
  }
  const { rooms, steps, session } = withSession()
  decide(rooms, allowed, session)
  decide(rooms, { ...allowed, request: { ...REQUEST, problems: 'x' } }, session)
  t.strictSame(steps, [], 'a mistake is none')
  t.end()
})

t.test(
  'ticks are counted by task, what a session did and was given is remembered, and a human’s yes begins anew',
  (t) => {
    const { rooms, session } = withSession({ quota: { ticksPerTask: 2, tokensPerSession: 100 } })
    const working = (task: string, rule?: string): Facts => ({
      ...allowed,
      request: { ...REQUEST, task, approvals: rule === undefined ? [] : [{ rule, outcome: 'approved' }] },
    })
    const response = (facts: Facts) => {
      const verdict = decide(rooms, facts, session)
      return verdict.kind === 'response' ? verdict.response : verdict.kind
    }
    t.strictSame(
      [response(working('a')), response(working('a')), response(working('a'))],
      ['EXECUTE', 'EXECUTE', 'THROTTLE'],
    )
    t.equal(response(working('b')), 'EXECUTE', 'another task')
    t.equal(response(working('a', 'quota.ticks_per_task')), 'EXECUTE')
    t.strictSame(
      [...session.ticks],
      [
        ['b', 1],
        ['a', 1],
      ],
    )
    t.strictSame([response(working('a')), response(working('a'))], ['EXECUTE', 'THROTTLE'])

    session.deliveredBytes = 400
    t.equal(response(working('c')), 'THROTTLE')
    t.equal(response(working('c', 'quota.tokens_per_session')), 'EXECUTE')
    t.equal(session.deliveredBytes, 0)
    t.equal(response(allowed), 'EXECUTE')
    for (let index = 0; index < TASKS_PER_SESSION * 2; index++) response(working(`t${index}`))
    t.equal(session.ticks.size, TASKS_PER_SESSION)
    t.end()
  },
)

t.test(
  'the toxic properties of what was permitted stay with the session, of what was refused they do not',
  (t) => {
    const { rooms, session } = withSession({ capability: { denied_commands: ['wget'] } })
    decide(rooms, running(['wget', 'http://example.org']), session)
    t.strictSame([...session.toxic], [])
    decide(rooms, running(['curl', 'http://example.org']), session)
    t.strictSame([...session.toxic].sort(), ['outward', 'untrusted'])
    const verdict = decide(
      rooms,
      {
        ...running(['cat', '/etc/shadow']),
        request: { ...REQUEST, approvals: [{ rule: 'sensitive_files', outcome: 'approved' }] },
      },
      session,
    )
    t.match(verdict, { response: 'THROTTLE', rule: 'toxic.untrusted-secret-outward', awaits: 'operator' })
    t.end()
  },
)

t.test(
  'a tool is allowed when it is on the list and in the tier, and each answer is recorded (JF-030)',
  (t) => {
    let refused = 0
    for (const [tier, tools, argv, expected] of [
      ['T1', ['*'], ['ls'], ['EXECUTE', 'R1', 'all_passed']],
      ['T1', ['Glob'], ['ls'], ['EXECUTE', 'R1', 'all_passed']],
      ['T1', ['Read'], ['ls'], ['VI_SWAP', 'R4', 'tools.T1']],
      ['T1', ['*'], ['touch', 'x'], ['VI_SWAP', 'R4', 'tools.T1']],
      ['T1', ['Write'], ['touch', 'x'], ['VI_SWAP', 'R4', 'tools.T1']],
      ['T2', ['Write'], ['touch', 'x'], ['EXECUTE', 'R1', 'all_passed']],
      ['T2', ['Read'], ['touch', 'x'], ['VI_SWAP', 'R4', 'tools.T2']],
      ['T5', [], ['ls'], ['VI_SWAP', 'R4', 'tools.T5']],
    ] as const) {
      // Of one agent, three tries of what is not given would contain it.
      const { rooms, audit, logged } = stageRooms()
      const identity = { ...AGENT, tier, tools } as Facts['identity']
      const verdict = decide(rooms, { ...running(argv), identity })
      const record = audit.events.at(-1)
      t.strictSame(
        [
          verdict.kind === 'response' ? verdict.response : verdict.kind,
          record?.['response'],
          record?.['rule'],
        ],
        expected,
        `${argv.join(' ')}: ${tier} ${tools.join()}`,
      )
      t.equal(audit.events.length, 1)
      refused += logged.filter(({ event }) => event === 'refused').length
    }
    t.equal(refused, 5)
    t.end()
  },
)

t.test('whatever fails in the decision denies, is recorded and logged, and explains itself (JF-N06)', (t) => {
  const broken = () => {
    throw new TypeError('a defect')
  }
  const { rooms: whole } = stageRooms()
  const { policy } = whole
  const curl = ['curl', 'http://10.0.0.1/']
  for (const [layer, argv, change] of [
    ['tool_access', ['ls'], { effective: broken }],
    ['capability', ['ls'], { capabilities: undefined }],
    ['specifics', curl, { ownPaths: undefined }],
    ['13policy', ['ls'], { rules: undefined }],
    ['quota', ['ls'], { quota: undefined }],
  ] as const) {
    const { rooms, audit, logged } = stageRooms()
    rooms.policy = { ...policy, ...change } as unknown as typeof policy
    const verdict = decide(rooms, running(argv))
    t.match(
      verdict,
      { kind: 'status', code: 'INTERNAL', layer, rule: 'deny_on_error', severity: 'critical' },
      layer,
    )
    t.match(audit.events.at(-1), { response: 'STATUS', layer, severity: 'critical', warrant: null })
    t.match(logged.at(-1), { level: 'warn', fields: { layer, reason: /could not decide/ } })
    t.ok(adviceFor({ layer, rule: 'deny_on_error', response: 'R4' }) !== '', 'and what to do')
  }
  t.end()
})

t.test('the warrant of a decision dies with the next one, whoever asks (RX-25)', (t) => {
  const { rooms } = stageRooms()
  const first = decide(rooms, allowed)
  decide(rooms, denied)
  if (first.kind !== 'response' || first.response !== 'EXECUTE' || allowed.action === undefined)
    throw new Error('it was to be permitted')
  const { warrant } = first
  const { action, session } = allowed
  t.throws(() => Warrant.redeem(warrant, action, session?.id ?? ''), { message: /after its cycle had ended/ })
  t.end()
})
