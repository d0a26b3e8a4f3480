/**
 * A peer that ends its side and never reads what is on its way to it once kept two of the daemon's output buffers and
 * a descriptor for ever: sixteen of them and nobody got output any more.
 * @module
 */
import t from 'tap'
import { encodeFrame } from '../../src/wire/frame.ts'
import { isServed, known } from '../integration/connections.node.ts'
import { ON_REAL_FILES, sleep, startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE_STREAM } from './streams.node.ts'

const PEERS = 20

t.test(
  'who ends its side and does not read leaves nothing behind, and others get their output',
  async (t) => {
    const daemon = await startNew(t, {
      ...ON_REAL_FILES,
      session: { max_sessions: PEERS + 2, max_per_agent: null },
    })
    // What a first caller leaves open belongs to the daemon.
    await isServed(t, daemon)
    const before = daemon.descriptors()
    for (let peer = 0; peer < PEERS; peer++) {
      const { socket } = await known(daemon)
      socket.pause()
      socket.write(command(3, EXECUTE_STREAM, { command: 'head', args: ['-c', '30000000', '/dev/zero'] }))
      socket.write(encodeFrame(3, 'CREDIT', 100_000_000))
      await sleep(60)
      socket.end()
      t.teardown(() => socket.destroy())
    }
    t.ok(daemon.descriptors() > before, 'their ends are waited for')
    const { code, stdout } = await daemon.cli(['exec', '--', 'head', '-c', '300000', '/dev/zero'])
    t.same([code, stdout.length], [0, 300_000])
    await until('the descriptors', () => daemon.descriptors() <= before)
  },
)
