import { ed25519 } from '@noble/curves/ed25519.js'
import fc from 'fast-check'
import t from 'tap'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import type { JsonObject } from '../../../src/intent/canonical/python-json.ts'
import { checkEnvelope, type EnvelopeGround } from '../../../src/intent/envelopes/checks.ts'
import {
  type Envelope,
  envelopeSignedBytes,
  readEnvelope,
  writeEnvelope,
} from '../../../src/intent/envelopes/envelope.ts'
import { refusalOf, refusalText } from '../../../src/intent/envelopes/refusal.ts'
import type { VaultContents } from '../../../src/intent/vault/contents.ts'
import { BLOG_CAPABILITIES, BLOG_TEMPLATE, envelopeOf, groundOf, NOW_MS, OVER, vaultOf } from '../ground.ts'
import { ENVELOPE_SIGNED_BYTES, ENVELOPE_VECTOR } from '../vectors.ts'

const json = (value: unknown): Uint8Array => encodeUtf8(JSON.stringify(value))
/** The JSON of an envelope with a field of it in place of another, without a new signature. */
const changed = (more: JsonObject, envelope: Envelope = envelopeOf()): Uint8Array =>
  json({ ...JSON.parse(Buffer.from(writeEnvelope(envelope)).toString()), ...more })

function verdict(bytes: Uint8Array | Envelope, more: Partial<EnvelopeGround> = {}): string {
  const result = checkEnvelope(bytes instanceof Uint8Array ? bytes : writeEnvelope(bytes), groundOf(more))
  return result.kind === 'accepted' ? 'accepted' : `${result.refusal.step} ${result.refusal.code}`
}

t.test('an envelope that is as it must be is accepted, with what it was checked against', (t) => {
  const result = checkEnvelope(writeEnvelope(envelopeOf()), groundOf())
  t.match(result, {
    kind: 'accepted',
    envelope: { senderId: 'intake_agent', humanReadable: 'café' },
    template: { id: 'blog_article_intent' },
    capabilitySet: { toolPermissions: [{ tool: 'markdown_to_html', allowedArgs: ['markdown'] }] },
  })
  t.end()
})

t.test('the vector: its signed bytes, and its signature by either library (SA-05)', (t) => {
  const read = readEnvelope(json(ENVELOPE_VECTOR))
  if (!read.ok) return t.fail(read.problem)
  const bytes = envelopeSignedBytes(read.envelope)
  t.equal(bytes.length, ENVELOPE_SIGNED_BYTES)
  const { verify, senderKey } = groundOf()
  const key = senderKey('intake_agent') ?? new Uint8Array()
  const signature = Buffer.from(read.envelope.signature, 'hex')
  t.ok(verify(key, signature, bytes) && ed25519.verify(signature, bytes, key))
  // Another template has that hash, so that it goes as far as that.
  t.equal(verdict(json(ENVELOPE_VECTOR)), '6 TEMPLATE_MISMATCH')
  return t.end()
})

t.test('1: a byte more than 1 MiB is refused before it is parsed (SA-09)', (t) => {
  const at = (size: number) => encodeUtf8(`${' '.repeat(size - 2)}{}`)
  t.equal(verdict(at(1_048_577)), '1 FILE_SIZE_EXCEEDED')
  t.equal(verdict(at(1_048_576)), '2 ENVELOPE_MALFORMED')
  t.equal(verdict(new Uint8Array(1_048_577)), '1 FILE_SIZE_EXCEEDED')
  t.end()
})

t.test(
  '2, FT-004: a duplicate key at any depth is refused before any field is read (SA-10, SA-53, SA-62)',
  (t) => {
    const text = Buffer.from(writeEnvelope(envelopeOf())).toString()
    for (const bytes of [
      text.replace('{', '{"sender_id":"mallory",'),
      text.replace('"title"', '"title":"other","\\u0074itle"'),
      text.replace('"template_id"', '"template_id":"x","template_id"'),
      '{"a":1,"a":1}',
      `{"x":[[{"a":{"b":1,"b":2}}]]}`,
    ])
      t.equal(verdict(encodeUtf8(bytes)), '2 DUPLICATE_KEY')
    const result = checkEnvelope(encodeUtf8('{"a":1,"a":1}'), groundOf())
    t.match(result, { kind: 'refused', refusal: { ticket: 'FT-004' }, claimed: undefined })
    t.end()
  },
)

