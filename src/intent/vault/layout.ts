/**
 * Where everything lies in a vault, by name. A name that is none of these is never read.
 * Rules: SAOE context 2.3; docs/intent.md section 3.
 * @module
 */
import { isSafeName, isVersion } from '../canonical/shape.ts'
import { entryName } from './contents.ts'
import type { EntryKind } from './manifest.ts'

export const IDENTITY_FILE = 'age_identity.key'
const KEYS_DIRECTORY = 'keys'
export const DISPATCHER_FILE = 'keys/dispatcher_verify.pub'
/** The statement that another key follows; most of the time there is none. */
export const ROTATION_FILE = 'keys/dispatcher_next.json'

/** Of each kind of entry: where they lie, where their manifests do. */
export const PLACES: Readonly<Record<EntryKind, { readonly entries: string; readonly manifests: string }>> =
  Object.freeze({
    template: { entries: 'templates', manifests: 'manifests' },
    'capability-set': { entries: 'capsets', manifests: 'manifests/capsets' },
  })

/** Every directory of a vault, the outer ones first; the vault itself is ''. */
export const DIRECTORIES: readonly string[] = Object.freeze([
  '',
  KEYS_DIRECTORY,
  'templates',
  'capsets',
  'manifests',
  'manifests/capsets',
])

const SEALED_SUFFIX = '.json.age'

/** Path of a sealed entry within the vault. */
export function entryPath(kind: EntryKind, id: string, version: string): string {
  return `${PLACES[kind].entries}/${entryName(id, version)}${SEALED_SUFFIX}`
}

/** Path of its manifest within the vault. */
export function manifestPath(kind: EntryKind, id: string, version: string): string {
  return `${PLACES[kind].manifests}/${entryName(id, version)}.manifest.json`
}

/** Id and version of a sealed entry by the name of its file; undefined where it is not so called. */
export function readEntryFileName(
  name: string,
): { readonly id: string; readonly version: string } | undefined {
  if (!name.endsWith(SEALED_SUFFIX)) return undefined
  const stem = name.slice(0, -SEALED_SUFFIX.length)
  const at = stem.lastIndexOf('_v')
  const id = stem.slice(0, Math.max(at, 0))
  const version = stem.slice(at + 2)
  return isSafeName(id) && isVersion(version) ? { id, version } : undefined
}
