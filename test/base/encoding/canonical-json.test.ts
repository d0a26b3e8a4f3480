import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { chainHash, GENESIS } from '../../../src/audit/chain.ts'
import { sha256 } from '../../../src/base/crypto/hash.ts'
import { canonicalize } from '../../../src/base/encoding/canonical-json.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { type Json, parseStrictJson } from '../../../src/base/encoding/strict-json.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { actionDigest } from '../../../src/defense/warrant.ts'
import { asSassError } from '../../../src/errors.ts'

const VECTORS = join(import.meta.dirname, '../../../../shared/vectors/jcs')

const parsed = (bytes: Uint8Array): Json => {
  const result = parseStrictJson(bytes, { size: 1_048_576 })
  if (!result.ok) throw new Error(result.problem)
  return result.value
}

t.test('writes the pairs of RFC 8785 byte for byte (RX-08)', async (t) => {
  if (!existsSync(VECTORS)) {
    t.comment('skipped: ../shared/vectors/jcs is not here')
    t.pass()
    return
  }
  const names = readdirSync(join(VECTORS, 'testdata/input'))
  for (const name of names) {
    const text = canonicalize(parsed(new Uint8Array(readFileSync(join(VECTORS, 'testdata/input', name)))))
    t.equal(text, readFileSync(join(VECTORS, 'testdata/output', name), 'utf8'), name)
    const hex = readFileSync(join(VECTORS, 'testdata/outhex', name.replace('.json', '.txt')), 'utf8')
    t.equal(Buffer.from(text).toString('hex'), hex.replace(/\s/g, ''), name)
  }
  t.equal(names.length, 6)
})

t.test('writes 10,000 numbers as ECMAScript does (RX-08)', async (t) => {
  if (!existsSync(VECTORS)) {
    t.comment('skipped: ../shared/vectors/jcs is not here')
    t.pass()
    return
  }
  const lines = readFileSync(join(VECTORS, 'es6testfile10k.txt'), 'utf8').trimEnd().split('\n')
  const view = new DataView(new ArrayBuffer(8))
  const wrong: string[] = []
  for (const line of lines) {
    const [hex = '', expected] = line.split(',')
    view.setBigUint64(0, BigInt(`0x${hex}`))
    if (canonicalize(view.getFloat64(0)) !== expected) wrong.push(line)
  }
  t.same(wrong, [])
  t.equal(lines.length, 10_000)
})

t.test('sorts keys by UTF-16 code units at every depth, whatever their order before', async (t) => {
  t.equal(canonicalize({ b: 1, a: { z: [], y: {} }, A: 2, '': 3 }), '{"":3,"A":2,"a":{"y":{},"z":[]},"b":1}')
  // U+1F600 is D83D DE00 in UTF-16 and so comes before U+FB33, though its code point is larger.
  t.equal(canonicalize({ '\ufb33': 1, '😀': 2 }), '{"😀":2,"\ufb33":1}')
  t.equal(canonicalize({ 10: 1, 9: 2, 1: 3 }), '{"1":3,"10":1,"9":2}')
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: 'grapheme' }), { maxLength: 20 }), (keys) => {
      const forward = Object.fromEntries(keys.map((key) => [key, 1]))
      const backward = Object.fromEntries([...keys].reverse().map((key) => [key, 1]))
      return canonicalize(forward) === canonicalize(backward)
    }),
    { numRuns: 300 },
  )
})

/** The same value with the members of every object the other way round. */
function turned(value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => turned(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, turned(member)]),
  )
}

t.test('what is in its order already is written as what is not', async (t) => {
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })
  fc.assert(
    fc.property(value, (value) => canonicalize(value as Json) === canonicalize(turned(value as Json))),
    { numRuns: 500 },
  )
  t.equal(
    canonicalize([-0, 1e21, 1e-7, '\u2028"', null, { a: true, b: [] }]),
    '[0,1e+21,1e-7,"\u2028\\"",null,{"a":true,"b":[]}]',
  )
  t.equal(canonicalize(Object.assign(Object.create(null), { a: 1 })), '{"a":1}')
})

