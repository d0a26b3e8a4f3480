/**
 * A vault on disk, made as an operator makes one, with the entries that are given.
 * @module
 */
import { join } from 'node:path'
import { publicKeyOf } from '../../src/base/crypto/ed25519.node.ts'
import { encodeUtf8 } from '../../src/base/encoding/utf8.ts'
import { createVault, prepareEntry, publishEntry } from '../../src/edge/intent/publish.node.ts'
import type { JsonObject } from '../../src/intent/canonical/python-json.ts'
import { BLOG_CAPABILITIES, BLOG_TEMPLATE, DISPATCHER } from './ground.ts'

export type DiskVault = { readonly directory: string; readonly pin: string; readonly recipient: string }

/** A vault at `PARENT/vault`; without `entries` those of ground.ts. */
export async function makeDiskVault(
  parent: string,
  entries: readonly JsonObject[] = [BLOG_TEMPLATE, BLOG_CAPABILITIES],
  seed: Uint8Array = DISPATCHER,
): Promise<DiskVault> {
  const directory = join(parent, 'vault')
  const { pin, recipient } = await createVault(directory, publicKeyOf(seed), true)
  if (recipient === undefined) throw new Error('no identity was made')
  for (const entry of entries)
    await publishEntry(directory, prepareEntry(encodeUtf8(JSON.stringify(entry)), 'entry'), seed, [recipient])
  return { directory, pin, recipient }
}
