/**
 * What is permitted while the disk has not kept the record of it: nothing is done before, and afterwards only what is
 * still as it was when it was decided.
 * @module
 */
import t from 'tap'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { CODES } from '../../../src/errors.ts'
import { PARKED_STDIN_BYTES } from '../../../src/limits.ts'
import { empty, stdinChunk } from '../../../src/wire/messages.ts'
import { enter, run, type Stage, type StageOptions, stageRooms } from '../stage.ts'

const ID = new Uint8Array(16).fill(5)

/** A stage whose disk keeps nothing until it is told to. */
function stage(options: StageOptions = {}) {
  const staged = stageRooms(options)
  let waiting: ((problem?: Error) => void)[] = []
  Object.assign(staged.rooms.audit, { whenKept: (done: (problem?: Error) => void) => waiting.push(done) })
  return {
    ...staged,
    client: enter(staged),
    keep(problem?: Error): void {
      const these = waiting
      waiting = []
      for (const done of these) done(problem)
    },
    get waiting() {
      return waiting.length
    },
  }
}

const permits = ({ audit }: Stage, response = 'R1') =>
  audit.events.filter((event) => event['action'] === 'execute' && event['response'] === response).length
const notDone = ({ audit }: Stage) =>
  audit.events.filter(({ type }) => type === 'execution_not_started' || type === 'not_done')

t.test('a command starts when its record is kept, and what was typed meanwhile arrives', (t) => {
  const staged = stage()
  const { client, spawner } = staged
  const stream = run(client, 'cat', { stdin: true })
  for (const text of ['one ', 'two'])
    client.connection.message(stream, stdinChunk.encode({ data: Buffer.from(text) }), text.length)
  client.connection.end(stream)
  t.equal(permits(staged), 1, 'the record is written')
  t.equal(spawner.children.length, 0, 'and nothing done')
  t.same(client.on(stream), [], 'nor told')
  staged.keep()
  t.strictSame(spawner.children[0]?.deeds, ['stdin 7', 'endStdin'])
  spawner.children[0]?.events.spawned(1)
  spawner.children[0]?.events.exited({ kind: 'exited', code: 3 })
  t.match(client.on(stream).at(-1), { kind: 'ended', value: { exit_code: 3 } })
  t.same(notDone(staged), [])
  t.end()
})

t.test('it may be typed as much into as its credit allows, more than what waits for others may', (t) => {
  const staged = stage()
  const client = enter(staged, { window: 1_048_576 })
  const stream = run(client, 'cat', { stdin: true })
  const data = new Uint8Array(65_536)
  while (client.connection.credit(stream) >= data.length)
    client.connection.message(stream, stdinChunk.encode({ data }), data.length)
  staged.keep()
  const bytes = staged.spawner.children[0]?.deeds.reduce((sum, deed) => sum + Number(deed.split(' ')[1]), 0)
  t.ok((bytes ?? 0) > PARKED_STDIN_BYTES, `${bytes}`)
  t.end()
})

t.test('questions that only read wait for no record', (t) => {
  const staged = stage()
  const { client } = staged
  run(client, 'ls')
  const stream = client.open('Ping', empty.encode({}))
  t.match(client.on(stream), [{ kind: 'ended' }])
  t.end()
})

t.test('each takes its place while it waits: no more are permitted than may run', (t) => {
  const staged = stage({ capability: { max_concurrent: 2 }, executions: 3 })
  const other = enter(staged, { name: 'other', seed: 2 })
  for (let index = 0; index < 5; index++) run(staged.client, 'ls')
  t.equal(permits(staged), 2, 'of one caller')
  t.equal(permits(staged, 'R3'), 3)
  run(other, 'ls')
  run(other, 'ls')
  t.equal(permits(staged), 3, 'of all')
  t.equal(staged.rooms.executions.free, 0)
  staged.keep()
  t.equal(staged.spawner.children.length, 3)
  for (const child of [...staged.spawner.children]) child.events.exited({ kind: 'exited', code: 0 })
  for (let round = 0; round < 5; round++) {
    staged.keep()
    for (const child of [...staged.spawner.children]) child.events.exited({ kind: 'exited', code: 0 })
  }
  t.equal(staged.spawner.children.length, 7, 'all of them in the end')
  t.equal(staged.rooms.executions.free, 3, 'and every place is back')
  t.equal(staged.rooms.executions.slotsOf('bot'), 0)
  t.end()
})