t.test('escapes exactly what RFC 8785 section 3.2.2.2 escapes', async (t) => {
  const short = new Map([
    [0x08, '\\b'],
    [0x09, '\\t'],
    [0x0a, '\\n'],
    [0x0c, '\\f'],
    [0x0d, '\\r'],
    [0x22, '\\"'],
    [0x5c, '\\\\'],
  ])
  const wrong: number[] = []
  for (let unit = 0; unit < 0x1_0000; unit += 1) {
    if (unit >= 0xd800 && unit <= 0xdfff) continue
    const character = String.fromCharCode(unit)
    const escaped = unit < 0x20 ? `\\u${unit.toString(16).padStart(4, '0')}` : character
    if (canonicalize(character) !== `"${short.get(unit) ?? escaped}"`) wrong.push(unit)
  }
  t.same(wrong, [])
  t.equal(canonicalize('😀\u2028/\u007f'), '"😀\u2028/\u007f"')
})

t.test('is its own inverse with the strict parser: reading and writing again changes nothing', async () => {
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' })
  fc.assert(
    fc.property(value, (value) => {
      const text = canonicalize(value as Json)
      const result = parseStrictJson(text, { size: 1_048_576 })
      // A double beyond 2^53 without an exponent is refused when read back.
      if (!result.ok) return /outside of what a double/.test(result.problem)
      return canonicalize(result.value) === text
    }),
    { numRuns: 500 },
  )
})

t.test(
  'throws for what has no canonical text: not finite, half a pair, undefined, other types, cycles',
  async (t) => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const refused: unknown[] = [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      '\ud800',
      'a\udc00b',
      { '\udfff': 1 },
      undefined,
      { a: undefined },
      [undefined],
      new Array(2),
      1n,
      Symbol('s'),
      () => 1,
      new Date(0),
      new Map(),
      new Uint8Array(2),
      new (class Own {})(),
      { nested: [{ deep: Number.NaN }] },
      { toJSON: () => 1 },
      { '\ud800': 1 },
      cycle,
    ]
    for (const value of refused) {
      try {
        canonicalize(value as Json)
        t.fail(`wrote ${String(value)}`)
      } catch (error) {
        t.equal(asSassError(error)?.code, 'INTERNAL')
      }
    }
    t.equal(canonicalize(-0), '0')
    t.equal(canonicalize(Object.assign(Object.create(null), { __proto__x: 1 })), '{"__proto__x":1}')
    const keyed = parseStrictJson('{"b":1,"__proto__":{"a":2}}', { size: 100 })
    t.equal(keyed.ok && canonicalize(keyed.value), '{"__proto__":{"a":2},"b":1}')
  },
)

t.test(
  'actions and records are written as the example of RFC 8785, 3.2.3 and 3.2.4, and in strict UTF-8 (RX-08)',
  async (t) => {
    // The text of the RFC, with its escapes.
    const source =
      '{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],' +
      '"string": "\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/",' +
      '"literals": [null, true, false]}'
    const expected =
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    t.equal(canonicalize(JSON.parse(source)), expected)
    t.match(
      Buffer.from(encodeUtf8(expected)).toString('hex'),
      /22737472696e67223a22e282ac245c75303030665c6e41/,
    )

    const digestOf = (text: string) => createHash('sha256').update(Buffer.from(text, 'utf8')).digest('hex')
    const action = { kind: 'read', method: '\u20ac\u000f' } as const
    t.equal(actionDigest(action), digestOf('{"kind":"read","method":"\u20ac\\u000f"}'), 'an action')
    const { json, hash } = chainHash(
      GENESIS,
      { type: 'b', z: 1, a: '\u20ac' },
      '2026-01-01T00:00:00.000Z',
      sha256,
    )
    t.equal(json, '{"a":"\u20ac","type":"b","z":1}', 'a record')
    t.equal(encodeHex(hash), digestOf(`${GENESIS}${json}2026-01-01T00:00:00.000Z`))
    for (const text of ['\ud800', 'a\udc00b', '\udc00\ud800']) {
      // Half a character has no UTF-8.
      t.throws(() => actionDigest({ kind: 'read', method: text }))
      t.throws(() => chainHash(GENESIS, { type: text }, '', sha256))
    }
  },
)
