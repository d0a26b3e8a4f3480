import t from 'tap'
import { EMPTY, type Fill, fillNotice, takeDelivered } from '../../../src/defense/anomaly/fill.ts'

const WINDOW = 200_000

/** What was told at each of these totals of delivered bytes. */
function told(...totals: number[]): (number | undefined)[] {
  let fill: Fill = EMPTY
  return totals.map((total) => {
    const outcome = takeDelivered(fill, total, WINDOW)
    fill = outcome.fill
    return outcome.isHigher ? fill.step : undefined
  })
}

t.test('four bytes are a token, and the steps are 70, 80 and 88 % of the window (JF-092)', async (t) => {
  t.same(told(559_999, 560_000, 600_000, 640_000, 703_999, 704_000, 790_000), [
    ...[undefined, 1, undefined, 2, undefined, 3, undefined],
  ])
  t.same(told(750_000), [3], 'one that skips steps is told the last')
})

t.test('what no such context could hold was read by no model', async (t) => {
  t.same(told(5_000_000, 5_100_000, 5_000_000 + 560_000), [undefined, undefined, 1])
})

t.test('a count that begins anew is told anew', async (t) => {
  t.same(told(560_000, 1_000, 560_000), [1, undefined, 1])
})

t.test('the notice says how full it is and what to do; of nothing there is none', async (t) => {
  t.equal(fillNotice(0, 100), undefined)
  t.match(fillNotice(1, 703), /about 70 % .* less output/)
  t.match(fillNotice(2, 803), /about 80 % .* saves the branch/)
  t.match(fillNotice(3, 901), /about 90 % .* has saved the branch/)
})
