import { createPublicKey, generateKeyPairSync, sign as nodeSign, verify as nodeVerify } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkPublicKey } from '../../../src/base/crypto/ed25519-key.ts'
import { publicKeyOf, signEd25519, verifyEd25519 } from '../../../src/base/crypto/sign.ts'
import { asSassError } from '../../../src/errors.ts'

const VECTORS = join(import.meta.dirname, '../../../../shared/vectors')
type WycheproofFile = {
  testGroups: {
    publicKey: { pk: string }
    tests: { tcId: number; msg: string; sig: string; result: string }[]
  }[]
}

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
// RFC 8410: what stands before the 32 bytes of a key.
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

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
      if (verifyEd25519(bytesOf(publicKey.pk), bytesOf(msg), bytesOf(sig)) !== (result === 'valid'))
        wrong.push(tcId)
      count += 1
    }
  }
  t.same(wrong, [])
  t.equal(count, 151)
})

t.test(
  'gives the verdict of node:crypto on every edge case whose key may be enrolled, and accepts none under the rest',
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
    let enrolled = 0
    for (const { number, key, sig, msg, flags } of cases) {
      const ours = verifyEd25519(bytesOf(key), new Uint8Array(Buffer.from(msg)), bytesOf(sig))
      if (checkPublicKey(bytesOf(key)).ok) {
        const object = createPublicKey({
          key: Buffer.concat([SPKI_HEAD, bytesOf(key)]),
          format: 'der',
          type: 'spki',
        })
        if (ours !== nodeVerify(null, Buffer.from(msg), object, bytesOf(sig))) wrong.push(number)
        enrolled += 1
      } else if (ours && (flags?.includes('low_order_A') || flags?.includes('non_canonical_A')))
        wrong.push(number)
    }
    t.same(wrong, [])
    t.ok(enrolled > 0, `${enrolled} cases`)
  },
)

t.test('signs to the same bytes as node:crypto, and each accepts what the other signed', async (t) => {
  for (let count = 0; count < 8; count += 1) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const seed = new Uint8Array(privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32))
    const key = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32))
    const message = new Uint8Array(count * 37).fill(count)
    const signature = signEd25519(seed, message)
    t.equal(hexOf(publicKeyOf(seed)), hexOf(key))
    t.equal(hexOf(signature), nodeSign(null, message, privateKey).toString('hex'))
    t.ok(nodeVerify(null, message, publicKey, signature))
    t.ok(verifyEd25519(key, message, signature))
  }
})

t.test('signs the first and the third example of RFC 8032, section 7.1', async (t) => {
  const one = bytesOf('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')
  t.equal(hexOf(publicKeyOf(one)), 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')
  t.equal(
    hexOf(signEd25519(one, new Uint8Array(0))),
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  )
  const three = bytesOf('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7')
  t.equal(
    hexOf(signEd25519(three, bytesOf('af82'))),
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  )
})

t.test('accepts no signature once a bit of it, of the message or of the key has changed', async (t) => {
  const seed = new Uint8Array(32).fill(7)
  const key = publicKeyOf(seed)
  const message = Uint8Array.of(1, 2, 3)
  const signature = signEd25519(seed, message)
  const flipped = (bytes: Uint8Array, bit: number) => {
    const copy = Uint8Array.from(bytes)
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return copy
  }
  let accepted = 0
  for (let bit = 0; bit < 512; bit += 7)
    if (verifyEd25519(key, message, flipped(signature, bit))) accepted += 1
  for (let bit = 0; bit < 24; bit += 1)
    if (verifyEd25519(key, flipped(message, bit), signature)) accepted += 1
  for (let bit = 0; bit < 256; bit += 5)
    if (verifyEd25519(flipped(key, bit), message, signature)) accepted += 1
  t.equal(accepted, 0)
  t.notOk(verifyEd25519(key, message, signature.subarray(0, 63)))
  t.notOk(verifyEd25519(key, message, new Uint8Array(65)))
  t.notOk(verifyEd25519(key.subarray(1), message, signature))
})

t.test('refuses a seed of another length as a bug', async (t) => {
  for (const length of [0, 31, 33, 64]) {
    for (const use of [
      () => publicKeyOf(new Uint8Array(length)),
      () => signEd25519(new Uint8Array(length), new Uint8Array(1)),
    ]) {
      try {
        use()
        t.fail('took it')
      } catch (error) {
        t.equal(asSassError(error)?.code, 'INTERNAL')
      }
    }
  }
})
