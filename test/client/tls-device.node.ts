/**
 * A TLS server that stands for a device as far as its handshake goes: certificate, TLS 1.3, application protocol.
 * @module
 */
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { deviceFingerprint } from '../../src/base/crypto/fingerprint.node.ts'
import { ensureCertificate } from '../../src/edge/sockets/certificate.node.ts'
import { ALPN_PROTOCOL } from '../../src/limits.ts'

export type Device = { readonly port: number; readonly fingerprint: string; close(): void }

/** Starts one on a free loopback port with a new certificate in `directory`. */
export async function startDevice(directory: string, protocol: string = ALPN_PROTOCOL): Promise<Device> {
  const pair = await ensureCertificate(join(directory, 'tls.key'), join(directory, 'tls.crt'), {
    commonName: 'device',
  })
  const server = createServer({
    key: pair.keyPem,
    cert: pair.certificatePem,
    minVersion: 'TLSv1.3',
    ALPNProtocols: [protocol],
  })
  server.on('secureConnection', (socket) => socket.on('error', () => undefined))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    fingerprint: deviceFingerprint(new X509Certificate(pair.certificatePem)),
    close: () => server.close(),
  }
}
