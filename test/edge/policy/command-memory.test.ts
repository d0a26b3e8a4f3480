import t from 'tap'
import type { Effective } from '../../../src/defense/13policy/effective.ts'
import type { ExecuteAction } from '../../../src/defense/facts.ts'
import { createCommandMemory } from '../../../src/edge/policy/command-memory.ts'

const action = (...argv: string[]): ExecuteAction => ({
  kind: 'execute',
  executionId: '0'.repeat(32),
  argv,
  executable: null,
  cwd: '/srv/plant',
  environment: [],
  terminal: false,
  stdin: false,
  timeoutSeconds: null,
  outputBytes: null,
})
const effective = (): Effective => ({ commands: [] })

t.test('the last command is known at once, a small one from its second time on', async (t) => {
  const memory = createCommandMemory()
  const first = effective()
  t.equal(memory.find(action('ls')), undefined)
  t.notOk(memory.keep(action('ls'), first))
  t.equal(memory.find(action('ls')), first, 'nothing has come between')
  memory.keep(action('pwd'), effective())
  t.equal(memory.find(action('ls')), undefined, 'once is not kept')
  const second = effective()
  t.ok(memory.keep(action('ls'), second))
  memory.keep(action('pwd', '-P'), effective())
  t.equal(memory.find(action('ls')), second)
})

t.test('a command is another one by whatever it is taken apart by', async (t) => {
  const memory = createCommandMemory()
  const one = {
    ...action('rm', 'ab', 'c'),
    executable: { path: '/usr/bin/rm', device: '1', inode: '2', sha256: null },
  }
  memory.keep(one, effective())
  memory.keep(one, effective())
  t.ok(
    memory.find({ ...one, executionId: '1'.repeat(32), timeoutSeconds: 5 }),
    'how long it may take changes nothing',
  )
  for (const other of [
    { ...one, argv: ['rm', 'a', 'bc'] },
    { ...one, argv: ['rm', 'ab'] },
    { ...one, argv: ['rm', 'axb', 'c'] },
    { ...one, argv: ['rm', 'c', 'ab'] },
    { ...one, argv: ['rm', 'ab', 'c', ''] },
    { ...one, cwd: '/srv/pl_nt' },
    { ...one, terminal: true },
    { ...one, stdin: true },
    { ...one, environment: ['A=b'] },
    { ...one, executable: null },
    { ...one, executable: { ...one.executable, path: '/usr/bin/mv' } },
  ])
    t.equal(memory.find(other), undefined, JSON.stringify(other.argv))
})

t.test('words with the same ends and lengths share a place and are told apart', async (t) => {
  const memory = createCommandMemory()
  const kept = effective()
  memory.keep(action('cat', 'a1b'), kept)
  memory.keep(action('cat', 'a1b'), kept)
  t.equal(memory.find(action('cat', 'a2b')), undefined)
  memory.keep(action('cat', 'a2b'), effective())
  t.equal(memory.find(action('cat', 'a1b')), kept)
})

t.test('what is large is known while it is the last, and old ones make room', async (t) => {
  const memory = createCommandMemory()
  const large = action('echo', 'x'.repeat(1_000))
  t.notOk(memory.keep(large, effective()))
  t.notOk(memory.keep(large, effective()), 'never kept')
  t.ok(memory.find(large))
  t.equal(memory.find({ ...large }), undefined, 'an equal one is not looked for')
  const early = action('ls', '0')
  memory.keep(early, effective())
  memory.keep(early, effective())
  for (let number = 1; number <= 1_000; number++) memory.keep(action('ls', String(number)), effective())
  t.equal(memory.find(early), undefined)
})
