/**
 * The files of tls and of audit.anchor as the daemon and its clients would use them: key and certificate that belong
 * together and can serve, certificates whose time it is, a CA that is one. Reads, makes nothing.
 * sass-edge's own clients pin the key and look at no date (docs/protocol.md, section 1); whoever wrote a certificate
 * with an end meant it, and other clients look.
 * Rules: RFC 5280, sections 4.1.2.5 and 4.2.1.9; NIST SP 800-131A.
 * @module
 */
import { X509Certificate } from 'node:crypto'
import { errnoOf, errnoText, lstatOf, readBounded, statOf } from '../../base/files.node.ts'
import { shellWord } from '../../base/text/shell-word.ts'
import type { Config } from '../../config/config.ts'
import { knownError, type SassError } from '../../errors.ts'
import { PEM_FILE_BYTES } from '../../limits.ts'
import { examineIdentity, type IdentityLook } from '../sockets/certificate.node.ts'
import { CLIENT_CA_REMEDY, readClientCa } from '../sockets/client-ca.node.ts'
import { type Finding, fail, orPass, pass } from './finding.ts'

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g
const RSA_BITS_MIN = 2_048
/** Digests that let somebody make a second certificate for one signature. */
const BROKEN_DIGEST = /md[245]|sha-?1(?![0-9])/i

/** A sentence of an error, `what is wrong: what to do.`, as the two halves of a finding. */
export function failFrom(check: string, { message }: SassError): Finding {
  const colon = message.lastIndexOf(': ')
  const remedy = colon === -1 ? 'correct that' : message.slice(colon + 2).replace(/\.$/, '')
  return fail(check, colon === -1 ? message : message.slice(0, colon), remedy)
}

/** True where something is at the path, were it a link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatOf(path) !== undefined
}

function danglingLink(check: string, path: string): Finding | undefined {
  if (!isThere(path) || statOf(path) !== undefined) return undefined
  return fail(
    check,
    `${path} is a symbolic link that leads to no file`,
    `put that file there, or run rm ${shellWord(path)}`,
  )
}

/** The time of day, Unix milliseconds, and whether it can be believed. */
type Moment = { readonly wallMs: number; readonly isClockSane: boolean }

const day = (date: Date) => date.toISOString().slice(0, 10)

/** What is wrong with a certificate that can be read. */
function* certificateProblems(
  check: string,
  path: string,
  certificate: X509Certificate,
  { wallMs, isClockSane }: Moment,
  renewal: string,
): Iterable<Finding> {
  const { validFromDate: from, validToDate: to } = certificate
  if (wallMs > to.getTime()) yield fail(check, `${path} was valid until ${day(to)} only`, renewal)
  if (wallMs < from.getTime())
    yield fail(
      check,
      `${path} is not valid before ${from.toISOString().slice(0, 19)}Z, and the clock says ${new Date(wallMs).toISOString().slice(0, 19)}Z`,
      isClockSane
        ? `wait until then, correct the clock, or ${renewal}`
        : 'set the clock, which is wrong (see clock)',
    )
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey
  const bits = asymmetricKeyDetails?.modulusLength ?? RSA_BITS_MIN
  if (asymmetricKeyType?.startsWith('rsa') && bits < RSA_BITS_MIN)
    yield fail(check, `${path} has an RSA key of ${bits} bits, which TLS refuses`, renewal)
  const { signatureAlgorithm } = certificate
  if (signatureAlgorithm !== undefined && BROKEN_DIGEST.test(signatureAlgorithm))
    yield fail(check, `${path} is signed with ${signatureAlgorithm}, which TLS refuses`, renewal)
}

function* identityProblems(
  { tls, state_directory }: Config,
  look: IdentityLook,
  moment: Moment,
): Iterable<Finding> {
  const { key, certificate } = tls
  for (const { of, error } of look.problems) yield failFrom(`tls.${of}`, error)
  if (look.keyMode !== undefined && look.keyMode !== 0o600)
    yield fail(
      'tls.key',
      `${key} has mode ${look.keyMode.toString(8).padStart(4, '0')} in place of 0600`,
      `run chmod 600 ${shellWord(key)}`,
    )
  const owner = statOf(key)?.uid
  const own = process.geteuid?.() ?? 0
  if (owner !== undefined && ![own, 0, statOf(state_directory)?.uid].includes(owner))
    yield fail(
      'tls.key',
      `${key} belongs to another user (uid ${owner}), who knows it`,
      `run chown ${own} ${shellWord(key)} if it is yours, or move it away to have a new one made`,
    )
  if (look.certificateText.includes('PRIVATE KEY-----'))
    yield fail(
      'tls.certificate',
      `${certificate} holds a private key, and a certificate may be read by everybody`,
      'leave only the certificate in it',
    )
  if (look.certificate !== undefined) {
    const renewal =
      look.certificate.publicKey.asymmetricKeyType === 'ed25519'
        ? `run rm ${shellWord(certificate)}: the next start makes a new one for the same key, and no client notices`
        : 'put a new one there, for the same key, so that no client notices'
    yield* certificateProblems('tls.certificate', certificate, look.certificate, moment, renewal)
  }
}

