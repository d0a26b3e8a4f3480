/**
 * Warrants: one action, once, and no second way to the world.
 * @module
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { Action } from '../../src/defense/facts.ts'
import { actionDigest, Warrant } from '../../src/defense/warrant.ts'
import { anyAction, executing } from './staged-facts.ts'

const root = join(import.meta.dirname, '../..')
const ACTION = executing()
const SESSION = 'ab'.repeat(16)
const mint = (action: Action = ACTION) => Warrant.mint(SESSION, 7, action)
const redeem = (warrant: Warrant, action: Action) => Warrant.redeem(warrant, action, SESSION)

/** The code of every file of src/, without its comments. */
const sources = globSync('src/**/*.ts', { cwd: root })
  .sort()
  .map((path) => ({
    path,
    code: readFileSync(join(root, path), 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/^\s*\/\/.*$/gm, ''),
  }))
const filesWith = (pattern: RegExp) =>
  sources.filter(({ code }) => pattern.test(code)).map(({ path }) => path)

t.test('a warrant is redeemed once', (t) => {
  const warrant = mint()
  t.doesNotThrow(() => redeem(warrant, executing()), 'an equal action is the same action')
  t.throws(() => redeem(warrant, ACTION), { code: 'INTERNAL', message: /used twice/ })
  t.throws(() => redeem(warrant, ACTION), { code: 'INTERNAL' })
  t.end()
})

t.test('a warrant permits no other action, and a vain try does not spend it', (t) => {
  const warrant = mint()
  const others: Action[] = [
    executing(['ls', '-a']),
    executing(['ls'], '/srv/work/ls'),
    executing(['ls'], '/usr/bin/ls', '/srv'),
    { ...ACTION, terminal: true } as Action,
    { ...ACTION, timeoutSeconds: 1 } as Action,
    { ...ACTION, executionId: 'other' } as Action,
    { ...ACTION, executable: { path: '/usr/bin/ls', device: '1', inode: '3', sha256: null } } as Action,
    { ...ACTION, executable: { path: '/usr/bin/ls', device: '1', inode: '2', sha256: 'aa' } } as Action,
    { ...ACTION, environment: ['A=b'] } as Action,
    { ...ACTION, stdin: true } as Action,
    { kind: 'cancel', executionId: 'cd'.repeat(16) },
  ]
  for (const other of others) {
    t.throws(() => redeem(warrant, other), { code: 'INTERNAL', message: /another action/ })
  }
  t.doesNotThrow(() => redeem(warrant, ACTION))
  t.end()
})

t.test('a warrant is for its session, and dies with its cycle (RX-25)', (t) => {
  const warrant = mint()
  for (const other of ['', 'none', 'cd'.repeat(16)])
    t.throws(() => Warrant.redeem(warrant, ACTION, other), { code: 'INTERNAL', message: /another session/ })
  t.doesNotThrow(() => redeem(warrant, ACTION))
  const late = mint()
  late.lapse()
  t.throws(() => redeem(late, ACTION), { code: 'INTERNAL', message: /after its cycle had ended/ })
  t.end()
})

t.test('what was permitted cannot be changed afterwards, in any part', (t) => {
  const isFrozen = (value: unknown): boolean =>
    typeof value !== 'object' ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  fc.assert(
    fc.property(anyAction, (action) => {
      Warrant.mint('s', 1, action)
      return isFrozen(action)
    }),
    { numRuns: 200 },
  )
  const action = executing(['ls'])
  const warrant = mint(action)
  t.throws(() => (action as unknown as { argv: string[] }).argv.push('-a'), TypeError)
  t.doesNotThrow(() => redeem(warrant, action))
  t.end()
})

