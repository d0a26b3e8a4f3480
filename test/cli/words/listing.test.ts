import t from 'tap'
import {
  alignColumns,
  isWholeId,
  pickId,
  plainId,
  shortDuration,
  shortIds,
} from '../../../src/cli/words/listing.ts'

const KIND = { name: 'question', listedBy: 'sass-edge confirm list' }
const A = `5f3a9c12${'0'.repeat(24)}`
const B = `5f3a9c13${'0'.repeat(24)}`

t.test('columns are as wide as their widest cell, and nothing trails', async (t) => {
  t.strictSame(
    alignColumns([
      ['ID', 'NAME', 'WHY'],
      ['12345', 'a', ''],
      ['1', 'abc', 'because of this'],
    ]),
    ['ID     NAME  WHY', '12345  a', '1      abc   because of this'],
  )
  t.strictSame(alignColumns([]), [])
})

t.test('times are as short as they can be read', async (t) => {
  t.strictSame([0, 119, 120, 7_199, 7_200].map(shortDuration), ['0s', '119s', '2m', '119m', '2h'])
})

t.test('ids are cut where they are still told apart', async (t) => {
  t.equal(shortIds([A])(A), '5f3a9c12')
  t.equal(shortIds([A, B])(B), '5f3a9c13')
  const close = `5f3a9c1200${'1'.repeat(22)}`
  t.equal(shortIds([A, close])(close), '5f3a9c12001')
  t.equal(shortIds([A, A])(A), A)
})

t.test('the beginning of an id is enough where one alone begins so', async (t) => {
  t.equal(pickId('5f3a9c12', [A, B], KIND), A)
  t.equal(pickId(B, [A, B], KIND), B)
  t.throws(() => pickId('5f3a', [A, B], KIND), {
    code: 'PROCESS_NOT_FOUND',
    message: /^More than one question/,
  })
  t.throws(() => pickId('0000', [A, B], KIND), { code: 'PROCESS_NOT_FOUND', message: /^No question/ })
  for (const word of ['5f3', 'xyz1', '', `${A}0`])
    t.throws(() => pickId(word, [A], KIND), { code: 'USAGE', message: /is no id/ }, word)
  t.strictSame([isWholeId(A, KIND), isWholeId('5f3a', KIND)], [true, false])
})

t.test('an id may be written as a UUID is, and its beginning too', async (t) => {
  const id = '5f3a9c120123456789abcdef01234567'
  for (const text of [
    id,
    id.toUpperCase(),
    '5f3a9c12-0123-4567-89ab-cdef01234567',
    '{5F3A9C12-0123-4567-89AB-CDEF01234567}',
    'urn:uuid:5f3a9c12-0123-4567-89ab-cdef01234567',
  ])
    t.equal(plainId(text), id, text)
  t.equal(plainId('5f3a9c12-0123-'), '5f3a9c120123')
  for (const text of ['src', 'a-file', 'dead-beef.txt', '5f3a9c12/x', 'cafe-bar', '12-34', ''])
    t.equal(plainId(text), text, text)
  t.equal(pickId('5F3A9C12-0123', [id], KIND), id)
})
