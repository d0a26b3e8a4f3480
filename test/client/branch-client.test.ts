import t from 'tap'
import type { CborValue } from '../../src/base/encoding/cbor.ts'
import { encodeUtf8 } from '../../src/base/encoding/utf8.ts'
import { createBranchClient } from '../../src/client/branch-client.ts'
import { createCaller } from '../../src/client/calls/caller.ts'
import { type Connection, type ConnectionEvent, createConnection } from '../../src/wire/connection.ts'
import * as m from '../../src/wire/messages.ts'
import { linkOf } from './one-stream.ts'

const ID = 'ab'.repeat(16)
const DIGEST = 'cd'.repeat(32)
const id = new Uint8Array(16).fill(0xab)
const digest = new Uint8Array(32).fill(0xcd)
const WINDOW_BYTES = 65_536

type Opened = Extract<ConnectionEvent, { kind: 'opened' }>

/** A client joined to the engine of a daemon, which answers as the test says; and what it was asked. */
function device(answer: (asked: Opened, daemon: Connection) => void = () => {}) {
  const asked: { method: string; value: unknown }[] = []
  const credits: number[] = []
  const caller = createCaller(
    (frame) => daemon.receive(frame),
    () => 0,
    (error) => {
      throw error
    },
  )
  const daemon: Connection = createConnection(
    'daemon',
    (frame) => caller.receive(frame.slice()),
    (event) => {
      if (event.kind === 'credit') credits.push(event.stream.sendLimitBytes)
      if (event.kind !== 'opened') return
      if (!event.message.ok) throw new Error(JSON.stringify(event.message.problems))
      asked.push({ method: event.method.name, value: event.message.value })
      // Later, as over a network: the stream of whoever asks is known by then.
      queueMicrotask(() => answer(event, daemon))
    },
  )
  daemon.becomeOpen(WINDOW_BYTES)
  caller.authenticated(WINDOW_BYTES)
  return { branches: createBranchClient(linkOf(caller)), asked, credits, daemon, caller }
}

const ending = (payload: CborValue) => (event: Opened, daemon: Connection) =>
  daemon.end(event.stream, payload)

t.test('branches with hexadecimal ids', async (t) => {
  const entry = {
    ...{ session_id: id, agent_name: 'ci', level: 'overlay', opened_at: 5 },
    ...{ sessions: 0, running: 2, is_empty: false, can_undo: true },
  }
  const { branches } = device(ending(m.branchList.encode({ branches: [entry], total: 1 })))
  t.strictSame(await branches.list(), {
    branches: [
      {
        ...{ id: ID, agent: 'ci', level: 'overlay', openedAt: 5 },
        ...{ sessions: 0, running: 2, isEmpty: false, canUndo: true, stopped: undefined },
      },
    ],
    total: 1,
  })
})

t.test('a list of several pages is asked for to its end', async (t) => {
  const total = 300
  const ids = Array.from({ length: total }, (_, index) =>
    Uint8Array.of(...new Uint8Array(14), index >> 8, index),
  )
  const plain = {
    ...{ agent_name: 'ci', level: 'overlay', opened_at: 5 },
    ...{ sessions: 0, running: 0, is_empty: false, can_undo: false },
  }
  const { branches, asked } = device((event, daemon) => {
    const { skip } = event.message.ok ? (event.message.value as m.BranchListRequest) : { skip: total }
    // One was made meanwhile: the last of the page before comes again.
    const from = skip === 0 ? 0 : skip - 1
    const page = ids.slice(from, from + 128).map((session_id) => ({ ...plain, session_id }))
    daemon.end(event.stream, m.branchList.encode({ branches: page, total }))
  })
  const list = await branches.list()
  t.same([list.total, list.branches.length, asked.length], [total, total, 3])
})

