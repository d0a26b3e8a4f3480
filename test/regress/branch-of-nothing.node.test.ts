/**
 * A client that came back after its daemon had been started anew once asked for the branch of a session in which nothing
 * had been changed, which is kept by nobody; and was refused every command from then on.
 * @module
 */
import t, { type Test } from 'tap'
import { type Client, connect } from '../../src/client/client.node.ts'
import { type Daemon, install, startDaemon } from '../integration/daemon.node.ts'
import { startLab } from '../links/lab.node.ts'

const host = '127.0.0.1'

type Place = { readonly client: Client; anew(how: 'SIGTERM' | 'SIGKILL'): Promise<void> }

/** A client on a link whose other end can be another daemon of the same installation. */
async function atPlace(t: Test): Promise<Place> {
  const directory = await install(t)
  let daemon: Daemon = await startDaemon(t, directory)
  const lab = await startLab({ target: { host, port: daemon.port }, seed: 1 })
  t.teardown(() => lab.close())
  const { fingerprint: pin } = daemon
  const client = await connect({ host, port: lab.port, agent: 'agent', privateKey: daemon.seed(), pin })
  t.teardown(() => client.close())
  return {
    client,
    async anew(how) {
      daemon.signal(how)
      await daemon.ended
      daemon = await startDaemon(t, directory)
      lab.aim({ host, port: daemon.port })
    },
  }
}

const read = async (client: Client, path: string): Promise<string> =>
  Buffer.from((await client.execute('cat', [path])).stdout).toString()

for (const how of ['SIGKILL', 'SIGTERM'] as const) {
  t.test(`after ${how}, a session goes on in whose branch nothing had been changed`, async (t) => {
    const { client, anew } = await atPlace(t)
    await anew(how)
    t.equal((await client.execute('true')).exitCode, 0, 'no command had been there')
    await anew(how)
    t.equal((await client.execute('true')).exitCode, 0, 'one had, and changed nothing')
  })

  t.test(`after ${how}, a session goes on in the branch that it has changed`, async (t) => {
    const { client, anew } = await atPlace(t)
    await anew(how)
    await client.execute('sh', ['-c', 'echo one > kept'])
    await anew(how)
    t.equal(await read(client, 'kept'), 'one\n')
    await anew(how)
    t.equal(await read(client, 'kept'), 'one\n', 'and so it does the next time')
  })
}

t.test('a branch that is asked for by name and is not there is refused', async (t) => {
  const directory = await install(t)
  const { port, seed, fingerprint: pin } = await startDaemon(t, directory)
  const client = await connect({
    host,
    port,
    agent: 'agent',
    privateKey: seed(),
    pin,
    branch: 'ab'.repeat(16),
  })
  await t.rejects(client.execute('true'), { code: 'SANDBOX_UNAVAILABLE' })
  await client.close()
})
