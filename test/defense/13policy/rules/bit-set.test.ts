/**
 * Sets of bits against sets of numbers.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import {
  addBits,
  emptyBits,
  hasBit,
  isEmpty,
  joinBits,
  nextBit,
} from '../../../../src/defense/13policy/rules/bit-set.ts'

const BOUND = 100

t.test('they hold what was put in, also what came with others, and tell it in order', async () => {
  const numbers = fc.array(fc.nat({ max: BOUND - 1 }))
  fc.assert(
    fc.property(numbers, numbers, (own, more) => {
      const bits = emptyBits(BOUND)
      const others = emptyBits(BOUND)
      addBits(bits, own)
      addBits(others, more)
      joinBits(bits, others)
      const expected = new Set([...own, ...more])
      const told: number[] = []
      for (let at = nextBit(bits, 0); at !== -1; at = nextBit(bits, at + 1)) told.push(at)
      return (
        JSON.stringify(told) === JSON.stringify([...expected].sort((a, b) => a - b)) &&
        told.every((number) => hasBit(bits, number)) &&
        isEmpty(bits) === (expected.size === 0)
      )
    }),
  )
})