function checkIdentity(config: Config, moment: Moment): readonly Finding[] {
  const { key, certificate } = config.tls
  const links = [danglingLink('tls.key', key), danglingLink('tls.certificate', certificate)].filter(
    (finding) => finding !== undefined,
  )
  if (links.length > 0) return links
  if (!isThere(key) && !isThere(certificate))
    return [pass('tls.key', `${key} will be made at the first start`)]
  if (!isThere(key)) {
    const detail = `the certificate ${certificate} is there and its key ${key} is not`
    return [fail('tls.key', detail, 'put the key back, or move the certificate away to have a new pair made')]
  }
  const look = examineIdentity(key, certificate)
  const found = [...identityProblems(config, look, moment)]
  if (found.length > 0) return found
  return [
    pass('tls.key', `${key} has mode 0600`),
    pass(
      'tls.certificate',
      look.certificate === undefined
        ? `${certificate} will be made for this key`
        : `${certificate} belongs to it`,
    ),
  ]
}

function* clientCaProblems(path: string, moment: Moment): Iterable<Finding> {
  const check = 'tls.client_ca'
  let text: string
  try {
    text = readClientCa(path)
  } catch (error) {
    const known = knownError(error)
    return void (yield fail(check, `${path} ${known.details['problem']}`, CLIENT_CA_REMEDY))
  }
  for (const pem of text.match(CERTIFICATES) ?? []) {
    const certificate = new X509Certificate(pem)
    if (!certificate.ca)
      yield fail(
        check,
        `${path} holds a certificate that is no CA (CN ${certificate.subject.replace(/^.*CN=/s, '').slice(0, 64)}), so no client's could come from it`,
        CLIENT_CA_REMEDY,
      )
    yield* certificateProblems(check, path, certificate, moment, 'put a new certificate of the CA there')
  }
  if (text.includes('PRIVATE KEY-----'))
    yield fail(
      check,
      `${path} holds a private key, which the daemon must not have`,
      'leave only the certificate in it',
    )
}

function* anchorProblems(
  { url, certificate: path }: Config['audit']['anchor'],
  moment: Moment,
): Iterable<Finding> {
  const check = 'audit.anchor.certificate'
  if (path === null) {
    if (url !== null)
      yield fail(
        check,
        'is null while audit.anchor.url names an authority, whose time stamps could not be verified',
        'name the file with its certificate in PEM, or set audit.anchor.url to null',
      )
    return
  }
  const remedy = 'name a file with the certificate of the authority in PEM, or null'
  try {
    const file = readBounded(path, PEM_FILE_BYTES)
    if (!file.ok)
      return void (yield fail(
        check,
        `${path} is not a regular file of at most ${PEM_FILE_BYTES} bytes`,
        remedy,
      ))
    const [pem] = file.bytes.toString('latin1').match(CERTIFICATES) ?? []
    if (pem === undefined) return void (yield fail(check, `${path} holds no certificate in PEM`, remedy))
    yield* certificateProblems(check, path, new X509Certificate(pem), moment, 'name its new one')
    if (url === null)
      yield fail(
        'audit.anchor.url',
        'is null while audit.anchor.certificate names an authority',
        'write its address, like "https://tsa.example.org/tsr"',
      )
  } catch (error) {
    const errno = errnoOf(error)
    const why =
      errno === undefined
        ? 'holds a certificate that cannot be parsed'
        : `cannot be read, since ${errnoText(errno)}`
    yield fail(check, `${path} ${why}`, remedy)
  }
}

/** @param isClockSane whether the time of day can be believed */
export function* checkTls(config: Config, wallMs: number, isClockSane: boolean): Iterable<Finding> {
  const { client_ca } = config.tls
  const moment = { wallMs, isClockSane }
  yield* checkIdentity(config, moment)
  if (client_ca !== null)
    yield* orPass(clientCaProblems(client_ca, moment), 'tls.client_ca', `${client_ca} holds a CA`)
  const { anchor } = config.audit
  if (anchor.url !== null || anchor.certificate !== null) {
    const held = `${anchor.certificate} holds a certificate`
    yield* orPass(anchorProblems(anchor, moment), 'audit.anchor.certificate', held)
  }
}
