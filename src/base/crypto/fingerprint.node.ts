/**
 * The fingerprint of a device: what clients pin and what the daemon says it is.
 * Rules: docs/protocol.md, section 1.
 * @module
 */
import { createHash, type X509Certificate } from 'node:crypto'

/** `sha256:` and the unpadded base64url of the SHA-256 of the certificate's SubjectPublicKeyInfo in DER. */
export function deviceFingerprint(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' })
  return `sha256:${createHash('sha256').update(key).digest('base64url')}`
}
