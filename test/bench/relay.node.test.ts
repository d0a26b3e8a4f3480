import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startRelay } from '../../bench/relay.node.ts'

/** A server on the loopback that does `serve` with each connection. */
async function server(test: Test, serve: (socket: Socket) => void): Promise<{ host: string; port: number }> {
  const listening = createServer({ allowHalfOpen: true }, serve).listen(0, '127.0.0.1')
  test.teardown(() => listening.close())
  await once(listening, 'listening')
  const address = listening.address()
  return { host: '127.0.0.1', port: typeof address === 'object' && address !== null ? address.port : 0 }
}

t.test('carries both directions unchanged, half-closed ends too, and counts every byte', async (t) => {
  const target = await server(t, (socket) => {
    let received = 0
    socket.on('data', (chunk) => {
      received += chunk.length
    })
    // Answers only when the client is done: the relay must not close the other half.
    socket.on('end', () => socket.end(`${received}`))
  })
  const relay = await startRelay(target)
  t.teardown(() => relay.stop())
  const client = connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true })
  client.end(Buffer.alloc(3_000_000, 7))
  const [answer] = await once(client, 'data')
  t.equal(String(answer), '3000000')
  await once(client, 'end')
  t.strictSame(relay.counts(), { toServer: 3_000_000, toClient: 7, connections: 1 })
  relay.reset()
  t.strictSame(relay.counts(), { toServer: 0, toClient: 0, connections: 0 })
  client.destroy()
})

t.test('holds back a sender whose receiver does not read', async (t) => {
  let held: Socket | undefined
  const target = await server(t, (socket) => {
    socket.pause()
    held = socket
  })
  const relay = await startRelay(target)
  t.teardown(() => relay.stop())
  const client = connect({ port: relay.port, host: '127.0.0.1' })
  client.on('error', () => undefined)
  client.write(Buffer.alloc(64 * 1_048_576))
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.ok(relay.counts().toServer < 32 * 1_048_576, `${relay.counts().toServer} bytes were taken`)
  client.destroy()
  held?.destroy()
})

t.test('a server that is not there ends the connection', async (t) => {
  const target = await server(t, () => undefined)
  const relay = await startRelay({ ...target, port: 1 })
  t.teardown(() => relay.stop())
  const client = connect({ port: relay.port, host: '127.0.0.1' })
  client.on('error', () => undefined)
  await once(client, 'close')
  t.equal(relay.counts().toClient, 0)
})
