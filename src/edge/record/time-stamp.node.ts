/**
 * Time stamps by somebody else over a record of the chain (RFC 3161, RFC 5652): the request, and what a response proves.
 * What is stamped is the record's chain_hash, which is the SHA-256 of all that it says: any tool can check it against
 * the bytes `previous || event || timestamp`.
 * @module
 */
import { createHash, verify, X509Certificate } from 'node:crypto'
import {
  Boolean as Asn1Boolean,
  type BaseBlock,
  Constructed,
  fromBER,
  GeneralizedTime,
  Integer,
  ObjectIdentifier,
  OctetString,
  Sequence,
} from 'asn1js'

const OID_SHA256 = '2.16.840.1.101.3.4.2.1'
const OID_SIGNED_DATA = '1.2.840.113549.1.7.2'
const OID_TST_INFO = '1.2.840.113549.1.9.16.1.4'
const OID_MESSAGE_DIGEST = '1.2.840.113549.1.9.4'
const EKU_TIME_STAMPING = '1.3.6.1.5.5.7.3.8'
/** RFC 3161, 2.4.2: granted, and granted with modifications. */
const GRANTED: readonly number[] = Object.freeze([0, 1])
const DIGESTS: Readonly<Record<string, string>> = Object.freeze({
  [OID_SHA256]: 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
})
const SET_TAG = 0x31

// A copy: a Buffer is a view on more than itself.
const own = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/**
 * DER of a TimeStampReq over a SHA-256, which asks for the certificate too. Without a nonce: an older answer for the same
 * hash would prove more, not less.
 */
export function timeStampRequest(hash: Uint8Array): Uint8Array {
  const imprint = new Sequence({
    value: [
      new Sequence({ value: [new ObjectIdentifier({ value: OID_SHA256 })] }),
      new OctetString({ valueHex: own(hash) }),
    ],
  })
  const request = new Sequence({
    value: [new Integer({ value: 1 }), imprint, new Asn1Boolean({ value: true })],
  })
  return new Uint8Array(request.toBER())
}

export type TimeStamp =
  | { readonly ok: true; readonly time: Date; readonly hash: Uint8Array; readonly by: string }
  /** A clause that follows "since". */
  | { readonly ok: false; readonly why: string }

const fail = (why: string): TimeStamp => ({ ok: false, why })

function children(block: BaseBlock | undefined): readonly BaseBlock[] {
  const value = (block?.valueBlock as { value?: unknown } | undefined)?.value
  return Array.isArray(value) ? (value as BaseBlock[]) : []
}

const raw = (block: BaseBlock): Uint8Array => new Uint8Array(block.valueBeforeDecodeView)
const oidOf = (block: BaseBlock | undefined): string =>
  block instanceof ObjectIdentifier ? block.valueBlock.toString() : ''
const octetsOf = (block: BaseBlock | undefined): Uint8Array =>
  block instanceof OctetString ? new Uint8Array(block.getValue()) : new Uint8Array()
const contextTag = (block: BaseBlock, tag: number): boolean =>
  block.idBlock.tagClass === 3 && block.idBlock.tagNumber === tag

function parse(bytes: Uint8Array): BaseBlock | undefined {
  const { offset, result } = fromBER(own(bytes))
  return offset === bytes.length ? result : undefined
}

type SignedData = {
  readonly content: Uint8Array
  readonly certificates: readonly X509Certificate[]
  /** DER as it is signed: a SET OF. */
  readonly attributes: Uint8Array
  readonly messageDigest: Uint8Array
  readonly digest: string
  readonly signature: Uint8Array
}

/** The parts of a CMS SignedData with one signer; undefined for anything else. */
function signedDataOf(token: BaseBlock | undefined): SignedData | undefined {
  const [type, wrapped] = children(token)
  if (oidOf(type) !== OID_SIGNED_DATA) return undefined
  const parts = children(children(wrapped)[0])
  const content = parts.find((part) => part instanceof Sequence)
  const [contentType, contentWrapped] = children(content)
  if (oidOf(contentType) !== OID_TST_INFO) return undefined
  const bags = parts.find((part) => part instanceof Constructed && contextTag(part, 0))
  const [signer, ...others] = children(parts.at(-1))
  if (signer === undefined || others.length > 0) return undefined
  const signerParts = children(signer)
  const attributes = signerParts.find((part) => contextTag(part, 0))
  const signature = signerParts.findLast((part) => part instanceof OctetString)
  const digest = DIGESTS[oidOf(children(signerParts[2])[0])]
  if (attributes === undefined || signature === undefined || digest === undefined) return undefined
  const messageDigest = children(attributes).find(
    (attribute) => oidOf(children(attribute)[0]) === OID_MESSAGE_DIGEST,
  )
  const signedBytes = raw(attributes)
  signedBytes[0] = SET_TAG
  return {
    content: octetsOf(children(contentWrapped)[0]),
    certificates: children(bags).map((bag) => new X509Certificate(raw(bag))),
    attributes: signedBytes,
    messageDigest: octetsOf(children(children(messageDigest)[1])[0]),
    digest,
    signature: octetsOf(signature),
  }
}

/** Whether a path of certificates leads to one that is trusted, all of them valid at that time. */
function isTrusted(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  trusted: readonly X509Certificate[],
  time: Date,
  depth = 4,
): boolean {
  if (time < new Date(certificate.validFrom) || time > new Date(certificate.validTo)) return false
  const isIssuer = (issuer: X509Certificate) =>
    certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  for (const anchor of trusted)
    if (anchor.fingerprint256 === certificate.fingerprint256 || (anchor.ca && isIssuer(anchor))) return true
  if (depth === 0) return false
  return others.some(
    (issuer) => issuer.ca && isIssuer(issuer) && isTrusted(issuer, others, trusted, time, depth - 1),
  )
}

/** What a TimeStampResp proves, to who trusts these certificates. */
export function readTimeStamp(response: Uint8Array, trusted: readonly X509Certificate[]): TimeStamp {
  let parsed: BaseBlock | undefined
  let signed: SignedData | undefined
  try {
    parsed = parse(response)
    const [status, token] = children(parsed)
    const [code] = children(status)
    const granted = code instanceof Integer ? Number(code.valueBlock.valueDec) : -1
    if (!GRANTED.includes(granted)) return fail('the authority did not grant it')
    signed = signedDataOf(token)
  } catch {
    return fail('it cannot be read')
  }
  if (signed === undefined) return fail('it is no time stamp with one signer')
  const { content, certificates, attributes, messageDigest, digest, signature } = signed
  if (!createHash(digest).update(content).digest().equals(messageDigest))
    return fail('what it says is not what was signed')
  const signer = certificates.find((certificate) =>
    verify(digest, attributes, certificate.publicKey, signature),
  )
  if (signer === undefined) return fail('its signature is by none of its certificates')
  if (signer.keyUsage?.includes(EKU_TIME_STAMPING) !== true)
    return fail('its signer may not make time stamps')
  const info = children(parse(content))
  const [algorithm, imprint] = children(info[2])
  const time = info.find((part) => part instanceof GeneralizedTime)?.toDate()
  if (oidOf(children(algorithm)[0]) !== OID_SHA256 || time === undefined)
    return fail('it is not over a SHA-256')
  if (!isTrusted(signer, certificates, trusted, time))
    return fail('no trusted certificate has signed its signer')
  return { ok: true, time, hash: octetsOf(imprint), by: signer.subject.replaceAll('\n', ', ') }
}
