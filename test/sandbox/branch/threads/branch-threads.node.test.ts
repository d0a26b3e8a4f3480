/**
 * Who waits for whom where several branches are worked on: looks never hold up a merge or a drop, and looks of agents
 * never a human's.
 * @module
 */
import t from 'tap'
import {
  type BranchThreads,
  createBranchThreads,
  type OrderClass,
} from '../../../../src/sandbox/branch/threads/branch-threads.node.ts'

type Asked = { readonly thread: number; readonly name: string; done(): void }

function stage(): {
  threads: BranchThreads<string, string>
  asked: Asked[]
  ask(what: OrderClass, name: string): Promise<string>
  names(): string[]
} {
  const asked: Asked[] = []
  let made = 0
  const threads = createBranchThreads<string, string>(() => {
    const thread = made++
    return {
      prepare: () => {},
      ask: (make) =>
        new Promise((resolve) => {
          const name = make(0)
          asked.push({ thread, name, done: () => resolve(name) })
        }),
      fail: () => {},
      retire: () => Promise.resolve(),
    }
  })
  return {
    threads,
    asked,
    ask: (what, name) => threads.ask(what, () => name),
    names: () => asked.map(({ name }) => name),
  }
}

t.test('looks leave a thread for deeds, and looks of agents one for humans', async (t) => {
  const { ask, asked, names, threads } = stage()
  const all = [1, 2, 3, 4].map((number) => ask('own_look', `own ${number}`))
  t.strictSame(names(), ['own 1', 'own 2'])
  all.push(ask('look', 'human 1'), ask('look', 'human 2'))
  t.strictSame(names(), ['own 1', 'own 2', 'human 1'])
  all.push(ask('deed', 'merge'))
  t.strictSame(names(), ['own 1', 'own 2', 'human 1', 'merge'])
  t.strictSame(new Set(asked.map(({ thread }) => thread)).size, 4, 'each has one to do')

  asked[0]?.done()
  await all[0]
  t.strictSame(names().slice(4), ['own 3'], 'what asked first')
  asked[2]?.done()
  await all[4]
  t.strictSame(names().slice(5), ['human 2'])
  t.equal(new Set(asked.map(({ thread }) => thread)).size, 4, 'no further thread is made')
  for (let at = 0; at < 8; at++) {
    for (const one of asked) one.done()
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.strictSame((await Promise.all(all)).length, 7)
  await threads.retire()
})

t.test('one that has nothing to do is used again', async (t) => {
  const { ask, asked } = stage()
  for (const name of ['one', 'two', 'three']) {
    const answer = ask('deed', name)
    asked.at(-1)?.done()
    t.equal(await answer, name)
  }
  t.strictSame(
    asked.map(({ thread }) => thread),
    [0, 0, 0],
  )
})
