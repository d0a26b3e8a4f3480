/**
 * An answer of Execute that came in one frame was once counted against the credit of its stream, so that a client with
 * a small window, as on a slow link, took it for a breach of the protocol and hung up.
 * @module
 */
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { ON_REAL_FILES, startNew } from '../integration/daemon.node.ts'

t.test('an answer in one piece may be larger than the window', async (t) => {
  const daemon = await startNew(t, ON_REAL_FILES)
  const { port, fingerprint: pin } = daemon
  for (const compression of ['never', 'always'] as const) {
    const client = await connect({
      host: '127.0.0.1',
      port,
      agent: 'agent',
      privateKey: daemon.seed(),
      pin,
      window: 4_096,
      reconnect: false,
      compression,
    })
    // Below, within and above what goes into one answer.
    for (const bytes of [4_000, 20_000, 60_000, 200_000]) {
      const { stdout, truncated } = await client.execute('head', ['-c', `${bytes}`, '/dev/zero'])
      t.equal(stdout.length, bytes, `${bytes} bytes, compression ${compression}`)
      t.equal(truncated, false)
    }
    await client.close()
  }
})
