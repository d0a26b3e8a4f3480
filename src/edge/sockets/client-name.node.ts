/**
 * The name in a client's certificate, where that is one of tls.client_ca. OpenSSL judges it, also by its dates. Under a
 * clock that was never set every certificate of this century is not valid yet, and nobody could get in to set it: there,
 * and for that reason alone, one that a CA of the list itself has signed for clients counts. Whoever shows it still has
 * to authenticate with a listed key.
 * Rules: docs/operations.md (clock); RFC 5280, 4.2.1.12 (extended key usage).
 * @module
 */
import { X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { isClockSet } from '../host/clock.node.ts'

const CLIENT_AUTHENTICATION = '1.3.6.1.5.5.7.3.2'
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** OpenSSL's verdict is that of the last thing wrong, so all else is looked at here: whose it is, and what for. */
function isOfCa(shown: X509Certificate | undefined, caPem: string): boolean {
  if (shown === undefined) return false
  const uses = shown.keyUsage
  if (uses !== undefined && !uses.includes(CLIENT_AUTHENTICATION)) return false
  return (caPem.match(CERTIFICATE) ?? []).some((pem) => {
    const ca = new X509Certificate(pem)
    return ca.ca && shown.checkIssued(ca) && shown.verify(ca.publicKey)
  })
}

/**
 * The CN of a certificate that the CA has signed; undefined without such a certificate, or where it has no CN or
 * several. OpenSSL's verdict is asked for on the handle itself: the handshake goes on with a certificate of any CA, and
 * `authorized` is set by a tls.Server alone, which this socket does not have.
 */
export function verifiedName(socket: TLSSocket, caPem: string): string | undefined {
  type Handle = { verifyError?(): (Error & { readonly code?: string }) | null }
  const handle = (socket as unknown as { readonly _handle?: Handle | null })._handle
  const problem = handle?.verifyError?.()
  const isEarly = problem?.code === 'CERT_NOT_YET_VALID' && !isClockSet(Date.now())
  if (problem !== null && !(isEarly && isOfCa(socket.getPeerX509Certificate(), caPem))) return undefined
  const name: unknown = socket.getPeerCertificate().subject?.CN
  return typeof name === 'string' && name !== '' ? name : undefined
}
