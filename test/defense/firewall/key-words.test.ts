/** Key words in bytes: found wherever they end, whatever their case, and wherever the bytes are cut. */
import fc from 'fast-check'
import t from 'tap'
import {
  buildKeyWords,
  KEY_WORD_START,
  type KeyWords,
  staysInState,
} from '../../../src/defense/firewall/key-words.ts'

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

t.test('many bytes that are one: passed over only where each of them leads back, wherever they lie', (t) => {
  const table = buildKeyWords(['key', 'aab', '=', 'zzzz'])
  const { columns, next, firstAccepting } = table
  const step = (state: number, byte: number) => next[state + (columns[byte] ?? 0)] ?? 0
  const states = [...'kazy='].map((letter) => step(KEY_WORD_START, letter.charCodeAt(0)))
  let passed = 0
  fc.assert(
    fc.property(
      fc.constantFrom(0, 0x20, 0x3d, 0x61, 0x7a, 0xff),
      fc.constantFrom(KEY_WORD_START, step(step(KEY_WORD_START, 0x61), 0x61), ...states),
      fc.record({ from: fc.nat(9), length: fc.integer({ min: 200, max: 700 }), behind: fc.nat(5) }),
      fc.option(fc.tuple(fc.nat(699), fc.constantFrom(0x6b, 0x3d, 0x62)), { nil: undefined, freq: 2 }),
      (byte, state, { from, length, behind }, other) => {
        const bytes = new Uint8Array(16 + length + behind).subarray(3).fill(0x6b)
        const end = from + length
        bytes.fill(byte, from, end)
        if (other !== undefined) bytes[from + Math.min(other[0], length - 1)] = other[1]
        const passes = staysInState(table, bytes, from, end, state)
        let now = state
        let isSilent = state < firstAccepting
        for (const one of bytes.subarray(from, end)) {
          now = step(now, one)
          isSilent &&= now === state
        }
        if (passes) passed++
        const isOne = bytes.subarray(from, end).every((one) => one === byte)
        return passes ? isSilent : length < 256 || !isSilent || !isOne
      },
    ),
    { numRuns: 2_000 },
  )
  t.ok(passed > 20, `${passed} of them`)
  t.end()
})
