import t from 'tap'
import type { LeftBehind } from '../../../src/ports.ts'
import type { Execution } from '../../../src/session/executions/execution.ts'
import { createLeftWork } from '../../../src/session/executions/left-work.ts'

/** A place of number 1 with as many processes as the test says. */
function stage() {
  const counts = { processes: 0 }
  const over: string[] = []
  const deeds: string[] = []
  const work = createLeftWork(
    (_session, place) => (place === 1 ? counts.processes : 0),
    ({ id }) => over.push(id),
  )
  const add = (id: string, left: Partial<LeftBehind> = {}, owner = 'bot') => {
    const execution = { id, owner, sessionId: `session of ${id}` } as Execution
    work.add(execution, 1, {
      alive: () => 0,
      signal(number) {
        deeds.push(`${id} ${number}`)
        return true
      },
      end: () => deeds.push(`${id} end`),
      ...left,
    })
    return execution
  }
  return { work, add, counts, over, deeds }
}

t.test('it is there until its place has no process more than its commands have', (t) => {
  const { work, add, counts, over } = stage()
  const one = add('one')
  counts.processes = 1
  work.tick()
  t.ok(work.has(one), 'whatever forked anew in the place of what was seen')
  t.strictSame([work.countOf('bot'), work.countOf('other'), work.inSession('session of one')], [1, 0, 1])
  counts.processes = 0
  work.tick()
  work.tick()
  t.strictSame(over, ['one'])
  t.notOk(work.has(one))
  t.end()
})

t.test(
  'of several no more count than there are processes, and those of which something is seen stay',
  (t) => {
    const { work, add, counts, over } = stage()
    add('dead')
    add('alive', { alive: () => 1 })
    add('gone')
    counts.processes = 1
    work.tick()
    t.strictSame(over, ['dead', 'gone'])
    t.strictSame([...work.sessionsOf('bot')], ['session of alive'])
    t.end()
  },
)

t.test('nothing is asked of a place that was given up', (t) => {
  const { work, add, counts, deeds } = stage()
  const one = add('one')
  const other = add('other', {}, 'boss')
  t.notOk(work.end(one))
  t.notOk(work.signal(one, 15))
  counts.processes = 2
  t.ok(work.end(one))
  t.ok(work.signal(other, 15))
  work.endWhere(({ owner }) => owner === 'boss')
  t.strictSame(deeds, ['one end', 'other 15', 'other end'])
  t.notOk(work.end({ id: 'none' } as Execution))
  t.end()
})