t.test('what only looks like a warrant is none', (t) => {
  const warrant = mint()
  const lookalikes: unknown[] = [
    { ...warrant },
    { id: warrant.id, sessionId: warrant.sessionId, cycle: 7, actionDigest: warrant.actionDigest },
    structuredClone(warrant),
    JSON.parse(JSON.stringify(warrant)),
    Object.create(Warrant.prototype),
    Object.setPrototypeOf({ ...warrant }, Warrant.prototype),
    Object.assign(Object.create(warrant), {}),
    new Proxy(warrant, {}),
  ]
  for (const [index, lookalike] of lookalikes.entries()) {
    t.throws(
      () => redeem(lookalike as Warrant, ACTION),
      { code: 'INTERNAL', message: /without a warrant/ },
      `lookalike ${index}`,
    )
  }
  for (const nothing of [undefined, null, 'x', 7]) t.throws(() => redeem(nothing as never, ACTION))
  t.doesNotThrow(() => redeem(warrant, ACTION), 'none of them has spent it')
  t.end()
})

t.test('equal inputs give equal ids; another session, cycle or action another id', (t) => {
  t.equal(mint().id, mint().id)
  const ids = [
    mint(),
    Warrant.mint('ac'.repeat(16), 7, ACTION),
    Warrant.mint('ab'.repeat(16), 8, ACTION),
    mint(executing(['ls', '-l'])),
  ]
  t.equal(new Set(ids.map(({ id }) => id)).size, ids.length)
  for (const { id } of ids) t.match(id, /^[0-9a-f]{64}$/)
  t.end()
})

t.test('actions that differ anywhere differ in their digest', (t) => {
  fc.assert(
    fc.property(anyAction, anyAction, (one, other) => {
      const isSame = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
      return (actionDigest(one) === actionDigest(other)) === isSame
    }),
    { numRuns: 300 },
  )
  t.pass('for every one of them')
  t.end()
})

function sorted(action: Action): unknown {
  return Object.entries(action)
    .map(([key, value]: [string, unknown]) => [
      key,
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).sort()
        : value,
    ])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
}

