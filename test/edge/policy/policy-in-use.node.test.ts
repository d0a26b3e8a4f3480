/**
 * When rules are loaded and when they are given up, with the rules that ship and a clock of the test's own.
 * @module
 */
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../src/config/config.ts'
import { makePolicy } from '../../../src/edge/policy/policy.node.ts'
import { createPolicyInUse, type PolicyPlace } from '../../../src/edge/policy/policy-in-use.node.ts'
import { POLICY_IDLE_MS } from '../../../src/limits.ts'

async function stage(directory: string, change: object = {}) {
  const parsed = parseConfig(
    { state_directory: join(directory, 'state'), ...change },
    { configDirectory: directory },
  )
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  const light = await makePolicy(parsed.config, undefined)
  const place: PolicyPlace = { policy: light, isReady: false }
  return { light, place, policy: createPolicyInUse(parsed.config, light, () => place) }
}

t.test('the rules come with the first caller, stay over a pause, and go after a long one', async (t) => {
  const { light, place, policy } = await stage(t.testdir())
  t.equal(policy.tick(true, 0), false)
  await Promise.all([policy.prepare(), policy.prepare()])
  t.ok(place.isReady && place.policy.rules.count > 100)
  t.equal(policy.tick(true, 1_000), false)
  t.equal(policy.tick(true, 1_000 + POLICY_IDLE_MS - 1), false)
  t.equal(policy.tick(false, 1_000 + POLICY_IDLE_MS), false, 'somebody is there')
  t.equal(policy.tick(true, 2_000 + POLICY_IDLE_MS), false, 'from now on nobody')
  t.equal(policy.tick(true, 2_000 + 2 * POLICY_IDLE_MS), true)
  t.equal(place.policy, light)
  t.equal(place.isReady, false)
  t.equal(policy.tick(true, 3_000 + 3 * POLICY_IDLE_MS), false, 'once')
  await policy.prepare()
  t.ok(place.isReady && place.policy.rules.count > 100)
})

t.test('what a reload has put in place stays, and so do own rules', async (t) => {
  const reloaded = await stage(t.testdir())
  await reloaded.policy.prepare()
  const newer = { ...reloaded.place.policy }
  reloaded.place.policy = newer
  t.equal(reloaded.policy.tick(true, 0), false)
  t.equal(reloaded.policy.tick(true, 2 * POLICY_IDLE_MS), false)
  t.equal(reloaded.place.policy, newer)

  const directory = t.testdir({ 'rules.json': JSON.stringify({ rules: [] }) })
  const own = await stage(directory, { policy: { rules_file: join(directory, 'rules.json') } })
  await own.policy.prepare()
  t.equal(own.policy.tick(true, 0), false)
  t.equal(own.policy.tick(true, 2 * POLICY_IDLE_MS), false)
  t.equal(own.place.isReady, true)
})