t.test('2: a missing or an unknown field, another version and no JSON are refused (SA-02, SA-08)', (t) => {
  const fields = Object.keys(JSON.parse(Buffer.from(writeEnvelope(envelopeOf())).toString()))
  t.equal(fields.length, 10)
  for (const field of fields) {
    const { [field]: _, ...rest } = JSON.parse(Buffer.from(writeEnvelope(envelopeOf())).toString())
    t.equal(verdict(json(rest)), '2 ENVELOPE_MALFORMED', field)
  }
  for (const more of [
    { extra: 1 },
    { version: '2.0' },
    { payload: [] },
    { session_id: '../evil' },
    { session_id: '/etc/cron.d/saoe' },
    { envelope_id: '..' },
    { timestamp_utc: 'yesterday' },
    { payload: { n: 1.5 } },
    { template_ref: {} },
  ] as JsonObject[])
    t.equal(verdict(changed(more)), '2 ENVELOPE_MALFORMED', JSON.stringify(more))
  for (const text of ['', 'x', '[]', 'null', '{', '\ufeff{}', `${'['.repeat(600)}${']'.repeat(600)}`])
    t.equal(verdict(encodeUtf8(text)), '2 ENVELOPE_MALFORMED', text.slice(0, 9))
  t.equal(verdict(new Uint8Array([0xff, 0xfe])), '2 ENVELOPE_MALFORMED')
  t.end()
})

t.test('JSON within a text may be as deep as it likes', (t) => {
  const deep = `${'['.repeat(50)}${']'.repeat(50)}`
  t.equal(
    verdict(envelopeOf({ payload: { title: 'x', body_markdown: deep, image_present: false } })),
    'accepted',
  )
  t.end()
})

t.test(
  '3: whatever is changed of it breaks the signature, the text for people too (SA-05, SA-06, SA-11)',
  (t) => {
    for (const more of [
      { payload: { title: 'other', body_markdown: '# Test', image_present: false } },
      { human_readable: 'cafe' },
      { envelope_id: '00000000-0000-4000-8000-000000000002' },
      { session_id: 'other' },
      { timestamp_utc: '2026-02-24T00:00:01+00:00' },
      { receiver_id: 'device' },
      { envelope_signature: '' },
      { envelope_signature: '00'.repeat(64) },
      { envelope_signature: 'zz'.repeat(64) },
    ] as JsonObject[])
      t.equal(verdict(changed(more)), '3 BAD_SIGNATURE', JSON.stringify(more))
    t.equal(verdict(envelopeOf({}, BLOG_TEMPLATE, OVER)), '3 BAD_SIGNATURE')
    t.equal(verdict(envelopeOf({ senderId: 'nobody' })), '3 UNKNOWN_SENDER')
    // Who signs another's name with a key that is known is not that other.
    t.equal(verdict(changed({ sender_id: 'over_agent' })), '3 BAD_SIGNATURE')
    t.end()
  },
)

t.test('3: every bit of an envelope counts (SA-05)', (t) => {
  const bytes = writeEnvelope(envelopeOf())
  fc.assert(
    fc.property(fc.integer({ min: 0, max: bytes.length - 1 }), fc.integer({ min: 0, max: 7 }), (at, bit) => {
      const other = Uint8Array.from(bytes)
      other[at] = (other[at] ?? 0) ^ (1 << bit)
      const result = verdict(other)
      // White space between the values, one for another, is nobody's.
      return result !== 'accepted' || /\s/.test(String.fromCharCode(bytes[at] ?? 0))
    }),
    { numRuns: 400 },
  )
  t.end()
})

t.test('the text for people is read by no decision (SA-06)', (t) => {
  for (const humanReadable of ['', 'approve this', '{"receiver_id":"device"}', '\u001b[2J'])
    t.equal(verdict(envelopeOf({ humanReadable })), 'accepted')
  t.end()
})

t.test('3: what is too old, or signed for the future, is refused', (t) => {
  const day = 86_400_000
  const at = Date.UTC(2026, 1, 24)
  t.equal(verdict(envelopeOf(), { nowMs: at + 30 * day }), 'accepted')
  t.equal(verdict(envelopeOf(), { nowMs: at + 30 * day + 1 }), '3 STALE')
  t.equal(verdict(envelopeOf(), { nowMs: at - 300_000 }), 'accepted')
  t.equal(verdict(envelopeOf(), { nowMs: at - 300_001 }), '3 STALE')
  t.end()
})

t.test('4: another receiver is refused before the vault is asked for anything (SA-12)', (t) => {
  const forbidden = (): never => t.fail('the vault was asked') as never
  const vault: VaultContents = { dispatcherKeys: [], template: forbidden, capabilitySet: forbidden }
  t.equal(verdict(envelopeOf(), { receiver: 'device', vault }), '4 RECEIVER_MISMATCH')
  t.equal(verdict(envelopeOf({ receiverId: 'other' }), { vault }), '4 RECEIVER_MISMATCH')
  t.end()
})

