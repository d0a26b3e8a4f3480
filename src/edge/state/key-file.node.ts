/**
 * Ed25519 keys as files: `NAME.key` holds the 32 raw bytes of the private seed (RFC 8032) and has mode 0600,
 * `NAME.pub` the 32 raw bytes of the public key.
 * Refused are other sizes, other modes (with the chmod to run), links, other people's private keys, and public keys
 * that are not canonical or of low order. Nothing is ever overwritten.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { publicKeyOf } from '../../base/crypto/ed25519.node.ts'
import { checkKeyEncoding, type KeyCheck } from '../../base/crypto/ed25519-encoding.ts'
import {
  type BoundedRead,
  createFile,
  errnoText,
  readBounded,
  systemErrno,
  whyNotMade,
} from '../../base/files.node.ts'
import { shellWord } from '../../base/text/shell-word.ts'
import { SassError } from '../../errors.ts'
import { KEY_FILE_BYTES } from '../../limits.ts'

const PRIVATE_MODE = 0o600
const PUBLIC_MODE = 0o644
const PERMISSION_BITS = 0o7777
const WRITABLE_BY_OTHERS = 0o022

/** A pair of raw 32-byte keys. */
export type KeyPair = { readonly seed: Uint8Array; readonly publicKey: Uint8Array }

/** A fresh pair from the system's CSPRNG. */
export function generateKeyPair(): KeyPair {
  const seed = new Uint8Array(randomBytes(KEY_FILE_BYTES))
  return { seed, publicKey: publicKeyOf(seed) }
}

function refusal(path: string, sentence: string, cause?: unknown): SassError {
  return new SassError('KEY_FILE_INVALID', sentence, { path }, cause)
}

function read(path: string, kind: 'private' | 'public'): Extract<BoundedRead, { ok: true }> {
  try {
    const result = readBounded(path, KEY_FILE_BYTES, kind === 'private')
    if (result.ok && result.bytes.length === KEY_FILE_BYTES) return result
    const what =
      !result.ok && result.reason === 'not-a-file'
        ? 'is not a regular file'
        : `is ${result.stats.size} bytes long`
    const remedy = `a ${kind} key file holds exactly ${KEY_FILE_BYTES} raw bytes, so make one with sass-edge keygen`
    throw refusal(path, `The ${kind} key ${path} ${what} and was not used: ${remedy}.`)
  } catch (error) {
    const errno = systemErrno(error)
    const remedy =
      errno === 'ENOENT'
        ? 'make one with sass-edge keygen or name another one'
        : 'correct that or name another one'
    throw refusal(
      path,
      `The ${kind} key ${path} cannot be read, since ${errnoText(errno)}: ${remedy}.`,
      error,
    )
  }
}

/**
 * The seed of a private key file: a regular file of our own, mode 0600, 32 bytes.
 * @throws SassError KEY_FILE_INVALID with the path
 */
export function readPrivateKey(path: string): Uint8Array {
  // Both files are 32 bytes: a public key would be a private one that nobody knows, and its mode is the only sign.
  if (path.endsWith('.pub')) {
    const sentence = `${path} is a public key by its name and was not read as a private one: name the file that ends in .key.`
    throw refusal(path, sentence)
  }
  const { bytes, stats } = read(path, 'private')
  const own = process.geteuid?.() ?? 0
  if (stats.uid !== own) {
    const remedy = `run chown ${own} ${shellWord(path)} if it is yours`
    throw refusal(
      path,
      `The private key ${path} belongs to another user (uid ${stats.uid}) and was not used: ${remedy}.`,
    )
  }
  const mode = stats.mode & PERMISSION_BITS
  if (mode !== PRIVATE_MODE) {
    const shown = mode.toString(8).padStart(4, '0')
    const remedy = `run chmod 600 ${shellWord(path)}`
    throw refusal(
      path,
      `The private key ${path} has mode ${shown} in place of 0600 and was not used: ${remedy}.`,
    )
  }
  const seed = new Uint8Array(bytes)
  bytes.fill(0)
  return seed
}

/**
 * The key of a public key file: 32 bytes, writable by its owner alone, canonical and not of low order.
 * @param check what else it must be: `checkPublicKey` where a stranger's key is let in
 * @throws SassError KEY_FILE_INVALID with the path
 */
export function readPublicKey(
  path: string,
  check: (key: Uint8Array) => KeyCheck = checkKeyEncoding,
): Uint8Array {
  // Both files are 32 bytes: published by mistake, a private key would look like any other.
  if (path.endsWith('.key')) {
    const sentence = `${path} is a private key by its name and was not read as a public one: name the file that ends in .pub.`
    throw refusal(path, sentence)
  }
  const { bytes, stats } = read(path, 'public')
  if ((stats.mode & WRITABLE_BY_OTHERS) !== 0) {
    const shown = (stats.mode & PERMISSION_BITS).toString(8).padStart(4, '0')
    const remedy = `run chmod 644 ${shellWord(path)} and make sure that it is still the right one`
    throw refusal(
      path,
      `The public key ${path} has mode ${shown}, so others may have changed it, and was not used: ${remedy}.`,
    )
  }
  const key = new Uint8Array(bytes)
  const verdict = check(key)
  if (verdict.ok) return key
  throw refusal(
    path,
    `The public key ${path} is not usable, since ${verdict.problem}: make a new pair with sass-edge keygen.`,
  )
}

/**
 * Makes `BASE.key` and `BASE.pub`; if either exists, nothing is written.
 * The public half is written first, so that a crash in between leaves no private key without its public one.
 * @throws SassError KEY_FILE_INVALID with the path
 */
export function createKeyFiles(base: string): KeyPair {
  const pair = generateKeyPair()
  const privatePath = `${base}.key`
  const publicPath = `${base}.pub`
  for (const path of [privatePath, publicPath]) {
    if (!existsSync(path)) continue
    throw refusal(
      path,
      `${path} exists already and nothing was written: choose another name or move it away.`,
    )
  }
  for (const [path, bytes, mode] of [
    [publicPath, pair.publicKey, PUBLIC_MODE],
    [privatePath, pair.seed, PRIVATE_MODE],
  ] as const) {
    try {
      createFile(path, bytes, mode)
    } catch (error) {
      systemErrno(error)
      throw refusal(
        path,
        `The key ${path} cannot be written, since ${whyNotMade(error, path)}: choose another place.`,
        error,
      )
    }
  }
  return pair
}
