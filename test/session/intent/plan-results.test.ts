/**
 * What is told of a plan: output as text or as bytes, to each receiver once, whatever cannot be delivered or recorded.
 * @module
 */
import t from 'tap'
import type { CallResult, PlanDelivery } from '../../../src/session/common/plan-room.ts'
import {
  deliverTo,
  noteRefused,
  partOf,
  refused,
  summaryOf,
} from '../../../src/session/intent/plan-results.ts'
import { recordAnyway } from '../../../src/session/standing/record-anyway.ts'
import { stageAudit } from '../stage.ts'

const CALL = { id: 'c', tool: 'count', args: {} }
const NOTHING = new Uint8Array(0)
const EXITED: CallResult = {
  ...{ kind: 'exited', number: 0, why: '', stdoutBytes: 0, stderrBytes: 0 },
  ...{ stdout: NOTHING, stderr: NOTHING },
}
const OF = { issuer: 'i', planId: 'p', sessionId: 's' }

function resultOf(stdout: Uint8Array, more: Partial<CallResult> = {}) {
  return partOf(CALL, 'ab', { ...EXITED, stdout, ...more })['result']
}

t.test('output is text where it is text, and bytes where it is not', (t) => {
  for (const [given, stdout] of [
    [Buffer.from('é\n'), { encoding: 'utf-8', data: 'é\n' }],
    [Buffer.alloc(0), { encoding: 'utf-8', data: '' }],
    [Buffer.from('aé').subarray(0, 2), { encoding: 'utf-8', data: 'a' }],
    [Buffer.from('a😀').subarray(0, 4), { encoding: 'utf-8', data: 'a' }],
    [Uint8Array.of(0xff, 0x61, 0x62, 0x63, 0x64), { encoding: 'base64url', data: '_2FiY2Q' }],
  ] as const)
    t.match(resultOf(given), { stdout })
  t.end()
})

t.test('a result says how it ended and how much there was, also of what was cut', (t) => {
  t.match(resultOf(Buffer.from('x'), { kind: 'signalled', number: 9, why: 'so', stdoutBytes: 70_000 }), {
    ...{ state: 'signalled', number: 9, why: 'so', execution_id: 'ab' },
    ...{ stdout_bytes: 70_000, stderr_bytes: 0 },
  })
  const call = { id: 'c', tool: 'count', execution: 'ab', ...EXITED, why: 'no' }
  const plan = {
    ...{ key: 'p', planId: 'p', sessionId: 's', issuer: 'i', runner: 'r', scope: 'k', sha256: 'ab', atMs: 1 },
    state: 'call_failed',
    calls: [{ ...call, state: 'refused' }],
  } as const
  t.match(summaryOf(plan), {
    tool_call_id: 'summary',
    result: { state: 'call_failed', calls: [{ tool_call_id: 'c', state: 'refused', why: 'no' }] },
  })
  t.end()
})

t.test('each receiver has it once, and one that cannot be reached keeps it from nobody', (t) => {
  const delivered: PlanDelivery[] = []
  const logged: unknown[] = []
  const log = { write: (...line: readonly unknown[]) => void logged.push(line) }
  const deliver = (delivery: PlanDelivery) => {
    if (delivery.receiver === 'gone') throw new Error('no room')
    delivered.push(delivery)
  }
  deliverTo(deliver, log, ['gone', 'boss', 'boss'], OF, 2, { tool_call_id: 'c' })
  t.strictSame(delivered, [
    {
      ...{ key: 'i\np\n2\nboss', receiver: 'boss', sessionId: 's' },
      payload: { plan_id: 'p', session_id: 's', tool_call_id: 'c' },
    },
  ])
  t.match(logged, [['error', 'plan_result_undelivered', { receiver: 'gone', reason: 'no room' }]])
  t.end()
})

t.test('a refusal is on the record with the digest of the plan, and never what it says', (t) => {
  const audit = stageAudit()
  const logged: unknown[] = []
  const rooms = { audit, log: { write: (...line: readonly unknown[]) => void logged.push(line) } }
  const refusal = refused('busy', 'p', 'it is busy', 'wait')
  t.equal(refusal.sentence, 'The plan was refused and nothing of it was run, because it is busy: wait.')
  noteRefused(rooms, refusal, Buffer.from('{"secret":1}'), {})
  t.match(audit.events, [
    {
      ...{ type: 'plan', what: 'refused', plan_id: 'p', tool_call_id: null, code: 'busy', agent: null },
      sha256: /^[0-9a-f]{64}$/,
    },
  ])
  t.notMatch(JSON.stringify([audit.events, logged]), 'secret')

  audit.failure = new Error('the disk is full')
  recordAnyway(rooms, { type: 'plan', what: 'ended' })
  t.match(logged.at(-1), ['error', 'audit_failed', { reason: 'the disk is full' }], 'it has happened')
  t.end()
})
