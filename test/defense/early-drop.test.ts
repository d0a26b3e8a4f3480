/**
 * Random early drop, against the table that sshd's own arithmetic gives.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { dropChance, dropsEarly } from '../../src/defense/early-drop.ts'

/** 10:30:100, as sshd has it where nothing is set. */
const SSHD = { start: 10, ratePercent: 30, full: 100 }

t.test('with 10:30:100 the chance is that of sshd, step by step', (t) => {
  for (const [waiting, percent] of [
    [0, 0],
    [9, 0],
    [10, 30],
    [11, 30],
    [12, 31],
    [20, 37],
    [55, 65],
    [99, 99],
    [100, 100],
    [5_000, 100],
  ] as const) {
    t.equal(dropChance(waiting, SSHD), percent, `${waiting} wait`)
  }
  t.end()
})

t.test('of a hundred draws exactly the chance drops', (t) => {
  for (const waiting of [0, 10, 20, 55, 99, 100]) {
    const drops = Array.from({ length: 100 }, (_, draw) => dropsEarly(waiting, draw, SSHD))
    t.equal(drops.filter((isDropped) => isDropped).length, dropChance(waiting, SSHD), `${waiting} wait`)
  }
  t.end()
})

t.test('a rate of 100 drops all from the start on, a rate of 0 none until it rises', (t) => {
  t.strictSame(
    [9, 10, 11].map((waiting) => dropChance(waiting, { start: 10, ratePercent: 100, full: 20 })),
    [0, 100, 100],
  )
  t.strictSame(
    [10, 15, 19, 20].map((waiting) => dropChance(waiting, { start: 10, ratePercent: 0, full: 20 })),
    [0, 50, 90, 100],
  )
  t.end()
})

t.test('full is full, whatever the start', (t) => {
  t.equal(dropChance(10, { start: 10, ratePercent: 30, full: 10 }), 100)
  t.equal(dropChance(10, { start: 50, ratePercent: 30, full: 10 }), 100)
  t.equal(dropChance(0, { start: 0, ratePercent: 0, full: 0 }), 100, 'nobody may wait')
  t.end()
})

t.test('a draw that is no number drops', (t) => {
  t.equal(dropsEarly(10, Number.NaN, SSHD), true)
  t.end()
})

t.test('the chance is a whole number of percent and never falls while more wait', (t) => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(100), fc.nat(200), fc.nat(400), (start, ratePercent, span, waiting) => {
      const settings = { start, ratePercent, full: start + span }
      const [now, next] = [dropChance(waiting, settings), dropChance(waiting + 1, settings)]
      return Number.isInteger(now) && now >= 0 && now <= 100 && next >= now
    }),
  )
  t.end()
})
