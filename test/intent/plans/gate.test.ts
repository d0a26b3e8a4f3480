import t from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { INTAKE, NOW_MS, OVER, seedOf } from '../ground.ts'
import {
  bytesOf,
  callOf,
  codeOf,
  gateOf,
  judged,
  OVER_PIN,
  pinOf,
  planWith,
  TOOLS,
  toolOf,
  VECTOR,
} from './ground.ts'

const CAPABILITIES = {
  ...{ id: 'caps', version: '1' },
  allowedActions: [{ actionType: 'markdown_to_html', compilerId: 'c', allowedTemplates: ['execution_plan'] }],
  toolPermissions: [{ tool: 'markdown_to_html', allowedArgs: ['markdown'] }],
}
const ENVELOPE = { sessionId: 's1', sender: 'over_agent', capabilitySet: CAPABILITIES }

t.test(
  'FT-006: an issuer whose key is not the pinned one stops the gate from being made (SA-30, SA-55)',
  async (t) => {
    t.ok(gateOf({ over_agent: OVER_PIN }).ok)
    t.equal(OVER_PIN, pinOf(OVER), 'the pin is that of the source')
    t.match(gateOf({ over_agent: pinOf(INTAKE) }), { ok: false, problem: /issuer_pins.over_agent/ })
    t.match(gateOf({ nobody: OVER_PIN }), { ok: false, problem: /nobody/ })
    t.ok(gateOf({}).ok, 'without pins there is a gate, and nobody whom it lets in')
  },
)

t.test('nothing runs without the signature of a pinned issuer', async (t) => {
  t.equal(codeOf(planWith()), 'ready')
  t.equal(codeOf(planWith({}, seedOf(9))), 'bad_signature')
  t.equal(codeOf(planWith({ issuer_id: 'intake_agent' }, INTAKE)), 'unknown_issuer')
  const { issuer_signature: _, ...unsigned } = planWith()
  t.equal(codeOf(unsigned), 'plan_form', 'unsigned')
  t.equal(codeOf({ ...unsigned, issuer_signature: '0'.repeat(128) }), 'bad_signature')
  const plan = planWith()
  const other = { ...plan, tool_calls: [callOf({ args: { markdown: 'other' } })] }
  t.equal(codeOf(other), 'bad_signature', 'altered')
  t.equal(codeOf(bytesOf(plan).slice(1)), 'plan_form')
})

t.test('a signature counts by the keys that are in force when the plan is looked at', async (t) => {
  const of = (seeds: readonly Uint8Array[], plan = planWith()) => {
    const made = gateOf({ over_agent: OVER_PIN }, false, seeds.map(publicKeyOf))
    if (!made.ok) return made.problem
    const given = {
      wasUsed: () => false,
      wasRefused: () => false,
      tools: TOOLS,
      envelope: undefined,
      has: () => true,
    }
    const found = made.gate.check(bytesOf(plan), { nowMs: NOW_MS, ...given })
    return found.kind === 'ready' ? 'ready' : found.refusal.code
  }
  const next = planWith({}, seedOf(9))
  t.strictSame([of([OVER]), of([seedOf(9), OVER]), of([seedOf(9)])], ['ready', 'ready', 'bad_signature'])
  t.strictSame([of([seedOf(9)], next), of([OVER], next)], ['ready', 'bad_signature'])
  t.equal(of([]), 'unknown_issuer', 'nobody of that name is known any more')
})

t.test('a signature is looked at before the tools, and those before the arguments (SA-31)', async (t) => {
  const all = { tool_calls: [callOf({ tool_name: 'rm_rf', args: { path: '/' } })] }
  t.equal(codeOf(planWith(all, seedOf(9))), 'bad_signature')
  t.equal(codeOf(planWith(all)), 'unknown_tool')
  t.equal(codeOf(planWith({ tool_calls: [callOf({ args: { path: '/' } })] })), 'tool_arguments')
})

t.test('one call that may not run keeps all from running, wherever it stands', async (t) => {
  const good = callOf({ tool_call_id: 'a' })
  for (const [bad, code] of [
    [{ tool_call_id: 'b', tool_name: 'rm_rf' }, 'unknown_tool'],
    [{ tool_call_id: 'b', args: { markdown: 1 } }, 'tool_arguments'],
    [{ tool_call_id: 'b', args: { markdown: 'x'.repeat(200_001) } }, 'tool_arguments'],
    [{ tool_call_id: 'b', args: { markdown: 'x', more: 1 } }, 'tool_arguments'],
    [{ tool_call_id: 'b', args: {} }, 'tool_arguments'],
  ] as const) {
    const found = judged(planWith({ tool_calls: [good, callOf(bad)] }))
    t.match(found, { kind: 'refused', refusal: { code, callId: 'b', planId: 'p1' } }, code)
  }
})

