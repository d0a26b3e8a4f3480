/**
 * Ended commands whose output nobody takes hold their rings. They once counted for nobody: one caller could take all
 * the places of the device, whatever its own limit.
 * @module
 */
import t from 'tap'
import { known } from '../integration/connections.node.ts'
import { startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE, field, isOver, on } from './streams.node.ts'

t.test('output that is not taken counts against its caller and nobody else', async (t) => {
  const daemon = await startNew(t, {
    execution: { max_concurrent: 4 },
    quota: { queue: 0 },
    capabilities: { default: { max_concurrent: 2 } },
  })
  const wire = await known(daemon)
  const streams = [3, 5, 7, 9, 11]
  for (const stream of streams) {
    wire.socket.write(command(stream, EXECUTE, { command: 'head', args: ['-c', '300000', '/dev/zero'] }))
    // All of the first credit has come, or a refusal.
    await until('what there is credit for', () => on(wire, stream).length > 0)
  }
  t.same(
    streams.map((stream) => (isOver(wire, stream) ? field(on(wire, stream).at(-1), 1) : 'held')),
    ['held', 'held', 101, 101, 101],
  )
  const other = await known(daemon, 'operator')
  other.socket.write(command(3, EXECUTE, { command: 'true' }))
  await until('an answer to another caller', () => isOver(other, 3))
  t.equal(on(other, 3).at(-1)?.kind, 'END', 'another caller has its place')
  other.socket.destroy()
  wire.socket.destroy()
  await until('the places', async () => (await daemon.cli(['exec', '--', 'true'])).code === 0)
})
