/**
 * What an id is answered with that was started before: by this daemon or by an earlier one, by the same key or another.
 * @module
 */
import t from 'tap'
import { CODES } from '../../../src/errors.ts'
import { TOLD_LINGER_MS } from '../../../src/limits.ts'
import { empty, purgeRequest } from '../../../src/wire/messages.ts'
import {
  type Client,
  enter,
  run,
  type StagedLineFile,
  type StageOptions,
  stageLineFile,
  stageRooms,
} from '../stage.ts'

const ID = new Uint8Array(16).fill(5)
const OTHER = new Uint8Array(16).fill(6)

/** A daemon with that file, and somebody in it. */
function daemon(kept: StagedLineFile, options: StageOptions & { readonly seed?: number } = {}) {
  const { seed = 1, ...more } = options
  const staged = stageRooms({ kept, agents: { bot: { seed } }, ...more })
  return { ...staged, kept, client: enter(staged, { seed }) }
}

type Asked = Parameters<typeof run>[2]
const ask = (client: Client, request: Asked = {}, unary = false) =>
  client.on(run(client, 'ls', { execution_id: ID, ...request }, unary ? 'Execute' : 'ExecuteStream'))
const last = (heard: ReturnType<Client['on']>) => heard.at(-1)

/** What a daemon leaves that has run one command. */
function leftBy(end: 'exited' | 'nothing' | 'failed', request: Asked = {}): StagedLineFile {
  const { kept, client, spawner } = daemon(stageLineFile())
  ask(client, request)
  const child = spawner.children[0]
  if (end === 'failed') child?.events.failed(2)
  else child?.events.spawned(1)
  if (end !== 'exited') return kept
  child?.events.output(0, Buffer.from('out'))
  child?.events.output(1, Buffer.from('error'))
  child?.events.exited({ kind: 'exited', code: 3 })
  return kept
}

t.test('the next daemon gives the exit, and says that the output is gone', (t) => {
  const { client, spawner, kept } = daemon(leftBy('exited'))
  const lines = kept.lines.length
  const details = new Map([
    [1, 3],
    [2, 5],
  ])
  for (const request of [{}, { is_reattach: true }, { is_reattach: true, resume_offset: 3 }])
    t.match(ask(client, request), [{ kind: 'status', code: CODES.RING_BUFFER_DATA_LOSS.number, details }])
  const atEnd = { is_reattach: true, resume_offset: 3, resume_offset_stderr: 5 }
  for (const request of [atEnd, { is_reattach: true, tail: 100 }])
    t.match(ask(client, request), [{ kind: 'message' }, { kind: 'ended', value: { exit_code: 3 } }])
  t.match(ask(client, { ...atEnd, resume_offset: 4 }), [
    { kind: 'status', code: CODES.FRAME_MALFORMED.number },
  ])
  t.match(
    ask(client, {}, true),
    [{ kind: 'ended', value: { exit_code: 3, truncated: true, stdout: '', stderr: '' } }],
    'one answer has the exit, and says that it has not the output',
  )
  t.match(ask(client, { resume_offset: 3, resume_offset_stderr: 5 }, true), [
    { kind: 'ended', value: { exit_code: 3, truncated: false } },
  ])
  t.equal(spawner.children.length, 0)
  t.equal(kept.lines.length, lines, 'nothing is written for a question')
  t.end()
})

t.test('a unary answer without output is whole, and one whose time was over says so', (t) => {
  const silent = daemon(stageLineFile())
  ask(silent.client)
  silent.spawner.children[0]?.events.exited({ kind: 'signalled', signal: 15 })
  t.match(ask(daemon(silent.kept).client, {}, true), [
    { kind: 'ended', value: { signal: 15, truncated: false } },
  ])
  const late = daemon(stageLineFile())
  ask(late.client, { timeout_seconds: 1 })
  late.spawner.children[0]?.events.output(0, Buffer.from('x'))
  late.clock.pass(1_000)
  late.spawner.children[0]?.events.exited({ kind: 'signalled', signal: 15 })
  t.match(ask(daemon(late.kept).client, {}, true), [{ kind: 'status', code: CODES.EXECUTION_TIMEOUT.number }])
  t.end()
})

t.test('what was started and did not end has no outcome, and is not started again', (t) => {
  const { client, spawner, rooms } = daemon(leftBy('nothing'))
  for (const unary of [false, true])
    for (const is_reattach of [false, true]) {
      const heard = ask(client, { is_reattach }, unary)
      t.match(heard, [{ kind: 'status', code: CODES.EXECUTION_OUTCOME_UNKNOWN.number }])
      t.match(last(heard), { text: /was started, and how it ended is not known.*daemon was interrupted/ })
    }
  t.equal(spawner.children.length, 0)
  const listed = client.on(client.open('ListExecutions', empty.encode({}))).at(-1)?.value?.['executions']
  t.match(listed, [{ state: 4, command: 'ls', exit_code: undefined }])
  t.match(rooms.executions.findAnywhere('05'.repeat(16)), { owner: 'bot', state: 'unknown' })
  t.end()
})

t.test('what did not start may be asked for again, and told about', (t) => {
  const { client, spawner } = daemon(leftBy('failed'))
  const heard = ask(client, { is_reattach: true })
  t.match(heard, [{ kind: 'status', code: CODES.SPAWN_FAILED.number }])
  t.equal(last(heard)?.details?.get(1), 2)
  ask(client)
  t.equal(spawner.children.length, 1)
  spawner.children[0]?.events.spawned(1)
  ask(client)
  t.equal(spawner.children.length, 1, 'once')
  t.end()
})

