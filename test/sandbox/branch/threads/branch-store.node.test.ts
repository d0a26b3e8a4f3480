/**
 * openBranchStore: who may have how many branches, and what of them is there after a start.
 * @module
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BRANCHES_MAX, BRANCHES_RESERVED } from '../../../../src/limits.ts'
import { upperOf } from '../../../../src/sandbox/branch/files/branch.ts'
import {
  type BranchStore,
  openBranchStore,
} from '../../../../src/sandbox/branch/threads/branch-store.node.ts'
import { loadSyscalls } from '../../../../src/sandbox/kernel/syscalls.node.ts'

function stage(t: Test) {
  const base = t.testdir({ root: {}, state: {} })
  const options = { stateDirectory: join(base, 'state'), roots: [join(base, 'root')], volatile: [] }
  return () => openBranchStore(loadSyscalls(), options)
}

let made = 0
const nextId = () => (++made).toString(16).padStart(32, '0')

/** Opens branches of that agent until no more are made, or so many; how many that were. */
function take(store: BranchStore, agent: string, most: number, isOperator = false): number {
  for (let count = 0; count < most; count++) {
    try {
      store.open(nextId(), agent, 'overlay', 1, isOperator)
    } catch {
      return count
    }
  }
  return most
}

t.test('an agent takes no more than it leaves, and operators have some of their own', async (t) => {
  const store = stage(t)()
  const first = take(store, 'one', BRANCHES_MAX)
  t.equal(first, (BRANCHES_MAX - BRANCHES_RESERVED) / 2)
  t.throws(() => store.open(nextId(), 'one', 'overlay', 1), {
    code: 'SANDBOX_UNAVAILABLE',
    message: /branches of this agent wait for a decision/,
  })
  const shares = ['two', 'three', 'four', 'five', 'six', 'seven'].map((agent) =>
    take(store, agent, BRANCHES_MAX),
  )
  t.ok(
    shares.every((share) => share > 0),
    shares.join(' '),
  )
  for (let count = 0; store.list().length < BRANCHES_MAX - BRANCHES_RESERVED; count++)
    take(store, `more ${count}`, BRANCHES_MAX)
  t.throws(() => store.open(nextId(), 'late', 'overlay', 1), { message: /^240 branches wait/ })
  t.equal(take(store, 'boss', BRANCHES_MAX, true), BRANCHES_RESERVED)
  const [known] = store.list()
  t.same(
    store.open(known?.session ?? '', 'one', 'overlay', 1).session,
    known?.session,
    'what is there is found',
  )
})

t.test('a start removes what is empty, and nothing that can be gone back to', async (t) => {
  const open = stage(t)
  const store = open()
  const branches = ['empty', 'changed', 'merged', 'marked'].map((agent) =>
    store.open(nextId(), agent, 'overlay', 1),
  )
  const [, changed, merged, marked] = branches.map(({ session }) => session)
  const root = branches[1]?.roots[0]
  if (root === undefined || merged === undefined || marked === undefined) throw new Error('not made')
  writeFileSync(join(upperOf(root), 'file'), 'new')
  writeFileSync(join(store.directoryOf(merged), 'merge.json'), '{}')
  mkdirSync(join(store.directoryOf(marked), 'checkpoints'))
  t.same(
    open()
      .list()
      .map(({ session }) => session)
      .sort(),
    [changed, merged, marked].sort(),
  )
})
