/**
 * The operator's methods for branches, with staged branches: what is asked of whoever works on them, in which order, and
 * what is recorded and answered.
 * @module
 */
import t from 'tap'
import type { CborValue } from '../../../src/base/encoding/cbor.ts'
import { decodeHex, encodeHex } from '../../../src/base/encoding/hex.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { SassError } from '../../../src/errors.ts'
import { FRAME_BYTES, MERGED_KEPT_MS, PATH_BYTES, TOLD_PATHS } from '../../../src/limits.ts'
import type { Branch } from '../../../src/sandbox/branch/files/branch.ts'
import {
  type BranchWork,
  type MergeReport,
  type MergeWish,
  NO_PATHS,
  type Review,
  type ToldPath,
} from '../../../src/sandbox/branch/threads/branch-work.ts'
import type { Places } from '../../../src/sandbox/places/place.ts'
import * as m from '../../../src/wire/messages.ts'
import type { MethodName } from '../../../src/wire/methods.ts'
import { type Client, enter, type StageOptions, stageRooms } from '../stage.ts'

const ONE = 'aa'.repeat(16)
const TWO = 'bb'.repeat(16)
const DIGEST = 'cd'.repeat(32)
const idOf = (id: string) => decodeHex(id) ?? new Uint8Array(16)

function branch(session: string, path: string, openedAtMs: number): Branch {
  const root = { path, store: `/state/${session}/0`, baseNs: '1' }
  return {
    session,
    agent: 'bot',
    level: 'overlay',
    attributes: 'trusted',
    roots: [root],
    volatile: [],
    openedAtMs,
  }
}

const MERGED: MergeReport = {
  outcome: 'merged',
  counts: { added: 2, modified: 1, deleted: 0, renamed: 0, metadata: 0, sizeBytes: 70 },
  brought: 0,
  conflicts: NO_PATHS,
  leftOut: NO_PATHS,
}

/** A text in the memory of the test; says when it is closed. */
function textOf(bytes: Uint8Array, closed: () => void): Review['text'] {
  let at = 0
  return {
    sizeBytes: bytes.length,
    async read(target) {
      const piece = bytes.subarray(at, at + target.length)
      target.set(piece)
      at += piece.length
      return piece.length
    },
    close: closed,
  }
}

type Change = Partial<BranchWork> & {
  readonly sessions?: Readonly<Record<string, readonly string[]>>
  readonly uses?: Readonly<Record<string, ReturnType<Places['useOf']>>>
  readonly text?: Uint8Array
}

function stage(
  { sessions = {}, uses = {}, text = new Uint8Array(0), ...change }: Change = {},
  more: StageOptions = {},
) {
  const deeds: string[] = []
  const there = new Map([
    [ONE, branch(ONE, '/srv/work', 5_000)],
    [TWO, branch(TWO, '/srv/work/deep', 9_000)],
  ])
  const wishes: MergeWish[] = []
  const did = (what: string) => void deeds.push(what)
  const work: BranchWork = {
    list: () => [...there.values()],
    find: (session) => there.get(session),
    isEmpty: () => false,
    mergedAtMs: () => undefined,
    resume: async () => [],
    async review(session, form, paths) {
      did(
        `review ${session.slice(0, 2)} ${form} ${paths.map(({ path }) => Buffer.from(path).toString()).join()}`,
      )
      const facts = { digest: DIGEST, changes: 3, conflicts: 1, heldBack: 1, shown: 2 }
      return { ...facts, text: textOf(text, () => did('closed')) }
    },
    async merge(session, wish) {
      did(`merge ${session.slice(0, 2)}`)
      wishes.push(wish)
      return MERGED
    },
    async undo(session) {
      did(`undo ${session.slice(0, 2)}`)
      return { outcome: 'undone', id: 'ee', paths: 3, notInBranch: NO_PATHS }
    },
    async checkpoint(_session, label, nowMs) {
      did(`checkpoint ${label}`)
      return { number: 1, label, madeAtMs: nowMs, files: 2, sizeBytes: 1 }
    },
    checkpoints: async () => [{ number: 1, label: 'a', madeAtMs: 7_000, files: 2, sizeBytes: 3 }],
    restore: async (_session, number) => did(`restore ${number}`),
    removeCheckpoint: async (_session, number) => did(`remove ${number}`),
    async drop(session) {
      did(`drop ${session.slice(0, 2)}`)
      there.delete(session)
    },
    async erase(session) {
      did(`erase ${session.slice(0, 2)}`)
      there.delete(session)
    },
    sweep: () => {},
    async forget(session) {
      did(`forget ${session.slice(0, 2)}`)
      there.delete(session)
    },
    ...change,
  }
  const places: Places = {
    prepare: () => {},
    find: () => undefined,
    open: () => Promise.reject(new SassError('SANDBOX_UNAVAILABLE', 'not staged')),
    close: () => Promise.resolve(),
    async without(name, doing) {
      did(`out ${name.slice(0, 2)}`)
      try {
        return await doing()
      } finally {
        did(`in ${name.slice(0, 2)}`)
      }
    },
    has: () => false,
    processesIn: () => 0,
    sessionsIn: (name) => sessions[name] ?? [],
    useOf: (name) => uses[name] ?? 'none',
    closeAll: () => Promise.resolve(),
  }
  const staged = stageRooms({ branchWork: work, places, ...more })
  const boss = enter(staged, { name: 'boss', seed: 3 })
  return { ...staged, boss, deeds, wishes, there }
}

