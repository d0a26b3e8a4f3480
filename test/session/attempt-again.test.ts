/**
 * What waits is looked at again when its time comes: an answer, and a challenge that was met, count only for exactly
 * what they were given to.
 * @module
 */
import t from 'tap'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { CODES } from '../../src/errors.ts'
import type { Pending } from '../../src/session/standing/confirmations.ts'
import {
  CAPABILITY,
  challengeOn,
  enter,
  meet,
  run,
  type Stage,
  type StageOptions,
  stageRooms,
} from './stage.ts'

/** The machine beneath, as it is at the moment. */
type Host = { inode: string; program: string; link: string; directory: string }

function stage(options: StageOptions = {}) {
  const host: Host = { inode: '2', program: '/bin/cat', link: '/srv/work/a', directory: '/srv/work/sub' }
  const staged = stageRooms({
    finder: {
      find: () => ({ path: '/bin/cat', realPath: host.program, device: '1', inode: host.inode }),
      realPath: (path) => (path === '/srv/work/a' ? host.link : path),
      realDirectory: (path) => (path === '/srv/work/sub' ? host.directory : path),
    },
    capability: { allowed_commands: ['ls'], allowed_env: ['*'] },
    security: { confirmsUnlisted: true, sensitiveFiles: 'allow' },
    ...options,
  })
  return { ...staged, host, client: enter(staged) }
}

function pendingOf({ rooms }: Stage): Pending {
  const [pending] = rooms.confirmations.list()
  if (pending === undefined) throw new Error('nothing is asked')
  return pending
}

function approve(staged: Stage): void {
  const { id, digest } = pendingOf(staged)
  staged.rooms.confirmations.answer(id, encodeHex(digest), true, 'boss')
}

/** The same each time. */
const ask = ({ client }: ReturnType<typeof stage>) =>
  run(client, 'cat', { args: ['/srv/work/a'], cwd: 'sub', env: new Map([['A', 'b']]) })

function allow({ rooms }: Stage, change: Partial<typeof CAPABILITY>): void {
  const before = rooms.policy.capabilities['default'] ?? CAPABILITY
  rooms.policy = { ...rooms.policy, capabilities: { default: { ...before, ...change } } }
}

type Change = { readonly what: string; readonly make: (staged: ReturnType<typeof stage>) => unknown }
const CHANGES: readonly Change[] = [
  { what: 'another file under the same name', make: ({ host }) => Object.assign(host, { inode: '3' }) },
  {
    what: 'a link to another program',
    make: ({ host }) => Object.assign(host, { program: '/srv/work/evil' }),
  },
  {
    what: 'a link that leads elsewhere',
    make: ({ host }) => Object.assign(host, { link: '/home/u/secret' }),
  },
  { what: 'another directory', make: ({ host }) => Object.assign(host, { directory: '/srv/work/other' }) },
  { what: 'less time than before', make: (staged) => allow(staged, { timeout_seconds: 5 }) },
  { what: 'less output than before', make: (staged) => allow(staged, { output_bytes: 10 }) },
]

t.test('a human’s yes to one thing is none to what has taken its place: it is asked about again', (t) => {
  for (const { what, make } of CHANGES) {
    const staged = stage()
    const stream = ask(staged)
    const first = pendingOf(staged)
    make(staged)
    approve(staged)
    t.equal(staged.spawner.children.length, 0, what)
    const second = pendingOf(staged)
    t.not(encodeHex(second.digest), encodeHex(first.digest), 'and what is there now is shown')
    t.equal(staged.client.on(stream).length, 2)
    approve(staged)
    t.equal(staged.spawner.children.length, 1)
    t.match(
      staged.audit.events.filter(({ type }) => type === 'confirmation').map((event) => event['what']),
      ['asked', 'approved', 'asked', 'approved'],
    )
  }
  t.end()
})

t.test('a yes counts where nothing has changed, and where something changed and changed back', (t) => {
  const staged = stage()
  ask(staged)
  staged.host.inode = '3'
  staged.host.inode = '2'
  approve(staged)
  t.equal(staged.spawner.children.length, 1)
  t.end()
})

