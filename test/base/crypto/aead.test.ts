import { createCipheriv } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { openChaCha20Poly1305, sealChaCha20Poly1305 } from '../../../src/base/crypto/aead.ts'
import { asSassError } from '../../../src/errors.ts'

const VECTORS = join(import.meta.dirname, '../../../../shared/vectors/wycheproof')
type AeadTest = {
  tcId: number
  key: string
  iv: string
  aad: string
  msg: string
  ct: string
  tag: string
  result: string
}
type AeadFile = { testGroups: { tests: AeadTest[] }[] }

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
const hexOf = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString('hex')

t.test('gives the verdicts of Wycheproof, and seals to the same bytes', async (t) => {
  if (!existsSync(VECTORS)) {
    t.comment('skipped: ../shared/vectors/wycheproof is not here')
    t.pass()
    return
  }
  const file = JSON.parse(readFileSync(join(VECTORS, 'chacha20_poly1305_test.json'), 'utf8')) as AeadFile
  const wrong: number[] = []
  const tests = file.testGroups.flatMap((group) => group.tests)
  for (const { tcId, key, iv, aad, msg, ct, tag, result } of tests) {
    const opened = openChaCha20Poly1305(bytesOf(key), bytesOf(iv), bytesOf(ct + tag), bytesOf(aad))
    if (hexOf(opened) !== (result === 'valid' ? msg : undefined)) wrong.push(tcId)
    if (result !== 'valid') continue
    const sealed = sealChaCha20Poly1305(bytesOf(key), bytesOf(iv), bytesOf(msg), bytesOf(aad))
    if (hexOf(sealed) !== ct + tag) wrong.push(tcId)
  }
  t.same(wrong, [])
  t.equal(tests.length, 325)
})

t.test('agrees with node:crypto and opens what it sealed', async () => {
  const fixed = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
  const free = fc.uint8Array({ maxLength: 150 })
  fc.assert(
    fc.property(fixed(32), fixed(12), free, free, (key, nonce, plain, aad) => {
      const sealed = sealChaCha20Poly1305(key, nonce, plain, aad)
      const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 })
      cipher.setAAD(aad, { plaintextLength: plain.length })
      const expected = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
      return (
        expected.equals(sealed) &&
        hexOf(openChaCha20Poly1305(key, nonce, sealed, aad)) === Buffer.from(plain).toString('hex')
      )
    }),
    { numRuns: 150 },
  )
})

t.test(
  'opens nothing once any one bit of key, nonce, associated data, ciphertext or tag has changed',
  async (t) => {
    const key = new Uint8Array(32).fill(1)
    const nonce = new Uint8Array(12).fill(2)
    const aad = Uint8Array.of(3, 4)
    const sealed = sealChaCha20Poly1305(key, nonce, Uint8Array.of(5, 6, 7), aad)
    let opened = 0
    const parts = [key, nonce, sealed, aad]
    for (const [which, part] of parts.entries()) {
      for (let bit = 0; bit < part.length * 8; bit += 1) {
        const [k, n, c, a] = parts.map((each, index) => {
          const copy = Uint8Array.from(each)
          if (index === which) copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
          return copy
        }) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array]
        if (openChaCha20Poly1305(k, n, c, a) !== undefined) opened += 1
      }
    }
    t.equal(opened, 0)
  },
)

t.test(
  'refuses keys, nonces and ciphertexts of other lengths: opening as a value, sealing as a bug',
  async (t) => {
    const sizes = [
      [31, 12, 16],
      [33, 12, 16],
      [32, 0, 16],
      [32, 11, 16],
      [32, 24, 16],
      [32, 12, 15],
      [32, 12, 0],
    ] as const
    for (const [key, nonce, ciphertext] of sizes) {
      const opened = openChaCha20Poly1305(
        new Uint8Array(key),
        new Uint8Array(nonce),
        new Uint8Array(ciphertext),
        new Uint8Array(0),
      )
      t.equal(opened, undefined, `${key}, ${nonce}, ${ciphertext}`)
      if (key === 32 && nonce === 12) continue
      try {
        sealChaCha20Poly1305(new Uint8Array(key), new Uint8Array(nonce), new Uint8Array(1), new Uint8Array(0))
        t.fail('sealed')
      } catch (error) {
        t.equal(asSassError(error)?.code, 'INTERNAL')
      }
    }
  },
)
