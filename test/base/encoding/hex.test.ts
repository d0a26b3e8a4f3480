import fc from 'fast-check'
import t from 'tap'
import { decodeHex, encodeHex } from '../../../src/base/encoding/hex.ts'

t.test('agrees with Node for any bytes and decodes what it encoded', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      const text = encodeHex(bytes)
      return (
        text === Buffer.from(bytes).toString('hex') &&
        encodeHex(decodeHex(text) ?? new Uint8Array(1)) === text
      )
    }),
    { numRuns: 300 },
  )
})

t.test('takes exactly the sixteen lower-case digits, in either place', async (t) => {
  const wrong: number[] = []
  for (let unit = 0; unit < 0x200; unit += 1) {
    const isDigit = '0123456789abcdef'.includes(String.fromCharCode(unit))
    if ((decodeHex(`${String.fromCharCode(unit)}0`) !== undefined) !== isDigit) wrong.push(unit)
    if ((decodeHex(`0${String.fromCharCode(unit)}`) !== undefined) !== isDigit) wrong.push(unit)
  }
  t.same(wrong, [])
})

t.test('refuses an odd number of digits, upper case, prefixes and white space', async (t) => {
  for (const text of ['0', '000', 'AB', '0x00', ' 00', '00 ', '00\n', '\uff10\uff10']) {
    t.equal(decodeHex(text), undefined, JSON.stringify(text))
  }
  t.equal(decodeHex('')?.length, 0)
})
