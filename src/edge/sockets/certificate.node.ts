/**
 * The daemon's TLS identity: reads the key and the certificate, or makes a self-signed pair at the first start.
 * Clients pin the SHA-256 of the public key (docs/protocol.md, section 1), so the key is the identity and the
 * certificate only carries it: dates are not checked, for a board may have no clock, and a key that has lost its
 * certificate gets a new one without any pin breaking.
 * Refuses: a key that others can read, a pair that does not match, weak or unusable keys, anything but PEM, and to
 * write over what is there. A key that is to follow lies beside it as `KEY.next`. Never makes a key for a certificate that exists: that pair is somebody's, and incomplete.
 * @module
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { deviceFingerprint } from '../../base/crypto/fingerprint.node.ts'
import {
  type BoundedRead,
  createFile,
  errnoOf,
  errnoText,
  readBounded,
  syncDirectory,
  systemErrno,
} from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { PEM_FILE_BYTES } from '../../limits.ts'

/** NIST SP 800-131A and the minimum of TLS clients. */
const RSA_BITS_MIN = 2_048
/** RFC 8446, section 4.2.3: the curves that a CertificateVerify may be signed on. */
const TLS_CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1', 'secp521r1'])
const KEY_MODE = 0o600
const CERTIFICATE_MODE = 0o644

/** What a TLS server needs, and what clients pin. */
export interface TlsIdentity {
  readonly keyPem: string
  readonly certificatePem: string
  /** What clients pin. */
  readonly fingerprint: string
  /** Unix milliseconds; read where somebody asks. */
  readonly validity: () => { readonly fromMs: number; readonly untilMs: number }
  /** True where this call made the certificate. */
  readonly created: boolean
}

/**
 * Reads the pair at the two paths, or makes what is missing: both files at the first start, the certificate alone for
 * an Ed25519 key without one (what a crash between the two leaves). Files appear whole or not at all; of two daemons
 * that start at once, both return the pair of whichever came first.
 * @throws SassError TLS_CERT_INVALID for a file that cannot serve, STATE_UNWRITABLE where a file cannot be made.
 */
export async function ensureCertificate(
  keyPath: string,
  certificatePath: string,
  options: { readonly commonName: string },
): Promise<TlsIdentity> {
  let keyFile = readPem(keyPath, 'key')
  let certificateFile = readPem(certificatePath, 'certificate')
  const created = certificateFile === undefined
  if (keyFile === undefined) {
    if (certificateFile !== undefined) {
      throw invalid(
        `The certificate ${certificatePath} has no key at ${keyPath}, so the daemon cannot prove that it is its own: put the key back, or remove the certificate to have a new pair made.`,
        keyPath,
      )
    }
    publish(keyPath, newKeyPem(), KEY_MODE)
    keyFile = reread(keyPath, 'key')
  }
  checkMode(keyFile, keyPath)
  const key = checkKey(keyFile, keyPath)
  if (certificateFile === undefined) {
    if (key.asymmetricKeyType !== 'ed25519') {
      refuseForeignKey(keyPath, certificatePath)
    }
    // Only a first start needs the encoder: it is loaded here and not before.
    const { selfSigned } = await import('./self-signed.node.ts')
    publish(certificatePath, selfSigned(key, options.commonName), CERTIFICATE_MODE)
    certificateFile = reread(certificatePath, 'certificate')
  }
  const certificate = checkCertificate(certificateFile.text, certificatePath)
  checkPair(certificate, key, certificatePath, keyPath)
  return {
    keyPem: keyFile.text,
    certificatePem: certificateFile.text,
    fingerprint: deviceFingerprint(certificate),
    validity: () => ({
      fromMs: certificate.validFromDate.getTime(),
      untilMs: certificate.validToDate.getTime(),
    }),
    created,
  }
}

function refuseForeignKey(keyPath: string, certificatePath: string): never {
  throw invalid(
    `The key ${keyPath} has no certificate at ${certificatePath}, and only for Ed25519 keys is one made: put the certificate there, or remove the key to have a new pair made.`,
    certificatePath,
  )
}

function checkPair(
  certificate: X509Certificate,
  key: KeyObject,
  certificatePath: string,
  keyPath: string,
): void {
  if (certificate.checkPrivateKey(key)) return
  throw invalid(
    `The certificate ${certificatePath} does not belong to the key ${keyPath}, so no handshake could succeed: put back the pair that belongs together.`,
    certificatePath,
  )
}

