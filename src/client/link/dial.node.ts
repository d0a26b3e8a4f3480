/**
 * The two ways to a daemon: TLS 1.3 with the device's key read from its certificate, and the admin socket. Nothing
 * of the protocol is sent here; whoever dials decides whether the key is the right one.
 * Rules: docs/protocol.md, section 1.
 * @module
 */
import { connect as connectSocket, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { deviceFingerprint } from '../../base/crypto/fingerprint.node.ts'
import { defer } from '../../base/deferred.ts'
import { SassError } from '../../errors.ts'
import {
  ALPN_PROTOCOL,
  HANDSHAKE_HYBRID_BYTES,
  HANDSHAKE_X25519_BYTES,
  TLS_CIPHERS,
  TLS_GROUPS_METERED,
  TLS_GROUPS_OFFERED,
  TLS_SIGNATURES,
} from '../../limits.ts'
import { type LinkSpeed, measureSpeed } from '../calls/link-speed.ts'
import type { ClientCertificate } from './client-certificate.ts'

export type DialOptions = {
  readonly host: string
  readonly port: number
  readonly groups: 'default' | 'metered'
  readonly timeoutMs: number
  /** For a device that asks for client certificates. */
  readonly certificate: ClientCertificate | undefined
}
export type DialledTls = {
  readonly socket: TLSSocket
  readonly fingerprint: string
  readonly speed: LinkSpeed
  readonly handshakeMs: number
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
      return code === '' ? 'it does not speak TLS as a sass-edge does' : `the system says ${code}`
  }
}

function unreachable(host: string, port: number, why: string, cause?: unknown): SassError {
  const sentence = `${host} port ${port} cannot be reached, since ${why}: check the address and that the daemon runs.`
  return new SassError('CONNECT_FAILED', sentence, { host, port }, cause)
}

/**
 * OpenSSL's SSL_OP_NO_TICKET, SSL_OP_NO_ENCRYPT_THEN_MAC and SSL_OP_NO_EXTENDED_MASTER_SECRET: no session is ever
 * resumed, and the other two are for TLS 1.2. Not offered, they are 12 bytes less.
 */
const UNUSED_EXTENSIONS = 0x4000 | 0x8_0000 | 0x1

/** OpenSSL has ML-KEM from 3.5 on; the one of Node 20 refuses a list of groups that names it. */
function knowsHybridGroups(): boolean {
  const [major = 0, minor = 0] = process.versions.openssl.split('.').map(Number)
  return major > 3 || (major === 3 && minor >= 5)
}

/**
 * A TLS connection whose handshake is done, and the fingerprint of the key that the device showed. The caller judges
 * the fingerprint before anything is sent.
 * @throws SassError CONNECT_FAILED with the reason
 */
export function dialTls({ host, port, groups, timeoutMs, certificate }: DialOptions): Promise<DialledTls> {
  const { promise, resolve, reject } = defer<DialledTls>()
  const isHybrid = groups !== 'metered' && knowsHybridGroups()
  const socket = connectTls({
    host,
    port,
    ALPNProtocols: [ALPN_PROTOCOL],
    minVersion: 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    ciphers: TLS_CIPHERS,
    ecdhCurve: isHybrid ? TLS_GROUPS_OFFERED : TLS_GROUPS_METERED,
    sigalgs: TLS_SIGNATURES,
    secureOptions: UNUSED_EXTENSIONS,
    // Devices have self-signed certificates: the key is judged by its pin, by whoever dialled.
    rejectUnauthorized: false,
    // No CA is asked; without an empty list Node parses 140 of them first.
    ca: [],
    ...(certificate === undefined ? {} : { cert: certificate.certificatePem, key: certificate.keyPem }),
    ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, '') } : {}),
  })
  socket.setNoDelay(true)
  // Of several addresses the last one that was tried is the one that answered.
  let [triedMs, connectedMs] = [performance.now(), 0]
  socket.on('connectionAttempt', () => {
    triedMs = performance.now()
  })
  socket.once('connect', () => {
    connectedMs = performance.now()
  })
  const fail = (why: string, cause?: unknown) => {
    clearTimeout(timer)
    reject(unreachable(host, port, why, cause))
    socket.on('error', () => undefined)
    socket.destroy()
  }
  const timer = setTimeout(() => fail('it did not answer in time'), timeoutMs)
  const onError = (error: Error) => fail(connectText(error), error)
  const onClose = () => fail('it closed the connection')
  socket.once('error', onError)
  socket.once('close', onClose)
  socket.once('secureConnect', () => {
    const handshakeMs = performance.now() - connectedMs
    const speed = measureSpeed(
      connectedMs - triedMs,
      handshakeMs,
      isHybrid ? HANDSHAKE_HYBRID_BYTES : HANDSHAKE_X25519_BYTES,
    )
    const shown = socket.getPeerX509Certificate()
    if (shown === undefined) return fail('it showed no certificate')
    if (socket.alpnProtocol !== ALPN_PROTOCOL) return fail('it does not speak this protocol')
    clearTimeout(timer)
    socket.off('error', onError)
    socket.off('close', onClose)
    resolve({ socket, fingerprint: deviceFingerprint(shown), speed, handshakeMs })
  })
  return promise
}

/**
 * A connection to the admin socket.
 * @throws SassError CONNECT_FAILED where no daemon listens there or this user may not use it
 */
export function dialAdmin(path: string, timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = defer<Socket>()
  const socket = connectSocket(path)
  const timer = setTimeout(() => socket.destroy(new Error('no answer')), timeoutMs)
  const onError = (error: NodeJS.ErrnoException) => {
    clearTimeout(timer)
    const why =
      error.code === 'EACCES'
        ? 'only root and the user of the daemon may use it'
        : error.code === 'ENOENT' || error.code === 'ECONNREFUSED'
          ? 'no daemon listens there'
          : `the system says ${error.code ?? error.message}`
    reject(
      new SassError(
        'CONNECT_FAILED',
        `The admin socket ${path} cannot be used, since ${why}: start the daemon, or run this as its user.`,
        { path },
        error,
      ),
    )
  }
  socket.once('error', onError)
  socket.once('connect', () => {
    clearTimeout(timer)
    socket.off('error', onError)
    resolve(socket)
  })
  return promise
}

/**
 * Connects, reads the certificate and hangs up: the key is for a person to compare.
 * @throws SassError CONNECT_FAILED with the reason
 */
export async function fetchDeviceFingerprint(host: string, port: number, timeoutMs: number): Promise<string> {
  const { socket, fingerprint } = await dialTls({
    host,
    port,
    groups: 'default',
    timeoutMs,
    certificate: undefined,
  })
  socket.on('error', () => undefined)
  socket.destroy()
  return fingerprint
}
