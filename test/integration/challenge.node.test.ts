/**
 * Cognitive challenges over real connections: what asks for one, who passes, and what becomes of who does not.
 * @module
 */
import { createHmac } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Client, connect, type Waiting } from '../../src/client/client.node.ts'
import { answerChallenge, type Challenge } from '../../src/wire/challenge.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { challengeAnswer, executeRequest } from '../../src/wire/messages.ts'
import { authenticateFrame, framesIn, known, tls, type Wire } from './connections.node.ts'
import { type Daemon, install, ON_REAL_FILES, sleep, startDaemon, startNew, until } from './daemon.node.ts'

const RULE = {
  id: 'own.prove-touch',
  argv: { program: ['touch'] },
  action: 'challenge',
  severity: 'high',
  description: 'It must be proven who asks.',
  why: 'It is a test.',
  examples: { match: ['touch x'], pass: ['true'] },
}
const TARPIT = { chunk_bytes: 64, total_bytes: 128, delay_ms: 50 }

async function start(t: Test, change: object = {}): Promise<Daemon> {
  const directory = await install(t, {
    ...ON_REAL_FILES,
    policy: { rules_file: 'rules.json' },
    defense: { tarpit: TARPIT, ...change },
  })
  writeFileSync(join(directory, '.sass-edge/rules.json'), JSON.stringify({ rules: [RULE] }))
  return startDaemon(t, directory)
}

function client({ port, fingerprint: pin, seed }: Daemon): Promise<Client> {
  return connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: seed(), pin })
}

type Fields = ReadonlyMap<number, unknown>
const bytesAt = (fields: Fields, key: number): Uint8Array => fields.get(key) as Uint8Array

/** Asks for `touch NAME` and gives the challenge that comes back, with the answer that would pass. */
async function challenged(
  t: Test,
  wire: Wire<import('node:tls').TLSSocket>,
  name: string,
): Promise<{ readonly id: Uint8Array; readonly answer: { plaintext: Uint8Array; hmac: Uint8Array } }> {
  const sessionId = bytesAt(framesIn(wire.received())[0]?.payload as Fields, 2)
  wire.socket.write(encodeFrame(3, 'OPEN', executeRequest.encode({ command: 'touch', args: [name] }), 1))
  const message = () => framesIn(wire.received()).find(({ stream }) => stream === 3)?.payload as Fields
  await until('a challenge', () => message() !== undefined)
  t.equal(message().get(18), 100)
  const fields = message().get(14) as Fields
  const challenge: Challenge = {
    challenge_id: bytesAt(fields, 1),
    nonce: bytesAt(fields, 2),
    ciphertext: bytesAt(fields, 3),
  }
  const ekm = wire.socket.exportKeyingMaterial(44, 'EXPORTER-sakissh-chacha20-v14', Buffer.from(sessionId))
  const answer = answerChallenge(ekm, sessionId, challenge)
  if (answer === undefined) throw new Error('it was not made for this connection')
  const keyed = createHmac('sha256', ekm.subarray(0, 32)).update(sessionId).digest()
  t.same(Buffer.from(answer.hmac), keyed, 'HMAC-SHA256 of the session id, with the first 32 bytes as key')
  return { id: challenge.challenge_id, answer }
}

function respond(wire: Wire, stream: number, id: Uint8Array, plaintext: Uint8Array, hmac: Uint8Array): void {
  const message = { decrypted_plaintext: plaintext, client_ekm_hmac: hmac, challenge_id: id }
  wire.socket.write(encodeFrame(stream, 'OPEN', challengeAnswer.encode(message), 9))
}

