/**
 * Files of signed work come by any way: envelopes, templates, capability sets and manifests, whatever is in them, are
 * refused, or are what their keys have signed.
 * @module
 */
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { pythonJsonBytes } from '../../src/intent/canonical/python-json.ts'
import { checkEnvelope } from '../../src/intent/envelopes/checks.ts'
import { envelopeSignedBytes, readEnvelope, writeEnvelope } from '../../src/intent/envelopes/envelope.ts'
import { openCapabilitySet, openTemplate } from '../../src/intent/vault/entries.ts'
import { readManifest, writeManifest } from '../../src/intent/vault/manifest.ts'
import { BLOG_CAPABILITIES, BLOG_TEMPLATE, envelopeOf, groundOf, manifestOf } from '../intent/ground.ts'
import { ENVELOPE_VECTOR, IMAGE_TEMPLATE_VECTOR } from '../intent/vectors.ts'
import type { FuzzTarget } from './engine.ts'
import { must, text } from './inputs.ts'

const GOOD = envelopeOf()
const SIGNED = encodeHex(envelopeSignedBytes(GOOD))
const ground = groundOf()

const envelope: FuzzTarget = {
  name: 'envelope',
  seeds: [writeEnvelope(GOOD), text(JSON.stringify(ENVELOPE_VECTOR))],
  pieces: [
    '"sender_id"',
    '"payload":{',
    '\\u0000',
    '\\ud83d\\ude00',
    '1.0',
    '9007199254740993',
    '__proto__',
    '[[[[',
  ].map(text),
  run(input) {
    const verdict = checkEnvelope(input, ground)
    if (verdict.kind === 'refused') return `${verdict.refusal.step} ${verdict.refusal.code}`
    const read = readEnvelope(input)
    must(
      read.ok && encodeHex(envelopeSignedBytes(read.envelope)) === SIGNED,
      'accepted what nobody has signed',
    )
    return 'accepted'
  },
}

const sha256 = ground.sha256

const vaultEntry: FuzzTarget = {
  name: 'vault-entry',
  seeds: [BLOG_TEMPLATE, BLOG_CAPABILITIES, IMAGE_TEMPLATE_VECTOR].map((value) => pythonJsonBytes(value)),
  pieces: [
    '"json_schema":{',
    '"type":',
    '"pattern":',
    '"items":',
    '"enum":[',
    '"allowed_senders":',
    '-1',
    '1e9',
  ].map(text),
  run(input) {
    const template = openTemplate(input, undefined, sha256)
    const set = openCapabilitySet(input, undefined, sha256)
    must(template.kind === 'closed' || set.kind === 'closed', 'one file is a template and a capability set')
    if (template.kind === 'closed') return set.kind
    const { schema } = template.document
    const problem = schema.ok ? schema.check(BLOG_TEMPLATE) : schema
    return `template, ${problem === undefined ? 'fits' : problem.problem.slice(0, 40)}`
  },
}

const manifest: FuzzTarget = {
  name: 'manifest',
  seeds: [
    writeManifest(manifestOf('template', BLOG_TEMPLATE)),
    writeManifest(manifestOf('capability-set', BLOG_CAPABILITIES)),
  ],
  pieces: ['"version":"', '"template_id":"', '../', '00'].map(text),
  run(input) {
    for (const kind of ['template', 'capability-set'] as const) {
      const read = readManifest(kind, input)
      if (!read.ok) continue
      const again = readManifest(kind, writeManifest(read.manifest))
      must(
        again.ok && JSON.stringify(again.manifest) === JSON.stringify(read.manifest),
        'reads otherwise as it writes',
      )
      return kind
    }
    return 'refused'
  },
}

export const INTENT_TARGETS: readonly FuzzTarget[] = [envelope, vaultEntry, manifest]
