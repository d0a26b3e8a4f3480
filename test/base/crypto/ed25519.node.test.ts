import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ed25519 } from '@noble/curves/ed25519.js'
import fc from 'fast-check'
import t from 'tap'
import { privateKeyOf, publicKeyOf, signWith, verifyWith } from '../../../src/base/crypto/ed25519.node.ts'
import { checkPublicKey } from '../../../src/base/crypto/ed25519-key.ts'

const hex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))
const bytesOf = hex
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const VECTORS = join(import.meta.dirname, '../../../../shared/vectors')
type WycheproofFile = {
  testGroups: {
    publicKey: { pk: string }
    tests: { tcId: number; msg: string; sig: string; result: string }[]
  }[]
}

/**
 * By the other library, and strict, as dalek's `verify_strict` and OpenSSL 3.5 are: RFC 8032 section 5.1.7 leaves open
 * whether the cofactor is multiplied in, noble does, and with R and the key in the prime-order subgroup it is the same.
 */
function verifyStrictly(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (!ed25519.verify(signature, message, key, { zip215: false })) return false
  const r = ed25519.Point.fromBytes(signature.subarray(0, 32), false)
  return !r.isSmallOrder() && r.isTorsionFree()
}

t.test('RFC 8032 section 7.1, test 2: key, signature and verdict', (t) => {
  const seed = hex('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb')
  const publicKey = hex('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c')
  const signature = hex(
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  )
  const message = Uint8Array.of(0x72)
  t.same(publicKeyOf(seed), publicKey)
  t.same(new Uint8Array(signWith(seed, message)), signature)
  t.ok(verifyWith(publicKey, message, signature))
  t.notOk(verifyWith(publicKey, Uint8Array.of(0x73), signature))
  t.notOk(verifyWith(publicKey, message, signature.subarray(1)))
  t.equal(privateKeyOf(seed).asymmetricKeyType, 'ed25519')
  t.end()
})

t.test('the same bytes and verdicts as a second implementation', (t) => {
  const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(seeds, fc.uint8Array({ maxLength: 200 }), (seed, message) => {
      const publicKey = publicKeyOf(seed)
      const signature = new Uint8Array(signWith(seed, message))
      return (
        Buffer.compare(publicKey, ed25519.getPublicKey(seed)) === 0 &&
        Buffer.compare(signature, ed25519.sign(message, seed)) === 0 &&
        verifyWith(publicKey, message, signature)
      )
    }),
    { numRuns: 50 },
  )
  t.end()
})

t.test('the seed is left as it was, and one of another length is no key', (t) => {
  const seed = new Uint8Array(32).fill(7)
  publicKeyOf(seed)
  t.same(seed, new Uint8Array(32).fill(7))
  for (const length of [0, 31, 33, 64]) {
    const wrong = new Uint8Array(length)
    t.throws(() => publicKeyOf(wrong), { code: 'USAGE' })
    t.throws(() => signWith(wrong, seed), { code: 'USAGE' })
    t.notOk(verifyWith(wrong, seed, new Uint8Array(64)))
  }
  t.end()
})

t.test('gives the verdicts of Wycheproof on Ed25519', async (t) => {
  const path = join(VECTORS, 'wycheproof/ed25519_test.json')
  if (!existsSync(path)) {
    t.comment('skipped: ../shared/vectors/wycheproof is not here')
    t.pass()
    return
  }
  const file = JSON.parse(readFileSync(path, 'utf8')) as WycheproofFile
  const wrong: number[] = []
  let count = 0
  for (const { publicKey, tests } of file.testGroups) {
    for (const { tcId, msg, sig, result } of tests) {
      if (verifyWith(bytesOf(publicKey.pk), bytesOf(msg), bytesOf(sig)) !== (result === 'valid'))
        wrong.push(tcId)
      count += 1
    }
  }
  t.same(wrong, [])
  t.equal(count, 151)
})

t.test(
  'gives the strict verdict on every edge case whose key may be enrolled, which no unsound one may',
  async (t) => {
    const path = join(VECTORS, 'ed25519-edge/ed25519vectors.json')
    if (!existsSync(path)) {
      t.comment('skipped: ../shared/vectors/ed25519-edge is not here')
      t.pass()
      return
    }
    const cases = JSON.parse(readFileSync(path, 'utf8')) as {
      number: number
      key: string
      sig: string
      msg: string
      flags: string[] | null
    }[]
    const wrong: number[] = []
    const unsound: number[] = []
    let enrolled = 0
    for (const { number, key, sig, msg, flags } of cases) {
      const message = new Uint8Array(Buffer.from(msg))
      const mayEnrol = checkPublicKey(bytesOf(key)).ok
      if (mayEnrol && flags?.some((flag) => flag === 'low_order_A' || flag === 'non_canonical_A'))
        unsound.push(number)
      if (!mayEnrol) continue
      if (
        verifyWith(bytesOf(key), message, bytesOf(sig)) !==
        verifyStrictly(bytesOf(key), message, bytesOf(sig))
      )
        wrong.push(number)
      enrolled += 1
    }
    t.same(wrong, [])
    t.same(unsound, [])
    t.ok(enrolled > 0, `${enrolled} cases`)
  },
)

t.test('signs the first and the third example of RFC 8032, section 7.1', async (t) => {
  const one = bytesOf('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')
  t.equal(hexOf(publicKeyOf(one)), 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')
  t.equal(
    hexOf(signWith(one, new Uint8Array(0))),
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  )
  const three = bytesOf('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7')
  t.equal(
    hexOf(signWith(three, bytesOf('af82'))),
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  )
})

t.test('accepts no signature once a bit of it, of the message or of the key has changed', async (t) => {
  const seed = new Uint8Array(32).fill(7)
  const key = publicKeyOf(seed)
  const message = Uint8Array.of(1, 2, 3)
  const signature = signWith(seed, message)
  const flipped = (bytes: Uint8Array, bit: number) => {
    const copy = Uint8Array.from(bytes)
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return copy
  }
  let accepted = 0
  for (let bit = 0; bit < 512; bit += 7) if (verifyWith(key, message, flipped(signature, bit))) accepted += 1
  for (let bit = 0; bit < 24; bit += 1) if (verifyWith(key, flipped(message, bit), signature)) accepted += 1
  for (let bit = 0; bit < 256; bit += 5) if (verifyWith(flipped(key, bit), message, signature)) accepted += 1
  t.equal(accepted, 0)
  t.notOk(verifyWith(key, message, signature.subarray(0, 63)))
  t.notOk(verifyWith(key, message, new Uint8Array(65)))
  t.notOk(verifyWith(key.subarray(1), message, signature))
})