t.test('whoever goes meanwhile has done nothing: the place is free again, and the record says so', (t) => {
  for (const how of ['reset', 'closed', 'drain', 'dismissed'] as const) {
    const staged = stage()
    const { client, rooms, spawner } = staged
    const stream = run(client, 'ls', { execution_id: ID })
    if (how === 'reset') client.connection.reset(stream)
    else if (how === 'closed') client.events.closed()
    else if (how === 'drain') staged.peers.drain(9)
    else enter(staged, { resume: client.sessionId })
    const reason = 'its stream ended before its record was kept'
    t.match(notDone(staged), [{ type: 'execution_not_started', execution: encodeHex(ID), reason }], how)
    t.equal(rooms.executions.slotsOf('bot'), 0)
    staged.keep()
    t.equal(spawner.children.length, 0)
    t.equal(notDone(staged).length, 1)
  }
  t.end()
})

t.test('so is any other action, by its warrant', (t) => {
  const staged = stage()
  const boss = enter(staged, { name: 'boss', seed: 3 })
  const stream = boss.open('ClearPenalties', new Map())
  const warrant = staged.audit.events.findLast((event) => event['action'] === 'clear_penalties')?.['warrant']
  t.type(warrant, 'string')
  boss.connection.reset(stream)
  t.match(notDone(staged), [{ type: 'not_done', action: 'clear_penalties', warrant }])
  staged.keep()
  t.end()
})

t.test('what has changed meanwhile is decided anew, and nothing is done upon the old decision', (t) => {
  const changes: Readonly<Record<string, (staged: Stage) => void>> = {
    level: ({ rooms }) => rooms.levels.set('agent', 'bot', 'CONTAIN', 'a drill', 'boss'),
    policy: ({ rooms }) => {
      rooms.policy = {
        ...rooms.policy,
        capabilities: {
          default: { ...rooms.policy.capabilities['default'], denied_commands: ['ls'] } as never,
        },
      }
    },
    caller: ({ rooms }) => {
      rooms.identities = { ...rooms.identities, find: () => undefined }
    },
  }
  for (const [name, change] of Object.entries(changes)) {
    const staged = stage()
    run(staged.client, 'ls')
    change(staged)
    staged.keep()
    t.equal(staged.spawner.children.length, 0, name)
    t.match(notDone(staged), [{ reason: /things were different/ }], name)
    t.equal(permits(staged, name === 'policy' ? 'STATUS' : 'R4'), 1, name)
    t.equal(staged.rooms.executions.slotsOf('bot'), 0, 'its place is free again')
  }
  t.end()
})

t.test('another file under its name by then is decided about anew', (t) => {
  let inode = '2'
  const staged = stage({
    finder: {
      find: (program) => ({ path: `/bin/${program}`, realPath: `/bin/${program}`, device: '1', inode }),
    },
  })
  run(staged.client, 'ls')
  inode = '3'
  staged.keep()
  t.equal(staged.spawner.children.length, 0)
  t.equal(permits(staged), 2)
  staged.keep()
  t.equal(staged.spawner.children.length, 1, 'once that record is kept, too')
  t.equal(staged.rooms.executions.slotsOf('bot'), 1)
  t.end()
})

t.test('a disk that fails to keep the record: nothing is done, and the daemon halts', (t) => {
  const staged = stage()
  const { client, rooms, spawner } = staged
  const stream = run(client, 'ls')
  t.doesNotThrow(() => staged.keep(new Error('It keeps nothing.')))
  t.equal(spawner.children.length, 0)
  t.match(client.on(stream).at(-1), { kind: 'status', code: CODES.SANDBOX_UNAVAILABLE.number })
  t.equal(rooms.levels.daemon, 'HALT')
  t.match(staged.steps, [{ to: 'HALT', why: 'It keeps nothing.' }])
  t.equal(rooms.executions.free, 4)
  t.end()
})

t.test("what a disk forbids is nobody's fault, and what an incident forbids is", (t) => {
  for (const cause of ['disk', 'incident'] as const) {
    const staged = stageRooms()
    const client = enter(staged)
    if (cause === 'disk') staged.rooms.levels.storage('RESTRICT', 'It is slow.')
    else staged.rooms.levels.set('agent', 'bot', 'RESTRICT', 'a drill', 'boss')
    for (let index = 0; index < 3; index++) run(client, 'touch', { args: ['x'] })
    t.equal(permits(staged, 'R4'), 3)
    t.equal(staged.rooms.levels.byIncidents('bot', '', []), cause === 'disk' ? 'NORMAL' : 'CONTAIN', cause)
  }
  t.end()
})
