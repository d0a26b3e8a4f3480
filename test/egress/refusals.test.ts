import t from 'tap'
import { createRefusals } from '../../src/egress/refusals.ts'

t.test('the same refusal is a line a minute, with how many there were', (t) => {
  const refusals = createRefusals<string>()
  t.equal(refusals.note('a', 'a1', 0), 1)
  t.equal(refusals.note('a', 'a2', 1), undefined)
  t.equal(refusals.note('a', 'a3', 59_999), undefined)
  t.equal(refusals.note('b', 'b1', 59_999), 1)
  t.equal(refusals.note('a', 'a4', 60_000), 3)
  t.equal(refusals.note('a', 'a5', 60_001), undefined)
  t.strictSame(refusals.flush(), [{ line: 'a5', times: 1 }])
  t.strictSame(refusals.flush(), [])
  t.end()
})

t.test('too many different ones are written as one, and none is lost', (t) => {
  const refusals = createRefusals<string>()
  let written = 0
  for (let index = 0; index < 10_000; index++) written += refusals.note(`n${index}`, 'x', index) ?? 0
  const left = refusals.flush().reduce((sum, { times }) => sum + times, 0)
  t.equal(written + left, 10_000)
  t.ok(written < 300)
  t.end()
})

t.test('room comes back after a minute', (t) => {
  const refusals = createRefusals<string>()
  for (let index = 0; index < 256; index++) t.equal(refusals.note(`n${index}`, 'x', 0), 1)
  t.equal(refusals.note('more', 'x', 1), 1, 'the first of all others')
  t.equal(refusals.note('again', 'x', 2), undefined)
  t.equal(refusals.note('later', 'x', 60_001), 1)
  t.equal(refusals.note('later', 'x', 60_002), undefined)
  t.end()
})
