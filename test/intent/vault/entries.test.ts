import t from 'tap'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { type JsonObject, pythonJsonBytes } from '../../../src/intent/canonical/python-json.ts'
import { allowedArguments, allowsAction } from '../../../src/intent/vault/capability-set.ts'
import { openCapabilitySet, openTemplate } from '../../../src/intent/vault/entries.ts'
import { writeManifest } from '../../../src/intent/vault/manifest.ts'
import { BLOG_CAPABILITIES, BLOG_TEMPLATE, manifestOf, sha256Hex } from '../ground.ts'

const template = (value: JsonObject) => openTemplate(pythonJsonBytes(value), undefined, hostSha256)
const set = (value: JsonObject) => openCapabilitySet(pythonJsonBytes(value), undefined, hostSha256)

t.test('a template is read, and hashed by its canonical JSON, however it is written (SA-14)', (t) => {
  const pretty = encodeUtf8(JSON.stringify(BLOG_TEMPLATE, undefined, 4))
  const entry = openTemplate(pretty, writeManifest(manifestOf('template', BLOG_TEMPLATE)), hostSha256)
  t.match(entry, {
    kind: 'open',
    sha256: sha256Hex(BLOG_TEMPLATE),
    manifest: { id: 'blog_article_intent', sha256: sha256Hex(BLOG_TEMPLATE) },
    document: { maxPayloadBytes: 262_144, capabilitySetId: 'caps_blog_article_intent_v1' },
  })
  t.end()
})

t.test('what is missing in a template allows nobody and nothing (SA-19)', (t) => {
  const { policy_metadata: _, schema_purpose: __, ...bare } = BLOG_TEMPLATE
  for (const value of [bare, { ...bare, policy_metadata: {} }])
    t.match(template(value), { document: { maxPayloadBytes: 0, allowedSenders: [], allowedReceivers: [] } })
  t.end()
})

t.test('a template or a set of another shape is closed with its reason', (t) => {
  for (const [value, problem] of [
    [{}, /template_id is missing|is missing/],
    [{ ...BLOG_TEMPLATE, extra: 1 }, /extra.*may stand here/],
    [{ ...BLOG_TEMPLATE, version: '1_v2' }, /version/],
    [{ ...BLOG_TEMPLATE, policy_metadata: { max_payload_bytes: -1 } }, /max_payload_bytes/],
    [{ ...BLOG_TEMPLATE, policy_metadata: { allowed_senders: '*' } }, /allowed_senders/],
  ] as const)
    t.match(template(value), { kind: 'closed', problem })
  t.match(set({ ...BLOG_CAPABILITIES, tool_permissions: [{ tool: 'x' }] }), {
    kind: 'closed',
    problem: /allowed_args/,
  })
  t.match(openTemplate(encodeUtf8('{"a":1,"a":1}'), undefined, hostSha256), {
    kind: 'closed',
    problem: /twice/,
  })
  t.end()
})

t.test('a schema that is not known is kept as its problem, for whoever names the template', (t) => {
  t.match(template({ ...BLOG_TEMPLATE, json_schema: { format: 'date' } }), {
    kind: 'open',
    document: { schema: { ok: false, field: 'format' } },
  })
  t.end()
})

t.test('a set allows what it lists and nothing else', (t) => {
  const entry = set(BLOG_CAPABILITIES)
  if (entry.kind !== 'open') return t.fail(entry.problem)
  t.ok(allowsAction(entry.document, 'blog_article_intent', 'markdown_to_html'))
  t.notOk(allowsAction(entry.document, 'other', 'markdown_to_html'))
  t.notOk(allowsAction(entry.document, 'blog_article_intent', 'rm_rf'))
  t.strictSame(allowedArguments(entry.document, 'markdown_to_html'), ['markdown'])
  t.equal(allowedArguments(entry.document, 'rm_rf'), undefined)
  const empty = set({ capability_set_id: 'x', version: '1' })
  t.match(empty, { document: { allowedActions: [], toolPermissions: [] } })
  return t.end()
})
