/**
 * Reads a vault from its directory into memory, whole, before anything of it is used: first the dispatcher's key, which
 * must be the one that the configuration pins, then the identity, then every entry. Refused are a vault that anybody
 * can write to, somebody else's files, links, an identity that others can read, and more than memory is meant for.
 * An entry that cannot be opened keeps its reason and the others are of use. Nothing opened is ever written.
 * Rules: SAOE context 2.3, FT-001; docs/intent.md section 3.
 * @module
 */
import { readdirSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { verifyWith } from '../../base/crypto/ed25519.node.ts'
import { checkPublicKey } from '../../base/crypto/ed25519-key.ts'
import { equalConstantTime } from '../../base/crypto/hash.ts'
import { hostBytesDigest, hostSha256 } from '../../base/crypto/sha256.node.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { errnoOf, errnoText, lstatOf, readBounded, systemErrno } from '../../base/files.node.ts'
import { shellWord } from '../../base/text/shell-word.ts'
import { SassError } from '../../errors.ts'
import {
  AGE_IDENTITY_BYTES,
  MANIFEST_BYTES,
  STATEMENT_BYTES,
  VAULT_BYTES,
  VAULT_ENTRIES,
  VAULT_ENTRY_BYTES,
  VAULT_SEALED_BYTES,
} from '../../intent/limits.ts'
import type { CapabilitySet } from '../../intent/vault/capability-set.ts'
import { entryName, type VaultContents, type VaultEntry, vaultContents } from '../../intent/vault/contents.ts'
import { openCapabilitySet, openTemplate } from '../../intent/vault/entries.ts'
import {
  DIRECTORIES,
  DISPATCHER_FILE,
  IDENTITY_FILE,
  manifestPath,
  PLACES,
  ROTATION_FILE,
  readEntryFileName,
} from '../../intent/vault/layout.ts'
import type { EntryKind, Verify } from '../../intent/vault/manifest.ts'
import { readRotation } from '../../intent/vault/rotation.ts'
import type { Template } from '../../intent/vault/template.ts'
import { openAge, readIdentities } from './age.node.ts'

const KEY_BYTES = 32
const PERMISSION_BITS = 0o7777
const WRITABLE = 0o222
const IDENTITY_MODE = 0o600

export type ReadVault = {
  readonly contents: VaultContents
  readonly templates: number
  readonly capabilitySets: number
  /** A sentence for each entry that is there and cannot be used, and each file that is none of a vault's. */
  readonly notes: readonly string[]
}

/** Whether a signature is by a key, with the arguments in the order of signed work. */
export const verifySignature: Verify = (publicKey, signature, bytes) =>
  verifyWith(publicKey, bytes, signature)

function refusal(path: string, sentence: string, cause?: unknown): SassError {
  return new SassError('KEY_FILE_INVALID', sentence, { path }, cause)
}

/** Root's or our own: whoever else it belongs to can change it. */
function checkOwner(path: string, { uid }: Stats): void {
  const own = process.geteuid?.() ?? 0
  if (uid === 0 || uid === own) return
  throw refusal(
    path,
    `${path} belongs to another user (uid ${uid}), who could change it, so the vault was not read: run chown -R ${own} on the vault if it is yours.`,
  )
}

function checkUnwritable(directory: string, path: string, stats: Stats): void {
  checkOwner(path, stats)
  if ((stats.mode & WRITABLE) === 0) return
  const shown = (stats.mode & PERMISSION_BITS).toString(8).padStart(4, '0')
  const remedy = `chmod -R a-w ${shellWord(directory)} && chmod 600 ${shellWord(join(directory, IDENTITY_FILE))}`
  throw refusal(
    path,
    `${path} can be written to (mode ${shown}), so that what the vault says could be changed, and it was not read: run ${remedy}.`,
  )
}

/** A file of the vault, no link; undefined: there is none. */
function readFile(path: string, limitBytes: number): { bytes: Buffer; stats: Stats } | undefined {
  try {
    const read = readBounded(path, limitBytes, true)
    if (read.ok) return read
    const what = read.reason === 'not-a-file' ? 'is no regular file' : `is larger than ${limitBytes} bytes`
    throw refusal(path, `${path} ${what}, so the vault was not read: put the right file there.`)
  } catch (error) {
    const errno = systemErrno(error)
    if (errno === 'ENOENT') return undefined
    throw refusal(
      path,
      `${path} cannot be read, since ${errnoText(errno)}, so there is no vault: correct that.`,
      error,
    )
  }
}

function requireFile(path: string, limitBytes: number): { bytes: Buffer; stats: Stats } {
  const file = readFile(path, limitBytes)
  if (file !== undefined) return file
  throw refusal(path, `${path} does not exist, so there is no vault: make one with sass-edge intent vault.`)
}

function checkDirectories(directory: string): void {
  for (const name of DIRECTORIES) {
    const path = join(directory, name)
    const stats = lstatOf(path)
    // A vault without capability sets is one of which nothing can be accepted, and no reason not to start.
    if (stats === undefined && name !== '') continue
    if (stats?.isDirectory() !== true)
      throw refusal(
        path,
        `${path} is no directory, so there is no vault: make one with sass-edge intent vault.`,
      )
    checkUnwritable(directory, path, stats)
  }
}

/** The pinned key, and the one that it has signed over to. */
function readDispatcherKeys(directory: string, pin: string): readonly Uint8Array[] {
  const path = join(directory, DISPATCHER_FILE)
  const { bytes, stats } = requireFile(path, KEY_BYTES)
  checkUnwritable(directory, path, stats)
  if (bytes.length !== KEY_BYTES)
    throw refusal(
      path,
      `${path} has ${bytes.length} bytes and a dispatcher's key has ${KEY_BYTES}, so the vault was not read: put the raw public key there.`,
    )
  const key = Uint8Array.from(bytes)
  const found = hostBytesDigest(key)
  if (!equalConstantTime(encodeUtf8(found), encodeUtf8(pin)))
    throw new SassError(
      'PIN_MISMATCH',
      `The dispatcher's key ${path} has the SHA-256 ${found} and the configuration pins another one (intent.dispatcher_pin), so nothing that it has signed is believed: find out who changed it, and write that pin only if it is the right key.`,
      { path, found },
    )
  const sound = checkPublicKey(key)
  if (!sound.ok)
    throw refusal(
      path,
      `The dispatcher's key ${path} is not usable, since ${sound.problem}: make a new pair.`,
    )
  const next = readNextKey(directory, key)
  return next === undefined ? [key] : [key, next]
}

function readNextKey(directory: string, pinned: Uint8Array): Uint8Array | undefined {
  const path = join(directory, ROTATION_FILE)
  const file = readFile(path, STATEMENT_BYTES)
  if (file === undefined) return undefined
  checkUnwritable(directory, path, file.stats)
  const read = readRotation(file.bytes, pinned, verifySignature)
  const sound = read.ok ? checkPublicKey(read.nextKey) : undefined
  if (read.ok && sound?.ok === true) return read.nextKey
  const problem = read.ok ? 'names a key that is not usable' : read.problem
  throw refusal(path, `${path} ${problem}, so the vault was not read: remove it, or have it signed anew.`)
}

function readVaultIdentities(directory: string): readonly string[] {
  const path = join(directory, IDENTITY_FILE)
  const { bytes, stats } = requireFile(path, AGE_IDENTITY_BYTES)
  checkOwner(path, stats)
  const mode = stats.mode & PERMISSION_BITS
  if (mode !== IDENTITY_MODE) {
    const shown = mode.toString(8).padStart(4, '0')
    throw refusal(
      path,
      `The identity ${path} has mode ${shown} in place of 0600, so the vault was not read: run chmod 600 ${shellWord(path)}.`,
    )
  }
  const identities = readIdentities(bytes.toString('latin1'))
  bytes.fill(0)
  if (identities !== undefined) return identities
  throw refusal(
    path,
    `The identity ${path} holds no X25519 identity of age (AGE-SECRET-KEY-1…), so the vault was not read: make one with sass-edge intent vault or age-keygen.`,
  )
}

/** What is left of the bounds of a whole vault. */
type Budget = { entries: number; bytes: number }

async function readEntries<Document>(
  directory: string,
  kind: EntryKind,
  identities: readonly string[],
  budget: Budget,
  notes: string[],
  open: (bytes: Uint8Array, manifest: Uint8Array | undefined) => VaultEntry<Document>,
): Promise<ReadonlyMap<string, VaultEntry<Document>>> {
  const found = new Map<string, VaultEntry<Document>>()
  for (const name of namesIn(join(directory, PLACES[kind].entries))) {
    const path = join(directory, PLACES[kind].entries, name)
    const named = readEntryFileName(name)
    if (named === undefined) {
      notes.push(`${path} is not called like an entry (ID_vVERSION.json.age) and is not read.`)
      continue
    }
    budget.entries -= 1
    if (budget.entries < 0)
      throw refusal(
        path,
        `The vault ${directory} has more than ${VAULT_ENTRIES} entries and was not read: remove old versions.`,
      )
    const entry = await readEntry(directory, kind, path, named, identities, budget, open)
    if (entry.kind === 'closed') notes.push(`${path} ${entry.problem}; envelopes that name it are refused.`)
    found.set(entryName(named.id, named.version), entry)
  }
  return found
}

async function readEntry<Document>(
  directory: string,
  kind: EntryKind,
  path: string,
  { id, version }: { readonly id: string; readonly version: string },
  identities: readonly string[],
  budget: Budget,
  open: (bytes: Uint8Array, manifest: Uint8Array | undefined) => VaultEntry<Document>,
): Promise<VaultEntry<Document>> {
  const sealed = requireFile(path, VAULT_SEALED_BYTES)
  checkUnwritable(directory, path, sealed.stats)
  const ofManifest = join(directory, manifestPath(kind, id, version))
  const manifest = readFile(ofManifest, MANIFEST_BYTES)
  if (manifest !== undefined) checkUnwritable(directory, ofManifest, manifest.stats)
  const opened = await openAge(sealed.bytes, { identities }, VAULT_ENTRY_BYTES)
  if (!opened.ok) return { kind: 'closed', problem: opened.problem }
  budget.bytes -= opened.bytes.length
  if (budget.bytes < 0)
    throw refusal(
      path,
      `The entries of the vault ${directory} have more than ${VAULT_BYTES} bytes altogether and were not read: remove old versions.`,
    )
  const entry = open(opened.bytes, manifest?.bytes)
  opened.bytes.fill(0)
  return entry
}

/** In the order of their names; none where there is no such directory. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort()
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw refusal(
      directory,
      `${directory} cannot be listed, since ${errnoText(errnoOf(error))}, so there is no vault: correct that.`,
      error,
    )
  }
}

/**
 * The whole of a vault.
 * @param dispatcherPin the SHA-256 of the dispatcher's key, lower-case hex, from the configuration
 * @throws SassError PIN_MISMATCH where the key is another one, KEY_FILE_INVALID where the vault must not be used
 */
export async function readVault(directory: string, dispatcherPin: string): Promise<ReadVault> {
  checkDirectories(directory)
  const dispatcherKeys = readDispatcherKeys(directory, dispatcherPin)
  const identities = readVaultIdentities(directory)
  const budget: Budget = { entries: VAULT_ENTRIES, bytes: VAULT_BYTES }
  const notes: string[] = []
  const templates = await readEntries<Template>(
    directory,
    'template',
    identities,
    budget,
    notes,
    (bytes, manifest) => openTemplate(bytes, manifest, hostSha256),
  )
  const capabilitySets = await readEntries<CapabilitySet>(
    directory,
    'capability-set',
    identities,
    budget,
    notes,
    (bytes, manifest) => openCapabilitySet(bytes, manifest, hostSha256),
  )
  return {
    contents: vaultContents(dispatcherKeys, templates, capabilitySets),
    templates: templates.size,
    capabilitySets: capabilitySets.size,
    notes,
  }
}
