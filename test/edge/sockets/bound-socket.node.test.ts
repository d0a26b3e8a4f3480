/**
 * Sockets that are bound without Node's help, looked at through what connects to them.
 * @module
 */
import { closeSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type IpAddress, parseIpAddress } from '../../../src/base/ip-address.ts'
import { bindPrivateSocket, bindSocket } from '../../../src/edge/sockets/bound-socket.node.ts'

function addressOf(text: string): IpAddress {
  const address = parseIpAddress(text)
  if (address === undefined) throw new Error(`${text} is no address`)
  return address
}

async function listenOn(t: Test, text: string, port = 0): Promise<AddressInfo & { server: Server }> {
  const server = createServer((socket) => socket.end(socket.remoteAddress ?? ''))
  t.teardown(() => server.close())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ fd: bindSocket(addressOf(text), port) }, resolve)
  })
  return { ...(server.address() as AddressInfo), server }
}

function answerOf(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    connect(port, host)
      .setEncoding('utf8')
      .on('data', (text: string) => {
        said += text
      })
      .once('error', reject)
      .once('end', () => resolve(said))
  })
}

t.test('IPv4: the address and a port of its own choice', async (t) => {
  const { address, port, family } = await listenOn(t, '127.0.0.1')
  t.same({ address, family }, { address: '127.0.0.1', family: 'IPv4' })
  t.equal(await answerOf('127.0.0.1', port), '127.0.0.1')
})

t.test('IPv6: one address, and all of them with those of IPv4', async (t) => {
  const one = await listenOn(t, '::1')
  t.equal(await answerOf('::1', one.port), '::1')
  const all = await listenOn(t, '::')
  t.equal(await answerOf('::1', all.port), '::1')
  t.equal(await answerOf('127.0.0.1', all.port), '::ffff:127.0.0.1')
})

t.test('a port that is taken and an address of another device are errors with their names', async (t) => {
  const { port } = await listenOn(t, '127.0.0.1')
  const second = () => listenOn(t, '127.0.0.1', port)
  await t.rejects(second(), { code: 'EADDRINUSE' })
  t.throws(() => bindSocket(addressOf('192.0.2.7'), 0), { code: 'EADDRNOTAVAIL', syscall: 'bind' })
  // What failed has left no descriptor behind: the next one is the lowest again.
  const before = bindSocket(addressOf('127.0.0.1'), 0)
  closeSync(before)
  t.throws(() => bindSocket(addressOf('192.0.2.7'), 0))
  const after = bindSocket(addressOf('127.0.0.1'), 0)
  closeSync(after)
  t.equal(after, before)
})

t.test('Unix: of mode 0600 whatever the umask, which stays as it is', async (t) => {
  // A socket's path is short.
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  for (const mask of [0, 0o022, 0o177]) {
    const path = join(directory, `${mask}.sock`)
    const before = process.umask(mask)
    const fd = bindPrivateSocket(path)
    t.equal(process.umask(before), mask)
    t.equal(statSync(path).mode & 0o7777, 0o600)
    const server = createServer((socket) => socket.end('hello'))
    await new Promise<void>((resolve) => server.listen({ fd }, resolve))
    const said = await new Promise<string>((resolve, reject) => {
      connect(path)
        .once('data', (text) => resolve(String(text)))
        .once('error', reject)
    })
    t.equal(said, 'hello')
    server.close()
  }
  t.throws(() => bindPrivateSocket(join(directory, '0.sock')), { code: 'EADDRINUSE' })
  t.throws(() => bindPrivateSocket(join(directory, 'a'.repeat(200))), { code: 'ENAMETOOLONG' })
})