t.test('a diff comes piece by piece, as fast as it is taken', async (t) => {
  const pieces = ['one ', 'two ', 'three']
  const { branches, asked, credits } = device((event, daemon) => {
    let offset = 0
    for (const piece of pieces) {
      const data = encodeUtf8(piece.padEnd(20_000))
      daemon.message(event.stream, m.streamResponse.encode({ data, offset }), data.length)
      offset += data.length
    }
    daemon.end(
      event.stream,
      m.branchDiffEnd.encode({ digest, changes: 3, conflicts: 1, shown: 2, is_preview: true }),
    )
  })
  let text = ''
  const waiting: (() => void)[] = []
  const result = branches.diff(
    ID,
    'patch',
    (bytes) => {
      text += Buffer.from(bytes).toString().trim()
      return new Promise<void>((resolve) => waiting.push(resolve))
    },
    ['src', Uint8Array.of(0xff)],
  )
  let isOver = false
  result.then(() => {
    isOver = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(text, 'onetwothree')
  t.strictSame([isOver, credits], [false, []], 'nothing is granted, and it is not over, before it is taken')
  for (const resolve of waiting) resolve()
  t.strictSame(await result, {
    ...{
      digest: DIGEST,
      changes: 3,
      conflicts: 1,
      heldBack: 0,
      shown: 2,
      isPreview: true,
      stopped: undefined,
      talkedTo: [],
    },
  })
  t.strictSame(asked, [
    {
      method: 'DiffBranch',
      value: { session_id: id, form: 3, paths: [encodeUtf8('src'), Uint8Array.of(0xff)] },
    },
  ])
})

t.test('a diff that fails, or that nobody can write, is an error', async (t) => {
  const failing = device((event, daemon) => daemon.fail(event.stream, 'FILE_IO', 'Not readable.'))
  await t.rejects(
    failing.branches.diff(ID, 'text', () => {}),
    { code: 'FILE_IO', message: 'Not readable.' },
  )
  const full = device((event, daemon) => {
    daemon.message(event.stream, m.streamResponse.encode({ data: encodeUtf8('x') }), 1)
  })
  await t.rejects(
    full.branches.diff(ID, 'text', () => Promise.reject(new Error('disk full'))),
    { message: 'disk full' },
  )
  const lost = device()
  const waiting = lost.branches.diff(ID, 'text', () => {})
  lost.caller.lost(new Error('gone'))
  await t.rejects(waiting, { code: 'CONNECTION_LOST' })
})

t.test('a merge names the digest, and its outcome has what stands in the way', async (t) => {
  const answer = {
    success: false,
    message: 'No.',
    conflicts: [{ path: Uint8Array.of(0x2f, 0xff), what: 'changed' }],
    conflicts_total: 7,
    digest,
  }
  const { branches, asked } = device(ending(m.branchOutcome.encode(answer)))
  t.strictSame(await branches.merge(ID, DIGEST, { paths: ['a'], force: ['b'], heldBack: true }), {
    ...{ success: false, message: 'No.', merged: 0, bytes: 0 },
    ...{ conflicts: answer.conflicts, conflictsTotal: 7, leftOut: [], leftOutTotal: 0, digest: DIGEST },
  })
  await branches.undo(ID)
  t.strictSame(asked, [
    {
      method: 'MergeBranch',
      value: { session_id: id, digest, paths: [encodeUtf8('a')], force: [encodeUtf8('b')], held_back: true },
    },
    { method: 'UndoMerge', value: { session_id: id } },
  ])
  await t.rejects(branches.merge(ID, 'cd'), { code: 'USAGE' })
  await t.rejects(branches.merge('ab', DIGEST), { code: 'USAGE' })
  t.equal(asked.length, 2, 'what is no id or digest is not sent')
})

t.test('drops and checkpoints', async (t) => {
  const done = device(ending(m.outcome.encode({ success: true, message: 'Done.' })))
  for (const outcome of [
    done.branches.drop(ID),
    done.branches.checkpoint(ID, 'good'),
    done.branches.restore(ID, 0),
    done.branches.removeCheckpoint(ID, 2),
  ])
    t.match(await outcome, { success: true, message: 'Done.' })
  t.match(done.asked, [
    { method: 'DropBranch' },
    { value: { label: 'good' } },
    { value: { restore: 0 } },
    { value: { remove: 2 } },
  ])
  const entry = { number: 1, label: 'good', made_at: 9, files: 2, bytes: 3 }
  const listing = device(ending(m.checkpointList.encode({ checkpoints: [entry], total: 1 })))
  t.strictSame(await listing.branches.checkpoints(ID), [
    { number: 1, label: 'good', files: 2, bytes: 3, madeAt: 9 },
  ])
})
