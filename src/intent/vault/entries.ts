/**
 * An entry of the vault of its opened bytes and those of its manifest: read, its shape checked, hashed. What is wrong
 * with it is kept as its reason, and whoever names it is told so; the rest of the vault stays of use.
 * @module
 */
import type { Sha256 } from '../../base/crypto/hash.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { type JsonObject, pythonJsonBytes, readIntentJson } from '../canonical/python-json.ts'
import type { FieldCheck } from '../canonical/shape.ts'
import { VAULT_ENTRY_BYTES } from '../limits.ts'
import { CAPABILITY_SET_SHAPE, type CapabilitySet, capabilitySetOf } from './capability-set.ts'
import type { VaultEntry } from './contents.ts'
import { type EntryKind, readManifest } from './manifest.ts'
import { TEMPLATE_SHAPE, type Template, templateOf } from './template.ts'

/** A template; `manifest` undefined: there is no such file. */
export function openTemplate(
  bytes: Uint8Array,
  manifest: Uint8Array | undefined,
  sha256: Sha256,
): VaultEntry<Template> {
  return openEntry('template', TEMPLATE_SHAPE, templateOf, bytes, manifest, sha256)
}

/** A capability set; `manifest` undefined: there is no such file. */
export function openCapabilitySet(
  bytes: Uint8Array,
  manifest: Uint8Array | undefined,
  sha256: Sha256,
): VaultEntry<CapabilitySet> {
  return openEntry('capability-set', CAPABILITY_SET_SHAPE, capabilitySetOf, bytes, manifest, sha256)
}

function openEntry<Document>(
  kind: EntryKind,
  shape: FieldCheck,
  documentOf: (value: JsonObject) => Document,
  bytes: Uint8Array,
  manifestBytes: Uint8Array | undefined,
  sha256: Sha256,
): VaultEntry<Document> {
  const json = readIntentJson(bytes, VAULT_ENTRY_BYTES)
  if (!json.ok) return { kind: 'closed', problem: `cannot be read: ${json.problem}` }
  const problem = shape(json.value)
  if (problem !== undefined) {
    const where = problem.field === '' ? 'as a whole' : `in its field ${problem.field}`
    return { kind: 'closed', problem: `is not valid ${where}: it ${problem.problem}` }
  }
  // Its shape has been checked.
  const value = json.value as JsonObject
  const manifest = manifestBytes === undefined ? undefined : readManifest(kind, manifestBytes)
  return {
    kind: 'open',
    document: documentOf(value),
    sha256: encodeHex(sha256(pythonJsonBytes(value))),
    manifest: manifest?.ok === true ? manifest.manifest : undefined,
  }
}
