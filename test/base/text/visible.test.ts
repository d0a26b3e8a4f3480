import fc from 'fast-check'
import t from 'tap'
import { visible } from '../../../src/base/text/visible.ts'

t.test(
  'nothing that steers a terminal or the reading direction is left, and it stays to be seen',
  async (t) => {
    for (const [text, shown] of [
      ['plain words, 100 % of them', 'plain words, 100 % of them'],
      ['\x1b[2J\x07', '\\x1b[2J\\x07'],
      ['two\r\nlines', 'two\\x0d\\x0alines'],
      ['\x9b31m', '\\x9b31m'],
      ['rm \u202egpj.evil', 'rm \\u{202e}gpj.evil'],
      ['a\u2066b\u200bc\ufeff', 'a\\u{2066}b\\u{200b}c\\u{feff}'],
      ['a\u00a0b\u3000c\u2028d', 'a\\xa0b\\u{3000}c\\u{2028}d'],
      ['half \ud83d', 'half \\u{d83d}'],
      ['\u{e0041}', '\\u{e0041}'],
      ['Grüße, 世界, 👍', 'Grüße, 世界, 👍'],
    ] as const)
      t.equal(visible(text), shown)
  },
)

t.test('of any text what is shown is one line of characters that can be seen', async (t) => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !/[\p{C}\p{Zl}\p{Zp}]/u.test(visible(text))))
  t.pass()
})
