import t from 'tap'
import type { CborValue } from '../../src/base/encoding/cbor.ts'
import { createOperatorClient } from '../../src/client/operator-client.ts'
import * as m from '../../src/wire/messages.ts'
import { type MethodName, methodNamed } from '../../src/wire/methods.ts'
import { readMessage } from '../../src/wire/schema.ts'
import * as s from '../../src/wire/status-messages.ts'

const ID = new Uint8Array(16).fill(0xab)
const DIGEST = new Uint8Array(32).fill(0xcd)

/** A device that answers with `answer`, and what it was asked, read by the schema of the method as a daemon does. */
function device(answer: CborValue): {
  asked: { method: MethodName; value: unknown }[]
  operator: ReturnType<typeof createOperatorClient>
} {
  const asked: { method: MethodName; value: unknown }[] = []
  const operator = createOperatorClient(async (name, request) => {
    const method = methodNamed(name)
    if (method.audience !== 'operator') throw new Error(`${name} is anybody’s`)
    const read = readMessage(method.request, request, 'strict')
    if (!read.ok) throw new Error(JSON.stringify(read.problems))
    asked.push({ method: name, value: read.value })
    const response = readMessage(method.response, answer, 'strict')
    if (!response.ok) throw new Error(JSON.stringify(response.problems))
    return response.value
  })
  return { asked, operator }
}

t.test('questions come with hexadecimal ids and with what was shown, as it is', async (t) => {
  const entry = {
    id: ID,
    agent_name: 'ci',
    session_id: ID,
    layer: 'specifics',
    rule: 'sensitive_files',
    reason: 'It reads a key.',
    shown: '{"action":null}',
    digest: DIGEST,
    asked_at: 5,
    expires_at: 65,
  }
  const { operator } = device(m.confirmationList.encode({ confirmations: [entry], total: 1 }))
  t.strictSame(await operator.confirmations(), {
    confirmations: [
      {
        id: 'ab'.repeat(16),
        agent: 'ci',
        sessionId: 'ab'.repeat(16),
        layer: 'specifics',
        rule: 'sensitive_files',
        reason: 'It reads a key.',
        shown: '{"action":null}',
        digest: 'cd'.repeat(32),
        askedAt: 5,
        expiresAt: 65,
      },
    ],
    total: 1,
  })
})

t.test('an answer names the question and the digest; what is no id or digest is not sent', async (t) => {
  const { operator, asked } = device(m.outcome.encode({ success: true, message: 'Denied.' }))
  t.strictSame(await operator.answerConfirmation('ab'.repeat(16), false, 'cd'.repeat(32)), {
    success: true,
    message: 'Denied.',
  })
  t.strictSame(asked, [{ method: 'AnswerConfirmation', value: { id: ID, approve: false, digest: DIGEST } }])
  await t.rejects(operator.answerConfirmation('ab', true, 'cd'.repeat(32)), { code: 'USAGE' })
  await t.rejects(operator.answerConfirmation('ab'.repeat(16), true, 'CD'.repeat(32)), { code: 'USAGE' })
  t.equal(asked.length, 1)
})

t.test('levels, and what is changed of them', async (t) => {
  const entry = { scope: 'agent', name: 'ci', level: 'CONTAIN', why: 'Three violations.', since: 7 }
  const shown = device(m.levelList.encode({ entries: [entry], incident: 'ff' }))
  t.strictSame(await shown.operator.levels(), { entries: [entry], incident: 'ff' })
  const none = device(m.levelList.encode({ entries: [] }))
  t.strictSame(await none.operator.levels(), { entries: [], incident: undefined })
  const { operator, asked } = device(m.outcome.encode({ success: false, message: 'No.' }))
  t.strictSame(await operator.setLevel({ scope: 'daemon', level: 'NORMAL', incident: 'ff' }), {
    success: false,
    message: 'No.',
  })
  await operator.setLevel({ scope: 'agent', name: 'ci', level: 'RESTRICT', why: 'Looks odd.' })
  t.match(asked, [
    { method: 'SetLevel', value: { scope: 'daemon', name: '', level: 'NORMAL', why: '', incident: 'ff' } },
    { method: 'SetLevel', value: { scope: 'agent', name: 'ci', level: 'RESTRICT', why: 'Looks odd.' } },
  ])
})

t.test('penalties of all or of one source', async (t) => {
  const entry = { source: '198.51.100.7', seconds_left: 12, is_active: true, reason: 'auth_failed' }
  const { operator } = device(m.penaltyList.encode({ entries: [entry], total: 3 }))
  t.strictSame(await operator.penalties(), {
    penalties: [{ source: '198.51.100.7', secondsLeft: 12, isActive: true, reason: 'auth_failed' }],
    total: 3,
  })
  const clearing = device(m.outcome.encode({ success: true, message: '1 penalty was lifted.' }))
  await clearing.operator.clearPenalties('198.51.100.7')
  await clearing.operator.clearPenalties()
  t.match(clearing.asked, [{ value: { source: '198.51.100.7' } }, { value: {} }])
})

t.test('an explanation by its number, and a reload', async (t) => {
  const explanation = { seq: 9, response: 'R4 VI_SWAP', layer: 'capability', rule: 'x', reason: 'Because.' }
  const explaining = device(s.explanation.encode(explanation))
  t.match(await explaining.operator.explain(9), { ...explanation, effective: [] })
  t.match(explaining.asked, [{ method: 'Explain', value: { seq: 9 } }])
  const reloading = device(m.outcome.encode({ success: true }))
  t.strictSame(await reloading.operator.reload(), { success: true, message: '' })
})
