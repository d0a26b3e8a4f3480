import t from 'tap'
import { attempt } from '../../src/base/attempt.ts'

t.test('what the work gives, or what stands for it where it throws whatever', (t) => {
  t.equal(
    attempt(() => 1, 2),
    1,
  )
  t.equal(
    attempt(() => undefined, 2),
    undefined,
    'nothing is a result',
  )
  for (const thrown of [new Error('no'), 'no', undefined, null])
    t.equal(
      attempt(() => {
        throw thrown
      }, 2),
      2,
    )
  t.end()
})