t.test('a plan is used once for ever', async (t) => {
  t.equal(codeOf(planWith(), { wasUsed: (id) => id === 'p1' }), 'used')
  t.equal(codeOf(planWith(), { wasUsed: (id) => id === 'p2' }), 'ready')
})

t.test('what was refused in an envelope does not run without one', async (t) => {
  const wasRefused = (id: string, issuer: string) => id === 'p1' && issuer === 'over_agent'
  t.match(judged(planWith(), { wasRefused }), { refusal: { code: 'used', issuer: 'over_agent' } })
  t.match(judged(planWith(), { wasRefused }), { refusal: { sentence: /refused in the envelope/ } })
  t.equal(codeOf(planWith(), { wasRefused, envelope: ENVELOPE }), 'ready', 'another envelope may allow it')
  t.equal(codeOf(planWith({ plan_id: 'p2' }), { wasRefused }), 'ready')
  t.match(judged(planWith({}, seedOf(9))), { refusal: { issuer: undefined } }, 'nobody has signed it')
})

t.test('a plan has an end, and one of the older form runs only where that is said', async (t) => {
  const until = Date.parse('2026-02-25T00:00:00Z')
  t.equal(codeOf(planWith(), { nowMs: until - 1 }), 'ready')
  t.equal(codeOf(planWith(), { nowMs: until }), 'expired')
  t.equal(codeOf(planWith({ expires_utc: '2026-02-24T00:00:00+00:00' }), { nowMs: 0 }), 'not_yet')
  t.equal(codeOf(planWith({ expires_utc: '2028-01-01T00:00:00+00:00' })), 'expired', 'more than a year')
  t.equal(codeOf(planWith({ timestamp_utc: '2026-02-24T00:07:00+00:00' })), 'not_yet')
  t.equal(codeOf(planWith({ timestamp_utc: '2026-02-24T00:05:00+00:00' })), 'ready', 'clocks differ')
  t.equal(codeOf(VECTOR), 'no_expiry')
  t.equal(codeOf(VECTOR, {}, true), 'ready')
  t.ok(NOW_MS < until)
})

t.test('a plan in an envelope is of its session and by its sender', async (t) => {
  t.equal(codeOf(planWith(), { envelope: ENVELOPE }), 'ready')
  t.equal(codeOf(planWith(), { envelope: { ...ENVELOPE, sessionId: 's2' } }), 'session_mismatch')
  t.equal(codeOf(planWith(), { envelope: { ...ENVELOPE, sender: 'intake_agent' } }), 'issuer_mismatch')
})

t.test(
  'the capability set of the template is enforced: its actions, tools, and their arguments',
  async (t) => {
    const acting = (allowedActions: typeof CAPABILITIES.allowedActions) => ({
      envelope: { ...ENVELOPE, capabilitySet: { ...CAPABILITIES, allowedActions } },
    })
    const [action] = CAPABILITIES.allowedActions
    t.ok(action)
    if (action === undefined) return
    t.equal(codeOf(planWith(), acting([])), 'argument_not_allowed')
    t.equal(codeOf(planWith(), acting([{ ...action, actionType: 'other' }])), 'argument_not_allowed')
    t.equal(codeOf(planWith(), acting([{ ...action, allowedTemplates: ['other'] }])), 'argument_not_allowed')
    const of = (toolPermissions: typeof CAPABILITIES.toolPermissions) => ({
      envelope: { ...ENVELOPE, capabilitySet: { ...CAPABILITIES, toolPermissions } },
    })
    t.equal(codeOf(planWith(), of([])), 'argument_not_allowed')
    t.equal(codeOf(planWith(), of([{ tool: 'other', allowedArgs: ['markdown'] }])), 'argument_not_allowed')
    t.equal(codeOf(planWith(), of([{ tool: 'markdown_to_html', allowedArgs: [] }])), 'argument_not_allowed')
    const wide = planWith({ tool_calls: [callOf({ args: { markdown: 'x', wide: true } })] })
    t.equal(codeOf(wide, { envelope: ENVELOPE }), 'argument_not_allowed')
    t.equal(codeOf(wide), 'ready', 'by itself it is bounded by whoever runs it')
  },
)

t.test('whoever runs it has the tools of its tier and permissions', async (t) => {
  t.equal(codeOf(planWith(), { has: (tool) => tool !== 'Grep' }), 'tool_not_given')
  const tools = new Map([['markdown_to_html', toolOf({ permissions: ['network:http'] })]])
  t.equal(codeOf(planWith(), { tools, has: (tool) => tool !== 'WebFetch' }), 'tool_not_given')
  t.equal(codeOf(planWith(), { tools }), 'ready')
})

t.test('what comes out are the words of each command', async (t) => {
  const found = judged(planWith({ tool_calls: [callOf({ args: { markdown: '-x', wide: true } })] }))
  t.strictSame(found.kind === 'ready' && found.calls.map(({ words }) => words), [['--wide', '--', '-x']])
})
