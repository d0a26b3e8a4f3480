/**
 * `sass-edge branch` as far as it goes without a daemon that runs anything: which branch is meant, what is refused before
 * anybody is asked, and that nothing of what a device sends steers a terminal.
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CborValue } from '../../../src/base/encoding/cbor.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { type Connection, createConnection } from '../../../src/wire/connection.ts'
import * as m from '../../../src/wire/messages.ts'
import type { MethodName } from '../../../src/wire/methods.ts'
import { type Run, runMain } from '../run-main.node.ts'

const ONE = `aaaa${'1'.repeat(28)}`
const TWO = `bbbb${'2'.repeat(28)}`
const idOf = (id: string) => new Uint8Array(Buffer.from(id, 'hex'))
const DIGEST = 'cd'.repeat(32)
const digest = idOf(DIGEST)

type Entry = m.BranchList['branches'][number]
const entry = (id: string, more: Partial<Entry> = {}): Entry => ({
  session_id: idOf(id),
  agent_name: 'ci',
  level: 'overlay',
  opened_at: 5,
  sessions: 0,
  running: 0,
  is_empty: false,
  can_undo: false,
  ...more,
})

type Answers = Partial<Record<MethodName, (value: unknown) => CborValue>> & {
  readonly entries?: readonly Entry[]
  readonly text?: string
}

/** A device behind an admin socket that answers as the test says, and the command line beside it. */
function stage(t: Test, { entries = [entry(ONE)], text = '', ...answers }: Answers = {}) {
  const asked: { method: string; value: unknown }[] = []
  // A socket's path is short.
  const directory = mkdtempSync(join(tmpdir(), 'sass-branch-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 's')
  const end = { digest, changes: 1, shown: 1 }
  const welcome = {
    ...{ success: true, session_id: idOf(ONE), capability_hash: digest, window: 65_536, expires_at: 9 },
    ...{ daemon_version: '0', audit_seq: 0, audit_hash: digest },
  }
  const standard: Answers = {
    Authenticate: () => m.authResponse.encode(welcome),
    ListBranches: () => m.branchList.encode({ branches: entries, total: entries.length }),
    DiffBranch: () => m.branchDiffEnd.encode(end),
  }
  const server: Server = createServer((socket) => {
    const connection: Connection = createConnection(
      'daemon',
      (frame) => socket.write(frame),
      (event) => {
        if (event.kind !== 'opened' || !event.message.ok) return
        const { name } = event.method
        if (name === 'Authenticate') connection.becomeOpen(65_536)
        else asked.push({ method: name, value: event.message.value })
        if (name === 'DiffBranch' && text !== '') {
          const data = encodeUtf8(text)
          connection.message(event.stream, m.streamResponse.encode({ data }), data.length)
        }
        const answer = { ...standard, ...answers }[name]
        if (answer === undefined) return connection.fail(event.stream, 'FILE_IO', `No ${name} here.`)
        connection.end(event.stream, answer(event.message.value))
      },
    )
    socket.on('data', (bytes) => connection.receive(new Uint8Array(Buffer.from(bytes))))
    socket.on('error', () => {})
  })
  t.teardown(() => server.close())
  const listening = new Promise<void>((resolve) => server.listen(path, resolve))
  return {
    asked,
    async run(...words: string[]): Promise<Run> {
      await listening
      writeFileSync(join(directory, 'c.json'), JSON.stringify({ listen: { admin_socket: path } }))
      return runMain(directory, ['branch', ...words, '--config', 'c.json'])
    },
  }
}

t.test('what is not clear is a local mistake', async (t) => {
  const { run, asked } = stage(t, { entries: [entry(ONE), entry(TWO)] })
  for (const [words, reason] of [
    [[], /branch can list, diff, merge/],
    [['show'], /branch can list, diff, merge/],
    [['list', 'x'], /one word too many/],
    [['diff'], /There are 2 branches, so name the one that you mean: aaaa1111, bbbb2222/],
    [['diff', '--stat', '--patch'], /Only one of/],
    [['diff', '--patch', '--json'], /Only one of/],
    [['merge', '--digest', 'abc', '--yes'], /--digest takes the 64 digits/],
    [['merge', 'aaaa', '--json'], /give --yes if you have seen it/],
    [['drop', 'aaaa', 'x'], /one word too many/],
    [['checkpoint', 'aaaa', '--list', '--restore', '1'], /Only one of/],
    [['checkpoint', 'aaaa', '--restore', 'one'], /takes the number of a checkpoint/],
  ] as const)
    t.match(await run(...words), { code: 125, stderr: reason }, words.join(' '))
  t.notOk(asked.some(({ method }) => method === 'MergeBranch' || method === 'DropBranch'))
})

t.test('a branch is named by its beginning, or is the only one that waits', async (t) => {
  const { run, asked } = stage(t, {
    entries: [entry(TWO, { is_empty: true, can_undo: true }), entry(ONE, { sessions: 1 })],
    UndoMerge: () => m.branchOutcome.encode({ success: true, message: 'Back.' }),
  })
  const listed = await run('list')
  t.match(
    listed.stdout,
    /^ID +AGENT +LEVEL +AGE +STATE\nbbbb2222 +ci +overlay +\S+ +merged\naaaa1111 .*to review, in use\n$/,
  )
  for (const [words, id, paths] of [
    [['src', 'deep/x'], ONE, ['src', 'deep/x']],
    [['bbbb'], TWO, []],
    [['bbbb2', 'x'], TWO, ['x']],
    [[TWO], TWO, []],
    [['cafe'], ONE, ['cafe']],
  ] as const) {
    t.equal((await run('diff', ...words)).code, 0)
    t.match(asked.at(-1), {
      method: 'DiffBranch',
      value: { session_id: idOf(id), paths: paths.map((path) => encodeUtf8(path)) },
    })
  }
  t.match(await run('undo', '--yes'), { code: 0, stdout: 'Back.\n' })
  t.match(asked.at(-1), { method: 'UndoMerge', value: { session_id: idOf(TWO) } }, 'the one that was merged')
  t.match(await stage(t, { entries: [] }).run('diff'), { code: 255, stderr: /There is no branch/ })
})

t.test('what looks like an id and is none is not taken for a path, a label or a word too many', async (t) => {
  const none = { digest, changes: 1, shown: 0 }
  const { run, asked } = stage(t, { DiffBranch: () => m.branchDiffEnd.encode(none) })
  for (const [action, ...more] of [
    ['checkpoint'],
    ['checkpoint', 'builds'],
    ['undo', '--yes'],
    ['drop', '--yes'],
    ['merge', '--yes'],
    ['diff'],
  ] as const)
    t.match(
      await run(action, 'DEADBEEF', ...more),
      { code: 255, stderr: /No branch has an id that begins with deadbeef; see sass-edge branch list/ },
      action,
    )
  t.match(await run('drop', '57ef4049-aaaa', '--yes'), { stderr: /begins with 57ef4049aaaa;/ })
  const done = asked.filter(({ method }) => method !== 'ListBranches' && method !== 'DiffBranch')
  t.strictSame(done, [], 'nothing was done in the branch that there is')
})

t.test('a file that is called like an id is one where the branch changes it', async (t) => {
  const { run, asked } = stage(t)
  t.equal((await run('diff', 'deadbeef')).code, 0)
  t.match(asked.at(-1), { method: 'DiffBranch', value: { paths: [encodeUtf8('deadbeef')] } })
})

t.test('nothing in a text steers a terminal, and a patch is what it is', async (t) => {
  const text = 'added \u001b[31mx\u009b\ttab\nlast'
  const { run } = stage(t, { text })
  t.equal((await run('diff')).stdout, 'added \\x1b[31mx\\x9b    tab\nlast\n')
  t.equal((await run('diff', '--patch')).stdout, text, 'byte for byte into a pipe')
})

t.test('what a device says of a list is not believed', async (t) => {
  const { run } = stage(t, { text: '{"session":"x","changes":[]}' })
  t.match(await run('diff', '--json'), { code: 255, stderr: /is not the one that it names/ })
})

t.test('a merge is bound to what was shown, or to a look before', async (t) => {
  const outcome = { success: true, message: 'Merged.', merged: 1, bytes: 2 }
  const { run, asked } = stage(t, { text: 'deleted x\n', MergeBranch: () => m.branchOutcome.encode(outcome) })
  t.match(await run('merge'), { code: 125, stderr: /deleted x[\s\S]*digest (cd){32}[\s\S]*Nobody said yes/ })
  t.notOk(asked.some(({ method }) => method === 'MergeBranch'))
  t.match(await run('merge', '--yes', 'a', '--force', 'b', '--force', 'c', '--with-special'), {
    code: 0,
    stdout: 'Merged.\n',
  })
  t.match(asked.at(-1), {
    value: { digest, paths: [encodeUtf8('a')], force: [encodeUtf8('b'), encodeUtf8('c')], held_back: true },
  })
  t.match(await run('merge', '--yes', '--json'), { code: 0, stdout: /"merged":1,"bytes":2/ })
  const other = 'ef'.repeat(32)
  t.match(await run('merge', '--digest', other), {
    code: 255,
    stderr: /not change what that digest is of any more/,
  })
  asked.length = 0
  t.equal((await run('merge', ONE, '--yes', '--digest', other)).code, 0)
  t.strictSame(
    asked.map(({ method }) => method),
    ['ListBranches', 'MergeBranch'],
    'who has looked is not shown it again',
  )
  t.match(asked.at(-1), { value: { digest: idOf(other) } })
})

t.test('what was not merged is listed, with a code of its own', async (t) => {
  const conflicts = [
    { path: encodeUtf8('/w/a\u001b'), what: 'changed' },
    { path: Uint8Array.of(0x2f, 0xff), what: 'gone' },
  ]
  const refusal = { message: 'Nothing was merged.', conflicts, conflicts_total: 5 }
  const { run } = stage(t, { MergeBranch: () => m.branchOutcome.encode(refusal) })
  const told = await run('merge', '--yes')
  t.match(told, { code: 255, stdout: '' })
  t.match(
    told.stderr,
    /\/w\/a\\x1b {2}\(changed\)\n {2}\/\\xff {2}\(gone\)\n {2}and 3 more\nsass-edge: Nothing was merged\.\n$/,
  )
  const { stdout } = await run('merge', '--yes', '--json')
  t.match(JSON.parse(stdout), {
    error: 'BRANCH_REFUSED',
    conflicts: [
      { path: '/w/a\u001b', conflict: 'changed' },
      { path: '/\\xff', path_base64: 'L/8=', conflict: 'gone' },
    ],
    conflicts_total: 5,
  })
})

t.test('drops and checkpoints ask first where something goes', async (t) => {
  const said = () => m.outcome.encode({ success: true, message: 'Done.' })
  const checkpoints = [{ number: 3, label: 'x\u001b', made_at: 5, files: 1, bytes: 2 }]
  const { run, asked } = stage(t, {
    ...{ DropBranch: said, CheckpointBranch: said },
    ListCheckpoints: () => m.checkpointList.encode({ checkpoints, total: 1 }),
  })
  t.match(await run('drop'), { code: 125, stderr: /goes for good[\s\S]*Nobody said yes/ })
  t.match(await run('checkpoint', '--restore', '3'), { code: 125, stderr: /goes for good/ })
  t.notOk(asked.some(({ method }) => method !== 'ListBranches'))
  t.match(await run('drop', '--yes'), { code: 0, stdout: 'Done.\n' })
  t.match(await run('checkpoint', 'it', 'builds'), { code: 0 })
  t.match(asked.at(-1), { value: { label: 'it builds' } })
  t.match(await run('checkpoint', '--restore', '3', '--yes'), { code: 0 })
  t.match(asked.at(-1), { value: { restore: 3 } })
  t.match((await run('checkpoint', '--list')).stdout, /3 +1970-01-01 00:00:05Z +1 +2 +x\\x1b/)
  t.match(JSON.parse((await run('list', '--json')).stdout), {
    branches: [{ session: ONE, agent: 'ci' }],
    total: 1,
  })
})
