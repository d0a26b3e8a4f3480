import t from 'tap'
import { effectiveCommands } from '../../../src/defense/13policy/unwrap.ts'
import { isInPlan, NO_COURSE, takeCommand } from '../../../src/defense/anomaly/drift.ts'

const SURROUNDINGS = { cwd: '/w', home: '/h', resolved: undefined, terminal: false, stdin: false }

/** i: inside of the plan, o: outside. The numbers of the commands at which it began to drift, from 1. */
function drifts(course: string): number[] {
  let state = NO_COURSE
  return [...course].flatMap((letter, index) => {
    const { course: next, strayed } = takeCommand(state, letter === 'o', 300)
    state = next
    return strayed === undefined ? [] : [index + 1]
  })
}

t.test('a share of more than 300 per mille of at least five commands is drift (JF-085)', async (t) => {
  for (const [course, at] of [
    ['iiiiiiiiii', []],
    ['oi', []],
    ['ioio', []],
    ['iioio', [5]],
    ['iiiio', []],
    [`${'i'.repeat(14)}oioioioioioio`, [27]],
    // 6 of 20 are 300 and not more.
    [`${'iio'.repeat(2)}`, [6]],
  ] as const)
    t.same(drifts(course), at, course)
})

t.test(
  'however long it was on its way, the third command in a row outside is noticed (JF-T04)',
  async (t) => {
    for (let length = 0; length < 40; length++) {
      const [first = 0] = drifts(`${'i'.repeat(length)}ooo`)
      t.ok(first > 0 && first <= length + 3, `${length}`)
    }
  },
)

t.test('it is told again only when it has come back', async (t) => {
  t.same(drifts(`${'i'.repeat(20)}oooooo`), [23])
  t.same(drifts(`${'i'.repeat(20)}ooo${'i'.repeat(20)}ooo`), [23, 46])
})

t.test('a command is in the plan where everything that it would run is', async (t) => {
  const plan = ['git status', 'make', 'sh -c', 'ls']
  const inPlan = (...argv: string[]) => {
    const { commands } = effectiveCommands(argv, SURROUNDINGS)
    return isInPlan(plan, argv, undefined, commands)
  }
  t.ok(inPlan('make', 'test'))
  t.ok(inPlan('git', 'status'))
  t.notOk(inPlan('git', 'push'))
  t.ok(inPlan('sh', '-c', 'make && ls'))
  t.notOk(inPlan('sh', '-c', 'make && curl example.org'))
  t.notOk(isInPlan([], ['make'], undefined, []), 'of an empty plan nothing is')
  t.ok(isInPlan(['*'], ['anything'], undefined, []))
})
