/**
 * Whoever runs a plan, as the decision sees them: as they are listed now, without a stream and without a challenge.
 * @module
 */
import t from 'tap'
import type { Verdict } from '../../../src/defense/verdict.ts'
import { createPlanAsker } from '../../../src/session/intent/plan-asker.ts'
import { methodNamed } from '../../../src/wire/methods.ts'
import { stagePlans } from './staged-plan.ts'

function stageAsker() {
  const { staged, runner } = stagePlans()
  const told: string[] = []
  const { asker, leave } = createPlanAsker(staged.rooms, runner, {
    waits: (_message, dataBytes) => told.push(`waits ${dataBytes}`),
    refused: (code, text) => told.push(`${code} ${text}`),
    unanswered: (verdict) => told.push(verdict.kind === 'response' ? verdict.response : verdict.kind),
  })
  return { asker, leave, told, staged, runner }
}

const CALL = { streamId: 0, method: methodNamed('ExecuteStream'), message: { ok: true, value: {} } } as const
const verdict = (more: object) =>
  ({ kind: 'response', layer: 'level', rule: 'r', reason: 'because', severity: 'info', ...more }) as Verdict

t.test('each verdict but R1 is told as what it is', (t) => {
  const { asker, told } = stageAsker()
  for (const response of ['EXECUTE', 'CHALLENGE', 'THROTTLE', 'VI_SWAP', 'TARPIT', 'DROP'])
    asker.refuse(verdict({ response }), undefined)
  asker.refuse(verdict({ kind: 'status', code: 'CAPABILITY_CMD_DENIED' }), undefined)
  asker.refuse(verdict({ kind: 'status', code: undefined }), undefined)
  t.match(told, [
    /^RESPONSE_CHALLENGE_REQUIRED /,
    /^RESPONSE_THROTTLED /,
    'VI_SWAP',
    'TARPIT',
    'DROP',
    'CAPABILITY_CMD_DENIED because',
    'INTERNAL because',
  ])
  t.equal(told.length, 7)
  t.end()
})

t.test('what goes wrong is told without its cause, which is in the log', (t) => {
  const { asker, told, staged } = stageAsker()
  asker.fail(CALL, new Error('the cause'))
  asker.connection.fail(0, 'RESPONSE_THROTTLED', 'later')
  asker.connection.message(0, new Map(), 17)
  t.match(told, [/^SANDBOX_UNAVAILABLE .*nothing of it was done/, 'RESPONSE_THROTTLED later', 'waits 17'])
  t.notMatch(told[0], /the cause/)
  t.match(JSON.stringify(staged.logged), /plan_call_failed.*the cause/)
  t.equal(
    asker.challenge(() => {}),
    undefined,
    'nobody is there who could meet one',
  )
  t.end()
})

t.test('what it waits for is given up once', (t) => {
  const { asker, leave } = stageAsker()
  let left = 0
  const user = { message() {}, ended() {}, credit() {}, stdinDrained() {}, leave: () => void left++ }
  asker.join(0, user)
  t.equal(asker.user(0), user)
  leave()
  leave()
  t.equal(left, 1)
  t.equal(asker.user(0), undefined)
  asker.join(0, user)
  asker.streamDone(0)
  leave()
  t.equal(left, 1, 'what is over is not left')
  t.end()
})

t.test('its level is the strictest that holds for it, and one that is listed no more has nothing', (t) => {
  const { asker, staged } = stageAsker()
  t.equal(asker.level, 'NORMAL')
  staged.rooms.levels.set('agent', 'bot', 'CONTAIN', 'a test', 'operator')
  t.equal(asker.level, 'CONTAIN')
  const { find, ...rest } = staged.rooms.identities
  staged.rooms.identities = { ...rest, find: (name) => (name === 'bot' ? undefined : find(name)) }
  t.match(asker.caller, { name: 'bot', capability: '', tools: [] }, 'it has nothing any more')
  t.end()
})