t.test('a rule that challenges: the client library answers, and the command runs', async (t) => {
  const daemon = await start(t)
  const agent = await client(daemon)
  const heard: Waiting[] = []
  const { exitCode } = await agent.execute('touch', ['proven'], {
    onWaiting: (what) => void heard.push(what),
  })
  t.equal(exitCode, 0)
  t.same(heard, [{ kind: 'challenge' }])
  t.ok(existsSync(join(daemon.workspace, 'proven')))
  t.equal((await agent.execute('true')).exitCode, 0)
  await agent.close()
  const records = daemon.audit().filter(({ method, type }) => type === 'challenge' || method === 'Execute')
  t.match(records, [
    { type: 'decision', response: 'R2', rule: 'own.prove-touch' },
    { type: 'challenge', what: 'passed', agent: 'agent' },
    { type: 'decision', response: 'R1', enhanced: {} },
    { type: 'decision', response: 'R1' },
  ])
  const cli = await daemon.cli(['exec', '--', 'touch', 'by-hand'])
  t.equal(cli.code, 0, cli.stderr)
  t.ok(existsSync(join(daemon.workspace, 'by-hand')))
})

t.test(
  'by hand, with a key of the exporter: nothing is done before the answer, everything after it (SS-08)',
  async (t) => {
    const daemon = await start(t)
    const wire = await known(daemon)
    const { id, answer } = await challenged(t, wire, 'new')
    await sleep(100)
    t.notOk(existsSync(join(daemon.workspace, 'new')))
    respond(wire, 5, id, answer.plaintext, answer.hmac)
    await until('the end of the command', () =>
      framesIn(wire.received()).some(({ stream, kind }) => stream === 3 && kind === 'END'),
    )
    t.ok(existsSync(join(daemon.workspace, 'new')))
    wire.socket.destroy()
  },
)

t.test('Ping, SecurityStatus and CognitiveChallenge answer with their fields (SS-31)', async (t) => {
  const daemon = await start(t)
  const wire = await known(daemon)
  const { id, answer } = await challenged(t, wire, 'new')
  respond(wire, 5, id, answer.plaintext, answer.hmac)
  wire.socket.write(encodeFrame(7, 'OPEN', new Map(), 10))
  wire.socket.write(encodeFrame(9, 'OPEN', new Map(), 11))
  const end = (stream: number) =>
    framesIn(wire.received()).find((frame) => frame.stream === stream && frame.kind === 'END')?.payload as
      | Fields
      | undefined
  await until('three answers', () => [5, 7, 9].every((stream) => end(stream) !== undefined))
  const sessionId = bytesAt(framesIn(wire.received())[0]?.payload as Fields, 2)
  const [passed, status, ping] = [5, 7, 9].map((stream) => end(stream) ?? new Map<number, unknown>())
  t.equal(passed?.get(1), true, 'passed')
  t.same(passed?.get(2), sessionId, 'session_token')
  t.equal(status?.get(2), 1, 'active_sessions')
  t.match(status?.get(4), /^[0-9a-f]{16}$/, 'policy_version')
  const responses = status?.get(12) as ReadonlyMap<number, number>
  t.strictSame([...responses.keys()], [1, 2, 3, 4, 5, 6])
  t.equal(responses.get(2), 1, 'one challenge was issued')
  t.type(status?.get(14), 'number', 'audit_seq')
  t.equal(bytesAt(status ?? new Map(), 15).length, 32, 'audit_hash')
  t.match(ping?.get(1), /^\d+\.\d+\.\d+$/, 'daemon_version')
  t.match(ping?.get(5), /^Linux /, 'os')
  t.strictSame([ping?.has(3), ping?.has(4)], [false, false], 'there is no shell to name')
  // What is 0 is left out.
  t.strictSame([status?.get(1), status?.get(3), status?.get(13)], [undefined, undefined, undefined])
  wire.socket.destroy()
})

