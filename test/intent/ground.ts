/**
 * The vectors of work that arrives signed, as the source of the format makes them: keys of repeated bytes, one template
 * with its capability set, one envelope; and a vault in memory with these.
 * @module
 */
import { publicKeyOf, signWith, verifyWith } from '../../src/base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../src/base/crypto/sha256.node.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { type JsonObject, pythonJsonBytes } from '../../src/intent/canonical/python-json.ts'
import type { EnvelopeGround } from '../../src/intent/envelopes/checks.ts'
import { type Envelope, sealEnvelope, type UnsignedEnvelope } from '../../src/intent/envelopes/envelope.ts'
import { entryName, type VaultContents, vaultContents } from '../../src/intent/vault/contents.ts'
import { openCapabilitySet, openTemplate } from '../../src/intent/vault/entries.ts'
import { type EntryKind, signManifest, writeManifest } from '../../src/intent/vault/manifest.ts'

export const seedOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
export const DISPATCHER = seedOf(1)
export const INTAKE = seedOf(2)
export const OVER = seedOf(3)
export const NOW_MS = 1_771_891_200_000 + 60_000

export const BLOG_TEMPLATE: JsonObject = {
  template_id: 'blog_article_intent',
  version: '1',
  schema_purpose: 'An article.',
  json_schema: {
    type: 'object',
    required: ['title', 'body_markdown', 'image_present'],
    properties: {
      title: { type: 'string', maxLength: 200 },
      body_markdown: { type: 'string', maxLength: 200_000 },
      image_present: { type: 'boolean' },
      image_count: { type: 'integer', minimum: 0, maximum: 2 },
    },
    additionalProperties: false,
  },
  policy_metadata: {
    max_payload_bytes: 262_144,
    allowed_senders: ['intake_agent', 'sanitization_agent'],
    allowed_receivers: ['sanitization_agent', 'device'],
  },
  capability_set_id: 'caps_blog_article_intent_v1',
  capability_set_version: '1',
}

export const BLOG_CAPABILITIES: JsonObject = {
  capability_set_id: 'caps_blog_article_intent_v1',
  version: '1',
  allowed_actions: [
    { action_type: 'markdown_to_html', compiler_id: 'c1', allowed_templates: ['blog_article_intent'] },
  ],
  tool_permissions: [{ tool: 'markdown_to_html', allowed_args: ['markdown'] }],
}

export const sha256Hex = (value: JsonObject): string => encodeHex(hostSha256(pythonJsonBytes(value)))
export const signBy =
  (seed: Uint8Array) =>
  (bytes: Uint8Array): Uint8Array =>
    signWith(seed, bytes)

/** The manifest of an entry, signed by the dispatcher or by whoever is said. */
export function manifestOf(kind: EntryKind, value: JsonObject, seed: Uint8Array = DISPATCHER) {
  const id = String(value[kind === 'template' ? 'template_id' : 'capability_set_id'])
  return signManifest({ kind, id, version: String(value['version']), sha256: sha256Hex(value) }, signBy(seed))
}

export type VaultParts = {
  readonly template?: JsonObject | undefined
  readonly capabilitySet?: JsonObject | undefined
  readonly manifestSeed?: Uint8Array
  readonly capabilityManifestSeed?: Uint8Array
  readonly dispatcherKeys?: readonly Uint8Array[]
}

/** A vault in memory, read as from its files. */
export function vaultOf(parts: VaultParts = {}): VaultContents {
  const template = 'template' in parts ? parts.template : BLOG_TEMPLATE
  const set = 'capabilitySet' in parts ? parts.capabilitySet : BLOG_CAPABILITIES
  const templates =
    template === undefined
      ? []
      : [
          [
            entryName(String(template['template_id']), String(template['version'])),
            openTemplate(
              pythonJsonBytes(template),
              writeManifest(manifestOf('template', template, parts.manifestSeed)),
              hostSha256,
            ),
          ] as const,
        ]
  const sets =
    set === undefined
      ? []
      : [
          [
            entryName(String(set['capability_set_id']), String(set['version'])),
            openCapabilitySet(
              pythonJsonBytes(set),
              writeManifest(manifestOf('capability-set', set, parts.capabilityManifestSeed)),
              hostSha256,
            ),
          ] as const,
        ]
  return vaultContents(parts.dispatcherKeys ?? [publicKeyOf(DISPATCHER)], new Map(templates), new Map(sets))
}

/** What a device knows that receives for `sanitization_agent`. */
export function groundOf(more: Partial<EnvelopeGround> = {}): EnvelopeGround {
  const keys: Readonly<Record<string, Uint8Array>> = {
    intake_agent: publicKeyOf(INTAKE),
    over_agent: publicKeyOf(OVER),
  }
  return {
    receiver: 'sanitization_agent',
    senderKey: (name) => keys[name],
    vault: vaultOf(),
    verify: (key, signature, bytes) => verifyWith(key, bytes, signature),
    sha256: hostSha256,
    nowMs: NOW_MS,
    acceptedInHour: () => 0,
    wasSeen: () => false,
    ...more,
  }
}

/** An envelope of the intake for the template above; `more` takes the place of its fields before it is signed. */
export function envelopeOf(
  more: Partial<UnsignedEnvelope> = {},
  template: JsonObject = BLOG_TEMPLATE,
  seed: Uint8Array = INTAKE,
): Envelope {
  const manifest = manifestOf('template', template)
  const envelope: UnsignedEnvelope = {
    envelopeId: '00000000-0000-4000-8000-000000000001',
    sessionId: '00000000-0000-4000-8000-0000000000aa',
    timestampUtc: '2026-02-24T00:00:00+00:00',
    senderId: 'intake_agent',
    receiverId: 'sanitization_agent',
    humanReadable: 'café',
    templateRef: {
      templateId: manifest.id,
      version: manifest.version,
      sha256: manifest.sha256,
      dispatcherSignature: manifest.dispatcherSignature,
      capabilitySetId: String(template['capability_set_id']),
      capabilitySetVersion: String(template['capability_set_version']),
    },
    payload: { title: 'Hello SAOE', body_markdown: '# Test', image_present: false },
    ...more,
  }
  return sealEnvelope(envelope, signBy(seed))
}
