/**
 * Challenges: sealed for one connection and session, answered once or never, and bounded in number.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { capabilityHash } from '../../../src/defense/capability.ts'
import { CHALLENGE_TTL_SECONDS, CHALLENGES_PER_MINUTE, VIOLATIONS_TO_CONTAIN } from '../../../src/limits.ts'
import {
  type ChallengeOutcome,
  createChallengeRates,
  createChallenges,
} from '../../../src/session/callers/challenges.ts'
import { answerChallenge } from '../../../src/wire/challenge.ts'
import {
  authOf,
  CAPABILITY,
  callerNamed,
  challengeOn,
  connect,
  enter,
  exporterOf,
  meet,
  run,
  type StageOptions,
  stageClock,
  stageRandom,
  stageRooms,
} from '../stage.ts'

const SESSION = new Uint8Array(16).fill(3)
const TTL_MS = CHALLENGE_TTL_SECONDS * 1_000

function stage(exporter = exporterOf('one')) {
  const clock = stageClock()
  const challenges = createChallenges({ exportKeyingMaterial: exporter }, clock, stageRandom(), () => TTL_MS)
  const settled: ChallengeOutcome[] = []
  const issue = (sessionId = SESSION) => {
    const issued = challenges.issue(sessionId, (outcome) => settled.push(outcome))
    if (issued === undefined) throw new Error('not issued')
    return issued
  }
  const solve = (issued: ReturnType<typeof issue>, connection = exporter, sessionId = SESSION) => {
    const ekm = connection(44, 'EXPORTER-sakissh-chacha20-v14', sessionId)
    return ekm === undefined ? undefined : answerChallenge(ekm, sessionId, issued)
  }
  const answer = (issued: ReturnType<typeof issue>, plaintext: Uint8Array, hmac: Uint8Array) =>
    challenges.answer({
      challenge_id: issued.challenge_id,
      decrypted_plaintext: plaintext,
      client_ekm_hmac: hmac,
    })
  return { clock, challenges, settled, issue, solve, answer }
}

t.test('the right answer passes, once; the same answer again is one that nobody waits for', (t) => {
  const { issue, solve, answer, settled, clock } = stage()
  const issued = issue()
  const right = solve(issued)
  if (right === undefined) throw new Error('cannot be opened')
  t.strictSame([issued.nonce.length, issued.ciphertext.length, right.plaintext.length], [12, 80, 64])
  t.equal(issued.expires_at, Math.floor((clock.wallMs() + TTL_MS) / 1_000))
  const first = answer(issued, right.plaintext, right.hmac)
  t.strictSame([first.outcome, settled], ['passed', []], 'who issued it hears of it when that is decided')
  first.settle()
  t.strictSame(settled, ['passed'])
  const again = answer(issued, right.plaintext, right.hmac)
  again.settle()
  t.strictSame([again.outcome, settled, clock.timers], ['unknown', ['passed'], 0])
  t.end()
})

t.test('a wrong half fails, whichever it is, and the challenge is gone with it', (t) => {
  const flip = (bytes: Uint8Array, at: number) => bytes.with(at, (bytes[at] ?? 0) ^ 1)
  for (const [which, change] of [
    ['plaintext', (a: Uint8Array, b: Uint8Array) => [flip(a, 0), b]],
    ['end of the plaintext', (a: Uint8Array, b: Uint8Array) => [flip(a, 63), b]],
    ['HMAC', (a: Uint8Array, b: Uint8Array) => [a, flip(b, 31)]],
    ['both', (a: Uint8Array, b: Uint8Array) => [flip(a, 1), flip(b, 1)]],
    ['nothing', () => [new Uint8Array(64), new Uint8Array(32)]],
  ] as const) {
    const { issue, solve, answer } = stage()
    const issued = issue()
    const right = solve(issued)
    if (right === undefined) throw new Error('cannot be opened')
    const [plaintext = right.plaintext, hmac = right.hmac] = change(right.plaintext, right.hmac)
    t.equal(answer(issued, plaintext, hmac).outcome, 'failed', which)
    t.equal(answer(issued, right.plaintext, right.hmac).outcome, 'unknown', 'one try')
  }
  t.end()
})

t.test('another connection or another session cannot open it, nor answer for it', (t) => {
  const { issue, solve, answer } = stage()
  const issued = issue()
  const elsewhere = exporterOf('two')
  t.equal(solve(issued, elsewhere), undefined)
  t.equal(solve(issued, undefined, new Uint8Array(16).fill(4)), undefined)
  const theirs = stage(elsewhere)
  const foreign = theirs.issue()
  t.strictSame(foreign.challenge_id, issued.challenge_id, 'even under the same id')
  const right = theirs.solve(foreign)
  if (right === undefined) throw new Error('cannot be opened')
  t.equal(answer(issued, right.plaintext, right.hmac).outcome, 'failed')
  t.end()
})

t.test('what nobody answers in time is late, and is told once', (t) => {
  const { issue, solve, answer, settled, clock } = stage()
  const issued = issue()
  clock.pass(TTL_MS - 1)
  t.strictSame(settled, [])
  clock.pass(1)
  t.strictSame(settled, ['late'])
  const right = solve(issued)
  if (right === undefined) throw new Error('cannot be opened')
  t.equal(answer(issued, right.plaintext, right.hmac).outcome, 'unknown')
  clock.pass(TTL_MS)
  t.strictSame([settled, clock.timers], [['late'], 0])
  t.end()
})

t.test('what is forgotten and what ends with the connection is never heard of again', (t) => {
  const { issue, challenges, settled, clock } = stage()
  const issued = issue()
  issue()
  issue()
  challenges.forget(issued.challenge_id)
  challenges.forget(issued.challenge_id)
  t.equal(clock.timers, 2)
  challenges.end()
  t.equal(clock.timers, 0)
  clock.pass(TTL_MS * 2)
  t.strictSame(settled, [])
  t.end()
})

t.test(
  'an answer that was on its way when its request went is no replay: it passes once and moves nothing',
  (t) => {
    const { issue, solve, answer, challenges, settled, clock } = stage()
    const forget = () => {
      const issued = issue()
      const right = solve(issued)
      if (right === undefined) throw new Error('cannot be opened')
      challenges.forget(issued.challenge_id)
      return (hmac = right.hmac) => {
        const { outcome, settle } = answer(issued, right.plaintext, hmac)
        settle()
        return outcome
      }
    }
    const [first, wrong, late, ended] = [forget(), forget(), forget(), forget()]
    t.strictSame([first(), first()], ['passed', 'unknown'])
    t.equal(wrong(new Uint8Array(32)), 'failed', 'it must be right all the same')
    clock.pass(TTL_MS)
    t.equal(late(), 'unknown')
    const last = forget()
    t.equal(last(), 'passed')
    challenges.end()
    t.equal(ended(), 'unknown')
    t.strictSame([settled, clock.timers], [[], 0])
    t.end()
  },
)

t.test('no nonce, id, plaintext or ciphertext comes twice', (t) => {
  const { issue, solve } = stage()
  const seen = { nonce: new Set(), id: new Set(), plaintext: new Set(), ciphertext: new Set() }
  for (let index = 0; index < 200; index++) {
    const issued = issue()
    seen.nonce.add(encodeHex(issued.nonce))
    seen.id.add(encodeHex(issued.challenge_id))
    seen.ciphertext.add(encodeHex(issued.ciphertext))
    seen.plaintext.add(encodeHex(solve(issued)?.plaintext ?? new Uint8Array(0)))
  }
  t.strictSame(
    Object.values(seen).map(({ size }) => size),
    [200, 200, 200, 200],
  )
  t.end()
})

t.test('a transport that exports nothing is not challenged', (t) => {
  const { challenges, clock } = stage(() => undefined)
  t.equal(
    challenges.issue(SESSION, () => t.fail('told')),
    undefined,
  )
  t.equal(clock.timers, 0)
  t.end()
})

t.test('each caller is challenged a bounded number of times in a minute', (t) => {
  const rates = createChallengeRates(0)
  for (let index = 0; index < CHALLENGES_PER_MINUTE; index++) {
    t.ok(rates.isFree('bot'))
    rates.count('bot')
  }
  t.strictSame([rates.isFree('bot'), rates.isFree('other')], [false, true])
  rates.tick(59_999)
  t.notOk(rates.isFree('bot'))
  rates.tick(60_000)
  t.ok(rates.isFree('bot'))
  t.end()
})

const EXPIRED: StageOptions = { maxDurationMs: 1_000 }
function expired(options: StageOptions = {}) {
  const staged = stageRooms({ ...EXPIRED, ...options })
  const client = enter(staged)
  staged.clock.pass(1_000)
  staged.rooms.sessions.tick(staged.clock.monotonicMs())
  return { ...staged, client }
}
const lastRule = ({ audit }: ReturnType<typeof stageRooms>) =>
  audit.events.findLast(({ type }) => type === 'decision')?.['rule']

t.test(
  'an expired session is challenged on the stream of the request, and passing renews it and lets it go on',
  (t) => {
    const staged = expired()
    const { client, rooms, spawner, audit } = staged
    const stream = run(client, 'ls')
    t.match(client.on(stream), [{ kind: 'message', value: { source: 2, code: 100 } }])
    t.equal(spawner.children.length, 0)
    const answer = meet(client, challengeOn(client, stream))
    t.match(client.on(answer), [{ kind: 'ended', value: { passed: true } }])
    t.equal(client.on(answer)[0]?.value?.['session_token'], Buffer.from(client.sessionId).toString('latin1'))
    t.equal(spawner.children.length, 1)
    t.match(
      [...rooms.sessions.all()],
      [{ state: 'EXECUTING', expiresAtMs: staged.clock.monotonicMs() + 1_000 }],
    )
    t.match(
      audit.events.filter(({ type }) => type === 'challenge'),
      [{ what: 'passed', agent: 'bot' }],
    )
    t.strictSame(client.transport.deeds, [])
    t.end()
  },
)

t.test(
  'a wrong answer, an unknown one and a second one get R5 and end the session; a wrong one contains the agent (JF-076)',
  (t) => {
    for (const [which, answer, rule, level] of [
      ['wrong plaintext', { plaintext: new Uint8Array(64) }, 'challenge.wrong', 'CONTAIN'],
      ['wrong HMAC', { hmac: new Uint8Array(32) }, 'challenge.wrong', 'CONTAIN'],
      ['an id that nobody issued', { id: new Uint8Array(16) }, 'challenge.replay', 'NORMAL'],
    ] as const) {
      const staged = expired()
      const { client, rooms, spawner } = staged
      const stream = run(client, 'ls')
      meet(client, challengeOn(client, stream), answer)
      t.strictSame(
        [client.transport.deeds[0], rooms.tarpits.held, rooms.sessions.size],
        ['pause', 1, 0],
        which,
      )
      t.equal(spawner.children.length, 0)
      t.equal(lastRule(staged), rule)
      t.equal(rooms.levels.of('bot', '', []), level)
      t.equal(rooms.levels.of('other', '', []), 'NORMAL')
      client.events.closed()
      // What a containment ends is ended once the decision is over.
      staged.clock.pass(0)
      t.equal(staged.clock.timers, 0, 'and nothing waits any more')
    }

    const staged = expired()
    const stream = run(staged.client, 'ls')
    const challenge = challengeOn(staged.client, stream)
    meet(staged.client, challenge)
    t.equal(staged.spawner.children.length, 1)
    meet(staged.client, challenge)
    t.equal(lastRule(staged), 'challenge.replay')
    t.equal(staged.spawner.children[0]?.deeds[0], 'killTree', 'what runs ends with the session')
    t.end()
  },
)

t.test('an answer that does not come, or comes too late, gets R5 as well', (t) => {
  const staged = expired()
  const { client, clock, rooms } = staged
  const stream = run(client, 'ls')
  clock.pass(TTL_MS - 1)
  t.strictSame(client.transport.deeds, [])
  clock.pass(1)
  t.equal(client.transport.deeds[0], 'pause')
  t.equal(lastRule(staged), 'challenge.late')
  t.strictSame([rooms.sessions.size, rooms.tarpits.held], [0, 1])
  t.equal(client.on(stream).length, 1)
  t.end()
})

t.test(
  'a record that cannot be written when the time is over resets the connection and nothing else',
  (t) => {
    const staged = expired()
    run(staged.client, 'ls')
    staged.audit.failure = new Error('disk full')
    t.doesNotThrow(() => staged.clock.pass(TTL_MS))
    t.strictSame(staged.client.transport.deeds, ['reset'])
    t.end()
  },
)

t.test('an answer on another connection of the same caller is no answer', (t) => {
  const staged = expired()
  const { client, rooms } = staged
  const challenge = challengeOn(client, run(client, 'ls'))
  const second = enter(staged)
  const ekm = client.transport.exportKeyingMaterial(44, 'EXPORTER-sakissh-chacha20-v14', client.sessionId)
  t.ok(ekm)
  meet({ ...second, sessionId: client.sessionId }, challenge)
  t.equal(second.transport.deeds[0], 'pause')
  t.strictSame(client.transport.deeds, [], 'the first is not touched')
  t.equal(rooms.sessions.size, 1)
  t.end()
})

t.test('a request that is abandoned takes its challenge with it', (t) => {
  const { client, clock, rooms, spawner } = expired()
  const stream = run(client, 'ls')
  client.connection.reset(stream)
  t.equal(clock.timers, 0)
  const answer = meet(client, challengeOn(client, stream))
  t.match(client.on(answer), [{ kind: 'ended' }], 'who was about to answer is no stranger')
  t.strictSame([spawner.children.length, rooms.levels.list()], [0, []])
  client.connection.reset(run(client, 'ls'))
  clock.pass(TTL_MS)
  t.strictSame(client.transport.deeds, [], 'nothing is late')
  t.end()
})

t.test('answers that nobody waits for are violations: the third of them contains the agent', (t) => {
  const staged = stageRooms({ ...EXPIRED, penalties: { enabled: false } })
  for (let count = 1; count <= VIOLATIONS_TO_CONTAIN; count++) {
    t.equal(staged.rooms.levels.of('bot', '', []), 'NORMAL', `${count}`)
    const client = enter(staged)
    staged.clock.pass(1_000)
    staged.rooms.sessions.tick(staged.clock.monotonicMs())
    meet(client, challengeOn(client, run(client, 'ls')), { id: new Uint8Array(16) })
    client.events.closed()
  }
  t.equal(staged.rooms.levels.of('bot', '', []), 'CONTAIN')
  t.end()
})

t.test('who takes a request back just before its answer arrives is not contained, however often', (t) => {
  const staged = expired()
  const { client, clock, rooms } = staged
  for (let count = 0; count < VIOLATIONS_TO_CONTAIN * 2; count++) {
    clock.pass(60_000)
    rooms.challengeRates.tick(clock.monotonicMs())
    rooms.sessions.tick(clock.monotonicMs())
    const stream = run(client, 'ls')
    const challenge = challengeOn(client, stream)
    client.connection.reset(stream)
    t.match(client.on(meet(client, challenge)), [{ kind: 'ended', value: { passed: true } }])
  }
  t.strictSame([rooms.levels.list(), client.transport.deeds, staged.spawner.children.length], [[], [], 0])
  t.end()
})

t.test('who is challenged too often in a minute is told to come later', (t) => {
  const { client, rooms, clock } = expired()
  for (let index = 0; index < CHALLENGES_PER_MINUTE; index++) client.connection.reset(run(client, 'ls'))
  const stream = run(client, 'ls')
  t.match(client.on(stream), [{ kind: 'status', code: 84 }])
  t.strictSame(client.transport.deeds, [])
  clock.pass(60_000)
  rooms.challengeRates.tick(clock.monotonicMs())
  t.ok(challengeOn(client, run(client, 'ls')))
  t.end()
})

t.test('a rule that challenges does so for each request, and the session needs not have expired', (t) => {
  const rules = [{ action: 'challenge', severity: 'high', argv: { program: ['reboot'] } } as const]
  const { client, spawner } = { ...stageWith(rules) }
  const stream = run(client, 'reboot')
  t.equal(spawner.children.length, 0)
  meet(client, challengeOn(client, stream))
  t.equal(spawner.children.length, 1)
  const again = run(client, 'reboot')
  t.ok(challengeOn(client, again), 'the answer was for one request')
  t.equal(spawner.children.length, 1)
  t.end()
})

function stageWith(rules: NonNullable<StageOptions['rules']>) {
  const staged = stageRooms({ rules })
  return { ...staged, client: enter(staged) }
}

t.test(
  'an address that has failed lately must meet a challenge before anything else, in an old session too',
  (t) => {
    for (const resumes of [false, true]) {
      const staged = stageRooms()
      const before = enter(staged)
      before.events.closed()
      staged.rooms.penalties.add('192.0.2.1', 'auth_failed', staged.clock.monotonicMs())
      const client = enter(staged, resumes ? { resume: before.sessionId } : {})
      const { challenge_id, challenge_nonce: nonce, challenge_ciphertext: ciphertext } = client.welcome
      if (challenge_id === undefined || nonce === undefined || ciphertext === undefined)
        throw new Error('no challenge came with the answer')
      const early = run(client, 'ls')
      t.ok(challengeOn(client, early), `nothing runs before (${resumes ? 'taken back' : 'new'})`)
      t.equal(staged.spawner.children.length, 0)
      t.match(client.on(meet(client, { challenge_id, nonce, ciphertext })), [{ value: { passed: true } }])
      run(client, 'ls')
      t.equal(staged.spawner.children.length, 1)
      t.equal(
        staged.rooms.sessions.find(encodeHex(client.sessionId), callerNamed(staged, 'bot'), '192.0.2.1')
          ?.state,
        'EXECUTING',
      )
    }
    t.end()
  },
)

t.test('a session that never met its challenge is gone when its connection is', (t) => {
  const staged = stageRooms()
  staged.rooms.penalties.add('192.0.2.1', 'auth_failed', staged.clock.monotonicMs())
  const client = enter(staged)
  t.match([...staged.rooms.sessions.all()], [{ state: 'CREATED' }])
  client.events.closed()
  staged.rooms.sessions.tick(staged.clock.monotonicMs())
  t.strictSame([staged.rooms.sessions.size, staged.clock.timers], [0, 0])
  t.end()
})

t.test(
  'a challenge is a box of 64 random bytes, bound to its connection, for 60 s, compared in constant time; failing is R5 (SS-41)',
  (t) => {
    const parsed = parseConfig({}, { configDirectory: '/srv' })
    t.equal(parsed.ok && parsed.config.defense.challenge.ttl_seconds, 60)
    const { issue, solve } = stage()
    const issued = issue()
    t.equal(issued.ciphertext.length, 64 + 16, '64 bytes and their tag')
    t.equal(solve(issued)?.plaintext.length, 64)
    t.notSame(solve(issue())?.plaintext, solve(issued)?.plaintext)
    t.equal(solve(issued, exporterOf('two')), undefined, 'nobody opens it elsewhere')

    const code = readFileSync(join(import.meta.dirname, '../../../src/session/callers/challenges.ts'), 'utf8')
    const body = code.slice(code.indexOf('    answer({'), code.indexOf('    forget('))
    t.equal(body.split('equalConstantTime(').length - 1, 2, 'both halves')
    t.notMatch(body, /(decrypted_plaintext|client_ekm_hmac)\s*(===|!==|\[)/)

    for (const how of ['wrong', 'late'] as const) {
      const staged = expired()
      const stream = run(staged.client, 'ls')
      staged.clock.pass(59_999)
      t.strictSame(staged.client.transport.deeds, [])
      if (how === 'late') staged.clock.pass(1)
      else meet(staged.client, challengeOn(staged.client, stream), { plaintext: new Uint8Array(64) })
      t.match(
        staged.audit.events.findLast(({ type }) => type === 'decision'),
        { response: 'R5' },
        how,
      )
      t.strictSame([staged.rooms.tarpits.held, staged.spawner.children.length], [1, 0])
    }
    t.end()
  },
)

t.test(
  'TLS with the name of the certificate, a signature over a nonce, and for a suspect a challenge (SS-10)',
  (t) => {
    const staged = stageRooms()
    const forget = () => void staged.rooms.penalties.clear(undefined)
    connect(staged, { clientName: 'other' }).open('Authenticate', authOf())
    t.match(staged.audit.events.at(-1), { response: 'R5', code: 'TLS_CLIENT_CERT_INVALID' })
    connect(staged, { clientName: 'bot' }).open('Authenticate', authOf({ signedNonce: new Uint8Array(16) }))
    t.match(staged.audit.events.at(-1), { response: 'R5', code: 'AUTH_SIGNATURE_INVALID' })
    forget()

    const plain = enter(staged, {}, { clientName: 'bot' })
    t.match(encodeHex(plain.sessionId), /^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
    t.strictSame(plain.welcome.capability_hash.slice(), capabilityHash(CAPABILITY))
    t.equal(plain.welcome.challenge_id, undefined, 'nobody suspects it')
    run(plain, 'ls')
    t.equal(staged.spawner.children.length, 1)

    staged.rooms.penalties.add('192.0.2.1', 'auth_failed', staged.clock.monotonicMs())
    const suspect = enter(staged, { name: 'other', seed: 2 }, { clientName: 'other' })
    const { challenge_id, challenge_nonce: nonce, challenge_ciphertext: ciphertext } = suspect.welcome
    if (challenge_id === undefined || nonce === undefined || ciphertext === undefined)
      throw new Error('no challenge came with the answer')
    const early = run(suspect, 'ls')
    t.equal(staged.spawner.children.length, 1, 'nothing before the answer')
    suspect.connection.reset(early)
    meet(suspect, { challenge_id, nonce, ciphertext })
    run(suspect, 'ls')
    t.equal(staged.spawner.children.length, 2)
    t.end()
  },
)