/** What a look at the pair has found; `certificate` where it can be read. */
export interface IdentityLook {
  readonly problems: readonly { readonly of: 'key' | 'certificate'; readonly error: SassError }[]
  readonly certificate: X509Certificate | undefined
  readonly certificateText: string
  /** Permission bits of the key; undefined where it cannot be read. */
  readonly keyMode: number | undefined
}

/** Everything that would keep `ensureCertificate` from using the files that are there. Makes nothing. */
export function examineIdentity(keyPath: string, certificatePath: string): IdentityLook {
  const problems: { of: 'key' | 'certificate'; error: SassError }[] = []
  function attempt<T>(of: 'key' | 'certificate', look: () => T): T | undefined {
    try {
      return look()
    } catch (error) {
      if (!(error instanceof SassError)) throw error
      problems.push({ of, error })
      return undefined
    }
  }
  const keyFile = attempt('key', () => readPem(keyPath, 'key'))
  const key = keyFile && attempt('key', () => checkKey(keyFile, keyPath))
  const file = attempt('certificate', () => readPem(certificatePath, 'certificate'))
  const certificate = file && attempt('certificate', () => checkCertificate(file.text, certificatePath))
  if (key !== undefined && certificate !== undefined)
    attempt('certificate', () => checkPair(certificate, key, certificatePath, keyPath))
  if (key !== undefined && file === undefined && problems.length === 0 && key.asymmetricKeyType !== 'ed25519')
    attempt('certificate', () => refuseForeignKey(keyPath, certificatePath))
  return { problems, certificate, certificateText: file?.text ?? '', keyMode: keyFile?.mode }
}

/** Where the key is that follows the one of that path. */
export const nextKeyPath = (keyPath: string): string => `${keyPath}.next`

/** What clients pin of a key: the SHA-256 of its SubjectPublicKeyInfo. */
function digestOf(key: KeyObject): Uint8Array {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return new Uint8Array(createHash('sha256').update(spki).digest())
}

/**
 * The SHA-256 of the key that follows the one of `keyPath`, undefined where there is none.
 * @throws SassError TLS_CERT_INVALID for one that could not serve
 */
export function nextKeyDigest(keyPath: string): Uint8Array | undefined {
  const path = nextKeyPath(keyPath)
  const file = readPem(path, 'key')
  return file === undefined ? undefined : digestOf(checkKey(file, path))
}

/** Makes the key that follows, where there is none yet, and returns its SHA-256. */
export function makeNextKey(keyPath: string): Uint8Array {
  const path = nextKeyPath(keyPath)
  if (readPem(path, 'key') === undefined) publish(path, newKeyPem(), KEY_MODE)
  return digestOf(checkKey(reread(path, 'key'), path))
}

/**
 * The SHA-256 of the key that may be put in the place of the other one.
 * @throws SassError TLS_CERT_INVALID where no key follows, or where the pair is somebody's own and not made by us
 */
export function switchableKeyDigest(keyPath: string, certificatePath: string): Uint8Array {
  const path = nextKeyPath(keyPath)
  const digest = nextKeyDigest(keyPath)
  if (digest === undefined)
    throw invalid(
      `There is no key at ${path}, so there is nothing to go over to: make it with keygen --device.`,
      path,
    )
  const certificate = readPem(certificatePath, 'certificate')
  const parsed = certificate && checkCertificate(certificate.text, certificatePath)
  if (
    parsed !== undefined &&
    (parsed.issuer !== parsed.subject || parsed.publicKey.asymmetricKeyType !== 'ed25519')
  )
    throw invalid(
      `The certificate ${certificatePath} was not made by the daemon, so it is not taken away: put your new pair in the place of the old one yourself.`,
      certificatePath,
    )
  return digest
}

/**
 * Puts the key that follows in the place of the other one, whose certificate goes: the next start makes one. Cut off in
 * between, the old key is left without its certificate, and the same can be done again.
 * @throws SassError as `switchableKeyDigest`, and STATE_UNWRITABLE
 */
export function switchToNextKey(keyPath: string, certificatePath: string): void {
  const path = nextKeyPath(keyPath)
  switchableKeyDigest(keyPath, certificatePath)
  try {
    rmSync(certificatePath, { force: true })
    // Gone for good, before there is a key that it does not belong to: with those two no daemon starts.
    syncDirectory(dirname(certificatePath))
    renameSync(path, keyPath)
    syncDirectory(dirname(keyPath))
  } catch (error) {
    const errno = systemErrno(error)
    throw new SassError(
      'STATE_UNWRITABLE',
      `The key ${path} cannot be put in the place of ${keyPath}, since ${errnoText(errno)}: correct that and do it again.`,
      { path, errno },
      error,
    )
  }
}

