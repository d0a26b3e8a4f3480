/**
 * Bare connections to a daemon, for what no honest client would send, and what everybody may expect of it meanwhile.
 * @module
 */
import { connect as connectTcp, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import type { Test } from 'tap'
import { publicKeyOf, signWith } from '../../src/base/crypto/ed25519.node.ts'
import { connect } from '../../src/client/client.node.ts'
import { ALPN_PROTOCOL, CHANNEL_BINDING_BYTES, CHANNEL_BINDING_LABEL, FRAME_BYTES } from '../../src/limits.ts'
import { authSigningInput } from '../../src/wire/auth-input.ts'
import { createDeframer } from '../../src/wire/deframer.ts'
import { encodeFrame, type Frame, readFrame } from '../../src/wire/frame.ts'
import { authRequest } from '../../src/wire/messages.ts'
import { type Daemon, sleep, until } from './daemon.node.ts'

/** How a connection ended: an orderly end, a reset, or another error by its name. */
export type How = 'fin' | 'reset' | (string & {})
export type Wire<S extends Socket = Socket> = {
  readonly socket: S
  received(): Buffer
  readonly closed: Promise<How>
}

/** Watches a socket from before its first byte. */
export function watch<S extends Socket>(socket: S): Wire<S> {
  const chunks: Buffer[] = []
  let how: How = 'fin'
  socket.on('data', (bytes: Buffer) => chunks.push(bytes))
  socket.on('error', (error: NodeJS.ErrnoException) => {
    how = error.code === 'ECONNRESET' || error.code === 'EPIPE' ? 'reset' : (error.code ?? error.message)
  })
  const closed = new Promise<How>((resolve) => socket.on('close', () => resolve(how)))
  return { socket, received: () => Buffer.concat(chunks), closed }
}

/** A bare TCP connection; `host` is the address that it goes to. */
export function tcp(port: number, host = '127.0.0.1'): Wire {
  return watch(connectTcp({ port, host }))
}

/** A TLS connection as an honest client makes it, up to the handshake. Resolves when that is over, well or not. */
export async function tls(
  port: number,
  change: ConnectionOptions & { localAddress?: string } = {},
): Promise<Wire<TLSSocket>> {
  const wire = watch(
    connectTls({
      host: '127.0.0.1',
      port,
      ALPNProtocols: [ALPN_PROTOCOL],
      minVersion: 'TLSv1.3',
      rejectUnauthorized: false,
      ...change,
    }),
  )
  await Promise.race([new Promise((resolve) => wire.socket.once('secureConnect', resolve)), wire.closed])
  return wire
}

/** The frames in what was received; bytes of an unfinished one are left out. */
export function framesIn(bytes: Uint8Array): Frame[] {
  const frames: Frame[] = []
  const deframer = createDeframer(
    () => FRAME_BYTES,
    (event) => {
      const read = event.kind === 'body' ? readFrame(event.body.slice()) : undefined
      if (read?.ok) frames.push(read.frame)
    },
  )
  deframer.push(bytes)
  return frames
}

/** The Authenticate frame of `name` with `seed` for this connection; `change` spoils fields of it. */
export function authenticateFrame(
  socket: TLSSocket,
  name: string,
  seed: Uint8Array,
  change: {
    readonly signature?: Uint8Array
    readonly resume_session_id?: Uint8Array
    readonly window?: number
  } = {},
): Uint8Array {
  const nonce = new Uint8Array(16).fill(7)
  const binding = socket.exportKeyingMaterial(CHANNEL_BINDING_BYTES, CHANNEL_BINDING_LABEL, Buffer.alloc(0))
  const signature = signWith(seed, authSigningInput(name, nonce, binding))
  const request = { agent_name: name, public_key: publicKeyOf(seed), signature, nonce, ...change }
  return encodeFrame(1, 'OPEN', authRequest.encode(request), 8)
}

/** An authenticated connection of the daemon's agent; what it received so far is the answer to Authenticate. */
export async function known(
  daemon: Daemon,
  name = 'agent',
  change: Parameters<typeof authenticateFrame>[3] = {},
): Promise<Wire<TLSSocket>> {
  const wire = await tls(daemon.port)
  wire.socket.write(authenticateFrame(wire.socket, name, daemon.seed(name), change))
  await until('an answer to Authenticate', () => framesIn(wire.received()).length > 0)
  return wire
}

/** An honest client, while or after something else went on. */
export async function isServed(t: Test, daemon: Daemon): Promise<void> {
  const begin = performance.now()
  const { port, fingerprint: pin } = daemon
  const privateKey = daemon.seed()
  const client = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey, pin })
  const { exitCode } = await client.execute('true')
  await client.close()
  t.equal(exitCode, 0)
  t.ok(performance.now() - begin < 10_000, 'an honest client is served')
}

/** The lines of the log about refusals. */
export function refusals(daemon: Daemon): string[] {
  return daemon.log().filter((line) => line.includes(' refused '))
}

/** What `attack` leaves in the log: one line, and only one. */
export async function refusedOnce(
  t: Test,
  daemon: Daemon,
  rule: RegExp,
  attack: () => Promise<void>,
): Promise<void> {
  const before = refusals(daemon).length
  await attack()
  await until('a line in the log', () => refusals(daemon).length > before)
  await sleep(20)
  const lines = refusals(daemon).slice(before)
  t.equal(lines.length, 1, 'one line in the log')
  t.match(lines[0], rule)
}
