import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto'
import t from 'tap'
import { deviceFingerprint } from '../../../src/base/crypto/fingerprint.node.ts'
import { isFingerprint } from '../../../src/client/link/pins.node.ts'
import { selfSigned } from '../../../src/edge/sockets/self-signed.node.ts'

t.test('the fingerprint is of the key alone: two certificates of it have the same', (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const one = new X509Certificate(selfSigned(privateKey, 'one'))
  const other = new X509Certificate(selfSigned(privateKey, 'other'))
  const der = publicKey.export({ type: 'spki', format: 'der' })
  t.equal(der.length, 44, 'RFC 8410: a head of 12 bytes and the key')
  t.equal(deviceFingerprint(one), `sha256:${createHash('sha256').update(der).digest('base64url')}`)
  t.equal(deviceFingerprint(other), deviceFingerprint(one))
  t.ok(isFingerprint(deviceFingerprint(one)))
  t.end()
})
