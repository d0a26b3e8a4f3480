import t from 'tap'
import { foldTable } from '../../../../src/defense/firewall/injections/fold.ts'
import {
  addBeginnings,
  addWord,
  findWord,
  hashText,
  isBeginning,
  newVocabulary,
  parseWord,
  skeletonOf,
} from '../../../../src/defense/firewall/injections/vocabulary.ts'

const fold = foldTable()

t.test('words are found by their hash, also where thousands are', (t) => {
  const vocabulary = newVocabulary()
  const words = Array.from({ length: 3_000 }, (_, index) => `word${(index * 7_919).toString(36)}`)
  for (const [index, word] of words.entries()) addWord(vocabulary, hashText(word), index + 1)
  t.ok(words.every((word, index) => findWord(vocabulary, hashText(word)) === index + 1))
  t.equal(findWord(vocabulary, hashText('another')), 0)
  addWord(vocabulary, hashText(words[0] ?? ''), 99)
  t.equal(findWord(vocabulary, hashText(words[0] ?? '')), 1, 'the first one stays')
  addBeginnings(vocabulary, 'instructions')
  t.ok(isBeginning(vocabulary, hashText('instr')))
  t.notOk(isBeginning(vocabulary, hashText('instx')))
  t.end()
})

t.test('a word is written with its signs', (t) => {
  t.strictSame(parseWord(fold, 'word'), { text: 'word', flags: 0 })
  t.strictSame(parseWord(fold, 'Écrire'), { text: 'ecrire', flags: 0 })
  const flags = ['word:', '<word', 'word>', '^word', 'WORD', '#word', '!word'].map(
    (text) => parseWord(fold, text)?.flags,
  )
  t.strictSame(flags, [1, 2, 4, 8, 16, 32, 64])
  t.equal(parseWord(fold, '^<WORD>:')?.flags, 31)
  for (const text of ['', 'two words', 'a-b', '忽', '忽略之', 'a|b', ':', 'x'.repeat(25)])
    t.equal(parseWord(fold, text), undefined, text)
  t.end()
})

t.test('words have the same consonants with a letter too many, too few or moved', (t) => {
  const skeleton = (text: string) =>
    skeletonOf(
      Uint16Array.from(text, (unit) => unit.charCodeAt(0)),
      0,
      text.length,
    )
  for (const text of ['iunstructions', 'instructons', 'INSTRUCTIONS', 'insttructions', 'instructoins'])
    t.equal(skeleton(text), skeleton('instructions'), text)
  t.not(skeleton('constructions'), skeleton('instructions'))
  t.equal(skeleton('aeiou'), 0)
  t.equal(skeleton('banana'), 0)
  t.end()
})
