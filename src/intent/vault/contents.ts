/**
 * What a vault has in memory once it is read: the dispatcher's keys, and each entry opened, read and hashed, or the
 * reason why it cannot be used. Signatures are looked at by the checks of each envelope; nothing here is trusted.
 * @module
 */

import type { CapabilitySet } from './capability-set.ts'
import type { Manifest } from './manifest.ts'
import type { Template } from './template.ts'

/** `problem` is a clause that follows the name of the entry: `is for other recipients`. */
export type ClosedEntry = { readonly kind: 'closed'; readonly problem: string }
export type OpenEntry<Document> = {
  readonly kind: 'open'
  readonly document: Document
  /** Of the canonical JSON, lower-case hex. */
  readonly sha256: string
  /** Undefined: there is none that can be read. */
  readonly manifest: Manifest | undefined
}
export type VaultEntry<Document> = ClosedEntry | OpenEntry<Document>

export type VaultContents = {
  /** Those that the configuration's pin stands for, each 32 bytes: the key itself, and one that it has signed over to. */
  readonly dispatcherKeys: readonly Uint8Array[]
  /** Undefined: there is no such entry. */
  readonly template: (id: string, version: string) => VaultEntry<Template> | undefined
  readonly capabilitySet: (id: string, version: string) => VaultEntry<CapabilitySet> | undefined
}

/** A vault of entries by `entryName`; for reading one, and for whoever has none. */
export function vaultContents(
  dispatcherKeys: readonly Uint8Array[],
  templates: ReadonlyMap<string, VaultEntry<Template>>,
  capabilitySets: ReadonlyMap<string, VaultEntry<CapabilitySet>>,
): VaultContents {
  return {
    dispatcherKeys,
    template: (id, version) => templates.get(entryName(id, version)),
    capabilitySet: (id, version) => capabilitySets.get(entryName(id, version)),
  }
}

/** `ID_vVERSION`, as files are called; a version has no underscore, so that the last `_v` divides them. */
export function entryName(id: string, version: string): string {
  return `${id}_v${version}`
}
