/**
 * A command whose name was cut in the middle of a character once made the list of executions impossible to send, to
 * its caller and to the operator.
 * @module
 */
import t from 'tap'
import { known } from '../integration/connections.node.ts'
import { startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE, isOver } from './streams.node.ts'

t.test('a long name with a character across the cut does not hide the list of executions', async (t) => {
  const daemon = await startNew(t)
  const wire = await known(daemon)
  wire.socket.write(command(3, EXECUTE, { command: `${'x'.repeat(63)}\u{1f600}` }))
  await until('an answer', () => isOver(wire, 3))
  const { code, stdout } = await daemon.cli(['jobs', '--all', '--json'])
  t.equal(code, 0)
  t.match(JSON.parse(stdout.toString()), { jobs: [{ command: 'x'.repeat(63) }] })
  wire.socket.destroy()
})