t.test(
  'a wrong, foreign, repeated or late answer is noise and nothing was done; a wrong one contains the agent (JF-076, SS-41)',
  async (t) => {
    type Attack = (wire: Wire<import('node:tls').TLSSocket>) => Promise<void>
    const attacks: Record<string, Attack> = {
      async 'another plaintext'(wire) {
        const { id, answer } = await challenged(t, wire, 'new')
        respond(wire, 5, id, new Uint8Array(64), answer.hmac)
      },
      async 'another key'(wire) {
        const { id, answer } = await challenged(t, wire, 'new')
        respond(wire, 5, id, answer.plaintext, new Uint8Array(32))
      },
      async 'one that nobody asked for'(wire) {
        respond(wire, 5, new Uint8Array(16), new Uint8Array(64), new Uint8Array(32))
      },
      async 'no answer in time'(wire) {
        await challenged(t, wire, 'new')
      },
    }
    await Promise.all(
      Object.entries(attacks).map(async ([name, attack]) => {
        const daemon = await start(t, { challenge: { ttl_seconds: 1 } })
        const wire = await known(daemon)
        const before = framesIn(wire.received()).length
        await attack(wire)
        t.equal(await wire.closed, 'fin', name)
        const noise = framesIn(wire.received())
          .slice(before)
          .filter(({ stream }) => stream === 1)
        t.equal(noise.length, 2)
        t.notOk(existsSync(join(daemon.workspace, 'new')))
        t.ok(daemon.audit().some(({ response, severity }) => response === 'R5' && severity === 'critical'))
        // Somebody else answers wrongly; a client that is slow or confused is only counted.
        const isForged = name.startsWith('another')
        const { levels } = JSON.parse((await daemon.cli(['level', 'show', '--json'])).stdout.toString())
        t.match(levels, isForged ? [{ scope: 'agent', name: 'agent', level: 'CONTAIN' }] : [])
        t.equal(levels.length, isForged ? 1 : 0, name)
      }),
    )
  },
)

t.test('an answer holds for one command: the second one is challenged again', async (t) => {
  const daemon = await start(t)
  const wire = await known(daemon)
  const { id, answer } = await challenged(t, wire, 'new')
  respond(wire, 5, id, answer.plaintext, answer.hmac)
  await until('the end', () =>
    framesIn(wire.received()).some(({ stream, kind }) => stream === 3 && kind === 'END'),
  )
  respond(wire, 7, id, answer.plaintext, answer.hmac)
  t.equal(await wire.closed, 'fin', 'a repeated answer is noise')
  t.match(
    daemon.audit().find(({ rule }) => rule === 'challenge.replay'),
    { response: 'R5', code: 'CHALLENGE_REPLAY' },
  )
})

t.test('an expired session is renewed by an answer, and its command runs (SS-11)', async (t) => {
  const daemon = await startNew(t, { ...ON_REAL_FILES, session: { max_duration_seconds: 1 } })
  const agent = await client(daemon)
  await until('its end', () => daemon.audit().some(({ to }) => to === 'EXPIRED'))
  const heard: string[] = []
  const { exitCode } = await agent.execute('true', [], { onWaiting: ({ kind }) => void heard.push(kind) })
  t.equal(exitCode, 0)
  t.same(heard, ['challenge'])
  await agent.close()
})

t.test('whose address has failed lately is let in and still has to prove itself (SS-10)', async (t) => {
  const daemon = await startNew(t, {
    ...ON_REAL_FILES,
    acl: { penalties: { exempt: [] } },
    defense: { tarpit: TARPIT },
  })
  const failing = await tls(daemon.port)
  failing.socket.write(authenticateFrame(failing.socket, 'nobody', daemon.seed()))
  await failing.closed
  const agent = await client(daemon)
  t.equal((await agent.execute('true')).exitCode, 0)
  await agent.close()
  t.ok(daemon.audit().some(({ type, what }) => type === 'challenge' && what === 'passed'))
  t.ok(daemon.audit().some(({ response, rule }) => response === 'R2' && rule === 'authenticate.suspect'))
  // Whoever does not answer can do nothing at all.
  const silent = await known(daemon)
  const welcome = framesIn(silent.received())[0]?.payload as Fields
  t.ok(welcome.get(15), 'the challenge came with the session')
  silent.socket.write(encodeFrame(3, 'OPEN', executeRequest.encode({ command: 'touch', args: ['new'] }), 1))
  await sleep(300)
  t.notOk(existsSync(join(daemon.workspace, 'new')))
  t.notOk(framesIn(silent.received()).some(({ stream, kind }) => stream === 3 && kind === 'END'))
  silent.socket.destroy()
})
