import { createHash } from 'node:crypto'
import t from 'tap'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { type Caller, createCaller } from '../../../src/client/calls/caller.ts'
import type { ChallengeKeys } from '../../../src/client/calls/challenger.ts'
import type { Waiting } from '../../../src/client/calls/waiting.ts'
import { CHALLENGE_EKM_BYTES } from '../../../src/limits.ts'
import { type Challenges, createChallenges } from '../../../src/session/callers/challenges.ts'
import { type Connection, type ConnectionEvent, createConnection } from '../../../src/wire/connection.ts'
import { SYSTEM } from '../../../src/wire/frame.ts'
import {
  type ChallengeAnswer,
  challengeResult,
  executeResponse,
  pingResponse,
  streamResponse,
} from '../../../src/wire/messages.ts'
import { stream } from '../one-stream.ts'

const SESSION = new Uint8Array(16).fill(5)
const EXECUTION = new Uint8Array(16).fill(7)

/** Stands for the exporter of one TLS connection: bytes that follow from its secret, the label and the context. */
function exporter(secret: string): (bytes: number, label: string, context: Uint8Array) => Uint8Array {
  return (bytes, label, context) =>
    new Uint8Array(createHash('sha512').update(secret).update(label).update(context).digest()).slice(0, bytes)
}

/** The daemon's own keeper of challenges; what it draws follows from `first`. */
function keeper(first: number): Challenges {
  let drawn = first
  return createChallenges(
    { exportKeyingMaterial: exporter('this connection') },
    { monotonicMs: () => 0, wallMs: () => 0, after: () => () => {} },
    { bytes: (count) => new Uint8Array(count).fill(++drawn) },
    () => 60_000,
  )
}

type Stage = {
  readonly caller: Caller
  readonly daemon: Connection
  readonly events: ConnectionEvent[]
  readonly outcomes: string[]
  /** Challenges on that stream, as the daemon does. */
  challenge(stream: number): void
}

/** A caller joined to the daemon's engine and to the daemon's own keeper of challenges. */
function stage(keysOf: 'this connection' | 'another one' | 'none' = 'this connection'): Stage {
  const events: ConnectionEvent[] = []
  const outcomes: string[] = []
  const challenges = keeper(0)
  const caller: Caller = createCaller(
    (frame) => daemon.receive(frame),
    () => 0,
    () => {},
  )
  const daemon: Connection = createConnection(
    'daemon',
    (frame) => caller.receive(frame),
    (event) => {
      events.push(event)
      if (event.kind !== 'opened' || event.method.name !== 'CognitiveChallenge' || !event.message.ok) return
      const { outcome, settle } = challenges.answer(event.message.value as ChallengeAnswer)
      if (outcome !== 'passed') outcomes.push(outcome)
      settle()
      // An answer is never there before the question has been sent.
      queueMicrotask(() => daemon.end(event.stream, challengeResult.encode({ passed: outcome === 'passed' })))
    },
  )
  const clientExporter = exporter(keysOf)
  const keys: ChallengeKeys = {
    sessionId: SESSION,
    exportKeys: () => clientExporter(CHALLENGE_EKM_BYTES, 'EXPORTER-sakissh-chacha20-v14', SESSION),
  }
  caller.authenticated(65_536, keysOf === 'none' ? undefined : keys)
  daemon.becomeOpen(65_536)
  return {
    caller,
    daemon,
    events,
    outcomes,
    challenge(stream) {
      const issued = challenges.issue(SESSION, (outcome) => outcomes.push(outcome))
      daemon.message(stream, streamResponse.encode({ source: SYSTEM, challenge: issued, code: 100 }))
    },
  }
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 50))
const answers = ({ events }: Stage) =>
  events.filter((event) => event.kind === 'opened' && event.method.name === 'CognitiveChallenge')

t.test('a challenge on a stream is answered by itself, and the request goes on', async (t) => {
  const made = stage()
  const waited: Waiting[] = []
  const running = stream(
    made.caller,
    { command: 'x' },
    () => {},
    (what) => waited.push(what),
  )
  made.challenge(1)
  await soon()
  t.strictSame(made.outcomes, ['passed'])
  t.strictSame(waited, [{ kind: 'challenge' }])
  made.daemon.message(1, streamResponse.encode({ source: SYSTEM, execution_id: EXECUTION }))
  made.daemon.end(1, streamResponse.encode({ exit_code: 3 }))
  t.match(await running.exit, { exitCode: 3 })
})

t.test('unary calls and unary executions answer one too', async (t) => {
  const made = stage()
  const ping = made.caller.call('Ping', new Map())
  made.challenge(1)
  await soon()
  made.daemon.end(1, pingResponse.encode({ daemon_version: '9', os: 'linux' }))
  t.match(await ping, { daemon_version: '9' })
  const waited: Waiting[] = []
  const run = made.caller.execute({ command: 'x' }, (what) => waited.push(what))
  made.challenge(5)
  await soon()
  made.daemon.end(5, executeResponse.encode({ exit_code: 0, execution_id: EXECUTION }))
  t.match(await run, { exitCode: 0 })
  t.strictSame(made.outcomes, ['passed', 'passed'])
  t.strictSame(waited, [{ kind: 'challenge' }])
})