t.test('ids are of a key: another one under the same name has neither results nor what runs', (t) => {
  const kept = leftBy('exited')
  const { client, spawner } = daemon(kept, { seed: 7 })
  t.match(ask(client, { is_reattach: true }), [{ kind: 'status', code: CODES.PROCESS_NOT_FOUND.number }])
  t.same(client.on(client.open('ListExecutions', empty.encode({}))).at(-1)?.value?.['executions'], [])
  ask(client)
  t.equal(spawner.children.length, 1, 'to it the id is a new one')

  // Likewise within one daemon, between two readings of its configuration.
  const staged = stageRooms()
  const before = enter(staged)
  ask(before)
  staged.spawner.children[0]?.events.spawned(1)
  const seven = stageRooms({ agents: { bot: { seed: 7 } } })
  staged.rooms.identities = seven.rooms.identities
  const after = enter(staged, { seed: 7 })
  t.match(ask(after, { is_reattach: true }), [{ kind: 'status', code: CODES.PROCESS_NOT_FOUND.number }])
  t.end()
})

t.test('what cannot be written down is not started, and the daemon halts', (t) => {
  const { client, spawner, kept, rooms, audit } = daemon(stageLineFile())
  kept.isFull = true
  ask(client)
  t.equal(spawner.children.length, 0)
  t.equal(rooms.levels.daemon, 'HALT')
  t.match(audit.events.at(-1), { type: 'execution_not_started', reason: /disk is full/ })
  t.strictSame([rooms.executions.running, rooms.executions.free], [0, 4])
  t.equal(rooms.executions.findAnywhere('05'.repeat(16)), undefined)
  t.end()
})

t.test('a result that cannot be written is told to whoever waits, and written when there is room', (t) => {
  const { client, spawner, kept, rooms, clock } = daemon(stageLineFile())
  const stream = run(client, 'ls', { execution_id: ID })
  spawner.children[0]?.events.spawned(1)
  kept.isFull = true
  spawner.children[0]?.events.exited({ kind: 'exited', code: 9 })
  t.match(last(client.on(stream)), { kind: 'ended', value: { exit_code: 9 } })
  rooms.executions.tick()
  t.match(daemon(stageLineFile(kept.lines)).rooms.executions.findAnywhere('05'.repeat(16)), {
    state: 'unknown',
  })
  rooms.sessions.apply([...rooms.sessions.all()][0] as never, 'destroyed', 0)
  t.match(rooms.executions.findAnywhere('05'.repeat(16)), { exit: { code: 9 } }, 'this one knows it')
  kept.isFull = false
  clock.pass(TOLD_LINGER_MS)
  rooms.executions.tick()
  t.equal(rooms.executions.present().length, 0)
  t.match(daemon(stageLineFile(kept.lines)).rooms.executions.findAnywhere('05'.repeat(16)), {
    exit: { code: 9 },
  })
  t.end()
})

t.test('one that did not start, and whose end cannot be written, may still start and run', (t) => {
  const { client, spawner, kept, rooms } = daemon(stageLineFile())
  ask(client)
  kept.isFull = true
  spawner.children[0]?.events.failed(2)
  kept.isFull = false
  ask(client)
  spawner.children[1]?.events.spawned(1)
  rooms.executions.tick()
  const next = daemon(stageLineFile(kept.lines))
  t.match(next.rooms.executions.findAnywhere('05'.repeat(16)), { state: 'unknown' })
  spawner.children[1]?.events.exited({ kind: 'exited', code: 0 })
  t.match(rooms.executions.findAnywhere('05'.repeat(16)), { exit: { code: 0 } })
  t.equal(rooms.executions.recent(undefined, 8).total, 1)
  t.end()
})

t.test('the last thousand of everybody are listed, of this daemon and of others', (t) => {
  const first = daemon(leftBy('exited'))
  run(first.client, 'ls', { execution_id: OTHER })
  const list = () => first.client.on(first.client.open('ListExecutions', empty.encode({}))).at(-1)?.value
  t.match(list(), { total: 2, executions: { length: 2 } })
  first.spawner.children[0]?.events.spawned(1)
  first.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
  t.match(list(), { total: 2, executions: { length: 2 } })
  const boss = enter(first, { name: 'boss', seed: 3 })
  t.match(boss.on(boss.open('ListExecutions', empty.encode({}))).at(-1)?.value, { total: 2 })
  t.end()
})

t.test('a purge erases what is known of them, and their ids stay taken', async (t) => {
  const staged = daemon(leftBy('exited'))
  const sessionId = /"end",[^,]*,[^,]*,[^,]*,"(\w+)"/.exec(staged.kept.lines.join('\n'))?.[1] ?? ''
  const boss = enter(staged, { name: 'boss', seed: 3 })
  const stream = boss.open('Purge', purgeRequest.encode({ session_id: Buffer.from(sessionId, 'hex') }))
  await new Promise((resolve) => setTimeout(resolve, 0))
  t.match(last(boss.on(stream)), { kind: 'ended', value: { success: true } })
  t.notMatch(staged.kept.lines.join(), new RegExp(`${sessionId}|"ls"`))
  // Its session was that one’s: they have the same random numbers.
  t.match(ask(enter(staged)), [
    { kind: 'status', code: CODES.EXECUTION_OUTCOME_UNKNOWN.number, text: /operator has erased/ },
  ])
  t.equal(staged.spawner.children.length, 0)
})
