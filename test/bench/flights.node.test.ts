/**
 * A flight is what one side says before it has to hear from the other, in however many pieces.
 * @module
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import t from 'tap'
import { startFlightCounter } from '../../bench/flights.node.ts'

t.test('pieces of one side are one flight, and what waits for an answer is another', async (t) => {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('data', (bytes: Buffer) => {
      socket.write(bytes)
      setImmediate(() => socket.write('!'))
    })
    socket.on('end', () => socket.end())
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const counter = await startFlightCounter({ host: '127.0.0.1', port })
  t.teardown(() => counter.stop())
  const client = connect({ port: counter.port, host: '127.0.0.1', noDelay: true })
  let heard = ''
  client.on('data', (bytes: Buffer) => {
    heard += bytes
  })
  for (const word of ['first', 'second']) {
    heard = ''
    client.write(word)
    setImmediate(() => client.write(word))
    while (!heard.endsWith('!')) await new Promise((resolve) => setTimeout(resolve, 5))
    t.equal(heard, `${word}${word}!`)
  }
  client.end()
  await once(client, 'end')
  t.strictSame(
    counter.connections.map((flights) => flights.map(({ from, bytes }) => [from, bytes])),
    [
      [
        ['client', 10],
        ['server', 11],
        ['client', 12],
        ['server', 13],
      ],
    ],
  )
})
