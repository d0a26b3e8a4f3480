/**
 * Makes a vault and puts entries into it, for whoever has the dispatcher's seed: off the device, which never needs it.
 * An entry is looked over as the device will, signed, sealed for its recipients, and there whole or not at all: its
 * manifest comes first, which says nothing without the entry. A version that is there is never replaced. What is
 * written can be written by nobody afterwards.
 * Rules: SAOE context 2.3 and 4, FT-010; docs/intent.md section 3.
 * @module
 */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { publicKeyOf, signWith } from '../../base/crypto/ed25519.node.ts'
import { equalConstantTime } from '../../base/crypto/hash.ts'
import { hostBytesDigest, hostSha256 } from '../../base/crypto/sha256.node.ts'
import {
  createFile,
  errnoOf,
  errnoText,
  makeDirectories,
  readBounded,
  replaceFile,
  syncDirectory,
  systemErrno,
  whyNotMade,
} from '../../base/files.node.ts'
import { mistakeText } from '../../config/syntax.ts'
import { SassError } from '../../errors.ts'
import { isJsonObject, pythonJsonBytes, readIntentJson } from '../../intent/canonical/python-json.ts'
import { STATEMENT_BYTES, VAULT_ENTRY_BYTES } from '../../intent/limits.ts'
import { openCapabilitySet, openTemplate } from '../../intent/vault/entries.ts'
import {
  DIRECTORIES,
  DISPATCHER_FILE,
  entryPath,
  IDENTITY_FILE,
  manifestPath,
  ROTATION_FILE,
} from '../../intent/vault/layout.ts'
import { type EntryKind, type Manifest, signManifest, writeManifest } from '../../intent/vault/manifest.ts'
import { readRotation, writeRotation } from '../../intent/vault/rotation.ts'
import { makeIdentity, sealAge } from './age.node.ts'
import { verifySignature } from './vault.node.ts'

const READ_ONLY = 0o444
const CLOSED_DIRECTORY = 0o555
const OPEN_DIRECTORY = 0o755
const IDENTITY_MODE = 0o600
const KEY_BYTES = 32

/** What is to be published, looked over and hashed. */
export type PreparedEntry = {
  readonly kind: EntryKind
  readonly id: string
  readonly version: string
  /** Of its canonical JSON, lower-case hex: what whoever publishes types. */
  readonly sha256: string
  /** The canonical JSON. */
  readonly bytes: Uint8Array
}

function refuse(sentence: string, details: Readonly<Record<string, unknown>> = {}, cause?: unknown): never {
  throw new SassError('USAGE', sentence, details, cause)
}

/**
 * A template or a capability set of the bytes of its file.
 * @param name of the file, for the sentence of a refusal
 * @throws SassError USAGE where a device would refuse it
 */
export function prepareEntry(file: Uint8Array, name: string): PreparedEntry {
  const json = readIntentJson(file, VAULT_ENTRY_BYTES)
  const problem = json.ok ? 'it is no object' : mistakeText(file, json)
  if (!json.ok || !isJsonObject(json.value))
    return refuse(`${name} cannot be published, since ${problem}: give one JSON object.`)
  const kind = Object.hasOwn(json.value, 'template_id') ? 'template' : 'capability-set'
  const bytes = pythonJsonBytes(json.value)
  const entry =
    kind === 'template'
      ? openTemplate(bytes, undefined, hostSha256)
      : openCapabilitySet(bytes, undefined, hostSha256)
  if (entry.kind === 'closed')
    return refuse(
      `${name} cannot be published as a ${kind.replace('-', ' ')}, since it ${entry.problem}: correct that.`,
    )
  const { document, sha256 } = entry
  if ('schema' in document && !document.schema.ok)
    return refuse(
      `${name} cannot be published, since in its json_schema ${document.schema.field || 'the whole'} ${document.schema.problem}: devices know a closed set of keywords; see docs/intent.md.`,
    )
  return { kind, id: document.id, version: document.version, sha256, bytes }
}

/** The bytes of a small file of a vault; undefined: there is none. */
function readSmall(path: string, limitBytes: number): Uint8Array | undefined {
  try {
    const read = readBounded(path, limitBytes, true)
    if (read.ok) return Uint8Array.from(read.bytes)
    return refuse(`${path} is not what it must be, so nothing was published: put the right file there.`, {
      path,
    })
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT') return undefined
    if (errno === undefined) throw error
    return refuse(`${path} cannot be read, since ${errnoText(errno)}: correct that.`, { path }, error)
  }
}

/** The key that the vault believes. */
function dispatcherKeyOf(directory: string): Uint8Array {
  const path = join(directory, DISPATCHER_FILE)
  const key = readSmall(path, KEY_BYTES)
  if (key?.length === KEY_BYTES) return key
  return refuse(
    `${directory} is no vault, since ${path} is no key of 32 bytes: make one with sass-edge intent vault.`,
  )
}

/** The key that the vault's dispatcher has named to follow it. */
function namedNext(directory: string, pinned: Uint8Array): Uint8Array | undefined {
  const statement = readSmall(join(directory, ROTATION_FILE), STATEMENT_BYTES)
  const next = statement === undefined ? undefined : readRotation(statement, pinned, verifySignature)
  return next?.ok === true ? next.nextKey : undefined
}

