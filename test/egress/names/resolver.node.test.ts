import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { formatIpAddress, type IpAddress } from '../../../src/base/ip-address.ts'
import { createClock } from '../../../src/edge/host/clock.node.ts'
import { answerBytes, RCODE, readQuestion, TYPE_A } from '../../../src/egress/names/dns-message.ts'
import { createResolver } from '../../../src/egress/names/resolver.node.ts'

const texts = (addresses: readonly IpAddress[]) => addresses.map(formatIpAddress)

/** A server that knows one address of each family for every name but those that begin with x. */
async function nameServer(): Promise<{ port: number; asked: string[]; close(): void }> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const asked: string[] = []
  socket.on('message', (bytes, from) => {
    const read = readQuestion(bytes)
    if (read.kind !== 'question') return
    const { name = '', type, head } = read.question
    asked.push(`${name} ${type}`)
    const address: IpAddress =
      type === TYPE_A
        ? { family: 4, bytes: [192, 0, 2, 7] }
        : { family: 6, bytes: [0x20, 1, 0xd, 0xb8, ...new Array<number>(11).fill(0), 7] }
    socket.send(
      name.startsWith('x') ? answerBytes(head, RCODE.noName) : answerBytes(head, RCODE.ok, address),
      from.port,
    )
  })
  return { port: socket.address().port, asked, close: () => socket.close() }
}

t.test('the file comes first, then the servers, with both families', async (t) => {
  const server = await nameServer()
  t.teardown(server.close)
  const hostsFile = join(t.testdir({ hosts: '198.51.100.1 broker.example\n' }), 'hosts')
  const resolver = createResolver(createClock(), { hostsFile, servers: [`127.0.0.1:${server.port}`] })
  t.strictSame(texts(await resolver.resolve('broker.example')), ['198.51.100.1'])
  t.strictSame(server.asked, [])
  const both = await Promise.all([resolver.resolve('a.example'), resolver.resolve('a.example')])
  for (const one of both) t.strictSame(texts(one), ['192.0.2.7', '2001:db8::7'])
  t.strictSame([...server.asked].sort(), ['a.example 1', 'a.example 28'], 'once for all who ask')
  await resolver.resolve('a.example')
  t.equal(server.asked.length, 2, 'what was found is kept for a moment')
  t.strictSame(await resolver.resolve('x.example'), [])
  writeFileSync(hostsFile, '198.51.100.2 x.example\n')
  t.strictSame(texts(await resolver.resolve('x.example')), ['198.51.100.2'], 'what was not found is not')
})

t.test('no file and no server find nothing', async (t) => {
  const places = { hostsFile: join(t.testdir(), 'none'), servers: ['127.0.0.1:1'] }
  t.strictSame(await createResolver(createClock(), places).resolve('a.example'), [])
})
