/** What the record says of hidden secrets, and what is sealed of them. */
import t from 'tap'
import type { Screen } from '../../../src/defense/firewall/screen.ts'
import type { SecretFindings } from '../../../src/defense/firewall/secrets/secret-screen.ts'
import type { Execution } from '../../../src/session/executions/execution.ts'
import { hiddenIn, redactedEvent } from '../../../src/session/executions/redacted-event.ts'

function executionWith(findings: readonly (SecretFindings | undefined)[]): Execution {
  const screens = findings.map((found) => ({ secrets: found }) as Screen)
  const known: Partial<Execution> = { id: 'ab', owner: 'bot', instance: 'bot-1', sessionId: '5e' }
  return { ...known, screened: { push() {}, finish() {}, giveUp() {}, screens } } as Execution
}

const findings = (kind: string, count: number): SecretFindings => ({
  count,
  late: 0,
  kinds: new Map([[kind, count]]),
  secrets: [{ kind, offset: 7, secret: Buffer.from('hunter2') }],
})

t.test('nothing where nothing was found', (t) => {
  t.equal(hiddenIn(executionWith([])), undefined)
  t.equal(hiddenIn(executionWith([undefined])), undefined)
  t.end()
})

t.test('counts by kind over both sources; the secrets themselves are only in what is sealed', (t) => {
  const execution = executionWith([findings('password', 2), findings('password', 1), findings('jwt', 1)])
  const event = redactedEvent(execution, 'f0'.repeat(32))
  t.strictSame(event, {
    type: 'redacted',
    execution: 'ab',
    agent: 'bot',
    instance: 'bot-1',
    session: '5e',
    secrets: 4,
    kinds: { password: 3, jwt: 1 },
    canaries: 0,
    late: 0,
    facts: 'f0'.repeat(32),
  })
  t.notOk(JSON.stringify(event).includes('hunter2'))
  t.strictSame(hiddenIn(execution)?.redacted[0], { kind: 'password', offset: 7, secret: 'aHVudGVyMg==' })
  t.end()
})
