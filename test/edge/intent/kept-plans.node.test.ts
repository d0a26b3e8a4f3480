import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { createKeptPlans } from '../../../src/edge/intent/kept-plans.node.ts'
import { PLANS_KEPT } from '../../../src/intent/plans/limits.ts'

const CAPABILITIES = {
  id: 'caps',
  version: '1',
  allowedActions: [{ actionType: 'count', allowedTemplates: ['execution_plan'], compilerId: 'c' }],
  toolPermissions: [{ tool: 'count', allowedArgs: ['file'] }],
}
const planOf = (sessionId: string) => ({
  bytes: encodeUtf8(`plan of ${sessionId}`),
  envelope: { sessionId, sender: 'boss', capabilitySet: CAPABILITIES },
})
const never = () => false

t.test('a plan is kept with what its envelope let it do, under its session and for its receiver', (t) => {
  const kept = createKeptPlans(join(t.testdir(), 'plans'))
  t.equal(kept.count, 0)
  t.equal(kept.put('s1', 'worker', planOf('s1'), never), true)
  t.strictSame(kept.get('s1', 'worker'), { ...planOf('s1'), bytes: Buffer.from('plan of s1') })
  t.equal(kept.get('s1', 'other'), undefined)
  t.equal(kept.count, 1)
  kept.drop('s1', 'worker')
  kept.drop('s1', 'worker')
  t.equal(kept.get('s1', 'worker'), undefined)
  t.equal(kept.count, 0)
  t.end()
})

t.test('a name that is no name leads nowhere', (t) => {
  const directory = t.testdir({ outside: { 's.plan.json': 'x', 's.kept.json': '{}' } })
  const kept = createKeptPlans(join(directory, 'plans'))
  for (const [session, receiver] of [
    ['../s', 'worker'],
    ['s', '../outside'],
  ] as const) {
    t.equal(kept.put(session, receiver, planOf('s'), never), false)
    t.equal(kept.get(session, receiver), undefined)
    kept.drop(session, receiver)
  }
  t.ok(existsSync(join(directory, 'outside/s.plan.json')))
  t.end()
})

t.test('where as many wait as may, those that can never run make place, and no other', (t) => {
  const kept = createKeptPlans(join(t.testdir(), 'plans'))
  for (let at = 0; at < PLANS_KEPT; at++) kept.put(`s${at}`, 'worker', planOf(`s${at}`), never)
  t.equal(kept.put('new', 'worker', planOf('new'), never), false)
  t.equal(kept.put('s0', 'worker', planOf('s0'), never), true, 'in place of its own session’s')
  t.equal(kept.put('new', 'other', planOf('new'), never), true, 'another agent has places of its own')
  const isOver = (plan: Uint8Array) => Buffer.from(plan).toString().endsWith('7')
  t.equal(kept.put('new', 'worker', planOf('new'), isOver), true)
  t.equal(kept.get('s7', 'worker'), undefined)
  t.ok(kept.get('s8', 'worker'))
  t.end()
})
