/**
 * What a baseline is: count, sum and sum of squares of whole numbers up to STEP_MAX. Enough for a mean and a variance,
 * and small enough that every product below stays an exact integer. Amounts (bytes, turns) enter by their logarithm,
 * since most are small and a few are huge: on their own scale one large file would hide everything that follows.
 * Pure, integers alone, no square root: distances are compared squared.
 * Rules: docs/anomaly.md; JF-045, JF-084.
 * @module
 */
import { BASELINE_TURNS, CALIBRATED_TURNS, STEP_MAX, STEPS_PER_DOUBLING } from './limits.ts'

export type Sums = {
  readonly count: number
  readonly sum: number
  readonly squares: number
  /** The largest amount so far, on its own scale. */
  readonly largest: number
}

export const NO_SUMS: Sums = Object.freeze({ count: 0, sum: 0, squares: 0, largest: 0 })

/** The amount in steps: 0 for 0, then 16 for 1, and 16 more with each doubling; straight lines in between. */
export function stepOf(amount: number): number {
  if (amount < 1) return 0
  let power = 1
  let doublings = 0
  while (power * 2 <= amount) {
    power *= 2
    doublings++
  }
  // Division by a power of two is exact, and what is between two of them is less than one doubling.
  const within = Math.floor((amount - power) / (power / STEPS_PER_DOUBLING))
  return Math.min(STEP_MAX, (doublings + 1) * STEPS_PER_DOUBLING + within)
}

/** With one more value; from BASELINE_TURNS on the old ones count half. `amount`: the value on its own scale. */
export function added(sums: Sums, step: number, amount: number): Sums {
  const half = sums.count >= BASELINE_TURNS ? 2 : 1
  return {
    count: Math.floor(sums.count / half) + 1,
    sum: Math.floor(sums.sum / half) + step,
    squares: Math.floor(sums.squares / half) + step * step,
    largest: Math.max(sums.largest, amount),
  }
}

export const isCalibrated = ({ count }: Sums): boolean => count >= CALIBRATED_TURNS

/** The mean, rounded down; 0 of nothing. */
export function meanOf({ count, sum }: Sums): number {
  return count === 0 ? 0 : Math.floor(sum / count)
}

/** Count² times the variance: an integer, never below that of `spread` as the standard deviation. */
function scaledVariance({ count, sum, squares }: Sums, spread: number): number {
  return Math.max(count * squares - sum * sum, spread * spread * count * count)
}

/** The variance, rounded down, as `isBeyond` takes it. */
export function varianceOf(sums: Sums, spread: number): number {
  return sums.count === 0 ? 0 : Math.floor(scaledVariance(sums, spread) / (sums.count * sums.count))
}

/** Whether the step is more than `sigma` standard deviations above the mean. Nothing is beyond an empty baseline. */
export function isBeyond(sums: Sums, step: number, sigma: number, spread: number): boolean {
  const above = step * sums.count - sums.sum
  return above > 0 && above * above > sigma * sigma * scaledVariance(sums, spread)
}

/** The largest step that is not beyond: found by halving, without a root. */
export function limitOf(sums: Sums, sigma: number, spread: number): number {
  let [within, beyond] = [0, STEP_MAX + 1]
  while (beyond - within > 1) {
    const middle = Math.floor((within + beyond) / 2)
    if (isBeyond(sums, middle, sigma, spread)) beyond = middle
    else within = middle
  }
  return within
}
