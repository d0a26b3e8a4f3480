/**
 * The time stamps of a chain: `anchors/SEQ.tsr` beside it is what an authority has answered about the record of that
 * number (RFC 3161). They are asked for by a command and not by the daemon, so that a device without a way to the
 * authority can have its requests carried there.
 * Rules: docs/responses.md, section 7 (anchors).
 * @module
 */
import { X509Certificate } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { readRecord } from '../../audit/chain.ts'
import { lastRecords } from '../../audit/last-records.node.ts'
import type { KnownHead } from '../../audit/verify.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import {
  errnoText,
  makePrivateDirectory,
  readBounded,
  replaceFile,
  systemErrno,
} from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { PEM_FILE_BYTES, TIME_STAMP_BYTES, TIME_STAMP_MS } from '../../limits.ts'
import { readTimeStamp } from './time-stamp.node.ts'

export type Anchored = { readonly sequence: number; readonly time: Date; readonly by: string }

export const anchorsPath = (directory: string): string => join(directory, 'anchors')

const NAME = /^([1-9][0-9]{0,15})\.tsr$/
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function readFile(path: string, limitBytes: number, what: string): Uint8Array {
  try {
    const read = readBounded(path, limitBytes)
    if (read.ok) return read.bytes
    throw new SassError(
      'FILE_IO',
      `${what} ${path} is no file of at most ${limitBytes} bytes; name another.`,
      { path },
    )
  } catch (cause) {
    const errno = systemErrno(cause)
    throw new SassError(
      'FILE_IO',
      `${what} ${path} cannot be read, since ${errnoText(errno)}; name another.`,
      { path, errno },
      cause,
    )
  }
}

/** The certificates of a PEM file: the authorities that are trusted to tell the time. */
export function readAuthorities(path: string): readonly X509Certificate[] {
  const text = Buffer.from(readFile(path, PEM_FILE_BYTES, 'The certificate of the time stamps')).toString(
    'latin1',
  )
  try {
    const found = (text.match(PEM) ?? []).map((pem) => new X509Certificate(pem))
    if (found.length > 0) return found
  } catch {
    // Told below: whatever it is, it is no certificate.
  }
  throw new SassError(
    'FILE_IO',
    `${path} has no certificate in PEM; name the file of the time-stamping authority.`,
    { path },
  )
}

/** The last record that is whole, by number and hash. */
export function lastHead(directory: string): { readonly sequence: number; readonly hash: Uint8Array } {
  const record = readRecord(lastRecords(directory, 1)[0] ?? '')
  const sequence = record?.event['seq']
  if (record === undefined || typeof sequence !== 'number')
    throw new SassError('FILE_IO', 'The chain has no record yet, so there is nothing to stamp.')
  return { sequence, hash: record.hash }
}

/** Asks the authority. @throws SassError CONNECT_FAILED */
export async function askAuthority(url: string, request: Uint8Array): Promise<Uint8Array> {
  const failed = (why: string, cause?: unknown) =>
    new SassError(
      'CONNECT_FAILED',
      `${url} gave no time stamp (${why}), so nothing was anchored; try again, or another authority.`,
      { url },
      cause,
    )
  // The program is started without the world's authorities, since nothing else asks for them: Node's own, and those that
  // whoever calls this has added (NODE_EXTRA_CA_CERTS).
  setDefaultCACertificates([...getCACertificates('bundled'), ...getCACertificates('extra')])
  let response: Response
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/timestamp-query' },
      body: new Uint8Array(request),
      redirect: 'error',
      signal: AbortSignal.timeout(TIME_STAMP_MS),
    })
    if (!response.ok) throw failed(`HTTP ${response.status}`)
    const parts: Uint8Array[] = []
    let bytes = 0
    for await (const part of response.body ?? []) {
      bytes += part.length
      if (bytes > TIME_STAMP_BYTES) throw failed('its answer is too long')
      parts.push(part)
    }
    return Buffer.concat(parts)
  } catch (cause) {
    if (cause instanceof SassError) throw cause
    throw failed(cause instanceof Error ? cause.message : 'unknown', cause)
  }
}

/**
 * Keeps a time stamp after looking at what it proves.
 * @throws SassError FILE_IO where it proves nothing of this chain
 */
export function keepAnchor(
  directory: string,
  head: { readonly sequence: number; readonly hash: Uint8Array },
  response: Uint8Array,
  trusted: readonly X509Certificate[],
): Anchored {
  const stamp = readTimeStamp(response, trusted)
  if (!stamp.ok)
    throw new SassError('FILE_IO', `The time stamp proves nothing, since ${stamp.why}; it was not kept.`)
  if (encodeHex(stamp.hash) !== encodeHex(head.hash))
    throw new SassError(
      'FILE_IO',
      `The time stamp is of another record than ${head.sequence}, so it was not kept.`,
    )
  makePrivateDirectory(anchorsPath(directory))
  replaceFile(join(anchorsPath(directory), `${head.sequence}.tsr`), response, 0o600)
  return { sequence: head.sequence, time: stamp.time, by: stamp.by }
}

export type Anchors = {
  /** For the verification: the chain must have these. */
  readonly heads: readonly KnownHead[]
  /** What proves nothing: a sentence each. */
  readonly problems: readonly string[]
  readonly last: Anchored | undefined
}

/** What the kept time stamps prove. @throws SassError FILE_IO */
export function readAnchors(place: string, trusted: readonly X509Certificate[]): Anchors {
  const heads: KnownHead[] = []
  const problems: string[] = []
  let last: Anchored | undefined
  const numbers = (existsSync(place) ? readdirSync(place) : [])
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
  for (const sequence of numbers) {
    const path = join(place, `${sequence}.tsr`)
    const stamp = readTimeStamp(readFile(path, TIME_STAMP_BYTES, 'The time stamp'), trusted)
    if (!stamp.ok) {
      problems.push(`${path} proves nothing, since ${stamp.why}.`)
      continue
    }
    heads.push({ sequence, hash: stamp.hash, from: `the time stamp of ${stamp.time.toISOString()}` })
    last = { sequence, time: stamp.time, by: stamp.by }
  }
  return { heads, problems, last }
}