t.test('a challenge of another connection fails its request, and nothing is answered', async (t) => {
  for (const keys of ['another one', 'none'] as const) {
    const made = stage(keys)
    const running = stream(made.caller, { command: 'x' }, () => {})
    const ping = made.caller.call('Ping', new Map())
    made.challenge(1)
    await t.rejects(running.exit, { code: 'CHALLENGE_FAILED', message: /nothing was answered/ }, keys)
    t.strictSame(answers(made), [], 'no answer')
    t.match(made.events.at(-1), { kind: 'reset', stream: { id: 1 } }, 'the device hears that it is given up')
    made.daemon.end(3, pingResponse.encode({ daemon_version: '9', os: 'linux' }))
    t.match(await ping, { daemon_version: '9' }, 'the connection goes on')
  }
})

t.test('an answer that the device does not take fails the request', async (t) => {
  const made = stage()
  const run = made.caller.execute({ command: 'x' })
  // It can be opened, and the device knows nothing of it.
  const sealed = keeper(200).issue(SESSION, () => {})
  made.daemon.message(1, streamResponse.encode({ source: SYSTEM, challenge: sealed, code: 100 }))
  await t.rejects(run, { code: 'CHALLENGE_FAILED', message: /did not take/ })
  t.strictSame(made.outcomes, ['unknown'])
})

t.test('what Authenticate was let in under is answered with the same keys', async (t) => {
  const made = stage()
  let settled = ''
  const challenges = keeper(9)
  const issued = challenges.issue(SESSION, (outcome) => {
    settled = outcome
  })
  if (issued === undefined) throw new Error('it was not issued')
  // The engine beside it does not know this one and answers no; what was sent is what counts here.
  await t.rejects(made.caller.meet(issued), { code: 'CHALLENGE_FAILED' })
  const sent = answers(made).at(-1)
  if (sent?.kind !== 'opened' || !sent.message.ok) throw new Error('it was not answered')
  const { outcome, settle } = challenges.answer(sent.message.value as ChallengeAnswer)
  settle()
  t.strictSame([outcome, settled], ['passed', 'passed'])
})

t.test(
  'a call that waits says nothing and gives its credit back; anything else before its answer ends it',
  async (t) => {
    const { caller, daemon } = stage()
    const ping = caller.call('Ping', new Map())
    const data = encodeUtf8('awaiting operator')
    const waiting = { source: SYSTEM, is_queued: true, queue_position: 1, code: 101 }
    const before = daemon.credit(1)
    for (let i = 0; i < 5_000; i++)
      daemon.message(1, streamResponse.encode({ ...waiting, data }), data.length)
    t.equal(daemon.credit(1), before, 'as much as at the beginning')
    daemon.end(1, pingResponse.encode({ daemon_version: '9', os: 'linux' }))
    t.match(await ping, { daemon_version: '9' })
    for (const [index, message] of [
      streamResponse.encode({ source: SYSTEM, data }),
      streamResponse.encode({ source: 0, is_queued: true }),
      streamResponse.encode({ source: 0, data }),
    ].entries()) {
      const other = caller.call('Ping', new Map())
      daemon.message(3 + 2 * index, message)
      await t.rejects(other, { code: 'FRAME_MALFORMED' })
    }
  },
)

t.test('Authenticate and the answer to a challenge wait for nothing', async (t) => {
  for (const method of ['Authenticate', 'CognitiveChallenge'] as const) {
    const made = stage()
    const call = made.caller.call(method, new Map())
    made.challenge(1)
    await t.rejects(call, { code: 'FRAME_MALFORMED' }, method)
  }
})

t.test('who asked hears of the place in the queue, of a human, and at every move up', async (t) => {
  const { caller, daemon } = stage()
  const waited: Waiting[] = []
  stream(
    caller,
    { command: 'x' },
    () => {
      t.fail('it is no output')
    },
    (what) => waited.push(what),
  )
  const queued = (queue_position: number, text?: string) =>
    daemon.message(
      1,
      streamResponse.encode({
        source: SYSTEM,
        is_queued: true,
        queue_position,
        code: 101,
        data: text === undefined ? undefined : encodeUtf8(text),
      }),
      text?.length ?? 0,
    )
  queued(3)
  queued(1)
  queued(1, 'awaiting operator')
  queued(2, 'something else')
  t.strictSame(waited, [
    { kind: 'queued', position: 3 },
    { kind: 'queued', position: 1 },
    { kind: 'operator' },
    { kind: 'queued', position: 2 },
  ])
})
