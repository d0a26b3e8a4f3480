/**
 * The pins of a user: which device key belongs to which address, as `{"HOST:PORT": "sha256:<base64url>"}` in
 * `known_devices.json` (mode 0600) of the user's configuration directory. The fingerprint is the SHA-256 of the
 * SubjectPublicKeyInfo of the device's certificate (docs/protocol.md, section 1).
 * A pin changes only when somebody says so; a file that cannot be trusted or read stops everything.
 * @module
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { decodeBase64Url } from '../base/base64.ts'
import { errnoOf, errnoText, readBounded, replaceFile } from '../base/files.node.ts'
import { formatJson } from '../base/json-text.ts'
import { parseStrictJson } from '../base/strict-json.ts'
import { type Environment, userConfigDirectory } from '../base/user-directory.ts'
import { SassError } from '../errors.ts'
import { PIN_FILE_BYTES } from '../limits.ts'

const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700
const WRITABLE_BY_OTHERS = 0o022
const DIGEST_BYTES = 32
const FINGERPRINT_PREFIX = 'sha256:'

/** Fingerprints by `HOST:PORT`. */
export type Pins = ReadonlyMap<string, string>
export type PinVerdict =
  | { readonly kind: 'match' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'changed'; readonly pinned: string }

/** True for `sha256:` and 32 bytes in base64url without padding. */
export function isFingerprint(text: string): boolean {
  if (!text.startsWith(FINGERPRINT_PREFIX)) return false
  return decodeBase64Url(text.slice(FINGERPRINT_PREFIX.length), DIGEST_BYTES)?.length === DIGEST_BYTES
}

/** Where the pins of this user are. SassError CONFIG_LOAD_FAILED without HOME and XDG_CONFIG_HOME. */
export function pinFile(environment: Environment): string {
  const directory = userConfigDirectory(environment)
  if (directory !== undefined) return `${directory}/known_devices.json`
  throw new SassError(
    'CONFIG_LOAD_FAILED',
    'Neither XDG_CONFIG_HOME nor HOME is set to an absolute path, so the known devices cannot be found: set one of them.',
  )
}

function refusal(path: string, what: string, remedy: string, cause?: unknown): SassError {
  return new SassError('CONFIG_LOAD_FAILED', `The known devices ${path} ${what}: ${remedy}.`, { path }, cause)
}

function readPinBytes(path: string): Buffer | undefined {
  try {
    const read = readBounded(path, PIN_FILE_BYTES)
    if (!read.ok) {
      const what =
        read.reason === 'too-large' ? `are larger than ${PIN_FILE_BYTES} bytes` : 'are not a regular file'
      throw refusal(path, `${what} and were not used`, 'move the file away')
    }
    if ((read.stats.mode & WRITABLE_BY_OTHERS) !== 0) {
      throw refusal(
        path,
        'can be written by others and were not used',
        `look through them, then run chmod 600 ${path}`,
      )
    }
    return read.bytes
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    if (errno === 'ENOENT') return undefined
    throw refusal(path, `cannot be read, since ${errnoText(errno)}`, 'correct that', error)
  }
}

/**
 * All pins; an absent file has none.
 * @throws SassError CONFIG_LOAD_FAILED where the file cannot be read, may have been changed by others or is damaged
 */
export function loadPins(path: string): Pins {
  const bytes = readPinBytes(path)
  if (bytes === undefined) return new Map()
  const parsed = parseStrictJson(bytes, { size: PIN_FILE_BYTES, depth: 1 })
  const value = parsed.ok ? parsed.value : undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refusal(
      path,
      'are damaged and were not used',
      'restore the file or move it away, and compare every key anew',
    )
  }
  const pins = new Map<string, string>()
  for (const [address, fingerprint] of Object.entries(value)) {
    if (typeof fingerprint !== 'string' || !isFingerprint(fingerprint)) {
      const which = JSON.stringify(address.slice(0, 64))
      throw refusal(
        path,
        `have no valid fingerprint for ${which} and were not used`,
        'correct or remove that line',
      )
    }
    pins.set(address, fingerprint)
  }
  return pins
}

/** What the pins say about a device that shows `fingerprint` at `address` (`HOST:PORT`, as targetAddress writes it). */
export function checkPin(pins: Pins, address: string, fingerprint: string): PinVerdict {
  const pinned = pins.get(address)
  if (pinned === undefined) return { kind: 'unknown' }
  return pinned === fingerprint ? { kind: 'match' } : { kind: 'changed', pinned }
}

/** The error of a device whose key is not the pinned one; it names both and the command that accepts the new one. */
export function pinMismatch(address: string, pinned: string, seen: string): SassError {
  const sentence =
    `${address} shows the key ${seen} where ${pinned} is pinned, so it is another device or somebody is in between, and nothing was sent:` +
    ` find out which, and only if the device was set up anew run sass-edge trust --replace ${address}.`
  return new SassError('PIN_MISMATCH', sentence, { address, pinned, seen })
}

/**
 * Writes one pin; all others are read again first and kept.
 * @throws SassError CONFIG_LOAD_FAILED as loadPins, STATE_UNWRITABLE where the file cannot be written
 */
export function savePin(path: string, address: string, fingerprint: string): void {
  if (!isFingerprint(fingerprint)) {
    throw new SassError('USAGE', 'This is not a fingerprint: write sha256: and 43 characters of base64url.')
  }
  const pins = new Map(loadPins(path)).set(address, fingerprint)
  const sorted = [...pins].sort(([left], [right]) => (left < right ? -1 : 1))
  const bytes = Buffer.from(`${formatJson(Object.fromEntries(sorted))}\n`)
  if (bytes.length > PIN_FILE_BYTES)
    throw refusal(path, `would be larger than ${PIN_FILE_BYTES} bytes`, 'remove old lines')
  try {
    mkdirSync(dirname(path), { recursive: true, mode: DIRECTORY_MODE })
    replaceFile(path, bytes, FILE_MODE)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const sentence = `The known devices ${path} cannot be written, since ${errnoText(errno)}: correct that and try again.`
    throw new SassError('STATE_UNWRITABLE', sentence, { path, errno }, error)
  }
}
