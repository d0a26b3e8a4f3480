/**
 * The manifest of an entry of the vault: its id, its version, the SHA-256 of its canonical JSON and the dispatcher's
 * signature over these three. Templates and capability sets have their ids under different keys, so that the signature
 * of one is never that of the other.
 * Rules: SAOE context 2.3; docs/intent.md section 3.
 * @module
 */
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { type JsonObject, pythonJson, pythonJsonBytes, readIntentJson } from '../canonical/python-json.ts'
import {
  type FieldProblem,
  hexField,
  nameField,
  shapeField,
  textOf,
  versionField,
} from '../canonical/shape.ts'
import { MANIFEST_BYTES } from '../limits.ts'

export type EntryKind = 'template' | 'capability-set'

export type Manifest = {
  readonly kind: EntryKind
  readonly id: string
  readonly version: string
  /** Lower-case hex of the entry's canonical JSON. */
  readonly sha256: string
  /** Lower-case hex, 64 bytes. */
  readonly dispatcherSignature: string
}

/** The key of the id, in the manifest and in the entry itself. */
const ID_KEYS: Readonly<Record<EntryKind, string>> = Object.freeze({
  template: 'template_id',
  'capability-set': 'capability_set_id',
})

/** What the dispatcher signs. */
function manifestSignedBytes(of: Omit<Manifest, 'dispatcherSignature'>): Uint8Array {
  return pythonJsonBytes(signedJson(of))
}

function signedJson({ kind, id, version, sha256 }: Omit<Manifest, 'dispatcherSignature'>): JsonObject {
  return { [ID_KEYS[kind]]: id, version, sha256_hash: sha256 }
}

export type ManifestRead =
  | { readonly ok: true; readonly manifest: Manifest }
  | ({ readonly ok: false } & FieldProblem)

/** A manifest of bytes; whether its signature holds is asked of `isSignedBy`. */
export function readManifest(kind: EntryKind, bytes: Uint8Array): ManifestRead {
  const json = readIntentJson(bytes, MANIFEST_BYTES)
  if (!json.ok) return { ok: false, field: '', problem: json.problem }
  const shape = shapeField({
    [ID_KEYS[kind]]: nameField,
    version: versionField,
    sha256_hash: hexField(32),
    dispatcher_signature: hexField(64),
  })
  const problem = shape(json.value)
  if (problem !== undefined) return { ok: false, ...problem }
  const value = json.value as JsonObject
  return {
    ok: true,
    manifest: {
      kind,
      id: textOf(value, ID_KEYS[kind]),
      version: textOf(value, 'version'),
      sha256: textOf(value, 'sha256_hash'),
      dispatcherSignature: textOf(value, 'dispatcher_signature'),
    },
  }
}

/** The manifest as its file has it. */
export function writeManifest(manifest: Manifest): Uint8Array {
  return encodeUtf8(
    `${pythonJson({ ...signedJson(manifest), dispatcher_signature: manifest.dispatcherSignature })}\n`,
  )
}

/** The manifest that the dispatcher signs. */
export function signManifest(
  of: Omit<Manifest, 'dispatcherSignature'>,
  sign: (bytes: Uint8Array) => Uint8Array,
): Manifest {
  return { ...of, dispatcherSignature: encodeHex(sign(manifestSignedBytes(of))) }
}

export type Verify = (publicKey: Uint8Array, signature: Uint8Array, bytes: Uint8Array) => boolean

/** Whether one of the keys has signed it. No key: nobody has. */
export function isSignedBy(keys: readonly Uint8Array[], manifest: Manifest, verify: Verify): boolean {
  const signature = decodeHex(manifest.dispatcherSignature)
  if (signature?.length !== 64) return false
  const bytes = manifestSignedBytes(manifest)
  return keys.some((key) => verify(key, signature, bytes))
}
