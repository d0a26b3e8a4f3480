/**
 * The fingerprint of the key that a device shows: a TLS handshake and nothing more, no message is sent.
 * @module
 */
import { createHash, type X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { SassError } from '../errors.ts'
import { ALPN_PROTOCOL, CONNECT_TIMEOUT_MS, TLS_CIPHERS, TLS_GROUPS } from '../limits.ts'

/** `sha256:<base64url>` of the certificate's SubjectPublicKeyInfo. */
export function deviceFingerprint(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' })
  return `sha256:${createHash('sha256').update(key).digest('base64url')}`
}

/** What a network error means for somebody who named an address. */
function connectText(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  switch (code) {
    case 'ECONNREFUSED':
      return 'nothing listens there'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name is not known'
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'there is no route to it'
    case 'ETIMEDOUT':
      return 'it did not answer in time'
    case 'ECONNRESET':
      return 'it closed the connection, so its allow-list may not have this address or it is not a sass-edge'
    default:
      return code === '' ? 'it does not speak TLS as a sass-edge does' : `of ${code}`
  }
}

/**
 * Connects, reads the certificate and hangs up.
 * @throws SassError CONNECT_FAILED with the reason
 */
export async function fetchDeviceFingerprint(host: string, port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const fail = (why: string, cause?: unknown) => {
    const sentence = `${host} port ${port} cannot be reached, since ${why}: check the address and that the daemon runs.`
    reject(new SassError('CONNECT_FAILED', sentence, { host, port }, cause))
  }
  const socket = connect({
    host,
    port,
    ALPNProtocols: [ALPN_PROTOCOL],
    minVersion: 'TLSv1.3',
    ciphers: TLS_CIPHERS,
    ecdhCurve: TLS_GROUPS,
    // The certificate is what this call is for: its key is shown to a person, not trusted.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, '') } : {}),
  })
  const timer = setTimeout(() => fail('it did not answer in time'), CONNECT_TIMEOUT_MS)
  socket.once('error', (error) => fail(connectText(error), error))
  socket.once('secureConnect', () => {
    const certificate = socket.getPeerX509Certificate()
    if (certificate === undefined) fail('it showed no certificate')
    else if (socket.alpnProtocol !== ALPN_PROTOCOL) fail('it does not speak this protocol')
    else resolve(deviceFingerprint(certificate))
  })
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    socket.on('error', () => undefined)
    socket.destroy()
  }
}