t.test('a yes is lost as well where the change comes while the command waits for its turn', (t) => {
  for (const { what, make } of CHANGES) {
    const staged = stage({ executions: 1 })
    run(staged.client, 'ls')
    const stream = ask(staged)
    approve(staged)
    t.match(staged.client.on(stream).at(-1), { value: { is_queued: true } })
    t.strictSame(staged.rooms.confirmations.list(), [])
    make(staged)
    staged.spawner.children[0]?.events.exited({ kind: 'exited', code: 0 })
    t.equal(staged.spawner.children.length, 1, what)
    approve(staged)
    t.equal(staged.spawner.children.length, 2)
  }
  t.end()
})

t.test('a challenge that was met for one thing must be met again for another', (t) => {
  const rules = [{ action: 'challenge', severity: 'high', argv: { program: ['cat'] } } as const]
  for (const { what, make } of CHANGES) {
    const staged = stage({ rules, capability: { allowed_env: ['*'] }, security: { sensitiveFiles: 'allow' } })
    const { client, spawner } = staged
    const stream = ask(staged)
    const first = challengeOn(client, stream)
    make(staged)
    meet(client, first)
    t.equal(spawner.children.length, 0, what)
    const second = challengeOn(client, stream)
    t.notSame(second?.challenge_id, first?.challenge_id)
    meet(client, second)
    t.equal(spawner.children.length, 1)
    t.strictSame(client.transport.deeds, [])
  }
  t.end()
})

t.test('a variable that may not be set any more is a mistake, whatever a human said meanwhile', (t) => {
  const staged = stage()
  const stream = ask(staged)
  allow(staged, { allowed_env: [] })
  approve(staged)
  t.match(staged.client.on(stream).at(-1), { kind: 'status', code: CODES.FRAME_MALFORMED.number })
  t.equal(staged.spawner.children.length, 0)
  t.strictSame(staged.rooms.confirmations.list(), [])
  t.end()
})

t.test('what runs in the end is what was looked at last', (t) => {
  const staged = stage({ capability: { max_concurrent: 1, allowed_env: ['*'] } })
  run(staged.client, 'ls')
  ask(staged)
  staged.host.directory = '/srv/work/other'
  allow(staged, { timeout_seconds: 5 })
  const [first] = staged.spawner.children
  first?.events.exited({ kind: 'exited', code: 0 })
  const started = staged.spawner.children[1]
  t.equal(started?.plan.cwd, '/srv/work/other')
  staged.clock.pass(5_000)
  t.strictSame(started?.deeds, ['signal 15'], 'and so is its time')
  t.end()
})

t.test('a human is shown where links lead and what would really run', (t) => {
  const staged = stage({
    capability: { allowed_commands: ['sh', 'ls'], allowed_env: ['*'] },
  })
  staged.host.link = '/home/u/secret'
  run(staged.client, 'sh', { args: ['-c', `cd . && env cat a; rmdir ${'x'.repeat(600)}`] })
  const { links, more } = JSON.parse(pendingOf(staged).shownText)
  t.strictSame(links, [{ path: '/srv/work/a', real: '/home/u/secret' }])
  for (const line of ['env cat a', 'cat a']) t.ok(more.runs.includes(line), `${line} in ${more.runs}`)
  t.ok(more.runs.some((line: string) => line.startsWith('rmdir x') && line.length <= 512))
  t.equal(more.goal, null)
  t.end()
})

t.test('a long argument that would be cut within a character can be shown all the same', (t) => {
  for (let shift = 0; shift < 3; shift++) {
    const staged = stage()
    run(staged.client, 'cat', { args: [`${'x'.repeat(500 + shift)}${'\u{1f600}'.repeat(20)}`] })
    t.equal(staged.rooms.confirmations.list().length, 1)
    const short = stage()
    run(short.client, 'cat', { args: [`${'x'.repeat(511 - shift)}\u{1f600}`] })
    t.equal(short.rooms.confirmations.list().length, 1)
  }
  t.end()
})
