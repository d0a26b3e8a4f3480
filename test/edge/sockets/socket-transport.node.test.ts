/**
 * createSocketTransport: each write is told as taken once, whatever becomes of the connection.
 * @module
 */
import { createServer, connect as dial, type Socket } from 'node:net'
import t from 'tap'
import { createSocketTransport } from '../../../src/edge/sockets/socket-transport.node.ts'

/** Both ends of a connection over the loopback. */
async function pair(): Promise<{ readonly ours: Socket; readonly theirs: Socket }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const theirs = dial(port, '127.0.0.1')
  const ours = await new Promise<Socket>((resolve) => server.once('connection', resolve))
  server.close()
  theirs.on('error', () => {})
  ours.on('error', () => {})
  return { ours, theirs }
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())))

const OPTIONS = {
  kind: 'tls',
  remoteAddress: '127.0.0.1',
  agreement: { version: '', suite: '', alpn: '' },
  peerUserId: undefined,
  exportKeyingMaterial: () => Buffer.alloc(0),
} as const

t.test(
  'what Node calls back twice, as for a TLS socket that is destroyed while it writes, is told once',
  (t) => {
    const socket = {
      cork() {},
      uncork() {},
      write(_bytes: Uint8Array, taken?: () => void) {
        taken?.()
        taken?.()
      },
    }
    const transport = createSocketTransport(socket as unknown as Socket, { ...OPTIONS, reset() {} })
    let times = 0
    transport.write(new Uint8Array(65_536), () => times++)
    transport.write(new Uint8Array(10), () => times++)
    t.equal(times, 2)
    t.end()
  },
)

t.test('a connection that breaks while writes wait tells each of them once', async (t) => {
  let twice = 0
  for (let round = 0; round < 40; round++) {
    const { ours, theirs } = await pair()
    theirs.pause()
    const transport = createSocketTransport(ours, {
      ...OPTIONS,
      reset: () => ours.resetAndDestroy(),
    })
    const times: number[] = []
    const write = (bytes: number): void => {
      const index = times.push(0) - 1
      transport.write(new Uint8Array(bytes), () => {
        times[index] = (times[index] ?? 0) + 1
      })
    }
    // More than the kernel takes, so that some wait together behind what is under way.
    for (let count = 0; count < 120; count++) write(count % 3 === 0 ? 100 : 65_536)
    await new Promise((resolve) => setTimeout(resolve, round % 5))
    if (round % 2 === 0) theirs.resetAndDestroy()
    else transport.reset()
    write(100)
    await closed(ours)
    await new Promise((resolve) => setTimeout(resolve, 20))
    t.strictSame(
      times.filter((count) => count === 0),
      [],
      `round ${round}: none is forgotten`,
    )
    twice += times.filter((count) => count > 1).length
    theirs.destroy()
  }
  t.equal(twice, 0, 'and none is told twice')
})
