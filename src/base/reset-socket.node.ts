/**
 * A reset of a connection that cannot lose its descriptor. While the orderly end of a socket is under way (shutdown(2),
 * done with the next turn of the loop or when the kernel has room), libuv refuses to reset it, and Node has given the
 * handle up by that time: the descriptor stays open for as long as the process, nobody is told that it is gone, and the
 * process never ends, since it waits for that handle at its end, at full speed (Environment::CleanupHandles).
 * Source: uv_tcp_close_reset of libuv (EINVAL while UV_HANDLE_SHUTTING); TCPWrap::Reset of Node 26.
 * @module
 */
import type { Socket } from 'node:net'

function isShutting(socket: Socket): boolean {
  return socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
}

/**
 * RST, at once; of a socket whose end is under way, the end of its descriptor, which is a reset as well where bytes of
 * the peer were not read. What errors it has by then are nobody's.
 * @param above the TLS socket that uses the handle of `socket`: it is told by the close of that and must not be destroyed
 *   as well, which inside the event of its handshake frees what is still in use and ends the process
 */
export function resetSocket(socket: Socket, above: Socket = socket): void {
  for (const one of [socket, above]) one.on('error', () => {})
  if (isShutting(socket) || isShutting(above)) socket.destroy()
  else socket.resetAndDestroy()
}
