/**
 * Levels of alarm: what raises them, whom they hold for, who lowers them, and what one agent alone cannot do.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { LEVELS, stricter } from '../../../src/defense/level.ts'
import type { Incident } from '../../../src/defense/verdict.ts'
import {
  ANY_VIOLATIONS_TO_CONTAIN,
  CONTAINED_TO_HALT,
  VIOLATIONS_KEPT_MS,
  VIOLATIONS_TO_CONTAIN,
} from '../../../src/limits.ts'
import { createLevels, type KeptLevels, type LevelStep } from '../../../src/session/standing/levels.ts'
import { enter, type Heard, HOSTILE, run, stageRooms } from '../stage.ts'

function stage(kept: KeptLevels = { entries: [] }, isAutomatic = true) {
  const steps: LevelStep[] = []
  let now = 0
  const wall = { ms: 1_000 }
  const levels = createLevels(
    kept,
    () => wall.ms,
    (step) => steps.push(step),
    isAutomatic,
  )
  const happens = (incident: Incident, agent = 'bot', sessionId = 's1', what = 'layer rule tool') =>
    levels.incident(incident, { agent, instance: `${agent}-1`, sessionId, what }, 'layer rule', now)
  const pass = (ms: number) => {
    now += ms
  }
  const moves = () => steps.splice(0).map(({ scope, name, from, to }) => `${scope} ${name} ${from} ${to}`)
  return { levels, happens, pass, moves, steps, wall }
}

t.test(
  'a medium incident restricts the session, a high one stops it at a checkpoint, a critical one contains the agent (JF-R35)',
  (t) => {
    for (const [incident, step, own, sister] of [
      ['medium', 'session s1 NORMAL RESTRICT', 'RESTRICT', 'NORMAL'],
      ['high', 'session s1 NORMAL CHECKPOINT', 'CHECKPOINT', 'NORMAL'],
      ['critical', 'agent bot NORMAL CONTAIN', 'CONTAIN', 'CONTAIN'],
    ] as const) {
      const { levels, happens, moves } = stage()
      happens(incident)
      t.strictSame(moves(), [step])
      t.equal(levels.of('bot', 's1', []), own)
      t.equal(levels.of('bot', 's2', []), sister, 'another session of the agent')
      t.equal(levels.of('other', 's3', []), 'NORMAL', 'another agent')
      t.equal(levels.daemon, 'NORMAL')
    }
    t.end()
  },
)

t.test('the same violation three times within a day contains its agent, whatever its sessions', (t) => {
  const { levels, happens, moves } = stage()
  for (let count = 1; count < VIOLATIONS_TO_CONTAIN; count++) {
    happens('violation', 'bot', `s${count}`)
    t.equal(levels.of('bot', 's1', []), 'NORMAL')
  }
  happens('violation', 'other')
  t.strictSame(moves(), [], 'those of others do not count')
  happens('violation')
  t.strictSame(moves(), ['agent bot NORMAL CONTAIN'])
  t.end()
})

t.test('different violations are mistakes until there are too many of them', (t) => {
  const { levels, happens, moves } = stage()
  for (let count = 1; count < ANY_VIOLATIONS_TO_CONTAIN; count++)
    happens('violation', 'bot', 's1', `layer rule tool${Math.ceil(count / (VIOLATIONS_TO_CONTAIN - 1))}`)
  t.equal(levels.of('bot', 's1', []), 'NORMAL', 'none of them was the third of its kind')
  happens('violation', 'bot', 's1', 'another')
  t.strictSame(moves(), ['agent bot NORMAL CONTAIN'])
  t.end()
})

t.test('incidents of a rule count as violations as well', (t) => {
  const { levels, happens } = stage()
  happens('medium')
  happens('high', 'bot', 's2')
  t.equal(levels.of('bot', 's3', []), 'NORMAL')
  happens('violation', 'bot', 's3')
  t.equal(levels.of('bot', 's3', []), 'CONTAIN')
  t.end()
})

t.test(
  'violations are forgotten after a day of monotonic time, and a clock that is set changes nothing',
  (t) => {
    const { levels, happens, pass, wall } = stage()
    happens('violation')
    pass(VIOLATIONS_KEPT_MS - 1)
    happens('violation')
    pass(1)
    wall.ms = 9e15
    happens('violation')
    t.equal(levels.of('bot', 's1', []), 'NORMAL', 'the first is a day old')
    wall.ms = 0
    happens('violation')
    t.equal(levels.of('bot', 's1', []), 'CONTAIN')
    pass(VIOLATIONS_KEPT_MS * 10)
    t.equal(levels.of('bot', 's1', []), 'CONTAIN', 'no time lowers a level')
    t.end()
  },
)

t.test('several agents that must be contained within a day halt the daemon (JF-096, JF-R35)', (t) => {
  const { levels, happens, moves } = stage()
  for (let count = 1; count < CONTAINED_TO_HALT; count++) happens('critical', `bot${count}`)
  t.equal(levels.daemon, 'NORMAL')
  for (let count = 0; count < 3; count++) happens('violation', 'last')
  t.equal(levels.daemon, 'HALT')
  t.equal(moves().at(-1), 'daemon  NORMAL HALT')
  t.equal(levels.of('somebody', 's9', []), 'HALT', 'for everybody')
  t.end()
})

t.test('containments that lie more than a day apart do not halt', (t) => {
  const { levels, happens, pass } = stage()
  for (let count = 0; count < CONTAINED_TO_HALT * 2; count++) {
    happens('critical', `bot${count}`)
    pass(Math.ceil(VIOLATIONS_KEPT_MS / (CONTAINED_TO_HALT - 1)))
  }
  t.equal(levels.daemon, 'NORMAL')
  t.end()
})

t.test('one agent alone never halts the daemon, whatever it does and however often it is let go', (t) => {
  const anything = fc.array(
    fc.oneof(
      fc.record({
        kind: fc.constant('does' as const),
        what: fc.constantFrom<Incident>('violation', 'medium', 'high', 'critical'),
        where: fc.nat(3),
      }),
      fc.record({
        kind: fc.constant('freed' as const),
        what: fc.constantFrom('NORMAL' as const, 'RESTRICT' as const),
        where: fc.nat(3),
      }),
      fc.record({ kind: fc.constant('time' as const), what: fc.nat(VIOLATIONS_KEPT_MS), where: fc.nat(3) }),
      fc.record({ kind: fc.constant('ended' as const), what: fc.constant(0), where: fc.nat(3) }),
    ),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(anything, (list) => {
      const { levels, happens, pass } = stage()
      for (const step of list) {
        if (step.kind === 'does') happens(step.what, 'bot', `s${step.where}`)
        else if (step.kind === 'freed') levels.set('agent', 'bot', step.what, '', 'boss')
        else if (step.kind === 'time') pass(step.what)
        else levels.sessionEnded(`s${step.where}`)
        if (levels.daemon !== 'NORMAL') return false
      }
      return true
    }),
    { numRuns: 200 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('an incident never lowers a level', (t) => {
  const { levels, happens, moves } = stage()
  happens('high')
  happens('medium')
  t.strictSame(moves(), ['session s1 NORMAL CHECKPOINT'])
  levels.set('session', 's1', 'CONTAIN', 'look', 'boss')
  happens('high')
  t.equal(levels.of('nobody', 's1', []), 'CONTAIN')
  t.end()
})

t.test(
  'the level of a request is the strictest of the daemon’s, the agent’s, the session’s and of those it acts for',
  (t) => {
    const any = () => fc.constantFrom(...LEVELS)
    const chosen = fc.record({ daemon: any(), agent: any(), session: any(), above: any(), far: any() })
    fc.assert(
      fc.property(chosen, (levelOf) => {
        const { levels } = stage()
        levels.set('daemon', '', levelOf.daemon, '', 'boss')
        levels.set('agent', 'bot', levelOf.agent, '', 'boss')
        levels.set('session', 's1', levelOf.session, '', 'boss')
        levels.set('agent', 'above', levelOf.above, '', 'boss')
        levels.set('agent', 'far', levelOf.far, '', 'boss')
        levels.set('agent', 'stranger', 'HALT', '', 'boss')
        return levels.of('bot', 's1', ['above', 'far']) === Object.values(levelOf).reduce(stricter)
      }),
      { numRuns: 100 },
    )
    t.pass('for every combination')
    t.end()
  },
)

t.test('the delegates of a contained agent are contained with it, and their own level stays theirs', (t) => {
  const { levels, happens } = stage()
  happens('critical', 'lead')
  t.equal(levels.of('helper', 's2', ['lead']), 'CONTAIN')
  t.equal(levels.of('helper', 's2', []), 'NORMAL')
  happens('critical', 'helper')
  t.equal(levels.of('lead2', 's3', []), 'NORMAL')
  levels.set('session', 's4', 'CHECKPOINT', 'w', 'operator')
  t.equal(levels.of('worker', 's5', ['boss'], 's4'), 'CHECKPOINT', 'work of the session that handed it on')
  t.equal(levels.of('worker', 's5', ['boss']), 'NORMAL')
  t.end()
})

t.test('a session’s level ends with the session and is not kept, an agent’s and the daemon’s are', (t) => {
  const { levels, happens, moves } = stage()
  happens('high')
  happens('critical', 'other')
  levels.set('daemon', '', 'RESTRICT', 'a look', 'boss')
  t.strictSame(
    levels.kept().entries.map(({ scope, name, level }) => [scope, name, level]),
    [
      ['agent', 'other', 'CONTAIN'],
      ['daemon', '', 'RESTRICT'],
    ],
  )
  moves()
  levels.sessionEnded('s1')
  levels.sessionEnded('s1')
  t.strictSame(moves(), ['session s1 CHECKPOINT NORMAL'], 'a step that is told, once')
  levels.sessionEnded('s2')
  t.strictSame(moves(), [], 'a session that had none ends without a word')
  t.equal(levels.of('bot', 's1', []), 'RESTRICT')
  const restarted = stage(levels.kept())
  t.strictSame(restarted.levels.list(), levels.list())
  t.strictSame([restarted.levels.daemon, restarted.levels.of('other', '', [])], ['RESTRICT', 'CONTAIN'])
  t.strictSame(restarted.moves(), [], 'what was kept is no new step')
  t.end()
})

t.test('an operator raises and lowers each of them, and who it was is told with the step (JF-R35)', (t) => {
  const { levels, steps, wall } = stage()
  levels.set('agent', 'bot', 'CONTAIN', 'odd', 'boss')
  wall.ms = 5_000
  levels.set('agent', 'bot', 'CONTAIN', 'again', 'boss')
  levels.set('agent', 'bot', 'NORMAL', 'looked at it', 'boss')
  t.strictSame(steps, [
    { scope: 'agent', name: 'bot', from: 'NORMAL', to: 'CONTAIN', why: 'odd', by: 'boss', instance: null },
    {
      scope: 'agent',
      name: 'bot',
      from: 'CONTAIN',
      to: 'NORMAL',
      why: 'looked at it',
      by: 'boss',
      instance: null,
    },
  ])
  t.strictSame(levels.list(), [])
  t.end()
})

t.test('who is let go begins anew: its violations and its containment are forgotten', (t) => {
  const { levels, happens } = stage()
  for (let count = 0; count < VIOLATIONS_TO_CONTAIN; count++) happens('violation')
  levels.set('agent', 'bot', 'NORMAL', '', 'boss')
  for (let count = 1; count < VIOLATIONS_TO_CONTAIN; count++) happens('violation')
  t.equal(levels.of('bot', 's1', []), 'NORMAL')
  for (let count = 1; count < CONTAINED_TO_HALT; count++) happens('critical', `b${count}`)
  t.equal(levels.daemon, 'NORMAL', 'the one that was let go does not count')
  t.end()
})

t.test('a daemon that was let go does not halt for the agents that halted it before', (t) => {
  const { levels, happens } = stage()
  for (let count = 0; count < CONTAINED_TO_HALT; count++) happens('critical', `b${count}`)
  t.equal(levels.daemon, 'HALT')
  levels.set('daemon', '', 'NORMAL', 'acknowledged', 'boss')
  for (let count = 1; count < CONTAINED_TO_HALT; count++) happens('critical', `c${count}`)
  t.equal(levels.daemon, 'NORMAL')
  happens('critical', 'd')
  t.equal(levels.daemon, 'HALT')
  t.end()
})

t.test('the disk restricts and halts everybody, beside what else was set, and lets go again', (t) => {
  const { levels, moves } = stage()
  levels.storage('RESTRICT', 'little room')
  t.equal(levels.of('bot', 's1', []), 'RESTRICT')
  levels.set('daemon', '', 'CHECKPOINT', 'a drill', 'boss')
  levels.storage('HALT', 'no room')
  t.equal(levels.daemon, 'HALT')
  levels.set('daemon', '', 'NORMAL', 'it is over', 'boss')
  t.equal(levels.daemon, 'HALT', 'room is not made by an operator’s word')
  t.same(levels.kept().entries, [], 'the next start sees for itself')
  levels.set('daemon', '', 'CHECKPOINT', 'another drill', 'boss')
  levels.storage('NORMAL', 'room')
  t.equal(levels.daemon, 'CHECKPOINT', 'nor is a level lowered by room')
  t.strictSame(
    moves().filter((move) => move.includes('Storage')),
    ['daemon Storage NORMAL RESTRICT', 'daemon Storage RESTRICT HALT', 'daemon Storage HALT NORMAL'],
  )
  t.end()
})

t.test('where the configuration wants it, no incident changes a level, and an operator still can', (t) => {
  const { levels, happens, moves } = stage({ entries: [] }, false)
  for (const incident of ['violation', 'medium', 'high', 'critical'] as const)
    for (let count = 0; count < 4; count++) happens(incident)
  t.strictSame(moves(), [])
  levels.set('daemon', '', 'HALT', 'stop', 'boss')
  t.equal(levels.daemon, 'HALT')
  t.end()
})

t.test('names that objects have of their own are names like any other', (t) => {
  const { levels, happens } = stage()
  for (const name of ['__proto__', 'constructor', 'daemon/', ''])
    t.equal(levels.of(name, name, []), 'NORMAL', name)
  happens('critical', '__proto__')
  t.strictSame([levels.of('__proto__', '', []), levels.of('bot', '', [])], ['CONTAIN', 'NORMAL'])
  t.end()
})

const finished = (list: readonly Heard[]) => list.some(({ kind }) => kind === 'ended')

t.test('under RESTRICT a session may look and nothing else', (t) => {
  const { rooms, spawner, ...staged } = stageRooms()
  const client = enter({ rooms, spawner, ...staged })
  rooms.levels.set('session', encodeHex(client.sessionId), 'RESTRICT', 'a look', 'boss')
  run(client, 'ls')
  run(client, 'touch', { args: ['x'] })
  t.strictSame(
    spawner.children.map(({ plan }) => plan.argv[0]),
    ['ls'],
  )
  t.match(staged.audit.events.at(-1), { response: 'R4', rule: 'level.restrict' })
  t.ok(finished(client.on(client.open('Ping', new Map()))))
  const sister = enter({ rooms, spawner, ...staged })
  run(sister, 'touch', { args: ['x'] })
  t.equal(spawner.children.length, 1, 'the caller’s two places are taken')
  t.match(staged.audit.events.at(-1), { response: 'R3' }, 'its other session is not restricted')
  t.end()
})

t.test('at a CHECKPOINT every command waits for a human, what only asks does not', (t) => {
  const staged = stageRooms()
  const { rooms, spawner } = staged
  const client = enter(staged)
  rooms.levels.set('session', encodeHex(client.sessionId), 'CHECKPOINT', 'an incident', 'boss')
  const stream = run(client, 'ls')
  t.match(client.on(stream), [{ value: { is_queued: true, data: 'awaiting operator' } }])
  t.ok(finished(client.on(client.open('Ping', new Map()))))
  const [pending] = rooms.confirmations.list()
  if (pending === undefined) throw new Error('nothing is asked')
  t.equal(pending.rule, 'level.checkpoint')
  rooms.confirmations.answer(pending.id, encodeHex(pending.digest), true, 'boss')
  t.equal(spawner.children.length, 1)
  run(client, 'ls')
  t.equal(spawner.children.length, 1, 'the next one waits again')
  t.end()
})

t.test(
  'a contained agent sees screens and silence, its commands are ended, and so it is for its delegates',
  async (t) => {
    const staged = stageRooms({ agents: { helper: { seed: 5, delegated_by: 'bot' } } })
    const { rooms, spawner } = staged
    const [bot, helper, other] = [
      enter(staged),
      enter(staged, { name: 'helper', seed: 5 }),
      enter(staged, { name: 'other', seed: 2 }),
    ]
    run(bot, 'sleep')
    run(other, 'sleep')
    run(helper, 'sleep')
    await new Promise((done) => setImmediate(done))
    for (let count = 0; count < 3; count++) bot.connection.reset(run(bot, HOSTILE))
    t.equal(rooms.levels.of('bot', '', []), 'CONTAIN')
    t.strictSame(
      spawner.children.map(({ deeds }) => deeds),
      [['killTree'], [], ['killTree']],
    )
    for (const client of [bot, helper]) {
      run(client, 'ls')
      t.match(staged.audit.events.at(-1), { response: 'R4', rule: 'level.contain' })
      t.strictSame(client.on(client.open('Ping', new Map())), [])
    }
    t.equal(spawner.children.length, 3)
    t.equal(rooms.levels.of('helper', '', []), 'NORMAL', 'being held is no incident of its own')
    run(other, 'ls')
    t.equal(spawner.children.length, 4, 'nobody else is touched')
  },
)

t.test('a daemon that has halted resets everybody, and ends what ran', (t) => {
  const staged = stageRooms()
  const client = enter(staged)
  run(client, 'sleep')
  staged.rooms.levels.set('daemon', '', 'HALT', 'stop', 'boss')
  t.strictSame(staged.spawner.children[0]?.deeds, ['killTree'])
  client.open('Ping', new Map())
  t.strictSame(client.transport.deeds, ['reset'])
  t.equal(
    staged.peers.admit('tls', '192.0.2.1', () => {}),
    undefined,
  )
  t.ok(
    staged.peers.admit('admin', 'local', () => {}),
    'an operator on the device is let in',
  )
  t.end()
})

t.test('a session that is contained loses its commands, another one of its agent does not', (t) => {
  const staged = stageRooms()
  const [one, two] = [enter(staged), enter(staged)]
  for (const client of [one, two]) run(client, 'sleep')
  staged.rooms.levels.set('session', encodeHex(one.sessionId), 'CONTAIN', 'a look', 'boss')
  t.strictSame(
    staged.spawner.children.map(({ deeds }) => deeds),
    [['killTree'], []],
  )
  t.end()
})

t.test(
  'agents whose questions nobody answers are not contained, and the daemon does not halt for them',
  (t) => {
    const agents = { third: { seed: 9 } }
    const staged = stageRooms({ agents })
    const clients = [
      enter(staged),
      enter(staged, { name: 'other', seed: 2 }),
      enter(staged, { name: 'third', seed: 9 }),
    ]
    for (let count = 0; count < ANY_VIOLATIONS_TO_CONTAIN; count++) {
      const streams = clients.map((client) => run(client, 'cat', { args: ['/etc/shadow'] }))
      t.equal(staged.rooms.confirmations.list().length, 3)
      staged.clock.pass(60_000)
      for (const [index, stream] of streams.entries()) clients[index]?.connection.reset(stream)
    }
    t.strictSame([staged.rooms.levels.list(), staged.steps], [[], []])
    t.end()
  },
)

t.test('the level of a session is gone with it', (t) => {
  const staged = stageRooms()
  const client = enter(staged)
  staged.rooms.levels.set('session', encodeHex(client.sessionId), 'RESTRICT', 'a look', 'boss')
  client.events.ended()
  t.strictSame(staged.rooms.levels.list(), [])
  const name = encodeHex(client.sessionId)
  t.match(
    staged.levelRecords,
    [
      { type: 'level', scope: 'session', name, from: 'NORMAL', to: 'RESTRICT', why: 'a look', by: 'boss' },
      { type: 'level', scope: 'session', name, from: 'RESTRICT', to: 'NORMAL', why: /has ended/, by: '' },
    ],
    'and the chain says so',
  )
  t.end()
})

t.test(
  'the third try of a tool that it has not contains an agent, whatever its sessions, and people are told (JF-087)',
  (t) => {
    const staged = stageRooms({ agents: { bot: { tier: 'T1' } } })
    const boss = enter(staged, { name: 'boss', seed: 3 })
    const running = enter(staged)
    run(running, 'ls')
    const told = () =>
      boss.on(boss.open('ShowLevels', new Map())).at(-1)?.value?.['entries'] as readonly object[]
    // Each with another program: it is the tools that it has not.
    const programs = ['touch', 'mkdir', 'make'].map((line) => line.split(' '))
    t.equal(programs.length, VIOLATIONS_TO_CONTAIN)
    for (const [count, [program = '', ...args]] of programs.entries()) {
      t.strictSame([told(), staged.spawner.children[0]?.deeds], [[], []], `after ${count} tries`)
      run(enter(staged), program, { args: [...args, 'x'] })
      t.match(staged.audit.events.at(-1), { response: 'R4', layer: 'tool_access', severity: 'critical' })
    }
    t.match(told(), [{ scope: 'agent', name: 'bot', level: 'CONTAIN' }])
    t.match(staged.levelRecords.at(-1), { type: 'level', to: 'CONTAIN', name: 'bot', why: /tool_access/ })
    t.strictSame(staged.spawner.children[0]?.deeds, ['killTree'], 'what it had running')
    run(running, 'ls')
    t.match(staged.audit.events.at(-1), { response: 'R4', rule: 'level.contain' })
    t.end()
  },
)
