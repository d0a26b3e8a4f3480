/**
 * The daemon is not to be taken for an SSH server: it never says a word of that protocol, takes none, and cannot be
 * put in its place.
 */
import t from 'tap'
import { isServed, tcp } from './connections.node.ts'
import { changeConfig, install, sassEdge, startNew } from './daemon.node.ts'

t.test('an SSH client is reset without a byte, and port 22 is refused (SS-02)', async (t) => {
  const daemon = await startNew(t)
  const client = tcp(daemon.port)
  client.socket.write('SSH-2.0-OpenSSH_9.6\r\n')
  t.equal(await client.closed, 'reset')
  t.equal(client.received().length, 0)
  const silent = tcp(daemon.port)
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(silent.received().length, 0, 'who waits for a banner waits in vain')
  silent.socket.destroy()
  await isServed(t, daemon)

  const directory = await install(t)
  changeConfig(directory, { listen: { port: 22 } })
  const { code, stderr } = await sassEdge(['run'], { cwd: directory })
  t.equal(code, 125)
  t.match(stderr, /^sass-edge: [^\n]*listen\.port is 22[^\n]*\n$/)
})
