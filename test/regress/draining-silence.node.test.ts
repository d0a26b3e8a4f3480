/**
 * A daemon that goes down once told so to peers that had not authenticated, and took larger frames of them from then
 * on.
 * @module
 */
import t from 'tap'
import { known, tls } from '../integration/connections.node.ts'
import { startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE_STREAM, on } from './streams.node.ts'

t.test('who has not authenticated hears nothing of the end and is reset', async (t) => {
  const daemon = await startNew(t)
  const stranger = await tls(daemon.port)
  const agent = await known(daemon)
  agent.socket.write(command(3, EXECUTE_STREAM, { command: 'sleep', args: ['1'] }))
  await until('a command that runs', () => on(agent, 3).length > 0)
  daemon.signal('SIGTERM')
  t.equal(await stranger.closed, 'reset')
  t.equal(stranger.received().length, 0)
  await until('the end of the command', () => on(agent, 3).at(-1)?.kind === 'END')
  t.equal(on(agent, 0)[0]?.kind, 'GOAWAY')
  agent.socket.destroy()
  t.same(await daemon.ended, { code: 0, signal: null })
})
