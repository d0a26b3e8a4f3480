import { createHash, createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { equalConstantTime, hmacSha256, sha256 } from '../../../src/base/crypto/hash.ts'

const VECTORS = join(import.meta.dirname, '../../../../shared/vectors/wycheproof')
type MacFile = {
  testGroups: {
    tagSize: number
    tests: { tcId: number; key: string; msg: string; tag: string; result: string }[]
  }[]
}

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))

t.test('agrees with node:crypto on SHA-256 of the parts one after another', async (t) => {
  t.equal(
    Buffer.from(sha256(new Uint8Array(Buffer.from('abc')))).toString('hex'),
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    'FIPS 180-4',
  )
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (parts) => {
      const expected = createHash('sha256').update(Buffer.concat(parts)).digest()
      return expected.equals(sha256(...parts))
    }),
    { numRuns: 200 },
  )
})

t.test('gives the verdicts of Wycheproof on HMAC-SHA-256', async (t) => {
  if (!existsSync(VECTORS)) {
    t.comment('skipped: ../shared/vectors/wycheproof is not here')
    t.pass()
    return
  }
  const file = JSON.parse(readFileSync(join(VECTORS, 'hmac_sha256_test.json'), 'utf8')) as MacFile
  const wrong: number[] = []
  let count = 0
  for (const { tagSize, tests } of file.testGroups) {
    for (const { tcId, key, msg, tag, result } of tests) {
      const computed = hmacSha256(bytesOf(key), bytesOf(msg)).subarray(0, tagSize / 8)
      if (equalConstantTime(computed, bytesOf(tag)) !== (result === 'valid')) wrong.push(tcId)
      count += 1
    }
  }
  t.same(wrong, [])
  t.equal(count, 174)
})

t.test('agrees with node:crypto on HMAC for keys of any length', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 150 }), fc.uint8Array({ maxLength: 200 }), (key, message) =>
      createHmac('sha256', key).update(message).digest().equals(hmacSha256(key, message)),
    ),
    { numRuns: 200 },
  )
})

t.test('compares all bytes: any one bit that differs makes two values unequal', async (t) => {
  const one = sha256(Uint8Array.of(1))
  t.ok(equalConstantTime(one, Uint8Array.from(one)))
  t.ok(equalConstantTime(new Uint8Array(0), new Uint8Array(0)))
  t.notOk(equalConstantTime(one, one.subarray(0, 31)))
  t.notOk(equalConstantTime(one.subarray(0, 31), one))
  let equal = 0
  for (let bit = 0; bit < 256; bit += 1) {
    const other = Uint8Array.from(one)
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    if (equalConstantTime(one, other)) equal += 1
  }
  t.equal(equal, 0)
})

t.test(
  'the comparison of secrets looks at every byte, wherever the first difference is (SS-41)',
  async (t) => {
    const one = Uint8Array.from({ length: 32 }, (_, at) => at)
    /** The places that are read of the first of the two. */
    const readOf = (other: Uint8Array): number[] => {
      const places: number[] = []
      const watched = new Proxy(one, {
        get(bytes, key) {
          if (typeof key === 'string' && /^\d+$/.test(key)) places.push(Number(key))
          return Reflect.get(bytes, key, bytes)
        },
      })
      equalConstantTime(watched, other)
      return places
    }
    const all = readOf(one)
    t.same(all, [...one])
    for (const different of [0, 1, 15, 30, 31]) {
      const other = Uint8Array.from(one, (byte, at) => (at === different ? byte ^ 1 : byte))
      t.same(readOf(other), all, `different at ${different}`)
    }
    t.same(readOf(new Uint8Array(32).fill(255)), all, 'different everywhere')
  },
)
