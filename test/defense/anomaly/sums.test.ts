import t from 'tap'
import { BASELINE_TURNS, STEP_MAX } from '../../../src/defense/anomaly/limits.ts'
import {
  added,
  isBeyond,
  isCalibrated,
  limitOf,
  meanOf,
  NO_SUMS,
  type Sums,
  stepOf,
  varianceOf,
} from '../../../src/defense/anomaly/sums.ts'

const sumsOf = (values: readonly number[]): Sums =>
  values.reduce((sums, value) => added(sums, value, value), NO_SUMS)

t.test(
  'an amount grows by 16 steps with each doubling, in whole numbers up to the largest integer',
  async (t) => {
    for (const [amount, step] of [
      [0, 0],
      [1, 16],
      [2, 32],
      [3, 40],
      [4, 48],
      [1_024, 176],
      [1_536, 184],
      [1_048_576, 336],
      [Number.MAX_SAFE_INTEGER, 863],
    ] as const)
      t.equal(stepOf(amount), step, `${amount}`)
    let before = 0
    for (let amount = 1; amount < 5_000; amount++) {
      const step = stepOf(amount)
      t.ok(step >= before && Number.isInteger(step))
      before = step
    }
  },
)

t.test('mean, variance and the distance from them are exact', async (t) => {
  const sums = sumsOf([2, 4, 4, 4, 5, 5, 7, 9])
  t.equal(meanOf(sums), 5)
  t.equal(varianceOf(sums, 1), 4)
  t.equal(limitOf(sums, 3, 1), 11, 'five and three times two')
  t.notOk(isBeyond(sums, 11, 3, 1), 'just at it')
  t.ok(isBeyond(sums, 12, 3, 1))
  t.notOk(isBeyond(sums, 0, 3, 1), 'below the mean nothing is beyond')
})

t.test('what never varied is taken to vary by the spread, and nothing is beyond nothing', async (t) => {
  const sums = sumsOf(Array.from({ length: 40 }, () => 100))
  t.ok(isCalibrated(sums))
  t.equal(varianceOf(sums, 16), 256)
  t.equal(limitOf(sums, 3, 16), 148)
  t.notOk(isBeyond(NO_SUMS, STEP_MAX, 3, 16))
  t.equal(meanOf(NO_SUMS), 0)
  t.equal(varianceOf(NO_SUMS, 16), 0)
  t.notOk(isCalibrated(sumsOf([1, 2, 3])))
})

t.test('the weight of a baseline is bounded, and every product of it an exact integer', async (t) => {
  let sums = NO_SUMS
  for (let number = 0; number < 5_000; number++) {
    sums = added(sums, number % 2 === 0 ? STEP_MAX : 0, 2 ** 50)
    t.ok(sums.count <= BASELINE_TURNS)
    t.ok(Number.isSafeInteger(100 * sums.count * sums.squares))
    t.ok(Number.isSafeInteger((STEP_MAX * sums.count) ** 2))
  }
  t.equal(sums.largest, 2 ** 50)
})

t.test('what comes is learned: after a thousand turns of another kind they are the usual', async (t) => {
  let sums = sumsOf(Array.from({ length: 200 }, () => 100))
  t.ok(isBeyond(sums, 300, 3, 16))
  for (let number = 0; number < 1_000; number++) sums = added(sums, Math.min(300, limitOf(sums, 3, 16)), 0)
  t.notOk(isBeyond(sums, 300, 3, 16))
})
