/**
 * From a request to what would be run: the decision sees what really happens.
 * @module
 */
import t from 'tap'
import { makePlan, type Planner } from '../../../src/sandbox/places/plan.ts'
import { type ExecuteRequest, executeRequest } from '../../../src/wire/messages.ts'
import { readMessage } from '../../../src/wire/schema.ts'

const asked: string[] = []
const pinLooks: string[] = []
const PIN = { device: '1', inode: '2', size: '3', changedNs: '4', sha256: 'ab' }
const planner: Planner = {
  workspaceRoot: '/srv/work',
  base: { home: '/h', user: 'u' },
  finder: {
    find(program, cwd, searchPath) {
      asked.push(`${program} in ${cwd} by ${searchPath.slice(0, 15)}`)
      if (program === 'missing' || program === './missing') return undefined
      return { path: `/usr/bin/${program}`, realPath: `/real/${program}`, device: '1', inode: '2' }
    },
    realDirectory: (path) => (path === '/srv/work/link' ? '/etc' : path),
    realPath: (path) => path,
    pin(path) {
      pinLooks.push(path)
      return path === '/real/unreadable' ? undefined : PIN
    },
  },
}

function request(change: Parameters<typeof executeRequest.encode>[0] = {}): ExecuteRequest {
  const read = readMessage(executeRequest, executeRequest.encode({ command: 'ls', ...change }), 'strict')
  if (!read.ok) throw new Error('not a request')
  return read.value
}

function planned(
  change: Parameters<typeof executeRequest.encode>[0] = {},
  argv = ['ls', '-a'],
  env: string[] = [],
  pins: Readonly<Record<string, string>> = {},
) {
  const result = makePlan(planner, undefined, request(change), argv, env, pins)
  if (!result.ok) throw new Error(result.problem)
  return result.planned
}
const problemOf = (
  change: Parameters<typeof executeRequest.encode>[0],
  argv = ['ls'],
  env: string[] = [],
) => {
  const result = makePlan(planner, undefined, request(change), argv, env, {})
  return result.ok ? undefined : result.problem
}

t.test('a command starts in the workspace, with the fixed environment, without stdin and terminal', (t) => {
  const { plan, program } = planned()
  t.match(plan, {
    file: '/usr/bin/ls',
    argv: ['ls', '-a'],
    cwd: '/srv/work',
    stdin: 'none',
    terminal: undefined,
  })
  t.ok(
    plan.environment.includes('HOME=/h') &&
      plan.environment.some((pair) => pair.startsWith('PATH=/usr/local')),
  )
  t.match(program, { realPath: '/real/ls', device: '1', inode: '2' })
  t.end()
})

t.test('a working directory is relative to the workspace, normalised, and its links are resolved', (t) => {
  for (const [cwd, gives] of [
    ['a/b', '/srv/work/a/b'],
    ['./a/../b//c/.', '/srv/work/b/c'],
    ['..', '/srv'],
    ['../../../..', '/'],
    ['/etc/./x', '/etc/x'],
    ['link', '/etc'],
    ['', '/srv/work'],
  ] as const) {
    t.equal(planned({ cwd }).plan.cwd, gives, cwd)
  }
  t.end()
})

t.test(
  'the program is looked for from that directory, by the search path that the command will have',
  (t) => {
    asked.length = 0
    planned({ cwd: 'link', env: new Map([['PATH', '/opt/bin']]) }, ['./x'], ['PATH'])
    planned({}, ['y'])
    t.strictSame(asked, ['./x in /etc by /opt/bin', 'y in /srv/work by /usr/local/sbin'])
    t.end()
  },
)

t.test('a program that was not found has no facts, and will not be found at the start', (t) => {
  const file = '/proc/self/fd/none'
  t.match(planned({}, ['missing']), { program: undefined, plan: { file } })
  t.match(planned({ cwd: 'a' }, ['./missing']), { program: undefined, plan: { file } })
  t.end()
})

t.test('stdin and a terminal are there when asked for', (t) => {
  t.match(planned({ stdin: true }).plan, { stdin: 'pipe', terminal: undefined })
  const { plan } = planned({ pty: { rows: 24, cols: 80 } })
  t.strictSame(plan.terminal, { rows: 24, columns: 80 })
  t.ok(plan.environment.includes('TERM=xterm-256color'))
  t.ok(planned({ pty: { rows: 24, cols: 80, term: 'vt100' } }).plan.environment.includes('TERM=vt100'))
  t.end()
})

t.test('a pinned program is run from where it really lies, with the digest of what lies there', (t) => {
  pinLooks.length = 0
  const pins = { '/real/tool': 'ab', '/real/unreadable': 'cd' }
  const { plan, pin } = planned({}, ['tool', 'x'], [], pins)
  t.strictSame(pin, PIN)
  t.match(plan, { file: '/real/tool', argv: ['tool', 'x'], pinned: PIN })
  t.match(planned({}, ['unreadable'], [], pins), {
    pin: undefined,
    plan: { file: '/real/unreadable', pinned: undefined },
  })
  t.match(planned({}, ['ls'], [], pins), { pin: undefined, plan: { file: '/usr/bin/ls', pinned: undefined } })
  t.match(planned({}, ['missing'], [], pins), { pin: undefined, program: undefined })
  t.strictSame(pinLooks, ['/real/tool', '/real/unreadable'], 'nothing else is digested')
  t.end()
})

t.test('what cannot be planned is said by its field', (t) => {
  t.match(problemOf({}, []), 'command is missing')
  t.match(problemOf({}, ['']), 'command is missing')
  t.match(problemOf({ pty: { rows: 0, cols: 80 } }), 'pty.rows')
  t.match(problemOf({ pty: { rows: 24, cols: 0 } }), 'pty.rows')
  for (const term of ['../../x', 'a b', '', 'x\u001b'])
    t.match(problemOf({ pty: { rows: 1, cols: 1, term } }), 'pty.term', JSON.stringify(term))
  t.match(problemOf({ env: new Map([['LD_PRELOAD', 'x']]) }, ['ls'], ['*']), 'env.LD_PRELOAD')
  t.match(problemOf({ env: new Map([['A', 'x']]) }), 'env.A')
  t.end()
})
