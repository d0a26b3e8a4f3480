/**
 * One template of a vault, for whoever writes an envelope beside it: opened where the identity can be read here, and
 * undefined where not. Nothing is believed by it: the device checks everything.
 * @module
 */
import { join } from 'node:path'
import { hostSha256 } from '../../base/crypto/sha256.node.ts'
import { bytesAt } from '../../base/small-file.node.ts'
import { AGE_IDENTITY_BYTES, VAULT_ENTRY_BYTES, VAULT_SEALED_BYTES } from '../../intent/limits.ts'
import { openTemplate } from '../../intent/vault/entries.ts'
import { entryPath, IDENTITY_FILE } from '../../intent/vault/layout.ts'
import type { Template } from '../../intent/vault/template.ts'
import { openAge, readIdentities } from './age.node.ts'

/** The identities of a vault; undefined where they cannot be read here. */
export function vaultIdentities(directory: string): readonly string[] | undefined {
  const file = bytesAt(join(directory, IDENTITY_FILE), AGE_IDENTITY_BYTES, true)
  return file === undefined ? undefined : readIdentities(Buffer.from(file).toString('latin1'))
}

/** A template as the vault has it. */
export async function readVaultEntry(
  directory: string,
  id: string,
  version: string,
): Promise<Template | undefined> {
  const identities = vaultIdentities(directory)
  const sealed = bytesAt(join(directory, entryPath('template', id, version)), VAULT_SEALED_BYTES, true)
  if (identities === undefined || sealed === undefined) return undefined
  const opened = await openAge(sealed, { identities }, VAULT_ENTRY_BYTES)
  const entry = opened.ok ? openTemplate(opened.bytes, undefined, hostSha256) : undefined
  return entry?.kind === 'open' ? entry.document : undefined
}
