/**
 * What is typed into a command that runs, while a level of alarm stands and after.
 * @module
 */
import t from 'tap'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import type { Level } from '../../../src/defense/level.ts'
import { CODES } from '../../../src/errors.ts'
import { stdinChunk } from '../../../src/wire/messages.ts'
import { type AuthChange, type Client, enter, run, type StageOptions, stageRooms } from '../stage.ts'

const ID = new Uint8Array(16).fill(5)
const RAISED: readonly Level[] = ['RESTRICT', 'CHECKPOINT']

function firstOf({ spawner }: ReturnType<typeof stageRooms>) {
  const [child] = spawner.children
  if (child === undefined) throw new Error('nothing runs')
  child.events.spawned(1)
  return child
}

function stage(options: StageOptions = {}, auth: AuthChange = {}) {
  const staged = stageRooms(options)
  const client = enter(staged, auth)
  const stream = run(client, 'cat', { stdin: true, execution_id: ID })
  const child = firstOf(staged)
  const set = (level: Level, who = client) =>
    staged.rooms.levels.set('session', encodeHex(who.sessionId), level, 'w', 'boss')
  return { ...staged, client, stream, child, set }
}

const type = (client: Client, stream: number, text: string) =>
  client.connection.message(stream, stdinChunk.encode({ data: Buffer.from(text) }), text.length)

t.test('while a level of alarm stands nothing that is typed arrives; when it is lowered all does', (t) => {
  for (const level of RAISED) {
    const { client, stream, child, set, peers } = stage()
    type(client, stream, 'one')
    t.strictSame(child.deeds, ['stdin 3'])
    set(level)
    type(client, stream, 'two!')
    type(client, stream, 'three')
    peers.tick()
    t.strictSame(child.deeds, ['stdin 3'], level)
    set('NORMAL')
    peers.tick()
    t.strictSame(child.deeds, ['stdin 3', 'stdin 9'])
    type(client, stream, 'four')
    t.strictSame(child.deeds.slice(2), ['stdin 4'])
  }
  t.end()
})

t.test('what comes after the level was lowered does not overtake what was kept', (t) => {
  const { client, stream, child, set } = stage()
  set('RESTRICT')
  type(client, stream, 'one')
  set('NORMAL')
  type(client, stream, 'second')
  t.strictSame(child.deeds, ['stdin 9'])
  t.end()
})

t.test('the end of what is typed is kept with it, and comes last', (t) => {
  const { client, stream, child, set, peers } = stage()
  set('CHECKPOINT')
  type(client, stream, 'one')
  client.connection.end(stream)
  peers.tick()
  t.strictSame(child.deeds, [])
  set('NORMAL')
  peers.tick()
  peers.tick()
  t.strictSame(child.deeds, ['stdin 3', 'endStdin'], 'once')
  t.end()
})

t.test('no credit is given for what is kept, so that it is never more than the window', (t) => {
  const { client, stream, child, set, peers } = stage({}, { window: 8_192 })
  set('RESTRICT')
  for (let piece = 0; piece < 8; piece++) type(client, stream, 'x'.repeat(1_024))
  peers.tick()
  t.equal(client.connection.credit(stream), 0)
  t.strictSame(child.deeds, [])
  set('NORMAL')
  peers.tick()
  t.ok(client.connection.credit(stream) >= 4_096, 'it may go on then')
  const taken = child.deeds.reduce((sum, deed) => sum + Number(deed.split(' ')[1] ?? 0), 0)
  t.equal(taken, 8_192)
  t.end()
})

t.test('the level of the daemon, of the agent and of whoever it acts for bars it as well', async (t) => {
  for (const [scope, name] of [
    ['daemon', ''],
    ['agent', 'bot'],
    ['agent', 'lead'],
  ] as const) {
    const staged = stageRooms({ agents: { lead: { seed: 7 }, bot: { seed: 1, delegated_by: 'lead' } } })
    const { rooms, peers } = staged
    const client = enter(staged)
    const stream = run(client, 'cat', { stdin: true, execution_id: ID })
    await new Promise((done) => setImmediate(done))
    const child = firstOf(staged)
    rooms.levels.set(scope, name, 'RESTRICT', 'w', 'boss')
    type(client, stream, 'x')
    t.strictSame(child.deeds, [], `${scope} ${name}`)
    rooms.levels.set(scope, name, 'NORMAL', 'w', 'boss')
    peers.tick()
    t.strictSame(child.deeds, ['stdin 1'])
  }
})