/** Waits for what was asked to be done. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function ask(client: Client, method: MethodName, request: CborValue) {
  const stream = client.open(method, request)
  await settled()
  return client.on(stream).at(-1)
}

const merging = (change: Partial<Parameters<typeof m.branchMergeRequest.encode>[0]> = {}) =>
  m.branchMergeRequest.encode({ session_id: idOf(ONE), digest: idOf(DIGEST), ...change })
const reference = (session: string) => m.branchReference.encode({ session_id: idOf(session) })

t.test('branches are listed, the latest first', async (t) => {
  const { boss, clock } = stage({
    sessions: { [ONE]: ['s'] },
    isEmpty: (session) => session === TWO,
    mergedAtMs: (session) => (session === TWO ? 1 : undefined),
  })
  clock.pass(1)
  const answer = await ask(boss, 'ListBranches', new Map())
  const plain = { agent_name: 'bot', level: 'overlay', running: 0 }
  t.match(answer?.value, {
    branches: [
      { ...plain, session_id: idOf(TWO), opened_at: 9, sessions: 0, is_empty: true, can_undo: true },
      { ...plain, session_id: idOf(ONE), opened_at: 5, sessions: 1, is_empty: false, can_undo: false },
    ],
    total: 2,
  })
})

t.test('a diff is read piece by piece under credit, and ends with the digest of the whole', async (t) => {
  const text = encodeUtf8('0123456789'.repeat(30_000))
  const { boss, deeds } = stage({ text })
  const stream = boss.open(
    'DiffBranch',
    m.branchDiffRequest.encode({ session_id: idOf(ONE), form: 3, paths: [encodeUtf8('src')] }),
  )
  await settled()
  const received = () =>
    boss
      .on(stream)
      .map(({ value }) => String(value?.['data'] ?? ''))
      .join('')
  const first = received().length
  t.ok(first > 0 && first < text.length, `${first} bytes without more credit`)
  for (let turn = 0; turn < 20; turn++) {
    boss.connection.grant(stream, 65_536)
    await settled()
  }
  t.equal(received(), Buffer.from(text).toString())
  t.match(boss.on(stream).at(-1), {
    kind: 'ended',
    value: { changes: 3, conflicts: 1, held_back: 1, shown: 2, is_preview: false },
  })
  t.strictSame(deeds, ['review aa patch src', 'closed'])
})

t.test('who leaves in the middle of a diff leaves nothing open', async (t) => {
  const { boss, deeds } = stage({ text: new Uint8Array(300_000) })
  const stream = boss.open('DiffBranch', m.branchDiffRequest.encode({ session_id: idOf(ONE) }))
  await settled()
  t.strictSame(deeds, ['review aa text '])
  boss.connection.reset(stream)
  await settled()
  t.strictSame(deeds, ['review aa text ', 'closed'])
})

t.test('what cannot be read is said, and a path outside of the branch is a mistake', async (t) => {
  const { boss, deeds } = stage({
    review: () => Promise.reject(new SassError('FILE_IO', 'The file x cannot be read.')),
  })
  const request = { session_id: idOf(ONE) }
  t.match(await ask(boss, 'DiffBranch', m.branchDiffRequest.encode(request)), {
    kind: 'status',
    code: 22,
    text: 'The file x cannot be read.',
  })
  for (const path of ['/etc/passwd', '../up', '/srv/work/../../etc'])
    t.match(
      await ask(boss, 'DiffBranch', m.branchDiffRequest.encode({ ...request, paths: [encodeUtf8(path)] })),
      { kind: 'status', code: 106, text: /is not in the branch/ },
      path,
    )
  t.strictSame(deeds, [])
})

t.test(
  'a merge is decided and recorded, then done out of use, then recorded with what came of it',
  async (t) => {
    let recordedBefore = ''
    const staged = stage({
      async merge() {
        recordedBefore = staged.audit.events.map(({ type, action }) => action ?? type).join()
        return MERGED
      },
    })
    const { boss, audit, deeds } = staged
    const answer = await ask(
      boss,
      'MergeBranch',
      merging({ paths: [encodeUtf8('/srv/work/a')], force: [encodeUtf8('b')], held_back: true }),
    )
    t.match(answer, {
      kind: 'ended',
      value: {
        success: true,
        merged: 3,
        bytes: 70,
        message: /^Merged: 2 added, 1 modified; 70 bytes written\./,
      },
    })
    t.match(recordedBefore, /merge$/, 'before anything is done')
    t.strictSame(deeds.slice(0, 2), ['out aa', 'in aa'])
    const [decision, done] = audit.events.slice(-2)
    t.match(decision, {
      ...{ type: 'decision', action: 'merge', response: 'R1', agent: 'boss', branch: ONE, shown: DIGEST },
    })
    t.match(done, {
      ...{
        type: 'branch',
        what: 'merged',
        branch: ONE,
        by: 'boss',
        digest: DIGEST,
        forced: 1,
        held_back: true,
      },
      ...{ added: 2, modified: 1, bytes: 70, warrant: decision?.['warrant'] },
    })
    t.notMatch(JSON.stringify(audit.events), 'srv', 'no path in the chain')
  },
)

t.test('what is merged is what was named', async (t) => {
  const { boss, wishes } = stage()
  await ask(boss, 'MergeBranch', merging({ paths: [encodeUtf8('/srv/work/a//b/'), Uint8Array.of(0xff)] }))
  await ask(boss, 'MergeBranch', merging({ paths: [encodeUtf8('/srv')] }))
  await ask(boss, 'MergeBranch', merging({}))
  t.match(wishes, [
    {
      digest: DIGEST,
      paths: [
        { root: 0, path: encodeUtf8('a/b') },
        { root: 0, path: Uint8Array.of(0xff) },
      ],
    },
    { paths: [{ root: 0, path: new Uint8Array(0) }], force: [], allowHeldBack: false },
    { paths: [] },
  ])
  t.equal(new Set(wishes.map(({ id }) => id)).size, 3, 'each has a name of its own')
})

t.test('what was not merged is told, with what stands in the way, as much as a message holds', async (t) => {
  const paths: ToldPath[] = Array.from({ length: 4 }, (_none, index) => ({
    path: encodeUtf8(`/srv/work/${'x'.repeat(PATH_BYTES)}${index}`),
    what: 'changed',
  }))
  const reports: readonly [Partial<MergeReport>, object][] = [
    [
      { outcome: 'conflicts', conflicts: { paths, total: 900 } },
      { conflicts_total: 900, message: /900 real files were changed since/ },
    ],
    [
      { outcome: 'other_digest', digest: 'ab'.repeat(32) },
      { digest: /./, message: /Look at it again/ },
    ],
    [
      { outcome: 'rolled_back', reason: 'the disk is full' },
      { message: /everything is as it was: the disk is full/ },
    ],
    [{ outcome: 'nothing' }, { message: 'There is nothing to merge.' }],
    [
      { outcome: 'nothing', leftOut: { paths, total: 4 } },
      { left_out_total: 4, message: /--with-special/ },
    ],
  ]
  for (const [report, expected] of reports) {
    const { boss, deeds, audit } = stage({
      merge: async () => ({ ...MERGED, ...report }),
      uses: { [TWO]: 'idle' },
    })
    const answer = await ask(boss, 'MergeBranch', merging())
    t.match(
      answer,
      { kind: 'ended', value: { success: false, merged: 0, ...expected } },
      report.outcome ?? '',
    )
    t.ok(Math.max(...boss.transport.writes.map(({ bytes }) => bytes.length)) < FRAME_BYTES)
    t.match(audit.events.at(-1), { type: 'branch', what: `merge_${report.outcome}` })
    t.notOk(deeds.includes('out bb'), 'nothing was changed for the others')
  }
  t.ok(TOLD_PATHS > 100)
})

t.test('nothing is decided about a branch in which commands run', async (t) => {
  const sessions: Record<string, readonly string[]> = {}
  const staged = stage({ sessions }, {})
  const { boss, deeds, audit, rooms } = staged
  const bot = enter(staged)
  sessions[ONE] = [encodeHex(bot.sessionId)]
  rooms.executions.present = () =>
    [
      { id: '12'.repeat(16), sessionId: encodeHex(bot.sessionId), state: 'running' },
      { id: '34'.repeat(16), sessionId: encodeHex(bot.sessionId), state: 'finished' },
    ] as unknown as ReturnType<typeof rooms.executions.present>
  const checkpoint = m.branchCheckpoint.encode({ session_id: idOf(ONE) })
  for (const [method, request] of [
    ['MergeBranch', merging()],
    ['UndoMerge', reference(ONE)],
    ['DropBranch', reference(ONE)],
    ['CheckpointBranch', checkpoint],
  ] as const) {
    t.match(
      await ask(boss, method, request),
      {
        kind: 'ended',
        value: { success: false, message: new RegExp(`run in this branch: ${'12'.repeat(16)}\\. End`) },
      },
      method,
    )
    t.match(audit.events.at(-1), { type: 'not_done' })
  }
  t.match(await ask(boss, 'Purge', m.purgeRequest.encode({ session_id: idOf(ONE) })), {
    value: { success: false, message: /Commands run in this branch/ },
  })
  t.match(await ask(boss, 'DiffBranch', m.branchDiffRequest.encode({ session_id: idOf(ONE) })), {
    value: { is_preview: true },
  })
  t.strictSame(deeds, ['review aa text ', 'closed'])
})

t.test('only one thing at a time is done with a branch', async (t) => {
  let finish = (_report: MergeReport) => {}
  const { boss } = stage({
    merge: () =>
      new Promise((resolve) => {
        finish = resolve
      }),
  })
  const first = boss.open('MergeBranch', merging())
  await settled()
  t.match(await ask(boss, 'DropBranch', reference(ONE)), {
    value: { success: false, message: /Something else is being done/ },
  })
  t.match(
    await ask(boss, 'UndoMerge', reference(TWO)),
    { value: { success: true } },
    'another branch is free',
  )
  finish(MERGED)
  await settled()
  t.match(boss.on(first).at(-1), { kind: 'ended', value: { success: true } })
  t.match(await ask(boss, 'DropBranch', reference(ONE)), { value: { success: true } })
})

t.test('a branch that is not there is no error of the connection', async (t) => {
  const { boss, deeds } = stage()
  const nowhere = 'ee'.repeat(16)
  for (const [method, request] of [
    ['MergeBranch', merging({ session_id: idOf(nowhere) })],
    ['UndoMerge', reference(nowhere)],
    ['DropBranch', reference(nowhere)],
  ] as const)
    t.match(
      await ask(boss, method, request),
      { value: { success: false, message: /There is no branch/ } },
      method,
    )
  t.strictSame(deeds, [])
})

t.test('a deed that fails is told, recorded and over', async (t) => {
  const { boss, audit } = stage({
    merge: () => Promise.reject(new SassError('FILE_IO', 'The disk is full.')),
    undo: () => Promise.reject(new Error('inner words')),
  })
  t.match(await ask(boss, 'MergeBranch', merging()), { kind: 'status', code: 22, text: 'The disk is full.' })
  t.match(audit.events.at(-1), { type: 'branch', what: 'merge_failed', by: 'boss' })
  const told = await ask(boss, 'UndoMerge', reference(ONE))
  t.match(told, { kind: 'status', code: 22 })
  t.notMatch(told?.text, 'inner words')
  t.match(await ask(boss, 'DropBranch', reference(ONE)), { value: { success: true } }, 'it is free again')
})

t.test(
  'others over the same files are mounted anew at once, or when nothing lives in them any more',
  async (t) => {
    const uses: Record<string, ReturnType<Places['useOf']>> = { [TWO]: 'idle' }
    const { boss, deeds, rooms } = stage({ uses })
    await ask(boss, 'MergeBranch', merging())
    t.strictSame(deeds, ['out aa', 'merge aa', 'in aa', 'out bb', 'in bb'])
    deeds.length = 0
    uses[TWO] = 'lived_in'
    await ask(boss, 'UndoMerge', reference(ONE))
    t.strictSame(deeds, ['out aa', 'undo aa', 'in aa'])
    rooms.branches.tick()
    await settled()
    t.equal(deeds.length, 3, 'not while something lives there')
    uses[TWO] = 'idle'
    rooms.branches.tick()
    rooms.branches.tick()
    await settled()
    t.strictSame(deeds.slice(3), ['out bb', 'in bb'], 'once')
  },
)

t.test('a drop, a checkpoint and the way back to it', async (t) => {
  const { boss, deeds, audit } = stage()
  const change = (more: object) => m.branchCheckpoint.encode({ session_id: idOf(ONE), ...more })
  t.match(await ask(boss, 'CheckpointBranch', change({ label: 'good' })), {
    value: { success: true, message: 'Checkpoint 1 is made: 2 files, 1 byte.' },
  })
  t.match(await ask(boss, 'CheckpointBranch', change({ restore: 0 })), { value: { success: true } })
  t.match(await ask(boss, 'CheckpointBranch', change({ remove: 1 })), { value: { success: true } })
  t.match(await ask(boss, 'CheckpointBranch', change({ remove: 1, restore: 1 })), {
    kind: 'status',
    code: 106,
  })
  t.match(await ask(boss, 'ListCheckpoints', reference(ONE)), {
    value: { checkpoints: [{ number: 1, label: 'a', made_at: 7, files: 2, bytes: 3 }], total: 1 },
  })
  t.match(await ask(boss, 'DropBranch', reference(ONE)), { value: { success: true } })
  t.strictSame(
    deeds.filter((deed) => !/^(in|out) /.test(deed)),
    ['checkpoint good', 'restore 0', 'review aa stat ', 'remove 1', 'drop aa'],
  )
  t.strictSame(
    audit.events.filter(({ type }) => type === 'branch').map(({ what }) => what),
    ['checkpoint', 'restored', 'checkpoint_removed', 'dropped'],
  )
  t.notMatch(JSON.stringify(audit.events), 'good', 'a label is somebody’s words')
})

t.test('a purge erases the branch before it answers, and says where it could not', async (t) => {
  const { boss, deeds, audit } = stage()
  t.match(await ask(boss, 'Purge', m.purgeRequest.encode({ session_id: idOf(ONE) })), {
    value: { success: true, message: /its branch too/ },
  })
  t.strictSame(deeds, ['out aa', 'erase aa', 'in aa'])
  t.match(audit.events.at(-1), { type: 'purge', session: ONE, branch: 'erased', by: 'boss' })
  const broken = stage({ erase: () => Promise.reject(new SassError('FILE_IO', 'The disk is gone.')) })
  t.match(await ask(broken.boss, 'Purge', m.purgeRequest.encode({ session_id: idOf(ONE) })), {
    value: { success: false, message: /its branch is not: The disk is gone/ },
  })
  t.match(broken.audit.events.at(-1), { type: 'purge', branch: 'kept' })
})

t.test('what a crash ended in the middle is recorded and logged with how it was ended', async (t) => {
  const { rooms, audit, logged } = stage({
    resume: async () => [
      { session: ONE, outcome: 'none' },
      { session: TWO, outcome: 'merge_finished', id: 'ff' },
      { session: ONE, outcome: 'failed', reason: 'no disk' },
    ],
  })
  await rooms.branches.resume()
  t.match(audit.events.slice(-2), [
    { type: 'branch', what: 'resume_merge_finished', branch: TWO, merge: 'ff' },
    { type: 'branch', what: 'resume_failed', branch: ONE },
  ])
  t.match(logged.slice(-2), [
    { level: 'warn', event: 'merge_resumed', fields: { branch: TWO } },
    { level: 'error', event: 'merge_resumed', fields: { reason: 'no disk' } },
  ])
})

t.test('a branch that is merged completely is kept for a day, and then forgotten', async (t) => {
  const staged = stage({
    isEmpty: (session) => session === ONE,
    mergedAtMs: () => staged.clock.wallMs() - age,
  })
  let age = MERGED_KEPT_MS - 1
  const { rooms, clock, deeds, audit } = staged
  clock.pass(60_000)
  rooms.branches.tick()
  await settled()
  t.strictSame(deeds, [])
  age = MERGED_KEPT_MS
  clock.pass(60_000)
  rooms.branches.tick()
  await settled()
  t.strictSame(deeds, ['out aa', 'forget aa', 'in aa'])
  t.match(audit.events.at(-1), { type: 'branch', what: 'forgotten', branch: ONE })
})
