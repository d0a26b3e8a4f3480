/**
 * The admin socket, the second way in: a Unix socket of mode 0600 that speaks the same protocol without TLS. Who the
 * peer is, the kernel says (SO_PEERCRED); the daemon believes nothing else.
 * Rules: docs/protocol.md, section 1.
 * @module
 */
import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { SassError } from '../../errors.ts'
import type { Acceptor, TransportAdapter } from '../../ports.ts'
import { bindPrivateSocket } from './bound-socket.node.ts'
import { claimSocket } from './socket-place.node.ts'
import { createSocketTransport, tellEvents } from './socket-transport.node.ts'

/**
 * Asks the kernel for the user id behind a connected Unix socket; undefined where it will not say, and where whoever
 * connected is not among the daemon's own processes.
 */
export type PeerUser = (descriptor: number) => number | undefined

function descriptorOf(socket: Socket): number {
  const handle = (socket as unknown as { readonly _handle?: { readonly fd?: number } })._handle
  return handle?.fd ?? -1
}

const WHAT = Object.freeze({ name: 'admin socket', field: 'listen.admin_socket' })

/**
 * Makes the place of the admin socket and finds out whether another daemon has it: before anything of the state that
 * the two would share is touched.
 * @throws SassError as claimSocket
 */
export function claimAdminSocket(path: string): Promise<void> {
  return claimSocket(path, WHAT)
}

export function createAdminSocket(path: string, peerUser: PeerUser): TransportAdapter {
  let server: Server | undefined

  function accept(socket: Socket, acceptor: Acceptor): void {
    const reset = () => void socket.destroy()
    const admission = acceptor.admit('admin', 'local', reset)
    if (admission === undefined) return reset()
    const transport = createSocketTransport(socket, {
      kind: 'admin',
      remoteAddress: 'local',
      agreement: { version: '', suite: '', alpn: '' },
      peerUserId: peerUser(descriptorOf(socket)),
      exportKeyingMaterial: () => undefined,
      reset,
    })
    tellEvents(socket, admission.connected(transport))
  }

  return {
    name: 'admin',
    async listen(acceptor) {
      await claimAdminSocket(path)
      return new Promise((resolve, reject) => {
        const fail = (error: NodeJS.ErrnoException) =>
          reject(
            new SassError(
              'STATE_UNWRITABLE',
              `The admin socket ${path} cannot be made (${error.code ?? error.message}); set listen.admin_socket to a place that the daemon may write.`,
              { path },
              error,
            ),
          )
        const listening = createServer((socket) => accept(socket, acceptor))
        listening.once('error', fail)
        try {
          const fd = bindPrivateSocket(path)
          server = listening
          listening.listen({ fd }, () => {
            listening.on('error', () => {})
            resolve(path)
          })
        } catch (error) {
          fail(error as NodeJS.ErrnoException)
        }
      })
    },
    async close() {
      if (server === undefined) return
      rmSync(path, { force: true })
      server.close()
    },
  }
}
