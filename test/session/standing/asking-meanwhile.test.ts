/** A question that comes up while something runs: asked where it may be, answered once, and on the record. */

import { createHash } from 'node:crypto'
import t from 'tap'
import type { AuditEvent } from '../../../src/ports.ts'
import { askMeanwhile } from '../../../src/session/standing/asking-meanwhile.ts'
import { createConfirmations } from '../../../src/session/standing/confirmations.ts'
import { stageClock, stageRandom } from '../stage.ts'

const QUESTION = {
  agent: 'bot',
  sessionId: '5e',
  layer: 'firewall',
  rule: 'injection',
  reason: 'It gives orders.',
  shown: { text: 'x' },
}

function stage(most = 3) {
  const clock = stageClock()
  const events: AuditEvent[] = []
  const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest()
  const confirmations = createConfirmations(clock, stageRandom(), hash, () => ({
    timeoutMs: 60_000,
    pendingPerSession: most,
  }))
  const answers: string[] = []
  const ask = () =>
    askMeanwhile(
      { confirmations, log: { write() {} }, record: (event) => void events.push(event) },
      QUESTION,
      (outcome) => void answers.push(outcome),
    )
  return { clock, events, confirmations, answers, ask, told: () => events.map(({ what }) => what) }
}

t.test('yes, no, and silence, each once and recorded', (t) => {
  for (const [outcome, approves] of [
    ['approved', true],
    ['denied', false],
    ['timed_out', undefined],
  ] as const) {
    const { clock, confirmations, answers, ask, told, events } = stage()
    ask()
    const [pending] = confirmations.list()
    if (pending === undefined) throw new Error('nobody is asked')
    if (approves === undefined) clock.pass(60_000)
    else confirmations.answer(pending.id, Buffer.from(pending.digest).toString('hex'), approves, 'op')
    clock.pass(120_000)
    t.strictSame([answers, told()], [[outcome], ['asked', outcome]])
    t.match(events[1], {
      type: 'confirmation',
      agent: 'bot',
      layer: 'firewall',
      by: approves === undefined ? '' : 'op',
    })
  }
  t.end()
})

t.test('who goes away is not answered, and that is recorded', (t) => {
  const { clock, confirmations, answers, ask, told } = stage()
  ask()()
  clock.pass(120_000)
  t.strictSame([answers, told(), confirmations.list()], [[], ['asked', 'withdrawn'], []])
  t.end()
})

t.test('where no more may wait nobody is asked, and the answer is at once that nobody answered', (t) => {
  const { answers, ask, told } = stage(1)
  ask()
  ask()()
  t.strictSame([answers, told()], [['timed_out'], ['asked']])
  t.end()
})
