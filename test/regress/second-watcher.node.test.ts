/**
 * A process that was held back for a stream without credit once stayed so for ever when an Execute took the stream's
 * place: that one waits for the exit, and the exit never came.
 * @module
 */
import t from 'tap'
import { encodeFrame } from '../../src/wire/frame.ts'
import { known } from '../integration/connections.node.ts'
import { sleep, startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE, EXECUTE_STREAM, field, isOver, on } from './streams.node.ts'

t.test('whoever takes the place of a stream without credit gets the command going again', async (t) => {
  const daemon = await startNew(t)
  const wire = await known(daemon)
  const execution_id = new Uint8Array(16).fill(9)
  const args = ['-c', '500000', '/dev/zero']
  wire.socket.write(command(3, EXECUTE_STREAM, { command: 'head', args, execution_id }))
  await until('the first window', () => on(wire, 3).length > 1)
  await sleep(100)
  wire.socket.write(command(5, EXECUTE, { command: 'head', execution_id }))
  wire.socket.write(encodeFrame(5, 'CREDIT', 1_000_000))
  await until('the answer', () => isOver(wire, 5))
  t.equal(on(wire, 3).at(-1)?.kind, 'RESET')
  t.equal(on(wire, 5).at(-1)?.kind, 'END')
  t.equal(field(on(wire, 5).at(-1), 1), 0)
  wire.socket.destroy()
})