t.test('only the adjudicator mints, and whatever does something redeems (RX-21, JF-F01)', (t) => {
  t.strictSame(filesWith(/\bWarrant\.mint\b/), ['src/defense/adjudicator.ts'])
  t.strictSame(filesWith(/\bnew Warrant\b/), ['src/defense/warrant.ts'])
  t.strictSame(filesWith(/\bWarrant\.redeem\b/), [
    'src/session/branches/branch-room.ts',
    'src/session/decisions/permitted.ts',
    'src/session/executions/executions.ts',
    'src/session/intent/decide-request.ts',
    'src/session/intent/plan-room.ts',
    'src/session/requests/deceive.ts',
    'src/session/requests/handoff-artifacts.ts',
    'src/session/requests/handoff-requests.ts',
    'src/session/requests/identity-requests.ts',
    'src/session/requests/requests.ts',
    'src/session/transfers/transfers-download.ts',
    'src/session/transfers/transfers-upload.ts',
  ])
  t.strictSame(
    filesWith(/\badjudicate(By)?\(/),
    [
      'src/cli/review/explain.node.ts',
      'src/defense/adjudicator.ts',
      'src/session/common/rooms.ts',
      'src/session/standing/replay.ts',
    ],
    'asked by the daemon, and by the command that only explains',
  )
  t.end()
})

/** It names such calls to find them in the code of others; that it can do none is proven with the adjudicator. */
const JUDGED = 'src/defense/13policy/'

t.test('there is one way to start a program, and it is behind a warrant (RX-03, JF-F01, JF-F02)', (t) => {
  t.strictSame(
    filesWith(/\bspawner\.spawn\(/),
    [
      'src/sandbox/launcher/pinned.node.ts',
      'src/sandbox/launcher/sleeping-spawner.node.ts',
      'src/session/executions/executions.ts',
      'src/session/requests/deceive.ts',
    ],
    'the commands of callers, the masked reads of strangers, and the spawners around the spawner',
  )
  t.strictSame(
    filesWith(/\bcreateSpawner\(/),
    [
      'src/edge/work/sandbox.node.ts',
      'src/sandbox/launcher/confined-spawner.node.ts',
      'src/sandbox/launcher/spawner.node.ts',
    ],
    'one spawner for each, made with the sandbox of the daemon',
  )
  t.strictSame(
    filesWith(/\bcreateExecutions\(/),
    ['src/edge/work/work.node.ts', 'src/session/executions/executions.ts'],
    'and given to one room',
  )
  t.strictSame(filesWith(/\b(startChild|startLauncher)\(/).sort(), [
    'src/sandbox/launcher/child.node.ts',
    'src/sandbox/launcher/launcher.node.ts',
    'src/sandbox/launcher/spawner.node.ts',
  ])
  t.strictSame(
    filesWith(/posix_spawn(?!a?_?p?\(3\))/).filter(
      (path) => !path.startsWith('src/sandbox/') && !path.startsWith(JUDGED),
    ),
    [],
  )
  t.strictSame(
    filesWith(/child_process|node:cluster|process\.(dlopen|binding|execve)\b/).filter(
      (path) => !path.startsWith(JUDGED),
    ),
    ['src/edge/host/own-namespaces.node.ts', 'src/edge/work/alerts.node.ts'],
    'the daemon itself, before anybody can ask it for anything; and the program that its operator is told by',
  )
  t.strictSame(
    filesWith(/\bspawn\(path, \[\], \{/),
    ['src/edge/work/alerts.node.ts'],
    'which gets no word of a caller',
  )
  t.strictSame(
    filesWith(/\bcreateAlerts\(\{\s*\.\.\.\{ program: config\.alerts\.program,/),
    ['src/edge/work/watching.node.ts'],
    'and which the configuration alone names',
  )
  t.strictSame(
    filesWith(/'node:(ffi|vm)'/),
    ['src/edge/host/allocator.node.ts', 'src/sandbox/kernel/syscalls.node.ts'],
    'the name of a function of V8, and system calls',
  )

  const isPermitted = /function start\([^)]*\): Execution \{\s*const pair = permit\(request\)/
  t.strictSame(
    filesWith(isPermitted),
    ['src/session/executions/executions.ts'],
    'a start begins with its warrant',
  )
  const room = sources.find(({ path }) => path === 'src/session/executions/executions.ts')?.code ?? ''
  for (const [head, deed] of [
    ['function permit(', 'spawner.spawn('],
    ['    signal(execution', 'child?.signal('],
    ['    cancel(execution', 'kill(execution)'],
  ] as const) {
    const body = room.slice(room.indexOf(head))
    const redeemed = body.indexOf('Warrant.redeem(')
    t.ok(
      room.includes(head) && redeemed > 0 && redeemed < body.indexOf(deed),
      `${head.trim()} redeems before ${deed}`,
    )
  }
  const stranger = sources.find(({ path }) => path === 'src/session/requests/deceive.ts')?.code ?? ''
  t.equal(stranger.split('answer(peer').length, 3, 'a stranger is answered in one place')
  t.match(
    stranger,
    /Warrant\.redeem\(verdict\.warrant, action, sessionOf\(peer\)\)\s*answer\(peer, call, argv, stay\)/,
  )
  t.end()
})

t.test('there is one way to a session’s files, and it is behind a warrant (RX-03, JF-F01, OS-01)', (t) => {
  t.strictSame(
    filesWith(/\bcreateFileWork\(/),
    ['src/daemon.node.ts', 'src/sandbox/files/file-work.node.ts'],
    'made by the daemon, for one room',
  )
  t.strictSame(
    filesWith(/\b(receiveFile|readFile)\(guard\b|\bcreatePathGuard\(/).filter(
      (path) => !path.startsWith('src/sandbox/files/'),
    ),
    [],
  )
  const deeds = /\bfiles\.(receive|read|makeDirectory|makeLink)\(/
  t.strictSame(filesWith(deeds), [
    'src/session/intent/decide-request.ts',
    'src/session/requests/handoff-artifacts.ts',
    'src/session/transfers/transfers-download.ts',
    'src/session/transfers/transfers-upload.ts',
  ])
  for (const path of filesWith(deeds)) {
    const code = sources.find((source) => source.path === path)?.code ?? ''
    const body = code.slice(code.indexOf('function begin('))
    const redeemed = body.indexOf('Warrant.redeem(')
    t.ok(code.search(deeds) > code.indexOf('function begin('), `${path} does nothing before it has begun`)
    t.ok(redeemed > 0 && redeemed < body.search(deeds), `${path} redeems before it opens anything`)
  }
  t.end()
})

t.test('there is one way from a branch into the real files, and a human’s warrant stands before it', (t) => {
  const work =
    /\b(merge|undo)(Branch|Merge)\(syscalls|\b(makeCheckpoint|restoreCheckpoint|dropBranch)\(syscalls/
  t.strictSame(
    filesWith(work).filter((path) => !/branch\/(merge|checkpoint|drop)[^/]*\.node\.ts$/.test(path)),
    ['src/sandbox/branch/threads/branch-store.node.ts', 'src/sandbox/branch/threads/branch-thread.node.ts'],
  )
  t.strictSame(filesWith(/\bcreateBranchWorker\(/), [
    'src/edge/work/sandbox.node.ts',
    'src/sandbox/branch/threads/branch-worker.node.ts',
  ])
  const deeds = /\bwork\.(merge|undo|restore|removeCheckpoint|drop)\(/
  t.strictSame(filesWith(deeds), ['src/session/branches/branch-room.ts'])
  // What saves a branch after an incident changes nothing of it, and waits for nobody.
  t.strictSame(filesWith(/\bwork\.checkpoint\(/), [
    'src/session/branches/branch-room.ts',
    'src/session/common/preserver.ts',
  ])
  const room = sources.find(({ path }) => path === 'src/session/branches/branch-room.ts')?.code ?? ''
  const door = room.slice(room.indexOf('async function decided'), room.indexOf('function forgetMerged'))
  t.match(
    door,
    /Promise<BranchOutcome> \{\s*const \{ warrant, action, sessionId \} = permit\s*Warrant\.redeem\(/,
  )
  t.ok(door.indexOf('Warrant.redeem(') < door.indexOf('outOfUse('))
  for (const [name, kind] of [
    ['merge', 'merge'],
    ['undo', 'undo_merge'],
    ['drop', 'drop_branch'],
    ['checkpoint', 'checkpoint'],
  ] as const) {
    const at = room.search(new RegExp(`\\bwork\\.${name}\\(`))
    t.match(room.slice(0, at), new RegExp(`decided\\(permit, '${kind}'`), `${name} is behind the door`)
    t.notOk(
      room.slice(room.lastIndexOf(`decided(permit, '${kind}'`), at).includes('\n    },\n    '),
      `${name} is within it`,
    )
  }
  t.end()
})

t.test('every decision goes through the one door that records it', (t) => {
  t.strictSame(filesWith(/\bdecide\(rooms\b/).sort(), [
    'src/session/common/rooms.ts',
    'src/session/connection/peer-engine.ts',
    'src/session/connection/peers.ts',
    'src/session/intent/plan-asker.ts',
  ])
  const door = sources.find(({ path }) => path === 'src/session/common/rooms.ts')?.code ?? ''
  const body = door.slice(door.indexOf('export function decide('))
  t.ok(body.indexOf('keepOrHalt(rooms') > 0)
  t.ok(body.indexOf('keepOrHalt(rooms') < body.indexOf('return verdict'))
  const keep = door.slice(door.indexOf('function keep('), door.indexOf('export function decide('))
  t.match(keep, /rooms\.audit\.append\(/)
  t.end()
})
