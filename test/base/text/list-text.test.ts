import t from 'tap'
import { listText } from '../../../src/base/text/list-text.ts'

t.test('so many are named, and the rest is counted', (t) => {
  t.equal(listText([], 2), '')
  t.equal(listText(['a', 'b'], 2), 'a, b')
  t.equal(listText(['a', 'b', 'c', 'd'], 2), 'a, b and 2 more')
  t.end()
})
