/**
 * The queue of commands: bounds, turns, positions, and that nobody waits behind another one's heap.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { createQueue, type Place, type Queue } from '../../../src/session/executions/queue.ts'

type Log = { readonly turns: string[]; readonly told: Map<string, number[]> }

function stage(places: number, mayRun: (caller: string) => boolean = () => true) {
  const log: Log = { turns: [], told: new Map() }
  const queue = createQueue(places, mayRun)
  const enter = (caller: string, name: string, turn = () => {}): Place =>
    queue.enter(
      caller,
      () => {
        log.turns.push(name)
        turn()
      },
      (position) => log.told.set(name, [...(log.told.get(name) ?? []), position]),
    )
  return { queue, enter, ...log }
}

t.test('callers take turns, and each caller’s own come in their order', (t) => {
  const { queue, enter, turns } = stage(20)
  for (const [caller, count] of [
    ['a', 4],
    ['b', 2],
    ['c', 1],
  ] as const)
    for (let index = 1; index <= count; index++) enter(caller, `${caller}${index}`)
  queue.pump()
  t.strictSame(turns, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  t.equal(queue.size, 0)
  t.end()
})

t.test('everybody is told where it stands, again at each move and never without one', (t) => {
  let isOpen = false
  const { queue, enter, told } = stage(20, () => isOpen)
  enter('a', 'a1')
  enter('a', 'a2')
  const b1 = enter('b', 'b1')
  t.strictSame(
    [...told],
    [
      ['a1', [1]],
      ['a2', [2, 3]],
      ['b1', [2]],
    ],
    'a newcomer goes before the heap of another',
  )
  queue.pump()
  t.strictSame(told.get('a2'), [2, 3], 'nothing was free')
  b1.leave()
  t.strictSame([told.get('a2'), b1.position], [[2, 3, 2], 2])
  isOpen = true
  queue.pump()
  t.strictSame(told.get('a2'), [2, 3, 2], 'its turn says the rest')
  t.end()
})

t.test('who may not run is passed over and keeps its place at the front', (t) => {
  const free = new Set(['b'])
  const { queue, enter, turns } = stage(20, (caller) => free.has(caller))
  enter('a', 'a1')
  enter('b', 'b1')
  enter('b', 'b2')
  queue.pump()
  t.strictSame(turns, ['b1', 'b2'])
  free.add('a')
  enter('b', 'b3')
  queue.pump()
  t.strictSame(turns, ['b1', 'b2', 'a1', 'b3'])
  t.end()
})

t.test('one caller takes at most half of the places, all together take them all', (t) => {
  const { queue, enter } = stage(4)
  const free = (caller: string) => queue.isFree(caller)
  enter('a', 'a1')
  t.ok(free('a'))
  enter('a', 'a2')
  t.strictSame([free('a'), free('b')], [false, true])
  enter('b', 'b1')
  enter('b', 'b2')
  t.strictSame([queue.size, free('c')], [4, false])
  for (const [places, most] of [
    [0, 0],
    [1, 1],
    [2, 1],
    [3, 1],
  ] as const) {
    const small = stage(places)
    let count = 0
    while (small.queue.isFree('a')) small.enter('a', `${count++}`)
    t.equal(count, most, `${places} places`)
  }
  t.end()
})

t.test('whoever has left gets no turn, and leaving twice or after the turn does nothing', (t) => {
  const { queue, enter, turns } = stage(20)
  const first = enter('a', 'a1')
  const second = enter('a', 'a2')
  first.leave()
  first.leave()
  t.equal(queue.size, 1)
  queue.pump()
  second.leave()
  t.strictSame([turns, queue.size], [['a2'], 0])
  t.end()
})

t.test('a turn that frees its place at once, or leads back into the queue, makes no endless turn', (t) => {
  const { queue, enter, turns } = stage(20)
  enter('a', 'a1', () => queue.pump())
  enter('a', 'a2')
  let again = 0
  const back = () => {
    again++
    if (again < 1_000) enter('b', `b${again}`, back)
  }
  enter('b', 'b0', back)
  queue.pump()
  t.strictSame([turns.includes('a1'), turns.includes('a2')], [true, true])
  t.ok(again < 10, `${again} turns for one that waits again and again`)
  t.equal(queue.size, 1, 'it waits for the next change')
  t.end()
})

t.test('a turn that fails leaves the queue as good as it was', (t) => {
  const { queue, enter, turns } = stage(20)
  enter('a', 'a1', () => {
    throw new Error('no')
  })
  enter('a', 'a2')
  t.throws(() => queue.pump(), { message: 'no' })
  queue.pump()
  t.strictSame([turns, queue.size], [['a1', 'a2'], 0])
  t.end()
})

type Step =
  | { readonly kind: 'enter'; readonly caller: string }
  | { readonly kind: 'leave'; readonly which: number }
  | { readonly kind: 'free'; readonly slots: number }
const CALLERS = ['a', 'b', 'c', 'd'] as const
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    // One caller asks for most of it.
    fc.record({ kind: fc.constant('enter' as const), caller: fc.constantFrom('a', 'a', 'a', ...CALLERS) }),
    fc.record({ kind: fc.constant('leave' as const), which: fc.nat(30) }),
    fc.record({ kind: fc.constant('free' as const), slots: fc.integer({ min: 1, max: 3 }) }),
  ),
  { maxLength: 80 },
)

/** Runs the steps; returns what went wrong. */
function play(list: readonly Step[]): string | undefined {
  const places = 8
  let slots = 0
  const waiting: { caller: string; name: number; place: Place; told: number; passed: Map<string, number> }[] =
    []
  const queue: Queue = createQueue(places, () => slots > 0)
  let next = 0
  let problem: string | undefined
  for (const step of list) {
    if (step.kind === 'enter') {
      const own = waiting.filter(({ caller }) => caller === step.caller).length
      if (queue.isFree(step.caller) !== (waiting.length < places && own < places / 2)) return 'wrong bounds'
      if (!queue.isFree(step.caller)) continue
      const name = next++
      const entry = { caller: step.caller, name, told: 0, passed: new Map<string, number>() }
      const place = queue.enter(
        step.caller,
        () => {
          slots--
          const at = waiting.findIndex((other) => other.name === name)
          if (waiting.some((other) => other.caller === step.caller && other.name < name))
            problem = 'out of the order of its caller'
          waiting.splice(at, 1)
          // Of those who stand first of their caller, nobody is passed twice by the same other one.
          for (const other of waiting) {
            if (other.caller === step.caller) continue
            if (waiting.some((one) => one.caller === other.caller && one.name < other.name)) continue
            const passed = (other.passed.get(step.caller) ?? 0) + 1
            other.passed.set(step.caller, passed)
            if (passed > 1) problem = `${other.caller} was passed twice by ${step.caller}`
          }
        },
        (position) => {
          entry.told = position
        },
      )
      waiting.push(Object.assign(entry, { place }))
    } else if (step.kind === 'leave') {
      const [entry] = waiting.splice(step.which % Math.max(1, waiting.length), 1)
      entry?.place.leave()
    } else {
      slots = step.slots
      const before = waiting.length
      queue.pump()
      if (before - waiting.length !== Math.min(before, step.slots)) return 'a free slot was not used'
      slots = 0
    }
    if (problem !== undefined) return problem
    if (queue.size !== waiting.length) return `${queue.size} wait, not ${waiting.length}`
    const told = waiting.map((entry) => entry.told).sort((a, b) => a - b)
    if (told.some((position, index) => position !== index + 1)) return `told ${told.join()}`
    if (waiting.some((entry) => entry.told !== entry.place.position)) return 'told another place than it has'
  }
  return undefined
}

t.test(
  'in whatever order they come, leave and are served: nobody starves and everybody is told the truth',
  (t) => {
    fc.assert(
      fc.property(steps, (list) => {
        const problem = play(list)
        if (problem !== undefined) throw new Error(problem)
      }),
      { numRuns: 300 },
    )
    t.pass('for every one of them')
    t.end()
  },
)

t.test('positions are the order of the turns, if nobody comes and everybody may run', (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...CALLERS), { maxLength: 16 }), (callers) => {
      const { queue, enter, turns } = stage(64)
      const placed = callers.map((caller, index) => ({
        name: String(index),
        place: enter(caller, String(index)),
      }))
      const expected = placed.toSorted((a, b) => a.place.position - b.place.position).map(({ name }) => name)
      queue.pump()
      return expected.join() === turns.join()
    }),
    { numRuns: 100 },
  )
  t.pass('for every one of them')
  t.end()
})
