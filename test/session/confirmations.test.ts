/**
 * Questions to a human: shown whole, answered by digest, once, in time, and bounded for each session.
 * @module
 */
import t from 'tap'
import { canonicalize } from '../../src/base/canonical-json.ts'
import { sha256 } from '../../src/base/hash.ts'
import { encodeHex } from '../../src/base/hex.ts'
import { encodeUtf8 } from '../../src/base/utf8.ts'
import { QUESTIONS_PER_MINUTE, SHOWN_BYTES } from '../../src/limits.ts'
import { createConfirmations, type Question } from '../../src/session/confirmations.ts'
import { stageClock, stageRandom } from './stage.ts'

const QUESTION: Question = {
  agent: 'bot',
  sessionId: 'ab'.repeat(16),
  layer: 'specifics',
  rule: 'sensitive_files',
  reason: 'It reads a secret.',
  shown: { action: { argv: ['cat', 'b'], cwd: '/' } },
}

function stage(limits = { timeoutMs: 60_000, pendingPerSession: 3 }) {
  const clock = stageClock()
  const confirmations = createConfirmations(clock, stageRandom(), sha256, () => limits)
  const heard: string[] = []
  const ask = (change: Partial<Question> = {}, name = 'q') => {
    const asked = confirmations.ask({ ...QUESTION, ...change }, (outcome, by) =>
      heard.push(`${name} ${outcome} ${by}`),
    )
    if (asked === undefined) throw new Error('not asked')
    return { ...asked, digest: encodeHex(asked.pending.digest), id: asked.pending.id }
  }
  return { clock, confirmations, heard, ask, limits }
}

t.test('the digest is that of what is shown, and what is shown is everything, in one form', (t) => {
  const { ask, confirmations, clock } = stage()
  const { pending } = ask()
  t.equal(pending.shownText, canonicalize(QUESTION.shown))
  t.strictSame(pending.digest, sha256(encodeUtf8(pending.shownText)))
  t.strictSame([pending.askedAtMs, pending.expiresAtMs - pending.askedAtMs], [clock.wallMs(), 60_000])
  t.equal(pending.id, encodeHex(pending.idBytes))
  t.strictSame(confirmations.list(), [pending])
  t.notSame(ask({ shown: { action: { argv: ['cat', 'c'], cwd: '/' } } }).digest, encodeHex(pending.digest))
  t.end()
})

t.test('an answer settles it once, with the name of who gave it', (t) => {
  for (const [approves, says] of [
    [true, 'q approved boss'],
    [false, 'q denied boss'],
  ] as const) {
    const { ask, confirmations, heard, clock } = stage()
    const { id, digest } = ask()
    t.equal(confirmations.answer(id, digest, approves, 'boss'), 'taken')
    t.equal(confirmations.answer(id, digest, !approves, 'other'), 'unknown', 'used once')
    t.strictSame([heard, confirmations.list(), clock.timers], [[says], [], 0])
  }
  t.end()
})

t.test('an answer to something else than what was shown is not taken, and the question goes on', (t) => {
  const { ask, confirmations, heard } = stage()
  const one = ask({}, 'one')
  const two = ask({ shown: { action: 'another' } }, 'two')
  t.equal(confirmations.answer(one.id, two.digest, true, 'boss'), 'other_digest')
  t.equal(confirmations.answer(one.id, '', true, 'boss'), 'other_digest')
  t.equal(confirmations.answer('00'.repeat(16), one.digest, true, 'boss'), 'unknown')
  t.strictSame([heard, confirmations.list().length], [[], 2])
  t.equal(confirmations.answer(one.id, one.digest, true, 'boss'), 'taken')
  t.strictSame(heard, ['one approved boss'])
  t.end()
})

t.test('two questions that show the same are two, and one answer is for one of them', (t) => {
  const { ask, confirmations, heard } = stage()
  const [one, two] = [ask({}, 'one'), ask({}, 'two')]
  t.equal(one.digest, two.digest)
  t.not(one.id, two.id)
  confirmations.answer(two.id, two.digest, true, 'boss')
  t.strictSame([heard, confirmations.list().map(({ id }) => id)], [['two approved boss'], [one.id]])
  t.end()
})