function believes(directory: string, key: Uint8Array): boolean {
  const pinned = dispatcherKeyOf(directory)
  if (equalConstantTime(pinned, key)) return true
  const next = namedNext(directory, pinned)
  return next !== undefined && equalConstantTime(next, key)
}

/** The pin of the key that follows the dispatcher's, undefined where none is named. */
export function nextDispatcherPin(directory: string): string | undefined {
  const next = namedNext(directory, dispatcherKeyOf(directory))
  return next === undefined ? undefined : hostBytesDigest(next)
}

/** Does `work` while a directory may be written in, which nobody may before and after. */
function writingIn<Result>(directory: string, work: () => Result): Result {
  try {
    chmodSync(directory, OPEN_DIRECTORY)
    try {
      return work()
    } finally {
      chmodSync(directory, CLOSED_DIRECTORY)
    }
  } catch (error) {
    const errno = systemErrno(error)
    return refuse(
      `${directory} cannot be written in, since ${errnoText(errno)}, so nothing was published: correct that, and publish again.`,
      { path: directory, errno },
      error,
    )
  }
}

/**
 * Signs and seals an entry and puts it into a vault.
 * @param seed the dispatcher's, 32 bytes
 * @throws SassError USAGE where the vault believes another key, or has that version already; it is then as it was
 */
export async function publishEntry(
  directory: string,
  entry: PreparedEntry,
  seed: Uint8Array,
  recipients: readonly string[],
): Promise<Manifest> {
  if (!believes(directory, publicKeyOf(seed)))
    refuse(
      `The vault ${directory} believes another dispatcher than the one whose seed was given, so nothing was published: give its seed, or have it name yours with sass-edge intent rotate.`,
    )
  const { kind, id, version, sha256 } = entry
  const path = join(directory, entryPath(kind, id, version))
  if (existsSync(path))
    refuse(
      `${path} is there already and a version never changes, so nothing was published: give the entry a new version.`,
      { path },
    )
  const sealed = await sealAge(entry.bytes, recipients)
  const manifest = signManifest({ kind, id, version, sha256 }, (bytes) => signWith(seed, bytes))
  const ofManifest = join(directory, manifestPath(kind, id, version))
  writingIn(dirname(ofManifest), () => replaceFile(ofManifest, writeManifest(manifest), READ_ONLY))
  writingIn(dirname(path), () => createFile(path, sealed, READ_ONLY))
  return manifest
}

/**
 * A new vault without entries, in one step.
 * @param withIdentity make its age identity too: for a vault that stays on this machine
 * @returns the pin of the dispatcher's key, and the recipient of the identity where one was made
 * @throws SassError USAGE where something is at `directory` already
 */
export async function createVault(
  directory: string,
  dispatcherKey: Uint8Array,
  withIdentity: boolean,
): Promise<{ readonly pin: string; readonly recipient: string | undefined }> {
  if (existsSync(directory))
    refuse(`${directory} is there already, so no vault was made: name a directory that is not.`, {
      path: directory,
    })
  const identity = withIdentity ? await makeIdentity() : undefined
  try {
    makeDirectories(dirname(directory))
    const staging = mkdtempSync(join(dirname(directory), `.${basename(directory)}-`))
    try {
      for (const name of DIRECTORIES.filter((each) => each !== '')) mkdirSync(join(staging, name))
      createFile(join(staging, DISPATCHER_FILE), dispatcherKey, READ_ONLY)
      if (identity !== undefined)
        createFile(join(staging, IDENTITY_FILE), Buffer.from(identity.file), IDENTITY_MODE)
      for (const name of DIRECTORIES.toReversed()) chmodSync(join(staging, name), CLOSED_DIRECTORY)
      renameSync(staging, directory)
      syncDirectory(dirname(directory))
    } catch (error) {
      if (statSync(staging, { throwIfNoEntry: false }) !== undefined) {
        for (const name of DIRECTORIES)
          if (existsSync(join(staging, name))) chmodSync(join(staging, name), OPEN_DIRECTORY)
        rmSync(staging, { recursive: true, force: true })
      }
      throw error
    }
  } catch (error) {
    systemErrno(error)
    refuse(
      `${directory} cannot be made, since ${whyNotMade(error, directory)}: correct that.`,
      { path: directory },
      error,
    )
  }
  return { pin: hostBytesDigest(dispatcherKey), recipient: identity?.recipient }
}

/**
 * Puts the statement into a vault that another key follows the dispatcher's.
 * @param seed of the key that the vault has
 * @returns the pin of the key that follows
 * @throws SassError USAGE where the seed is of another key, or the key that follows is the present one
 */
export function rotateDispatcher(directory: string, seed: Uint8Array, nextKey: Uint8Array): string {
  if (!equalConstantTime(dispatcherKeyOf(directory), publicKeyOf(seed)))
    refuse(
      `The seed is not that of the vault's dispatcher, so the vault ${directory} is as it was: the key that devices pin must sign for the next one.`,
    )
  if (equalConstantTime(nextKey, publicKeyOf(seed)))
    refuse(
      `The key that shall follow is the one that the vault ${directory} has, so it is as it was: make another with sass-edge keygen.`,
    )
  const statement = writeRotation(publicKeyOf(seed), nextKey, (bytes) => signWith(seed, bytes))
  const path = join(directory, ROTATION_FILE)
  writingIn(dirname(path), () => replaceFile(path, statement, READ_ONLY))
  return hostBytesDigest(nextKey)
}
