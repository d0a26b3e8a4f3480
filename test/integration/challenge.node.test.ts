/**
 * Challenges between the real client and a real daemon: a session that has expired, an address that has failed lately,
 * and answers that are not right.
 * @module
 */
import t from 'tap'
import { type Client, connect, type Waiting } from '../../src/client/client.node.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { challengeAnswer, executeRequest } from '../../src/wire/messages.ts'
import { framesIn, known } from './connections.node.ts'
import { type Daemon, startNew, until } from './daemon.node.ts'

const SHORT = { max_duration_seconds: 1 }

function open(daemon: Daemon, privateKey: Uint8Array = daemon.seed()): Promise<Client> {
  const { port, fingerprint: pin } = daemon
  return connect({ host: '127.0.0.1', port, agent: 'agent', privateKey, pin })
}

/** Waits until the one session that is open has expired (once more). */
async function expired(daemon: Daemon): Promise<void> {
  const state = () => daemon.audit().findLast(({ type }) => type === 'session')?.['to']
  await until('a session that has expired', () => state() === 'EXPIRED')
}

const challenges = (daemon: Daemon) => daemon.audit().filter(({ response }) => response === 'R2')

t.test(
  'an expired session is challenged, the client answers by itself, and the request goes on',
  async (t) => {
    const daemon = await startNew(t, { session: SHORT })
    const device = await open(daemon)
    t.equal(challenges(daemon).length, 0)

    await expired(daemon)
    const waited: Waiting[] = []
    const onWaiting = (what: Waiting) => waited.push(what)
    const { stdout } = await device.execute('echo', ['unary'], { onWaiting })
    t.equal(Buffer.from(stdout).toString(), 'unary\n')
    t.strictSame(waited, [{ kind: 'challenge' }])
    t.equal(challenges(daemon).length, 1)
    t.match(
      daemon.audit().filter(({ type }) => type === 'challenge'),
      [{ what: 'passed', agent: 'agent' }],
    )

    await expired(daemon)
    let seen = ''
    const running = device.stream('cat', [], {
      stdin: true,
      onWaiting,
      output: (_source, bytes) => {
        seen += Buffer.from(bytes).toString()
      },
    })
    // Written while nobody knows yet whether it will run.
    running.write(Buffer.from('typed before it began'))
    running.end()
    t.equal((await running.exit).exitCode, 0)
    t.equal(seen, 'typed before it began')
    t.equal(waited.length, 2)

    await expired(daemon)
    t.match(await device.ping(), { daemon_version: /./ }, 'what has one answer waits for it too')
    t.equal(challenges(daemon).length, 3)
    await device.close()
  },
)

t.test('many requests at once on an expired session are all served', async (t) => {
  const daemon = await startNew(t, { session: SHORT })
  const device = await open(daemon)
  await expired(daemon)
  const results = await Promise.all(
    Array.from({ length: 6 }, (_, index) => device.execute('sh', ['-c', `exit ${index}`])),
  )
  t.strictSame(
    results.map(({ exitCode }) => exitCode),
    [0, 1, 2, 3, 4, 5],
  )
  await device.close()
})

t.test(
  'whoever comes from an address that has failed proves it once more before connect() resolves',
  async (t) => {
    const daemon = await startNew(t, {
      acl: { penalties: { exempt: [], min_seconds: 600 } },
      defense: { tarpit: { total_bytes: 1_024, chunk_bytes: 1_024, delay_ms: 1 } },
    })
    await t.rejects(open(daemon, new Uint8Array(32).fill(9)), { code: 'CONNECT_FAILED' })
    const device = await open(daemon)
    t.match(challenges(daemon), [{ rule: 'authenticate.suspect', agent: 'agent' }])
    t.match(
      daemon.audit().filter(({ type }) => type === 'challenge'),
      [{ what: 'passed' }],
    )
    t.equal((await device.execute('true')).exitCode, 0)
    await device.close()
    t.equal((await daemon.cli(['exec', '--', 'true'])).code, 0, 'and so does the command line')
  },
)

t.test('a wrong answer ends the connection without a word, and the agent is contained', async (t) => {
  const daemon = await startNew(t, {
    session: SHORT,
    defense: {
      tarpit: { total_bytes: 1_024, chunk_bytes: 1_024, delay_ms: 1 },
      vi_swap: { hold_seconds: 1 },
    },
  })
  const wire = await known(daemon)
  await expired(daemon)
  wire.socket.write(encodeFrame(3, 'OPEN', executeRequest.encode({ command: 'touch', args: ['ran'] }), 1))
  const on = (stream: number) => framesIn(wire.received()).filter((frame) => frame.stream === stream)
  await until('a challenge', () => on(3).length > 0)
  const waiting = on(3)[0]?.payload as ReadonlyMap<number, unknown> | undefined
  const sent = waiting?.get(14) as ReadonlyMap<number, unknown> | undefined
  const challenge_id = new Uint8Array(sent?.get(1) as Uint8Array)
  const answer = challengeAnswer.encode({
    decrypted_plaintext: new Uint8Array(64),
    client_ekm_hmac: new Uint8Array(32),
    challenge_id,
  })
  wire.socket.write(encodeFrame(5, 'OPEN', answer, 9))
  await wire.closed
  t.ok(
    on(5).every(({ kind }) => kind === 'MSG'),
    'noise at most',
  )
  t.ok(daemon.audit().some(({ rule }) => rule === 'challenge.wrong'))
  t.equal(
    daemon.audit().some(({ type }) => type === 'execution_ended'),
    false,
    'nothing ran',
  )
  t.match((await daemon.cli(['level', 'show'])).stdout.toString(), /^agent +agent +CONTAIN /m)
})
