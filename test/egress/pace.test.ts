import t from 'tap'
import { createPace } from '../../src/egress/pace.ts'

t.test('so many at once, and then so many a second', (t) => {
  const pace = createPace(10, 3)
  for (let index = 0; index < 3; index++) {
    t.equal(pace.waitMs(1_000), 0)
    pace.take(1_000)
  }
  t.equal(pace.waitMs(1_000), 100)
  t.equal(pace.waitMs(1_099), 1)
  t.equal(pace.waitMs(1_100), 0)
  pace.take(1_100)
  pace.take(1_100)
  t.equal(pace.waitMs(1_100), 200, 'who comes too early makes the next wait longer')
  t.equal(pace.waitMs(100_000), 0)
  for (let index = 0; index < 3; index++) pace.take(100_000)
  t.equal(pace.waitMs(100_000), 100, 'never more than so many')
  t.equal(pace.waitMs(50_000), 100, 'time that goes back gives nothing')
  t.end()
})
