/** Shapes: what they take, where they end, and when they need more bytes. */
import t from 'tap'
import {
  MORE,
  matchShape,
  NO,
  parseShape,
  type Shape,
} from '../../../../src/defense/firewall/secrets/shape.ts'

const shapeOf = (text: string): Shape => {
  const shape = parseShape(text)
  if (typeof shape === 'string') throw new Error(shape)
  return shape
}
const match = (shape: string, text: string, isLast = true): number =>
  matchShape(shapeOf(shape), Buffer.from(text), 0, text.length, isLast)

t.test('letters, classes with their counts, words to choose from', (t) => {
  t.equal(match('ab[d]{3}', 'ab123'), 5)
  t.equal(match('ab[d]{3}', 'ab123.'), 5)
  t.equal(match('ab[d]{2,4}-(x|yy)', 'ab1234-yy'), 9)
  t.equal(match('a(b|c)?[d]{1}', 'a1'), 2)
  t.equal(match('a(b|c)?[d]{1}', 'ac1'), 3)
  t.equal(match('AB', 'ab'), NO, 'letters are as they are')
  t.end()
})

t.test('a longer word is another word', (t) => {
  t.equal(match('ab[d]{3}', 'ab1234'), NO)
  t.equal(match('ab[d]{3}', 'ab123x'), 5)
  t.equal(match('(ab|cd)', 'abx'), NO)
  t.end()
})

t.test('where the bytes end before it is known, more are asked for, unless nothing follows', (t) => {
  for (const text of ['a', 'ab', 'ab1', 'ab123']) t.equal(match('ab[d]{3}', text, false), MORE, text)
  t.equal(match('ab[d]{3}', 'ax', false), NO)
  t.equal(match('ab[d]{3}', 'ab1x', false), NO)
  t.equal(match('ab[d]{3}', 'ab123 ', false), 5)
  t.equal(match('ab[d]{3}', 'ab1'), NO)
  t.equal(match('a(bc)?', 'ab', false), MORE)
  t.equal(match('a(bc)?', 'a'), 1)
  t.end()
})

t.test('what is no shape is refused, with where it went wrong', (t) => {
  t.match(parseShape('ab[Q]{3}'), /no class Q/)
  t.match(parseShape('ab[d]{4,3}'), /counts from 4 to 3/)
  t.match(parseShape('ab[d]{0}'), /counts from 0 to 0/)
  t.match(parseShape('ab[d]{9999}'), /counts/)
  t.match(parseShape('ab[d]+'), /cannot be read at "\[d\]\+"/)
  t.match(parseShape('a|b'), /cannot be read at "\|b"/)
  t.match(parseShape(''), /no part/)
  t.match(parseShape('[d]{1}'.repeat(25)), /too many/)
  t.end()
})