t.test('another session of the agent goes on, and so does an operator', (t) => {
  const staged = stage()
  const { client, spawner, rooms } = staged
  const sister = enter(staged)
  const theirs = run(sister, 'cat', { stdin: true })
  staged.set('RESTRICT')
  type(sister, theirs, 'x')
  t.strictSame(spawner.children[1]?.deeds, ['stdin 1'])
  const boss = enter(staged, { name: 'boss', seed: 3 })
  const stream = run(boss, 'cat', { stdin: true })
  rooms.levels.set('daemon', '', 'CHECKPOINT', 'w', 'boss')
  type(boss, stream, 'xy')
  t.strictSame([spawner.children[2]?.deeds, client.transport.deeds], [['stdin 2'], []])
  t.end()
})

t.test('its output still comes, and its terminal takes a new size', (t) => {
  const { client, stream, child, set } = stage()
  set('CHECKPOINT')
  client.connection.message(stream, stdinChunk.encode({ resize: { rows: 5, cols: 6 } }))
  child.events.output(0, Buffer.from('out'))
  t.match(client.on(stream).at(-1), { kind: 'message', value: { data: 'out' } })
  t.strictSame(child.deeds, ['resize 5x6'])
  t.end()
})

t.test('what ends while something is kept for it swallows that', (t) => {
  const { client, stream, child, set, peers } = stage()
  set('RESTRICT')
  type(client, stream, 'x')
  child.events.exited({ kind: 'exited', code: 0 })
  t.match(client.on(stream).at(-1), { kind: 'ended', value: { exit_code: 0 } })
  set('NORMAL')
  t.doesNotThrow(() => peers.tick())
  t.strictSame(child.deeds, [])
  t.end()
})

t.test(
  'attaching to look is allowed at every level, attaching to type is what the level says of work',
  (t) => {
    for (const level of RAISED)
      for (const stdin of [false, true]) {
        const staged = stage()
        const { client, rooms, audit, child } = staged
        staged.set(level)
        const stream = run(client, 'cat', { execution_id: ID, is_reattach: true, stdin })
        const seen = `${level} ${stdin ? 'with' : 'without'} stdin`
        if (!stdin) {
          child.events.output(0, Buffer.from('out'))
          t.match(client.on(stream).at(-1), { value: { data: 'out' } }, seen)
        } else if (level === 'RESTRICT') {
          t.match(audit.events.at(-1), { action: 'attach', response: 'R4', rule: 'level.restrict' }, seen)
          t.match(client.on(stream).at(-1)?.value, { data: /~/ })
        } else {
          t.match(rooms.confirmations.list(), [{ rule: 'level.checkpoint' }], seen)
          t.match(JSON.parse(rooms.confirmations.list()[0]?.shownText ?? '').action, {
            kind: 'attach',
            stdin: true,
          })
        }
        t.strictSame(child.deeds, [])
      }
    t.end()
  },
)

t.test('so it is for a command that is not there', (t) => {
  for (const [stdin, response] of [
    [false, 'R1'],
    [true, 'R4'],
  ] as const) {
    const staged = stage()
    staged.set('RESTRICT')
    const execution_id = new Uint8Array(16).fill(77)
    const stream = run(staged.client, 'cat', { execution_id, is_reattach: true, stdin })
    t.match(staged.audit.events.at(-1), { action: 'attach', response })
    if (!stdin) t.match(staged.client.on(stream), [{ kind: 'status', code: CODES.PROCESS_NOT_FOUND.number }])
  }
  t.end()
})

t.test(
  'a human’s yes to typing at a checkpoint attaches, and what is typed waits for the level all the same',
  (t) => {
    const staged = stage()
    const { client, rooms, child, peers } = staged
    staged.set('CHECKPOINT')
    const stream = run(client, 'cat', { execution_id: ID, is_reattach: true, stdin: true })
    type(client, stream, 'x')
    const [pending] = rooms.confirmations.list()
    rooms.confirmations.answer(
      pending?.id ?? '',
      encodeHex(pending?.digest ?? new Uint8Array(0)),
      true,
      'boss',
    )
    child.events.output(0, Buffer.from('out'))
    t.match(client.on(stream).at(-1), { value: { data: 'out' } })
    t.strictSame(child.deeds, [])
    staged.set('NORMAL')
    peers.tick()
    t.strictSame(child.deeds, ['stdin 1'])
    t.end()
  },
)
