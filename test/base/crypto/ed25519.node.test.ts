import fc from 'fast-check'
import t from 'tap'
import { privateKeyOf, publicKeyOf, signWith, verifyWith } from '../../../src/base/crypto/ed25519.node.ts'
import * as portable from '../../../src/base/crypto/sign.ts'

const hex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))

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

t.test('the same bytes and verdicts as the portable implementation', (t) => {
  const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })
  fc.assert(
    fc.property(seeds, fc.uint8Array({ maxLength: 200 }), (seed, message) => {
      const publicKey = publicKeyOf(seed)
      const signature = new Uint8Array(signWith(seed, message))
      return (
        Buffer.compare(publicKey, portable.publicKeyOf(seed)) === 0 &&
        Buffer.compare(signature, portable.signEd25519(seed, message)) === 0 &&
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