t.test('silence means no', (t) => {
  const { ask, confirmations, heard, clock } = stage()
  const { id, digest } = ask()
  clock.pass(59_999)
  t.strictSame(heard, [])
  clock.pass(1)
  t.strictSame(heard, ['q timed_out '])
  t.equal(confirmations.answer(id, digest, true, 'boss'), 'unknown')
  t.end()
})

t.test('what is withdrawn is never settled', (t) => {
  const { ask, confirmations, heard, clock } = stage()
  const { id, digest, withdraw } = ask()
  withdraw()
  withdraw()
  t.equal(confirmations.answer(id, digest, true, 'boss'), 'unknown')
  clock.pass(60_000)
  t.strictSame([heard, clock.timers], [[], 0])
  t.end()
})

t.test('so many of one session may wait, and those of another are not counted', (t) => {
  const { ask, confirmations } = stage()
  const first = ask()
  ask()
  t.ok(confirmations.isFree(QUESTION.sessionId))
  ask()
  t.notOk(confirmations.isFree(QUESTION.sessionId))
  t.ok(confirmations.isFree('other'))
  first.withdraw()
  t.ok(confirmations.isFree(QUESTION.sessionId))
  t.end()
})

t.test('a session asks so many questions in a minute, however it takes them back', (t) => {
  const { ask, confirmations, clock } = stage()
  for (let count = 0; count < QUESTIONS_PER_MINUTE; count++) {
    t.ok(confirmations.isFree(QUESTION.sessionId))
    ask().withdraw()
    clock.pass(1_000)
  }
  t.notOk(confirmations.isFree(QUESTION.sessionId), 'none waits, and still')
  t.ok(confirmations.isFree('other'))
  clock.pass(60_000 - QUESTIONS_PER_MINUTE * 1_000 - 1)
  t.notOk(confirmations.isFree(QUESTION.sessionId))
  clock.pass(1)
  t.ok(confirmations.isFree(QUESTION.sessionId))
  for (let count = 0; count < QUESTIONS_PER_MINUTE; count++) ask().withdraw()
  t.notOk(confirmations.isFree(QUESTION.sessionId), 'and so in every minute')
  t.end()
})

t.test('what was too long to be asked is no question', (t) => {
  const { confirmations } = stage()
  for (let count = 0; count < QUESTIONS_PER_MINUTE * 2; count++)
    confirmations.ask({ ...QUESTION, shown: 'a'.repeat(SHOWN_BYTES) }, () => {})
  t.ok(confirmations.isFree(QUESTION.sessionId))
  t.end()
})

t.test('what is too long to be judged by looking at it is not asked, to the byte', (t) => {
  const { confirmations, clock } = stage()
  const ask = (text: string) => confirmations.ask({ ...QUESTION, shown: text }, () => {})
  // Two quotation marks belong to it, and a letter beyond ASCII counts by its bytes.
  t.ok(ask('a'.repeat(SHOWN_BYTES - 2)))
  t.notOk(ask('a'.repeat(SHOWN_BYTES - 1)))
  t.ok(ask('é'.repeat(SHOWN_BYTES / 2 - 1)))
  t.notOk(ask('é'.repeat(SHOWN_BYTES / 2)))
  t.equal(clock.timers, 2)
  t.end()
})

t.test('the limits that hold are those of the moment', (t) => {
  const limits = { timeoutMs: 60_000, pendingPerSession: 1 }
  const { ask, confirmations, clock, heard } = stage(limits)
  ask({}, 'old')
  t.notOk(confirmations.isFree(QUESTION.sessionId))
  Object.assign(limits, { timeoutMs: 1_000, pendingPerSession: 2 })
  t.ok(confirmations.isFree(QUESTION.sessionId))
  ask({}, 'new')
  clock.pass(1_000)
  t.strictSame(heard, ['new timed_out '])
  t.end()
})
