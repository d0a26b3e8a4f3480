/**
 * The pins of a user: which device key belongs to which address, as `{"HOST:PORT": {"key": "sha256:<base64url>",
 * "since": "2026-01-31"}}` in `known_devices.json` (mode 0600) of the user's configuration directory; the fingerprint
 * alone in place of the object is a pin whose day nobody wrote down. The fingerprint is the SHA-256 of the
 * SubjectPublicKeyInfo of the device's certificate (docs/protocol.md, section 1). `next` is that of the key which the
 * device has said will follow, over a connection that proved the one which is pinned.
 * A pin changes only when somebody says so, or to the one that was announced; a file that cannot be trusted or read stops
 * everything.
 * @module
 */
import { dirname } from 'node:path'
import { decodeBase64Url } from '../../base/encoding/base64.ts'
import { formatJson } from '../../base/encoding/json-text.ts'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import {
  errnoOf,
  errnoText,
  makeDirectories,
  readBounded,
  replaceFile,
  whyNotMade,
} from '../../base/files.node.ts'
import { type Environment, userConfigDirectory } from '../../base/user-directory.ts'
import { misuse, SassError } from '../../errors.ts'
import { PIN_FILE_BYTES } from '../../limits.ts'

const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700
const WRITABLE_BY_OTHERS = 0o022
const DIGEST_BYTES = 32
const FINGERPRINT_PREFIX = 'sha256:'

export type Pin = {
  readonly key: string
  /** The day when it was pinned, `2026-01-31` in UTC. */
  readonly since?: string
  /** The key that was announced to follow. */
  readonly next?: string
}
/** By `HOST:PORT`. */
export type Pins = ReadonlyMap<string, Pin>
export type PinVerdict =
  | { readonly kind: 'match'; readonly pin: Pin }
  | { readonly kind: 'unknown' }
  /** It shows the key that was announced to follow. */
  | { readonly kind: 'follows'; readonly pin: Pin }
  | { readonly kind: 'changed'; readonly pin: Pin }

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

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** Undefined: it is none. */
function pinOf(entry: unknown): Pin | undefined {
  const value: unknown = typeof entry === 'string' ? { key: entry } : entry
  if (typeof value !== 'object' || value === null) return undefined
  const { key, since, next } = value as Readonly<Record<string, unknown>>
  if (typeof key !== 'string' || !isFingerprint(key)) return undefined
  if (since !== undefined && (typeof since !== 'string' || !DAY.test(since))) return undefined
  if (next !== undefined && (typeof next !== 'string' || !isFingerprint(next))) return undefined
  return { key, ...(since === undefined ? {} : { since }), ...(next === undefined ? {} : { next }) }
}

/**
 * All pins; an absent file has none.
 * @throws SassError CONFIG_LOAD_FAILED where the file cannot be read, may have been changed by others or is damaged
 */
export function loadPins(path: string): Pins {
  const bytes = readPinBytes(path)
  if (bytes === undefined) return new Map()
  const parsed = parseStrictJson(bytes, { size: PIN_FILE_BYTES, depth: 2 })
  const value = parsed.ok ? parsed.value : undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refusal(
      path,
      'are damaged and were not used',
      'restore the file or move it away, and compare every key anew',
    )
  }
  const pins = new Map<string, Pin>()
  for (const [address, entry] of Object.entries(value)) {
    const pin = pinOf(entry)
    if (pin === undefined) {
      const which = JSON.stringify(address.slice(0, 64))
      throw refusal(
        path,
        `have no valid fingerprint for ${which} and were not used`,
        'correct or remove that line',
      )
    }
    pins.set(address, pin)
  }
  return pins
}

/** What the pins say about a device that shows `fingerprint` at `address` (`HOST:PORT`, as targetAddress writes it). */
export function checkPin(pins: Pins, address: string, fingerprint: string): PinVerdict {
  const pin = pins.get(address)
  if (pin === undefined) return { kind: 'unknown' }
  if (pin.key === fingerprint) return { kind: 'match', pin }
  return { kind: pin.next === fingerprint ? 'follows' : 'changed', pin }
}

const sinceWhen = (since: string | undefined): string => (since === undefined ? '' : ` since ${since}`)

/** The error of a fingerprint that somebody gave where another one is pinned: the device has shown nothing. */
export function givenMismatch(address: string, { key: pinned, since }: Pin, given: string): SassError {
  const sentence =
    `${given} was given for ${address} where ${pinned} is pinned${sinceWhen(since)}, so nothing was changed:` +
    ` compare both with what the device itself says, and only if it was set up anew run sass-edge trust --replace ${address} ${given}.`
  return new SassError('PIN_MISMATCH', sentence, { address, pinned, seen: given, since: since ?? null })
}

/** The error of a device whose key is not the pinned one; it names both and the command that accepts the new one. */
export function pinMismatch(address: string, { key: pinned, since }: Pin, seen: string): SassError {
  const when = sinceWhen(since)
  const sentence =
    `${address} shows the key ${seen} where ${pinned} is pinned${when}, so it is another device or somebody is in between, and nothing was sent:` +
    ` find out which, and only if the device was set up anew run sass-edge trust --replace ${address}.`
  return new SassError('PIN_MISMATCH', sentence, { address, pinned, seen, since: since ?? null })
}

/** The day of a time in Unix milliseconds, in UTC. */
const dayOf = (wallMs: number): string => new Date(wallMs).toISOString().slice(0, 10)

/**
 * Writes one pin as of today; all others are read again first and kept.
 * @param next the key that the device has announced to follow
 * @throws SassError CONFIG_LOAD_FAILED as loadPins, STATE_UNWRITABLE where the file cannot be written
 */
export function savePin(path: string, address: string, fingerprint: string, next?: string): void {
  if (!isFingerprint(fingerprint) || (next !== undefined && !isFingerprint(next))) {
    throw misuse('This is not a fingerprint: write sha256: and 43 characters of base64url.')
  }
  const before = loadPins(path)
  const known = before.get(address)
  // The day is that of the key: what is announced beside it does not make it younger.
  const since = known?.key === fingerprint ? known.since : dayOf(Date.now())
  const pin: Pin = { key: fingerprint, ...(since && { since }), ...(next && { next }) }
  writePins(path, new Map(before).set(address, pin))
}

function writePins(path: string, pins: Pins): void {
  const sorted = [...pins].sort(([left], [right]) => (left < right ? -1 : 1))
  const bytes = Buffer.from(`${formatJson(Object.fromEntries(sorted))}\n`)
  if (bytes.length > PIN_FILE_BYTES)
    throw refusal(path, `would be larger than ${PIN_FILE_BYTES} bytes`, 'remove old lines')
  try {
    makeDirectories(dirname(path), DIRECTORY_MODE)
    replaceFile(path, bytes, FILE_MODE)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
    const sentence = `The known devices ${path} cannot be written, since ${whyNotMade(error, path)}: correct that and try again.`
    throw new SassError('STATE_UNWRITABLE', sentence, { path, errno }, error)
  }
}
