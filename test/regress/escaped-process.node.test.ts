/**
 * A process that had left its command's session and went on writing once kept the command, and its place, for ever:
 * Cancel said that it had worked and nothing ended.
 * @module
 */
import t from 'tap'
import { encodeFrame } from '../../src/wire/frame.ts'
import { known } from '../integration/connections.node.ts'
import { ON_REAL_FILES, sleep, startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE_STREAM, isOver, on } from './streams.node.ts'

const CANCEL = 3

t.test('Cancel ends a command whose escaped process goes on writing', async (t) => {
  const daemon = await startNew(t, ON_REAL_FILES)
  const wire = await known(daemon)
  const execution_id = new Uint8Array(16).fill(9)
  // It ends by itself, of SIGPIPE, once nobody reads.
  const script = 'setsid sh -c "while echo x; do sleep 0.02; done" & sleep 0.1'
  wire.socket.write(command(3, EXECUTE_STREAM, { command: 'sh', args: ['-c', script], execution_id }))
  await until('output', () => on(wire, 3).length > 10)
  await sleep(300)
  t.notOk(isOver(wire, 3), 'what flows is read on')
  wire.socket.write(encodeFrame(5, 'OPEN', new Map([[1, execution_id]]), CANCEL))
  await until('the end', () => isOver(wire, 3), 2_000)
  t.equal(on(wire, 3).at(-1)?.kind, 'END')
  wire.socket.destroy()
})
