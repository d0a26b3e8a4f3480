/** Key words in bytes: found wherever they end, whatever their case, and wherever the bytes are cut. */
import fc from 'fast-check'
import t from 'tap'
import { buildKeyWords, KEY_WORD_START, type KeyWords } from '../../../src/defense/firewall/key-words.ts'

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'latin1')

/** `word@end` for every key word, in the order in which they end. */
function findAll(
  words: readonly string[],
  { columns, next, firstAccepting, width, found }: KeyWords,
  text: string,
): string[] {
  const all: string[] = []
  let state = KEY_WORD_START
  bytesOf(text).forEach((byte, at) => {
    state = next[state + (columns[byte] ?? 0)] ?? 0
    if (state < firstAccepting) return
    for (const number of found[(state - firstAccepting) / width] ?? []) all.push(`${words[number]}@${at + 1}`)
  })
  return all
}

t.test('words within words, at the same end, and over each other', (t) => {
  const words = ['token', 'auth_token', 'ken', 'oken_', 'a']
  const table = buildKeyWords(words)
  t.strictSame(findAll(words, table, 'My AUTH_token_'), [
    'a@4',
    'auth_token@13',
    'token@13',
    'ken@13',
    'oken_@14',
  ])
  t.strictSame(findAll(words, table, 'toke toke n'), [])
  t.end()
})

t.test('bytes that are no ASCII are in no key word', (t) => {
  const table = buildKeyWords(['key'])
  t.strictSame(findAll(['key'], table, 'k\xe4y \xffkey\x00'), ['key@8'])
  t.end()
})

t.test('as many as a search for each finds, for any words and any text', (t) => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'C', '-'), minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(
      fc.uniqueArray(letters, { minLength: 1, maxLength: 8, selector: (word) => word.toLowerCase() }),
      letters,
      fc.array(letters),
      (words, first, others) => {
        const text = [first, ...others].join('')
        const expected: string[] = []
        for (let end = 1; end <= text.length; end++)
          for (const word of words)
            if (text.slice(0, end).toLowerCase().endsWith(word.toLowerCase())) expected.push(`${word}@${end}`)
        const found = findAll(words, buildKeyWords(words), text)
        return JSON.stringify(found.sort()) === JSON.stringify(expected.sort())
      },
    ),
  )
  t.end()
})

t.test('how much of what came last may be the beginning of a key word', (t) => {
  const { columns, next, depth } = buildKeyWords(['token', 'kenya'])
  const depthOf = (text: string) =>
    depth(bytesOf(text).reduce((state, byte) => next[state + (columns[byte] ?? 0)] ?? 0, KEY_WORD_START))
  t.strictSame(['', 'x', 'xt', 'toke', 'token', 'tokeny', 'tokenx'].map(depthOf), [0, 0, 1, 4, 5, 4, 0])
  t.end()
})
