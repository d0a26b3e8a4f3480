import { generateKeyPairSync } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { connect as connectTls, createSecureContext, TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { resetSocket } from '../../src/base/reset-socket.node.ts'
import { selfSigned } from '../../src/edge/sockets/self-signed.node.ts'

/** More than the kernel keeps of a connection that nobody reads. */
const MUCH = Buffer.alloc(32_000_000)

/** The kernel's names of what this process has open. */
function open(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return []
    }
  })
}

function nameOf(socket: Socket): string {
  const { fd } = (socket as unknown as { readonly _handle: { readonly fd: number } })._handle
  return readlinkSync(`/proc/self/fd/${fd}`)
}

/** Both ends of a connection; the client's reads nothing. */
async function pair(t: Test): Promise<{ server: Socket; client: Socket }> {
  const listening = createServer({ allowHalfOpen: true })
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  t.teardown(() => listening.close())
  const accepted = new Promise<Socket>((resolve) => listening.once('connection', resolve))
  const client = connect((listening.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.pause()
  return { server: await accepted, client }
}

/** Whether `reset` closes what is open on the side of the server, whenever it comes. */
async function closes(t: Test, server: Socket, reset: () => void): Promise<void> {
  const name = nameOf(server)
  const closed = new Promise<void>((resolve) => server.once('close', () => resolve()))
  reset()
  await closed
  t.notOk(open().includes(name))
}

t.test('a connection is reset, and its descriptor closed', async (t) => {
  const { server, client } = await pair(t)
  const how = new Promise<string>((resolve) =>
    client.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? '')),
  )
  client.resume()
  await closes(t, server, () => resetSocket(server))
  t.equal(await how, 'ECONNRESET')
})

for (const [what, bytes] of [
  ['nothing', Buffer.alloc(0)],
  ['little', Buffer.from('x')],
  ['more than the kernel keeps', MUCH],
] as const) {
  for (let turns = 0; turns < 4; turns++) {
    t.test(`its orderly end was asked for ${turns} turns before, ${what} was written`, async (t) => {
      const { server, client } = await pair(t)
      server.write(bytes)
      server.end()
      for (let left = turns; left > 0; left--) await turn()
      await closes(t, server, () => resetSocket(server))
      client.destroy()
    })
  }
}

t.test('the same below TLS', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const cert = selfSigned(privateKey, 'reset')
  for (const bytes of [Buffer.from('x'), MUCH]) {
    for (let turns = 0; turns < 6; turns++) {
      const { server, client } = await pair(t)
      const above = new TLSSocket(server, {
        isServer: true,
        secureContext: createSecureContext({ key, cert }),
      })
      above.on('error', () => {})
      const peer = connectTls({ socket: client, rejectUnauthorized: false })
      peer.on('error', () => {})
      peer.pause()
      await new Promise<void>((resolve) => above.once('secure', resolve))
      above.write(bytes)
      above.end()
      for (let left = turns; left > 0; left--) await turn()
      await closes(t, server, () => resetSocket(server, above))
      peer.destroy()
      client.destroy()
    }
  }
})
