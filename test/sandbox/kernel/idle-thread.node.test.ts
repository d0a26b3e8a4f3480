/**
 * A thread that is there only while it is wanted: answers by number, its end when nobody asks, and what becomes of those
 * who wait when it ends by itself.
 * @module
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createIdleThread, type IdleThread } from '../../../src/sandbox/kernel/idle-thread.node.ts'

type Question = { readonly kind: 'ask' | 'die' | 'close'; readonly id: number; readonly ms: number }
type Answer = { readonly id: number; readonly thread: number; readonly ms: number }

/** Answers after as many milliseconds as it is asked for, with the number of its thread. */
const TEXT = `
const { parentPort, threadId } = require('node:worker_threads')
parentPort.postMessage({ kind: 'hello' })
parentPort.on('message', ({ kind, id, ms }) => {
  if (kind === 'close') return parentPort.close()
  if (kind === 'die') throw new Error('it broke')
  setTimeout(() => parentPort.postMessage({ id, thread: threadId, ms }), ms)
})`
const LIMITS = { young: 1, old: 16, stack: 1 }

function make(idleMs: number, said: unknown[] = []): IdleThread<Question, Answer> {
  return createIdleThread<Question, Answer>(
    {
      name: 'test',
      file: () => new URL('file:///nowhere'),
      text: () => TEXT,
      limits: LIMITS,
      idleMs,
      lost: (cause) => new Error(`lost: ${cause instanceof Error ? cause.message : 'ended'}`),
    },
    (word) => {
      const isHello = (word as { readonly kind?: string }).kind === 'hello'
      if (isHello) said.push(word)
      return isHello
    },
  )
}

t.test('each question gets its own answer, in whatever order they come', async (t) => {
  const said: unknown[] = []
  const thread = make(60_000, said)
  thread.prepare()
  const [slow, fast] = await Promise.all([60, 1].map((ms) => thread.ask((id) => ({ kind: 'ask', id, ms }))))
  t.match([slow?.ms, fast?.ms], [60, 1])
  t.equal(slow?.thread, fast?.thread, 'one thread')
  t.equal(said.length, 1, 'what is no answer is somebody else’s')
  await thread.retire()
})

t.test('it ends when nobody has asked for a while, and another one starts', async (t) => {
  const thread = make(20)
  const first = await thread.ask((id) => ({ kind: 'ask', id, ms: 1 }))
  await sleep(200)
  const second = await thread.ask((id) => ({ kind: 'ask', id, ms: 1 }))
  t.not(first.thread, second.thread)
  await thread.retire()
})

t.test('whoever waits when it breaks is told, and the next one is served', async (t) => {
  const thread = make(60_000)
  const waiting = thread.ask((id) => ({ kind: 'ask', id, ms: 10_000 }))
  const breaking = thread.ask((id) => ({ kind: 'die', id, ms: 0 }))
  await t.rejects(waiting, { message: 'lost: it broke' })
  await t.rejects(breaking, { message: 'lost: it broke' })
  t.match(await thread.ask((id) => ({ kind: 'ask', id, ms: 1 })), { ms: 1 })
  await thread.retire()
})

t.test('it is asked to end, and what waits can be given up', async (t) => {
  const thread = make(60_000)
  const waiting = thread.ask((id) => ({ kind: 'ask', id, ms: 50 }))
  thread.fail(new Error('given up'))
  await t.rejects(waiting, { message: 'given up' })
  await thread.retire()
  await thread.retire()
})
