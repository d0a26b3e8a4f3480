/**
 * GET /metrics over plain HTTP, for a scraper on the device itself: on a Unix socket of mode 0600 or a loopback address,
 * nowhere else. It answers one question a connection and reads no body; heads, connections and time are bounded, and
 * what it costs is a text that is as long for everybody. A name in Host that is no address is refused, so that no page
 * in a browser of the device can be made to read it (DNS rebinding).
 * Rules: RFC 9110; the exposition format 0.0.4 of Prometheus.
 * @module
 */
import { rmSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { parseEndpoint, parseIpAddress } from '../../base/ip-address.ts'
import { SassError } from '../../errors.ts'
import { METRICS_CONNECTIONS, METRICS_HEADER_BYTES, METRICS_TIMEOUT_MS } from '../../limits.ts'
import { bindPrivateSocket } from './bound-socket.node.ts'
import { claimSocket } from './socket-place.node.ts'

export type MetricsServer = {
  /** Where it listens, for people. */
  readonly address: string
  close(): void
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** `127.0.0.1:9464`, `[::1]`, `localhost:1`: what a scraper of this host writes. */
function isAddress(host: string): boolean {
  if (host === '') return true
  const bare = host.replace(/:\d{1,5}$/, '').replace(/^\[(.*)\]$/, '$1')
  return bare.toLowerCase() === 'localhost' || parseIpAddress(bare) !== undefined
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  isOpen: boolean,
  text: () => string,
): void {
  response.setHeader('connection', 'close')
  const end = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) => {
    response.writeHead(status, {
      'content-type': CONTENT_TYPE,
      'content-length': Buffer.byteLength(body),
      ...headers,
    })
    response.end(request.method === 'HEAD' ? '' : body)
  }
  if (isOpen && !isAddress(request.headers.host ?? ''))
    return end(421, 'Ask for it by the address of the device.\n')
  if (request.url?.replace(/\?.*$/s, '') !== '/metrics') return end(404, 'There is /metrics alone.\n')
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return end(405, 'It can be read, and nothing else.\n', { allow: 'GET, HEAD' })
  end(200, text())
}

function cannotListen(place: string, error: NodeJS.ErrnoException): SassError {
  return new SassError(
    error.code === 'EADDRINUSE' ? 'ADDRESS_IN_USE' : 'STATE_UNWRITABLE',
    `The metrics cannot be served at ${place} (${error.code ?? error.message}): set metrics.listen to a place that is free, or to null.`,
    { place },
    error,
  )
}

type Endpoint = ReturnType<typeof parseEndpoint>

function listening(server: Server, place: string, endpoint: Endpoint): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(cannotListen(place, error))
    server.once('error', fail)
    const listens = () => {
      server.on('error', () => {})
      const bound = server.address()
      if (endpoint === undefined || typeof bound !== 'object' || bound === null) return resolve(place)
      resolve(
        bound.address.includes(':') ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`,
      )
    }
    try {
      if (endpoint === undefined) server.listen({ fd: bindPrivateSocket(place) }, listens)
      else server.listen({ host: endpoint.host, port: endpoint.port }, listens)
    } catch (error) {
      fail(error as NodeJS.ErrnoException)
    }
  })
}

/**
 * @param place metrics.listen: a path, or a loopback address with its port; null: nowhere, and nothing is loaded for it
 * @param text made anew for every answer
 * @throws SassError ADDRESS_IN_USE or STATE_UNWRITABLE with what to do
 */
export async function serveMetrics(
  place: string | null,
  text: () => string,
): Promise<MetricsServer | undefined> {
  if (place === null) return undefined
  const { createServer } = await import('node:http')
  const endpoint = parseEndpoint(place)
  if (endpoint === undefined) await claimSocket(place, { name: 'metrics socket', field: 'metrics.listen' })
  const server = createServer(
    {
      maxHeaderSize: METRICS_HEADER_BYTES,
      headersTimeout: METRICS_TIMEOUT_MS,
      requestTimeout: METRICS_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => answer(request, response, endpoint !== undefined, text),
  )
  server.maxConnections = METRICS_CONNECTIONS
  server.maxRequestsPerSocket = 1
  // Whoever neither sends nor reads.
  server.setTimeout(METRICS_TIMEOUT_MS, (socket) => socket.destroy())
  server.on('clientError', (_error, socket) => void socket.destroy())
  server.on('upgrade', (_request, socket) => void socket.destroy())
  server.on('connect', (_request, socket) => void socket.destroy())
  server.unref()
  const address = await listening(server, place, endpoint)
  return {
    address,
    close() {
      if (endpoint === undefined) rmSync(place, { force: true })
      server.close()
      server.closeAllConnections()
    },
  }
}