const newKeyPem = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

interface PemFile {
  readonly text: string
  readonly mode: number
}

/** The file, or undefined where there is none. Symbolic links are followed: certificate tools rotate by them. */
function readPem(path: string, what: 'key' | 'certificate'): PemFile | undefined {
  let file: BoundedRead
  try {
    file = readBounded(path, PEM_FILE_BYTES)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT') return undefined
    throw invalid(
      `The TLS ${what} ${path} cannot be read because ${errnoText(errno)}: give a file that the daemon's user can read.`,
      path,
      error,
    )
  }
  if (file.ok) return { text: file.bytes.toString('latin1'), mode: file.stats.mode & 0o7777 }
  throw invalid(
    file.reason === 'not-a-file'
      ? `The TLS ${what} ${path} is not a regular file: give the path of a PEM file.`
      : `The TLS ${what} ${path} has ${file.stats.size} bytes, more than the ${PEM_FILE_BYTES} that are read: give a PEM file with the ${what} alone.`,
    path,
  )
}

/** What was just published, by this daemon or by one that was faster. */
function reread(path: string, what: 'key' | 'certificate'): PemFile {
  const file = readPem(path, what)
  if (file !== undefined) return file
  throw invalid(
    `The TLS ${what} ${path} vanished while the daemon started: start it again, and nothing else on that directory.`,
    path,
  )
}

function checkMode(file: PemFile, path: string): void {
  if (file.mode !== KEY_MODE) {
    throw invalid(
      `The TLS key ${path} has mode ${octal(file.mode)}, so it may not be a secret any more: run chmod ${octal(KEY_MODE)} ${path}, or replace it if others have read it.`,
      path,
    )
  }
}

function checkKey(file: PemFile, path: string): KeyObject {
  let key: KeyObject
  try {
    key = createPrivateKey({ key: file.text, format: 'pem' })
  } catch (error) {
    throw invalid(
      `The TLS key ${path} is not an unencrypted private key in PEM: give one as openssl genpkey writes it.`,
      path,
      error,
    )
  }
  const problem = weakness(key)
  if (problem !== undefined)
    throw invalid(`The TLS key ${path} is ${problem}: give an Ed25519 key, P-256, or RSA of 2048 bits.`, path)
  return key
}

/** Why a key cannot sign a TLS 1.3 handshake that a client should believe, or undefined. */
function weakness(key: KeyObject): string | undefined {
  const details = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return undefined
    case 'ec':
      return TLS_CURVES.has(details.namedCurve ?? '')
        ? undefined
        : `on the curve ${details.namedCurve}, which TLS 1.3 does not have`
    case 'rsa':
    case 'rsa-pss':
      return (details.modulusLength ?? 0) >= RSA_BITS_MIN
        ? undefined
        : `an RSA key of ${details.modulusLength} bits, less than the ${RSA_BITS_MIN} that clients accept`
    default:
      return `of the type ${key.asymmetricKeyType}, which TLS 1.3 clients do not accept`
  }
}

function checkCertificate(text: string, path: string): X509Certificate {
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw invalid(
      `The TLS certificate ${path} is not PEM: give a file that begins with -----BEGIN CERTIFICATE-----.`,
      path,
    )
  }
  return parseCertificate(text, path)
}

function parseCertificate(certificate: string | Uint8Array, path: string): X509Certificate {
  try {
    return new X509Certificate(certificate)
  } catch (error) {
    throw invalid(
      `The TLS certificate (${path}) cannot be parsed: put back a whole X.509 certificate.`,
      path,
      error,
    )
  }
}

/** Makes a file that is whole or absent. One that is there already, from a daemon that was faster, stays as it is. */
function publish(path: string, text: string, mode: number): void {
  try {
    createFile(path, Buffer.from(text), mode)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'EEXIST') return
    throw new SassError(
      'STATE_UNWRITABLE',
      `The TLS file ${path} cannot be made because ${errnoText(errno)}, so there is no identity to serve with: make ${dirname(path)} a directory that the daemon's user can write.`,
      { path, errno },
      error,
    )
  }
}

function invalid(message: string, path: string, cause?: unknown): SassError {
  return new SassError('TLS_CERT_INVALID', message, { path }, cause)
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}