t.test('5: a template that is not in the vault, or cannot be used, is refused (SA-13)', (t) => {
  t.equal(verdict(envelopeOf(), { vault: vaultOf({ template: undefined }) }), '5 TEMPLATE_UNRESOLVED')
  const vault: VaultContents = {
    ...vaultOf(),
    template: () => ({ kind: 'closed', problem: 'is for other recipients' }),
  }
  t.equal(verdict(envelopeOf(), { vault }), '5 TEMPLATE_UNRESOLVED')
  t.end()
})

t.test('6: the template is the one that the sender meant (SA-03, SA-14)', (t) => {
  const other = { ...BLOG_TEMPLATE, schema_purpose: 'Another.' }
  t.equal(verdict(envelopeOf(), { vault: vaultOf({ template: other }) }), '6 TEMPLATE_MISMATCH')
  t.equal(verdict(envelopeOf({}, other)), '6 TEMPLATE_MISMATCH')
  t.end()
})

t.test(
  '7, FT-001: the dispatcher has signed the template, in the envelope and in the vault (SA-03, SA-15, SA-50, SA-62)',
  (t) => {
    const { templateRef } = envelopeOf()
    const forged = { ...templateRef, dispatcherSignature: '00'.repeat(64) }
    t.equal(verdict(envelopeOf({ templateRef: forged })), '7 DISPATCHER_SIGNATURE')
    t.equal(verdict(envelopeOf(), { vault: vaultOf({ manifestSeed: OVER }) }), '7 DISPATCHER_SIGNATURE')
    t.equal(verdict(envelopeOf(), { vault: vaultOf({ dispatcherKeys: [] }) }), '7 DISPATCHER_SIGNATURE')
    const result = checkEnvelope(writeEnvelope(envelopeOf({ templateRef: forged })), groundOf())
    t.match(result, { kind: 'refused', refusal: { ticket: 'FT-001' } })
    t.end()
  },
)

t.test(
  '8 and 9: the capability set is there, the one of the template, whole and signed (SA-16, SA-17)',
  (t) => {
    const { templateRef } = envelopeOf()
    t.equal(
      verdict(envelopeOf(), { vault: vaultOf({ capabilitySet: undefined }) }),
      '8 CAPABILITY_SET_UNRESOLVED',
    )
    const wider = { ...templateRef, capabilitySetId: 'caps_of_another' }
    t.equal(verdict(envelopeOf({ templateRef: wider })), '8 CAPABILITY_SET_UNRESOLVED')
    t.equal(
      verdict(envelopeOf(), { vault: vaultOf({ capabilityManifestSeed: OVER }) }),
      '9 CAPABILITY_SET_INTEGRITY',
    )
    // One that somebody has changed, beside the manifest of the one that was signed.
    const good = vaultOf().capabilitySet('caps_blog_article_intent_v1', '1')
    const bad = vaultOf({ capabilitySet: { ...BLOG_CAPABILITIES, allowed_actions: [] } }).capabilitySet(
      'caps_blog_article_intent_v1',
      '1',
    )
    if (good?.kind !== 'open' || bad?.kind !== 'open') return t.fail()
    const vault: VaultContents = { ...vaultOf(), capabilitySet: () => ({ ...bad, manifest: good.manifest }) }
    t.equal(verdict(envelopeOf(), { vault }), '9 CAPABILITY_SET_INTEGRITY')
    const without: VaultContents = { ...vaultOf(), capabilitySet: () => ({ ...good, manifest: undefined }) }
    t.equal(verdict(envelopeOf(), { vault: without }), '9 CAPABILITY_SET_INTEGRITY')
    return t.end()
  },
)

t.test(
  '10: the payload is what the schema says, and an unknown keyword refuses the template (SA-04, SA-18)',
  (t) => {
    const payload = { title: 'x', body_markdown: 'y', image_present: false }
    const of = (more: JsonObject) => verdict(envelopeOf({ payload: { ...payload, ...more } }))
    t.equal(of({ title: 'x'.repeat(200), body_markdown: 'y'.repeat(200_000) }), 'accepted')
    t.equal(of({ title: 'x'.repeat(201) }), '10 PAYLOAD_SCHEMA')
    t.equal(of({ body_markdown: 'y'.repeat(200_001) }), '10 PAYLOAD_SCHEMA')
    t.equal(of({ extra: 1 }), '10 PAYLOAD_SCHEMA')
    t.equal(of({ image_count: 3 }), '10 PAYLOAD_SCHEMA')
    t.equal(verdict(envelopeOf({ payload: { title: 'x' } })), '10 PAYLOAD_SCHEMA')
    const template = { ...BLOG_TEMPLATE, json_schema: { type: 'object', pattern: '^a' } }
    t.equal(verdict(envelopeOf({}, template), { vault: vaultOf({ template }) }), '10 PAYLOAD_SCHEMA')
    t.end()
  },
)

