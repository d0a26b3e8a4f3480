import t from 'tap'
import { createBudgets } from '../../src/egress/budgets.ts'
import type { EgressEntry } from '../../src/egress/lists/egress-list.ts'
import { narrowedList } from '../../src/egress/lists/narrowed.ts'
import { listOf } from './staged-lists.ts'

function entry(bytesPerHour: number | undefined): EgressEntry {
  return {
    text: 'a.example',
    host: { kind: 'any' },
    protocol: 'tcp',
    ports: [80],
    methods: undefined,
    bytesPerHour,
  }
}

t.test('bytes are let a part at a time, to the bound of an hour', (t) => {
  const budgets = createBudgets()
  const bound = entry(2_500_000)
  t.equal(budgets.lease(bound, 0), 1_048_576)
  t.equal(budgets.lease(bound, 1), 1_048_576)
  t.equal(budgets.lease(bound, 2), 2_500_000 - 2 * 1_048_576)
  t.equal(budgets.lease(bound, 3), 0)
  budgets.correct(bound, -1_000, 0)
  t.equal(budgets.lease(bound, 4), 1_000, 'what was not used is there again')
  budgets.correct(bound, 500, 0)
  t.equal(budgets.lease(bound, 3_599_999), 0)
  t.equal(budgets.lease(bound, 3_600_000), 1_048_576, 'another hour')
  t.equal(budgets.lease(bound, 3_600_000), 1_048_576)
  budgets.correct(bound, -1_048_576, 3_599_999)
  t.equal(budgets.lease(bound, 3_600_001), 2_500_000 - 2 * 1_048_576, 'what was let before is not given back')
  t.end()
})

t.test('an entry without a bound has none', (t) => {
  const budgets = createBudgets()
  t.equal(budgets.lease(entry(undefined), 0), undefined)
  budgets.correct(entry(undefined), -5, 0)
  t.equal(budgets.lease(entry(7), 0), 7)
  budgets.correct(entry(7), -50, 0)
  t.equal(budgets.lease(entry(7), 0), 7, 'never more than the bound')
  t.end()
})

t.test('what a set leaves of an entry shares its hour, whatever names and ports it is parted into', (t) => {
  const device = listOf([{ host: '*.a.example', ports: [80, 443], bytes_per_hour: 1_000 }])
  const set = listOf(['x.a.example', { host: 'y.a.example', ports: [443], bytes_per_hour: 300 }])
  const [x80, x443, y] = narrowedList(device, set)
  if (x80 === undefined || x443 === undefined || y === undefined) throw new Error('there are three')
  const budgets = createBudgets()
  t.equal(budgets.lease(y, 0), 300, 'its own is the lower one')
  t.equal(budgets.lease(x80, 1), 700)
  t.equal(budgets.lease(x443, 2), 0)
  budgets.correct(x80, -600, 1)
  t.equal(budgets.lease(y, 3), 0)
  t.equal(budgets.lease(x443, 4), 600)
  t.end()
})
