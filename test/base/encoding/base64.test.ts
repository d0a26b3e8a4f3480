import fc from 'fast-check'
import t from 'tap'
import {
  decodeBase64,
  decodeBase64Url,
  encodeBase64,
  encodeBase64Url,
} from '../../../src/base/encoding/base64.ts'

const hexOf = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString('hex')
const asBytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))

t.test('encodes and decodes the examples of RFC 4648, section 10', async (t) => {
  const examples = {
    '': '',
    f: 'Zg==',
    fo: 'Zm8=',
    foo: 'Zm9v',
    foob: 'Zm9vYg==',
    fooba: 'Zm9vYmE=',
    foobar: 'Zm9vYmFy',
  }
  for (const [plain, encoded] of Object.entries(examples)) {
    t.equal(encodeBase64(asBytes(plain)), encoded)
    t.equal(hexOf(decodeBase64(encoded, 100)), hexOf(asBytes(plain)))
    t.equal(hexOf(decodeBase64(asBytes(encoded), 100)), hexOf(asBytes(plain)))
    const unpadded = encoded.replaceAll('=', '')
    t.equal(encodeBase64Url(asBytes(plain)), unpadded)
    t.equal(hexOf(decodeBase64Url(unpadded, 100)), hexOf(asBytes(plain)))
  }
})

t.test('agrees with Node for any bytes in both alphabets', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const buffer = Buffer.from(bytes)
      const standard = encodeBase64(bytes)
      const url = encodeBase64Url(bytes)
      return (
        standard === buffer.toString('base64') &&
        url === buffer.toString('base64url') &&
        hexOf(decodeBase64(standard, bytes.length)) === hexOf(bytes) &&
        hexOf(decodeBase64Url(url, bytes.length)) === hexOf(bytes)
      )
    }),
    { numRuns: 500 },
  )
})

t.test('gives one text to one value: whatever decodes, encodes to the same text again', async () => {
  const symbol = fc.constantFrom(...'ABCDwxyz0189+/-_=AQgw \n')
  fc.assert(
    fc.property(fc.string({ unit: symbol, maxLength: 12 }), (text) => {
      const standard = decodeBase64(text, 100)
      const url = decodeBase64Url(text, 100)
      return (
        (standard === undefined || encodeBase64(standard) === text) &&
        (url === undefined || encodeBase64Url(url) === text)
      )
    }),
    { numRuns: 5_000 },
  )
})

t.test(
  'refuses missing padding, surplus padding, white space, other alphabets and trailing bits',
  async (t) => {
    const refused = [
      'Zg',
      'Zg=',
      'Zg===',
      'Zg==Zg==',
      '====',
      '=',
      'Z===',
      'Zm=v',
      'Zg= =',
      ' Zg==',
      'Zg==\n',
      'Zm9v\n',
      'Zm 9v',
      'Zh==',
      'Zm9=',
      'Zm-_',
      'Zm9\u00e9',
      'Zm9\u0176',
      'Zm9v\0\0\0\0',
    ]
    for (const text of refused) t.equal(decodeBase64(text, 100), undefined, JSON.stringify(text))
    for (const text of ['A', 'Zg==', 'Zm8=', 'Zm+/', 'Zh', 'Zm9', 'ZmA\u0176', 'AAAAA']) {
      t.equal(decodeBase64Url(text, 100), undefined, JSON.stringify(text))
    }
  },
)

t.test('refuses every single byte that is not of the alphabet, in each of the four places', async (t) => {
  const alphabet = new Set(asBytes('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'))
  const wrong: number[] = []
  for (let byte = 0; byte < 256; byte += 1) {
    for (let place = 0; place < 4; place += 1) {
      const text = asBytes('AAAAAAAA')
      text[place] = byte
      if ((decodeBase64(text, 6) !== undefined) !== alphabet.has(byte)) wrong.push(byte)
    }
  }
  t.same(wrong, [])
})

t.test('holds the limit to the byte, and refuses by the length before it looks at the content', async (t) => {
  for (const size of [0, 1, 2, 3, 4, 5, 6, 100, 101, 102]) {
    const text = encodeBase64(new Uint8Array(size))
    t.equal(decodeBase64(text, size)?.length, size)
    if (size > 0) t.equal(decodeBase64(text, size - 1), undefined)
    const url = encodeBase64Url(new Uint8Array(size))
    t.equal(decodeBase64Url(url, size)?.length, size)
    if (size > 0) t.equal(decodeBase64Url(url, size - 1), undefined)
  }
  const unreadable = new Proxy(new Uint8Array(4_000), {
    get: (target, key) => (key === 'length' ? target.length : t.fail(`read ${String(key)} of the content`)),
  })
  t.equal(decodeBase64(unreadable, 100), undefined)
})
