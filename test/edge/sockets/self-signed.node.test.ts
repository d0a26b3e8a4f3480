import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import t from 'tap'
import { selfSigned } from '../../../src/edge/sockets/self-signed.node.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')

t.test(
  'every length of common name makes a certificate that verifies and costs at most 16 bytes and the name twice',
  (t) => {
    const shortest = new X509Certificate(selfSigned(privateKey, 'x')).raw.length
    for (const length of [1, 2, 31, 63, 64]) {
      const certificate = new X509Certificate(selfSigned(privateKey, 'x'.repeat(length)))
      t.ok(certificate.verify(publicKey))
      t.equal(certificate.subject, `CN=${'x'.repeat(length)}`)
      t.ok(certificate.raw.length <= shortest + 2 * length + 16, `${certificate.raw.length} bytes`)
    }
    t.end()
  },
)

t.test('names outside ASCII are UTF-8', (t) => {
  const certificate = new X509Certificate(selfSigned(privateKey, 'Gerät 7'))
  t.ok(certificate.verify(publicKey))
  t.equal(certificate.subject, 'CN=Gerät 7')
  t.end()
})

t.test('serial numbers are positive, of one length and different each time', (t) => {
  const serials = Array.from(
    { length: 200 },
    () => new X509Certificate(selfSigned(privateKey, 'x')).serialNumber,
  )
  t.equal(new Set(serials).size, serials.length)
  t.ok(serials.every((serial) => /^[4-7][0-9A-F]{15}$/.test(serial)))
  t.end()
})

t.test('refuses a common name that X.509 has no room for', (t) => {
  t.throws(() => selfSigned(privateKey, ''), { code: 'TLS_CERT_INVALID' })
  t.throws(() => selfSigned(privateKey, 'x'.repeat(65)), { code: 'TLS_CERT_INVALID' })
  t.end()
})
