import fc from 'fast-check'
import t from 'tap'
import { decodeUtf8, encodeUtf8, isUtf8, isWellFormed, utf8Length } from '../../../src/base/encoding/utf8.ts'
import { asSassError } from '../../../src/errors.ts'

const fatal = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
function reference(bytes: Uint8Array): string | undefined {
  try {
    return fatal.decode(bytes)
  } catch {
    return undefined
  }
}

t.test(
  'takes exactly the byte sequences of RFC 3629, all of one to three bytes and the edges of four',
  async (t) => {
    const wrong: string[] = []
    const compare = (bytes: Uint8Array): void => {
      const expected = reference(bytes)
      if (decodeUtf8(bytes) !== expected || isUtf8(bytes) !== (expected !== undefined))
        wrong.push(String(bytes))
    }
    for (let a = 0; a < 256; a += 1) {
      compare(Uint8Array.of(a))
      for (let b = 0; b < 256; b += 1) compare(Uint8Array.of(a, b))
    }
    const edges = [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff]
    for (let a = 0xc0; a < 256; a += 1) {
      for (let b = 0x70; b < 0xd0; b += 1) {
        for (const c of edges) {
          compare(Uint8Array.of(a, b, c))
          if (a >= 0xef && edges.includes(b)) for (const d of edges) compare(Uint8Array.of(a, b, c, d))
        }
      }
    }
    t.same(wrong, [])
  },
)

t.test('refuses overlong forms, surrogates, points above U+10FFFF and cut sequences', async (t) => {
  const refused = [
    [0xc0, 0x80],
    [0xc1, 0xbf],
    [0xe0, 0x9f, 0xbf],
    [0xf0, 0x8f, 0xbf, 0xbf],
    [0xed, 0xa0, 0x80],
    [0xed, 0xbf, 0xbf],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
    [0xe2, 0x82],
    [0xf0, 0x9f, 0x98],
    [0x80],
  ]
  for (const bytes of refused) {
    t.equal(decodeUtf8(Uint8Array.from(bytes)), undefined, String(bytes))
    t.equal(decodeUtf8(Uint8Array.from([0x41, ...bytes, 0x42])), undefined, `A ${bytes} B`)
    t.notOk(isUtf8(Uint8Array.from([...bytes])), String(bytes))
  }
})

t.test('agrees with the platform on any bytes and on any text, whole and in ranges', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => decodeUtf8(bytes) === reference(bytes)),
    { numRuns: 2_000 },
  )
  const text = fc.string({ unit: 'grapheme', maxLength: 200 })
  fc.assert(
    fc.property(text, text, (before, inside) => {
      const head = encodeUtf8(before)
      const body = encodeUtf8(inside)
      const all = Uint8Array.of(...head, ...body, ...head)
      const [start, end] = [head.length, head.length + body.length]
      return (
        Buffer.from(inside).equals(body) &&
        utf8Length(inside) === body.length &&
        isUtf8(all, start, end) &&
        decodeUtf8(all, start, end) === inside
      )
    }),
    { numRuns: 500 },
  )
})

t.test('decodes long text at every length around the pieces that it is built of', async (t) => {
  for (const unit of ['a', 'é', '漢', '😀']) {
    for (const count of [23, 24, 25, 4_094, 4_095, 4_096, 4_097, 8_193]) {
      const text = unit.repeat(count)
      t.ok(decodeUtf8(encodeUtf8(text)) === text, `${count} times U+${unit.codePointAt(0)?.toString(16)}`)
    }
  }
})

t.test('keeps a byte order mark as a character', async (t) => {
  t.equal(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41)), '\ufeffA')
})

t.test(
  'cuts a range inside of a character off as invalid, and a range outside of the bytes too',
  async (t) => {
    const bytes = encodeUtf8('a€b')
    t.equal(decodeUtf8(bytes, 0, 2), undefined)
    t.equal(decodeUtf8(bytes, 2, 4), undefined)
    t.equal(decodeUtf8(bytes, 1, 4), '€')
    t.equal(decodeUtf8(bytes, 2, 2), '')
    for (const [start, end] of [
      [-1, 2],
      [0, 6],
      [3, 2],
    ] as const) {
      t.equal(decodeUtf8(bytes, start, end), undefined)
      t.notOk(isUtf8(bytes, start, end))
    }
  },
)

t.test('refuses text with half a surrogate pair instead of replacing it', async (t) => {
  for (const text of ['\ud800', 'a\udc00', '\ud83d\ud83d\ude00', '\ude00\ud83d', 'x\ud83d']) {
    t.notOk(isWellFormed(text))
    try {
      encodeUtf8(text)
      t.fail('encoded')
    } catch (error) {
      t.equal(asSassError(error)?.code, 'FRAME_MALFORMED')
    }
  }
  t.ok(isWellFormed('a😀€'))
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => isWellFormed(text)),
    { numRuns: 200 },
  )
})
