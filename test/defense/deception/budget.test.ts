import t from 'tap'
import { createDeceptionBudget } from '../../../src/defense/deception/budget.ts'

const LIMITS = { concurrent: 2, milliseconds: 10_000, bytes: 65_536 }

t.test('so many at a time, and a place is free again when it is left, once', (t) => {
  const budget = createDeceptionBudget(LIMITS)
  const [one, two] = [budget.enter(0), budget.enter(0)]
  t.equal(budget.free, 0)
  t.equal(budget.enter(0), undefined)
  t.equal(budget.enter(1_000_000), undefined, 'time alone frees no place: something may still run')
  one?.leave()
  one?.leave()
  t.equal(budget.free, 1)
  t.ok(budget.enter(0))
  t.equal(budget.enter(0), undefined)
  two?.leave()
  t.equal(budget.free, 1)
  t.end()
})

t.test('so many bytes leave, over all takes, and none after the time or after leaving', (t) => {
  const budget = createDeceptionBudget(LIMITS)
  const stay = budget.enter(500)
  t.equal(stay?.endsAtMs, 10_500)
  t.equal(stay?.take(60_000, 600), 60_000)
  t.equal(stay?.take(10_000, 700), 5_536)
  t.equal(stay?.take(1, 700), 0)
  stay?.leave()
  const late = budget.enter(0)
  t.equal(late?.take(10, 9_999), 10)
  t.equal(late?.take(10, 10_000), 0)
  const left = budget.enter(0)
  left?.leave()
  t.equal(left?.take(10, 1), 0)
  t.equal(budget.enter(0)?.take(-5, 1), 0)
  t.end()
})
