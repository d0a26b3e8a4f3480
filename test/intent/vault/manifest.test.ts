import t from 'tap'
import { publicKeyOf } from '../../../src/base/crypto/ed25519.node.ts'
import { encodeUtf8 } from '../../../src/base/encoding/utf8.ts'
import { entryPath, manifestPath, readEntryFileName } from '../../../src/intent/vault/layout.ts'
import {
  isSignedBy,
  type Manifest,
  readManifest,
  signManifest,
  writeManifest,
} from '../../../src/intent/vault/manifest.ts'
import { readRotation, writeRotation } from '../../../src/intent/vault/rotation.ts'
import { BLOG_TEMPLATE, DISPATCHER, groundOf, manifestOf, OVER, signBy } from '../ground.ts'
import { ENVELOPE_VECTOR } from '../vectors.ts'

const { verify } = groundOf()
const KEY = publicKeyOf(DISPATCHER)

t.test('the vector: what the dispatcher signs of a template, and its signature (SA-15)', (t) => {
  const reference = ENVELOPE_VECTOR['template_ref'] as Record<string, string>
  const manifest: Manifest = {
    kind: 'template',
    id: 'blog_article_intent',
    version: '1',
    sha256: reference['sha256_hash'] ?? '',
    dispatcherSignature: reference['dispatcher_signature'] ?? '',
  }
  const signed: string[] = []
  const { dispatcherSignature: _, ...unsigned } = manifest
  signManifest(unsigned, (bytes) => {
    signed.push(Buffer.from(bytes).toString())
    return new Uint8Array(64)
  })
  t.strictSame(signed, [
    `{"sha256_hash":"${manifest.sha256}","template_id":"blog_article_intent","version":"1"}`,
  ])
  t.ok(isSignedBy([KEY], manifest, verify))
  t.ok(isSignedBy([publicKeyOf(OVER), KEY], manifest, verify))
  t.notOk(isSignedBy([publicKeyOf(OVER)], manifest, verify))
  t.notOk(isSignedBy([], manifest, verify))
  for (const more of [
    { id: 'other' },
    { version: '2' },
    { sha256: '0'.repeat(64) },
    { dispatcherSignature: '' },
  ])
    t.notOk(isSignedBy([KEY], { ...manifest, ...more }, verify))
  // The signature of a template is never that of a capability set of the same name.
  t.notOk(isSignedBy([KEY], { ...manifest, kind: 'capability-set' }, verify))
  t.end()
})

t.test('a manifest is read as it was written, and in no other shape', (t) => {
  const manifest = manifestOf('template', BLOG_TEMPLATE)
  const bytes = writeManifest(manifest)
  t.strictSame(readManifest('template', bytes), { ok: true, manifest })
  t.match(readManifest('capability-set', bytes), { ok: false })
  const json = JSON.parse(Buffer.from(bytes).toString())
  for (const more of [{ extra: 1 }, { sha256_hash: 'AB' }, { version: '../1' }, { template_id: 'a/b' }])
    t.match(readManifest('template', encodeUtf8(JSON.stringify({ ...json, ...more }))), { ok: false })
  t.match(readManifest('template', new Uint8Array(4_097)), { ok: false })
  t.end()
})

t.test('one key names the next, and nobody else does', (t) => {
  const next = publicKeyOf(OVER)
  const statement = writeRotation(KEY, next, signBy(DISPATCHER))
  t.strictSame(readRotation(statement, KEY, verify), { ok: true, nextKey: next })
  t.match(readRotation(statement, next, verify), { ok: false })
  t.match(readRotation(writeRotation(KEY, next, signBy(OVER)), KEY, verify), {
    ok: false,
    problem: /not signed/,
  })
  t.end()
})

t.test('names of files divide in one way, and lead nowhere', (t) => {
  t.equal(entryPath('template', 'a_v1', '2'), 'templates/a_v1_v2.json.age')
  t.equal(manifestPath('capability-set', 'a', '2'), 'manifests/capsets/a_v2.manifest.json')
  t.strictSame(readEntryFileName('a_v1_v2.json.age'), { id: 'a_v1', version: '2' })
  for (const name of [
    'a.json.age',
    'a_v.json.age',
    '_v1.json.age',
    'a_v1.json',
    '..json.age',
    'a_v../1.json.age',
  ])
    t.equal(readEntryFileName(name), undefined, name)
  t.end()
})
