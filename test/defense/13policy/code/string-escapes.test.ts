/**
 * Escapes in the strings of code stand for the characters that they stand for.
 * @module
 */
import t from 'tap'
import { readEscape } from '../../../../src/defense/13policy/code/string-escapes.ts'

t.test('letters, numbers and what stands for itself', (t) => {
  const escapes: readonly (readonly [string, string, number])[] = [
    ['n', '\n', 1],
    ['x2fa', '/', 3],
    ['u002f', '/', 5],
    ['u{2f}a', '/', 5],
    ['057', '/', 3],
    ['q', 'q', 1],
  ]
  for (const [text, meant, end] of escapes) t.same(readEscape(text, 0), { text: meant, end }, text)
  t.end()
})
