import t from 'tap'
import { publicKeyOf, signWith, verifyWith } from '../../../src/base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import type { JsonObject } from '../../../src/intent/canonical/python-json.ts'
import { planOf, readPlan, signPlan, type UnsignedPlan } from '../../../src/intent/plans/plan.ts'
import { OVER } from '../ground.ts'
import { bytesOf, callOf, planWith, VECTOR, VECTOR_SHA256 } from './ground.ts'

const problemOf = (plan: JsonObject | Uint8Array): string => {
  const read = readPlan(plan instanceof Uint8Array ? plan : bytesOf(plan))
  return read.ok ? 'ok' : read.field
}

t.test('the vector of the source comes out byte for byte (SA-29)', async (t) => {
  const read = planOf(VECTOR)
  if (!read.ok) return void t.fail(read.problem)
  const { plan } = read
  t.equal(plan.signedBytes.length, 325)
  t.equal(encodeHex(hostSha256(plan.signedBytes)), VECTOR_SHA256)
  t.ok(verifyWith(publicKeyOf(OVER), plan.signedBytes, plan.signature))
  t.equal(plan.expiresMs, undefined)
  const { schema_version: _, issuer_signature: __, ...unsigned } = VECTOR
  t.strictSame(
    signPlan(unsigned as unknown as UnsignedPlan, (bytes) => signWith(OVER, bytes)),
    VECTOR,
    'and signing makes the same',
  )
})

t.test('the expiry is in the signed bytes', async (t) => {
  const plan = planWith()
  const later = { ...plan, expires_utc: '2027-01-01T00:00:00+00:00' }
  const [first, second] = [planOf(plan), planOf(later)]
  if (!first.ok || !second.ok) return void t.fail('both have the form of plans')
  t.ok(verifyWith(publicKeyOf(OVER), first.plan.signedBytes, first.plan.signature))
  t.notOk(verifyWith(publicKeyOf(OVER), second.plan.signedBytes, second.plan.signature))
})

t.test('what the source fills in by itself must be there: no field has a default', async (t) => {
  for (const key of Object.keys(VECTOR)) {
    const { [key]: _, ...rest } = VECTOR
    t.equal(problemOf(rest), key, key)
  }
  t.equal(problemOf({ ...VECTOR, plan_signature: 'ab' }), 'plan_signature', 'its template names it otherwise')
  t.equal(problemOf({ ...VECTOR, schema_version: '2.0' }), 'schema_version')
  t.equal(problemOf({ ...VECTOR, expires_utc: '2026-02-25T00:00:00+00:00' }), 'expires_utc', 'of 1.1 alone')
})

t.test('names that may become files, times, hex and calls have their forms', async (t) => {
  for (const name of ['', '../evil', '/etc/cron.d/saoe', 'a b', 'é', 'x'.repeat(129)])
    for (const key of ['plan_id', 'session_id', 'issuer_id'])
      t.equal(problemOf({ ...VECTOR, [key]: name }), key, `${key} ${name.slice(0, 20)}`)
  t.equal(problemOf({ ...VECTOR, timestamp_utc: '2026-02-30T00:00:00+00:00' }), 'timestamp_utc')
  t.equal(problemOf({ ...VECTOR, timestamp_utc: '2026-02-24T00:00:00+01:00' }), 'timestamp_utc')
  t.equal(problemOf({ ...VECTOR, issuer_signature: '' }), 'issuer_signature')
  t.equal(problemOf({ ...VECTOR, issuer_signature: 'A'.repeat(128) }), 'issuer_signature')
  t.equal(problemOf({ ...VECTOR, tool_calls: [] }), 'tool_calls')
  const calls = (count: number) =>
    Array.from({ length: count }, (_, at) => callOf({ tool_call_id: `c${at}` }))
  t.equal(problemOf(planWith({ tool_calls: calls(64) })), 'ok')
  t.equal(problemOf(planWith({ tool_calls: calls(65) })), 'tool_calls')
  t.equal(problemOf(planWith({ tool_calls: [callOf({}), callOf({})] })), 'tool_calls', 'an id twice')
  t.equal(problemOf(planWith({ tool_calls: [callOf({ extra: 1 })] })), 'tool_calls.0.extra')
  t.equal(problemOf(planWith({ tool_calls: [callOf({ args: [] })] })), 'tool_calls.0.args')
})

t.test('text that is no strict JSON is no plan', async (t) => {
  const text = JSON.stringify(VECTOR)
  t.equal(problemOf(encodeUtf8(text.replace('{', '{"plan_id":"x",'))), '', 'a key twice')
  t.equal(problemOf(encodeUtf8(text.replace('"# Test"', '1.5'))), '', 'a fraction')
  t.equal(problemOf(encodeUtf8(`${text}x`)), '')
  t.equal(problemOf(new Uint8Array(1_048_577).fill(0x20)), '')
})
