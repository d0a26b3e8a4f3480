import t from 'tap'
import { failed, outcomeOf, silence } from '../../../src/cli/mcp/tool-errors.ts'
import { CODES, type Code, SassError } from '../../../src/errors.ts'

t.test('what is proven not to have begun may be asked again, whatever else may not', async (t) => {
  const outcomes = Object.fromEntries((Object.keys(CODES) as Code[]).map((code) => [code, outcomeOf(code)]))
  t.match(outcomes, {
    CONNECT_FAILED: 'not_started',
    SPAWN_FAILED: 'not_started',
    RESPONSE_THROTTLED: 'not_started',
    EXECUTION_TIMEOUT: 'ended',
    CONNECTION_LOST: 'unknown',
    EXECUTION_OUTCOME_UNKNOWN: 'unknown',
    INTERNAL: 'unknown',
  })
})

t.test('a model hears what happened, what is known and what to do', async (t) => {
  const missing = failed(new SassError('FILE_NOT_FOUND', 'There is no a\u001b[2Jb.'))
  t.equal(missing.text, 'Error FILE_NOT_FOUND: There is no a\\x1b[2Jb.\nLook at what is there with list.')
  t.match(missing, { isError: true, data: { error: 'FILE_NOT_FOUND', outcome: 'not_started' } })
  const asked = failed(
    new SassError('RESPONSE_THROTTLED', 'A human would be asked, and this cannot wait: do it by a command.'),
  )
  t.match(asked.text, /do it by a command\.$/, 'what waits for nothing is not said to be worth a wait')
  const lost = failed(new SassError('CONNECTION_LOST', 'The link broke.'), 'ab'.repeat(16))
  t.match(lost.text, /look with job_status before.*\nIts id is abab/)
  t.match(lost.data, { outcome: 'unknown', id: 'ab'.repeat(16) })
  const begun = failed(new SassError('CONNECT_FAILED', 'Gone.'), 'cd'.repeat(16), true)
  t.match(begun.data, { outcome: 'unknown' }, 'what has begun is never called not started')
})

t.test('a refusal keeps what the device keeps', async (t) => {
  const refused = failed(new SassError('RESPONSE_VI_SWAP_ENGAGED', 'It ended.'), 'ab'.repeat(16), true)
  t.match(refused, { data: { outcome: 'not_started' }, text: /does not say why/ })
  t.match(failed(silence()), { data: { error: 'NO_ANSWER', outcome: 'unknown' }, text: /in other words/ })
})

t.test('a defect of our own says nothing of our insides', async (t) => {
  const defect = failed(new TypeError('x is undefined at /home/somebody'))
  t.match(defect.data, { error: 'INTERNAL', outcome: 'unknown' })
  t.notMatch(defect.text, /somebody/)
})
