/**
 * TLS 1.3 over TCP, the first way in. Before TLS sees a byte, the address is asked about and the first byte must be
 * that of a TLS record; anything else is reset with nothing sent and nothing kept. With a CA for clients, a certificate
 * that it did not sign, or that has not exactly one name, is refused with the handshake.
 * Rules: docs/protocol.md, section 1; draft 4.2 to 4.5.
 * @module
 */
import { createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { formatIpAddress, parseIpAddress } from '../../base/ip-address.ts'
import { resetSocket } from '../../base/reset-socket.node.ts'
import { SassError } from '../../errors.ts'
import { ALPN_PROTOCOL, TLS_CIPHERS, TLS_GROUPS, TLS_GROUPS_METERED } from '../../limits.ts'
import type { Acceptor, Admission, TransportAdapter, WireMeter, WireMeters } from '../../ports.ts'
import { bindSocket } from './bound-socket.node.ts'
import { verifiedName } from './client-name.node.ts'
import { createSocketTransport, tellEvents } from './socket-transport.node.ts'

export type TlsAdapterOptions = {
  readonly address: string
  readonly port: number
  /** A listening socket that was opened for the daemon, in place of its own at that address. */
  readonly listener?: number | undefined
  readonly keyPem: string
  readonly certificatePem: string
  /** PEM; with it, clients must show a certificate that it signed, and its CN is told as the client's name. */
  readonly clientCaPem: string | undefined
  readonly groups: 'default' | 'metered'
  /** Who counts what connections carry. */
  readonly meters?: WireMeters
}

/** One connection as it came. */
type Arrival = { readonly address: string; readonly meter: WireMeter | undefined }

/** RFC 8446 5.1: content type of a handshake record. */
const HANDSHAKE_RECORD = 0x16
const BACKLOG = 511

/** Canonical text, IPv4-mapped IPv6 as IPv4; undefined where the kernel names none. */
function canonicalAddress(socket: Socket): string | undefined {
  const parsed = socket.remoteAddress === undefined ? undefined : parseIpAddress(socket.remoteAddress)
  return parsed === undefined ? undefined : formatIpAddress(parsed)
}

export function createTlsAdapter(options: TlsAdapterOptions): TransportAdapter & { readonly port: number } {
  const context: SecureContext = createSecureContext({
    key: options.keyPem,
    cert: options.certificatePem,
    // An empty list, where no client certificates are asked for: without one Node parses 140 public CAs, 5 MB of them.
    ca: options.clientCaPem === undefined ? [] : [options.clientCaPem],
    minVersion: 'TLSv1.3',
    maxVersion: 'TLSv1.3',
    ciphers: TLS_CIPHERS,
    ecdhCurve: options.groups === 'metered' ? TLS_GROUPS_METERED : TLS_GROUPS,
    secureOptions: SSL_OP_NO_TICKET,
  })
  let server: Server | undefined

  function startTls(raw: Socket, first: Buffer, admission: Admission, { address, meter }: Arrival): void {
    raw.unshift(first)
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext: context,
      ALPNProtocols: [ALPN_PROTOCOL],
      requestCert: options.clientCaPem !== undefined,
      rejectUnauthorized: options.clientCaPem !== undefined,
    })
    const refuse = (problem: string) => {
      admission.failed(problem)
      resetSocket(raw, socket)
    }
    const onEarlyError = (error: Error & { code?: string }) =>
      refuse(`a TLS handshake that failed (${error.code ?? 'error'})`)
    const onEarlyClose = () => admission.gone()
    socket.once('error', onEarlyError)
    socket.once('close', onEarlyClose)
    socket.once('secure', () => {
      socket.off('error', onEarlyError)
      socket.off('close', onEarlyClose)
      const clientName =
        options.clientCaPem === undefined ? undefined : verifiedName(socket, options.clientCaPem)
      if (options.clientCaPem !== undefined && clientName === undefined)
        return refuse('no client certificate of tls.client_ca with one CN')
      const transport = createSocketTransport(socket, {
        kind: 'tls',
        remoteAddress: address,
        agreement: {
          version: socket.getProtocol() ?? '',
          suite: socket.getCipher().standardName,
          alpn: socket.alpnProtocol || '',
        },
        peerUserId: undefined,
        clientName,
        meter,
        exportKeyingMaterial: (bytes, label, exporterContext) =>
          socket.exportKeyingMaterial(bytes, label, Buffer.from(exporterContext)),
        reset: () => resetSocket(raw, socket),
      })
      if (transport.agreement.alpn !== ALPN_PROTOCOL)
        return refuse(`no application protocol ${ALPN_PROTOCOL}`)
      tellEvents(socket, admission.connected(transport))
    })
  }

  function accept(raw: Socket, acceptor: Acceptor): void {
    const address = canonicalAddress(raw)
    const admission =
      address === undefined ? undefined : acceptor.admit('tls', address, () => resetSocket(raw))
    if (address === undefined || admission === undefined) return resetSocket(raw)
    raw.setNoDelay(true)
    const meter = options.meters?.open(() => ({ received: raw.bytesRead, sent: raw.bytesWritten }))
    if (meter !== undefined) raw.once('close', meter.close)
    const onError = () => {}
    const onClose = () => admission.gone()
    raw.on('error', onError)
    raw.on('close', onClose)
    raw.once('data', (first: Buffer) => {
      raw.pause()
      raw.off('close', onClose)
      if (first[0] === HANDSHAKE_RECORD) return startTls(raw, first, admission, { address, meter })
      admission.failed('a first byte that is not TLS')
      resetSocket(raw)
    })
  }

  return {
    name: 'tls',
    get port() {
      const bound = server?.address()
      return typeof bound === 'object' && bound !== null ? bound.port : options.port
    },
    listen(acceptor) {
      return new Promise((resolve, reject) => {
        const listening = createServer({ allowHalfOpen: false, noDelay: true }, (raw) =>
          accept(raw, acceptor),
        )
        server = listening
        listening.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, options)))
        listening.listen({ fd: options.listener ?? bound(options), backlog: BACKLOG }, () => {
          const place = listening.address()
          const { address, port } = typeof place === 'object' && place !== null ? place : options
          // Errors of accept itself (no descriptors left) pass: the next connection is taken again.
          listening.on('error', () => {})
          resolve(address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`)
        })
      })
    },
    close: () =>
      new Promise((resolve) => {
        if (server === undefined) return resolve()
        server.close()
        resolve()
      }),
  }
}

/**
 * OpenSSL's SSL_OP_NO_TICKET: no state of a session leaves the daemon, which makes a handshake 1 KB smaller. The two
 * short tickets that OpenSSL still sends name nothing that is kept, so no session is ever resumed.
 */
const SSL_OP_NO_TICKET = 0x4000

/** @throws SassError ADDRESS_IN_USE */
function bound(options: TlsAdapterOptions): number {
  const address = parseIpAddress(options.address)
  if (address === undefined)
    throw new SassError(
      'INTERNAL',
      `listen.address ${options.address} was let through and is no address: this is a bug.`,
    )
  try {
    return bindSocket(address, options.port)
  } catch (error) {
    throw listenError(error as NodeJS.ErrnoException, options)
  }
}

function listenError(error: NodeJS.ErrnoException, { address, port }: TlsAdapterOptions): SassError {
  const where = `${address}:${port}`
  if (error.code === 'EADDRINUSE') {
    return new SassError(
      'ADDRESS_IN_USE',
      `Port ${port} on ${address} is already taken, so the daemon cannot listen; stop whatever uses it or set listen.port to another one.`,
      { where },
      error,
    )
  }
  if (error.code === 'EACCES') {
    return new SassError(
      'ADDRESS_IN_USE',
      `The daemon may not listen on ${where}; choose a port above 1023 in listen.port.`,
      { where },
      error,
    )
  }
  return new SassError(
    'ADDRESS_IN_USE',
    `The daemon cannot listen on ${where} (${error.code ?? error.message}); set listen.address to an address of this device.`,
    { where },
    error,
  )
}