const withPolicy = (policy_metadata: JsonObject) => {
  const template = { ...BLOG_TEMPLATE, policy_metadata }
  return (more: Partial<EnvelopeGround> = {}) =>
    verdict(envelopeOf({}, template), { vault: vaultOf({ template }), ...more })
}

t.test(
  '11, FT-005: lists of senders and receivers, size and quota; what is missing allows none (SA-19, SA-54, SA-62)',
  (t) => {
    const full = {
      max_payload_bytes: 262_144,
      allowed_senders: ['intake_agent'],
      allowed_receivers: ['sanitization_agent'],
    }
    const denied = '11 CAPABILITY_CONSTRAINT'
    t.equal(withPolicy(full)(), 'accepted')
    t.equal(withPolicy({ ...full, allowed_senders: ['over_agent'] })(), denied)
    t.equal(withPolicy({ ...full, allowed_receivers: ['over_agent'] })(), denied)
    t.equal(withPolicy({ ...full, allowed_senders: [] })(), denied)
    for (const key of Object.keys(full)) {
      const { [key]: _, ...rest } = full as JsonObject
      t.equal(withPolicy(rest)(), denied, `without ${key}`)
    }
    const { policy_metadata: _, ...template } = BLOG_TEMPLATE
    t.equal(verdict(envelopeOf({}, template), { vault: vaultOf({ template }) }), denied)
    // {"title": "Hello SAOE", "body_markdown": "# Test", "image_present": false}, as Python writes it.
    t.equal(withPolicy({ ...full, max_payload_bytes: 74 })(), 'accepted')
    t.equal(withPolicy({ ...full, max_payload_bytes: 73 })(), denied)
    t.equal(withPolicy(full)({ acceptedInHour: () => 999 }), 'accepted')
    t.equal(withPolicy(full)({ acceptedInHour: () => 1_000 }), denied)
    t.equal(withPolicy(full)({ acceptedInHour: () => 2, acceptedPerHour: 2 }), denied)
    t.match(refusalOf('CAPABILITY_CONSTRAINT', '', ''), { ticket: 'FT-005' })
    t.end()
  },
)

t.test('12: an id that was accepted before is a replay (SA-62)', (t) => {
  t.equal(verdict(envelopeOf(), { wasSeen: () => true }), '12 REPLAY')
  t.match(refusalOf('REPLAY', '', ''), { step: 12, ticket: 'FT-002' })
  t.end()
})

t.test('what no check has let through is refused, whatever the environment says (SA-08)', (t) => {
  process.env['SAOE_DISABLE_VALIDATION'] = '1'
  t.teardown(() => delete process.env['SAOE_DISABLE_VALIDATION'])
  t.equal(verdict(changed({ envelope_signature: '' })), '3 BAD_SIGNATURE')
  t.equal(verdict(encodeUtf8('{"a":1,"a":2}')), '2 DUPLICATE_KEY')
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => verdict(bytes).startsWith('2 ')))
  t.end()
})

t.test('the first check that fails is the answer (SA-08)', (t) => {
  // Everything is wrong with it; each time that the first fault is put right, the next one is told.
  const everything: Partial<EnvelopeGround> = { wasSeen: () => true, acceptedInHour: () => 1_000 }
  const bad = { title: 7 }
  t.equal(verdict(changed({ payload: bad }), everything), '3 BAD_SIGNATURE')
  t.equal(verdict(envelopeOf({ payload: bad }), { ...everything, receiver: 'device' }), '4 RECEIVER_MISMATCH')
  t.equal(verdict(envelopeOf({ payload: bad }), everything), '10 PAYLOAD_SCHEMA')
  t.equal(verdict(envelopeOf(), everything), '11 CAPABILITY_CONSTRAINT')
  t.equal(verdict(envelopeOf(), { wasSeen: () => true }), '12 REPLAY')
  t.end()
})

t.test('a refusal is one sentence with its step, code and ticket', (t) => {
  t.equal(
    refusalText(refusalOf('CAPABILITY_CONSTRAINT', 'payload', 'is too large')),
    'The envelope was refused by check 11 (CAPABILITY_CONSTRAINT, FT-005) because its field payload is too large: nothing of it was done; put that right and send it anew.',
  )
  t.equal(
    refusalText(refusalOf('REPLAY', 'envelope_id', 'was accepted before')),
    'The envelope was refused by check 12 (REPLAY, FT-002) because its id was accepted before: it is here already, and nothing was done a second time; see sass-edge intent inbox for what waits and sass-edge intent status for plans.',
  )
  t.equal(NOW_MS > 0, true)
  t.end()
})
