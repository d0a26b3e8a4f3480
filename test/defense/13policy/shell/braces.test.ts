import t from 'tap'
import { BRACE_WORDS, expandBraces } from '../../../../src/defense/13policy/shell/braces.ts'
import type { Word } from '../../../../src/defense/13policy/shell/syntax.ts'
import { DECISION_STEPS } from '../../../../src/limits.ts'

/** What a text becomes, and what was paid until then. */
function expanded(text: string, most = Number.POSITIVE_INFINITY) {
  let paid = 0
  const word: Word = [{ kind: 'text', text, isQuoted: false }]
  const words = expandBraces(word, (steps) => {
    paid += steps
    return paid <= most
  })
  const texts = words?.map((parts) => parts.map((part) => ('text' in part ? part.text : '')).join(''))
  return { words, texts, paid }
}

t.test('braces become words in the order of bash', async (t) => {
  t.strictSame(expanded('{a,b}{1..3}').texts, ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'])
  t.strictSame(expanded('x{a,{b,c}d}y').texts, ['xay', 'xbdy', 'xcdy'])
  t.strictSame(expanded('{c}{a,b}{').texts, ['{c}a{', '{c}b{'])
  t.strictSame(expanded('{,a}{1..1}{,b}').texts, ['1', '1b', 'a1', 'a1b'])
  t.equal(expanded('{a,b}'.repeat(9)).words, undefined, `more than ${BRACE_WORDS}`)
})

t.test('each part of the words that braces become is paid for', async (t) => {
  for (const text of [
    `${'{a,b}'.repeat(6)}${'{c}'.repeat(200)}`,
    `${'{c}'.repeat(200)}${'{a,b}'.repeat(6)}`,
    `${'{a,'.repeat(8)}${'{c}'.repeat(200)}${'}'.repeat(8)}`,
    '{1..1}'.repeat(500),
  ]) {
    const { words = [], paid } = expanded(text)
    const parts = words.reduce((sum, { length }) => sum + length, 0)
    t.ok(parts > 0 && paid >= text.length + parts, `${text.slice(0, 40)}: ${paid} steps for ${parts} parts`)
  }
  const most = DECISION_STEPS
  const many = expanded(`${'{a,b}'.repeat(7)}${'{c}'.repeat(7_000)}`, most)
  t.equal(many.words, undefined, 'what one decision may not cost is not made')
})
