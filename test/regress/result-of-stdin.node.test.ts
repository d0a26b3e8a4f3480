/**
 * A client that had sent much stdin, lost its connection and came back when of the command only the result was left,
 * once took the missing count of that stdin for another's, and gave up in place of telling the exit.
 * @module
 */
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { install, ON_REAL_FILES, startDaemon, until } from '../integration/daemon.node.ts'
import { startLab } from '../links/lab.node.ts'

const host = '127.0.0.1'
/** More than the client keeps until it is told what was taken. */
const STDIN_BYTES = 300_000

t.test('a result that was kept is told to whoever sent stdin', async (t) => {
  const directory = await install(t, ON_REAL_FILES)
  const first = await startDaemon(t, directory)
  const lab = await startLab({ target: { host, port: first.port }, seed: 1 })
  t.teardown(() => lab.close())
  const { fingerprint: pin } = first
  const client = await connect({ host, port: lab.port, agent: 'agent', privateKey: first.seed(), pin })
  t.teardown(() => client.close())
  const running = client.stream('sh', ['-c', `head -c ${STDIN_BYTES} | wc -c; sleep 0.5; exit 7`], {
    stdin: true,
    output: (_source, bytes) => {
      // Of what comes next nothing arrives.
      if (Buffer.from(bytes).toString().trim() === `${STDIN_BYTES}`) lab.link.stall('down')
    },
    onGap() {},
  })
  for (let sent = 0; sent < STDIN_BYTES; sent += 10_000)
    if (!running.write(new Uint8Array(10_000))) await running.drained()
  running.end()
  await until('its end on the device', () => first.audit().some(({ type }) => type === 'execution_ended'))
  first.signal('SIGKILL')
  await first.ended
  const second = await startDaemon(t, directory)
  lab.aim({ host, port: second.port })
  lab.link.cut()
  lab.link.go()
  t.match(await running.exit, { exitCode: 7 })
})
