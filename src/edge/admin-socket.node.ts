/**
 * The admin socket, the second way in: a Unix socket of mode 0600 that speaks the same protocol without TLS. Who the
 * peer is, the kernel says (SO_PEERCRED); the daemon believes nothing else.
 * Rules: docs/protocol.md, section 1.
 * @module
 */
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { SassError } from '../errors.ts'
import type { Acceptor, TransportAdapter } from '../ports.ts'
import { createSocketTransport, tellEvents } from './socket-transport.node.ts'

/** Asks the kernel for the user id behind a connected Unix socket; undefined where it will not say. */
export type PeerUser = (descriptor: number) => number | undefined

function descriptorOf(socket: Socket): number {
  const handle = (socket as unknown as { readonly _handle?: { readonly fd?: number } })._handle
  return handle?.fd ?? -1
}

/** A socket file that nobody listens on is left over from a daemon that died: it is removed. */
function removeLeftOver(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const status = lstatSync(path, { throwIfNoEntry: false })
    if (status === undefined) return resolve()
    if (!status.isSocket()) {
      return reject(
        new SassError(
          'ADDRESS_IN_USE',
          `${path} is not a socket, so the admin socket cannot be made there; move it away or set listen.admin_socket.`,
          { path },
        ),
      )
    }
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      reject(
        new SassError(
          'ADDRESS_IN_USE',
          `Another daemon already listens on ${path}; stop it first, or give this one its own listen.admin_socket.`,
          { path },
        ),
      )
    })
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return resolve()
      // Anything else, such as a full queue (EAGAIN), does not say that nobody listens.
      if (error.code !== 'ECONNREFUSED') return reject(error)
      rmSync(path, { force: true })
      resolve()
    })
  })
}

/**
 * Makes the place of the admin socket and finds out whether another daemon has it: before anything of the state that
 * the two would share is touched.
 * @throws SassError ADDRESS_IN_USE where a daemon listens there, STATE_UNWRITABLE where nothing can be made
 */
export async function claimAdminSocket(path: string): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    await removeLeftOver(path)
  } catch (cause) {
    if (cause instanceof SassError) throw cause
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new SassError(
      'STATE_UNWRITABLE',
      `The admin socket ${path} cannot be made (${code}); give the daemon a directory that it may write as listen.admin_socket.`,
      { path },
      cause,
    )
  }
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
        const listening = createServer((socket) => accept(socket, acceptor))
        server = listening
        listening.once('error', (error: NodeJS.ErrnoException) =>
          reject(
            new SassError(
              'STATE_UNWRITABLE',
              `The admin socket ${path} cannot be made (${error.code ?? error.message}); set listen.admin_socket to a place that the daemon may write.`,
              { path },
              error,
            ),
          ),
        )
        // Made private before anybody can connect: the mask holds while bind makes the file.
        const mask = process.umask(0o177)
        listening.listen(path, () => {
          chmodSync(path, 0o600)
          listening.on('error', () => {})
          resolve(path)
        })
        process.umask(mask)
      })
    },
    async close() {
      server?.close()
    },
  }
}
