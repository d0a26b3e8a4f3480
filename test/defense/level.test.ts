/**
 * The order of the levels of alarm.
 * @module
 */
import t from 'tap'
import { isLevel, LEVELS, stricter } from '../../src/defense/level.ts'

t.test('of two levels the stricter one counts, whichever comes first', (t) => {
  t.strictSame(LEVELS, ['NORMAL', 'RESTRICT', 'CHECKPOINT', 'CONTAIN', 'HALT'])
  t.ok(Object.isFrozen(LEVELS))
  LEVELS.forEach((one, a) => {
    LEVELS.forEach((other, b) => {
      t.equal(stricter(one, other), LEVELS[Math.max(a, b)])
    })
  })
  t.end()
})

t.test('a level is known by its name alone', (t) => {
  for (const level of LEVELS) t.ok(isLevel(level))
  for (const text of ['', 'normal', 'HALT ', 'toString', '__proto__']) t.notOk(isLevel(text), text)
  t.end()
})
