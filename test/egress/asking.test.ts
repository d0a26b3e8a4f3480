import t from 'tap'
import { createAsking } from '../../src/egress/asking.ts'

t.test('the same is asked once, three at most, and who waits is told', (t) => {
  const asking = createAsking<number, string>()
  t.equal(asking.question('a', 'q1', 0), 'asked')
  t.equal(asking.question('a', 'q2', 0), 'waiting')
  t.equal(asking.connection('b', 1, 0), 'asked')
  t.equal(asking.connection('b', 2, 0), 'waiting')
  t.equal(asking.connection('c', 3, 0), 'asked')
  t.equal(asking.connection('d', 4, 0), 'too_many_asked')
  t.equal(asking.connection('c', 5, 0), 'waiting')
  t.equal(asking.size, 3)
  t.strictSame(asking.answered('a', 'yes', 1), { connections: [], questions: ['q1', 'q2'] })
  t.strictSame(asking.answered('b', 'no', 1), { connections: [1, 2], questions: [] })
  t.strictSame(asking.answered('x', 'no', 1), { connections: [], questions: [] })
  t.equal(asking.connection('d', 4, 2), 'asked')
  t.strictSame(asking.withdraw(), ['c', 'd'])
  t.equal(asking.size, 0)
  t.end()
})

t.test('after a no the same is not asked again for a while', (t) => {
  const asking = createAsking<number, string>()
  asking.connection('a', 1, 0)
  asking.answered('a', 'no', 0)
  t.equal(asking.connection('a', 2, 299_999), 'denied')
  t.equal(asking.connection('a', 2, 300_000), 'asked')
  asking.answered('a', 'none', 300_000)
  t.equal(asking.question('a', 'q', 300_001), 'unanswered')
  t.equal(asking.question('b', 'q', 300_001), 'asked')
  asking.answered('b', 'yes', 300_001)
  t.equal(asking.question('b', 'q', 300_002), 'asked', 'a yes denies nothing')
  t.end()
})

t.test('of many who ask for the same the last are answered', (t) => {
  const asking = createAsking<number, number>()
  for (let index = 0; index < 10; index++) asking.question('a', index, 0)
  t.strictSame(asking.answered('a', 'yes', 1).questions, [6, 7, 8, 9])
  t.end()
})
