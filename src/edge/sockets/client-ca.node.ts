/**
 * The CA that clients' certificates must come from (tls.client_ca): one or more certificates in PEM.
 * Refuses a file that cannot be read, is too large, or holds anything that is no certificate: a CA that could verify
 * nobody would only show when the first client is turned away.
 * Rules: docs/configuration.md (tls.client_ca); docs/protocol.md, section 4.
 * @module
 */
import { X509Certificate } from 'node:crypto'
import { type BoundedRead, errnoText, readBounded, systemErrno } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { PEM_FILE_BYTES } from '../../limits.ts'

/** What to do about a CA that cannot serve. */
export const CLIENT_CA_REMEDY =
  'name a file with the certificate of the CA in PEM, or set tls.client_ca to null'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

function refusal(path: string, problem: string, cause?: unknown): SassError {
  return new SassError(
    'TLS_CA_MISMATCH',
    `tls.client_ca ${path} ${problem}, so no client could be verified: ${CLIENT_CA_REMEDY}.`,
    { path, problem },
    cause,
  )
}

/**
 * The text of the file, for the TLS context.
 * @throws SassError TLS_CA_MISMATCH with the path and what is wrong
 */
export function readClientCa(path: string): string {
  let file: BoundedRead
  try {
    file = readBounded(path, PEM_FILE_BYTES)
  } catch (cause) {
    const errno = systemErrno(cause)
    throw refusal(path, `cannot be read, since ${errnoText(errno)}`, cause)
  }
  if (!file.ok) {
    const problem =
      file.reason === 'too-large' ? `is larger than ${PEM_FILE_BYTES} bytes` : 'is not a regular file'
    throw refusal(path, problem)
  }
  const text = file.bytes.toString('latin1')
  const certificates = text.match(CERTIFICATE) ?? []
  if (certificates.length === 0) throw refusal(path, 'holds no certificate')
  try {
    for (const certificate of certificates) new X509Certificate(certificate)
  } catch (cause) {
    throw refusal(path, 'holds a certificate that cannot be parsed', cause)
  }
  return text
}
