/**
 * Strangers for the measurements: each shakes hands, fails to prove who it is, and sees what becomes of it.
 * @module
 */
import { once } from 'node:events'
import { connect } from 'node:tls'
import { ALPN_PROTOCOL } from '../src/limits.ts'
import { encodeFrame } from '../src/wire/frame.ts'
import { authRequest } from '../src/wire/messages.ts'
import { methodNamed } from '../src/wire/methods.ts'

/** A proof that nobody made. */
const FAILS = encodeFrame(
  1,
  'OPEN',
  authRequest.encode({
    agent_name: 'nobody',
    public_key: new Uint8Array(32).fill(1),
    signature: new Uint8Array(64),
    nonce: new Uint8Array(16),
  }),
  methodNamed('Authenticate').number,
)

export type Intruder = {
  /** `held`: noise has come; `reset`: nothing has, and the connection is gone. */
  readonly outcome: 'held' | 'reset'
  /** Goes, and resolves when it is gone. */
  leave(): Promise<void>
}

export async function intrude(port: number): Promise<Intruder> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    ALPNProtocols: [ALPN_PROTOCOL],
    minVersion: 'TLSv1.3',
    // Whom it attacks does not matter to it.
    rejectUnauthorized: false,
  })
  const closed = once(socket, 'close').catch(() => {})
  socket.on('error', () => {})
  socket.once('secureConnect', () => socket.write(FAILS))
  const outcome = await Promise.race([
    once(socket, 'data').then(
      () => 'held' as const,
      () => 'reset' as const,
    ),
    closed.then(() => 'reset' as const),
  ])
  // Noise is read and forgotten.
  socket.resume()
  return {
    outcome,
    async leave() {
      socket.destroy()
      await closed
    },
  }
}

/** So many at once, of which all must be held. */
export async function holdAll(port: number, count: number): Promise<readonly Intruder[]> {
  const intruders = await Promise.all(Array.from({ length: count }, () => intrude(port)))
  const held = intruders.filter(({ outcome }) => outcome === 'held').length
  if (held !== count) throw new Error(`Of ${count} intruders ${held} are held; the rest was reset.`)
  return intruders
}
