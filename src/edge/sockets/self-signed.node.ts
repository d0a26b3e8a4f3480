/**
 * Encodes a self-signed X.509 certificate: RFC 5280, with the Ed25519 identifiers of RFC 8410.
 * Small, because every handshake carries it: one name, one extension. Valid from the epoch, for a board whose clock
 * starts there, to the date that RFC 5280 (4.1.2.5) gives for "never expires": clients pin the key, not the dates.
 * @module
 */

import { createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto'
import {
  type BaseBlock,
  BitString,
  Constructed,
  fromBER,
  GeneralizedTime,
  Integer,
  ObjectIdentifier,
  OctetString,
  Primitive,
  Sequence,
  Set as SetOf,
  UTCTime,
  Utf8String,
} from 'asn1js'
import { SassError } from '../../errors.ts'

/** RFC 5280, appendix A.1: ub-common-name. */
const COMMON_NAME_CHARS = 64
/** 62 random bits: no two certificates of one name share a serial number, in the fewest bytes. */
const SERIAL_BYTES = 8

const OID_ED25519 = '1.3.101.112'
const OID_COMMON_NAME = '2.5.4.3'
const OID_SUBJECT_ALT_NAME = '2.5.29.17'
/** RFC 5280, 4.2.1.6: the choices of GeneralName, and the class of a context tag. */
const DNS_NAME = 2
const IP_ADDRESS = 7
const CONTEXT_SPECIFIC = 3

/**
 * The certificate of an Ed25519 private key, as PEM; `commonName` has 1 to 64 characters.
 * @throws SassError TLS_CERT_INVALID for a common name of another length.
 */
export function selfSigned(key: KeyObject, commonName: string): string {
  if (commonName.length === 0 || commonName.length > COMMON_NAME_CHARS) {
    throw new SassError(
      'TLS_CERT_INVALID',
      `The common name of a certificate has ${commonName.length} characters: give one of 1 to ${COMMON_NAME_CHARS}.`,
    )
  }
  const sequence = (...value: BaseBlock[]) => new Sequence({ value })
  const oid = (value: string) => new ObjectIdentifier({ value })
  const octets = (value: Uint8Array) => new OctetString({ valueHex: ownBuffer(value) })
  const generalName = (tagNumber: number, value: Uint8Array) =>
    new Primitive({ idBlock: { tagClass: CONTEXT_SPECIFIC, tagNumber }, valueHex: ownBuffer(value) })
  const context = (tagNumber: number, value: BaseBlock) =>
    new Constructed({ idBlock: { tagClass: CONTEXT_SPECIFIC, tagNumber }, value: [value] })

  const serial = randomBytes(SERIAL_BYTES)
  // Positive and of full length: the sign bit is clear, the bit under it set.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  const algorithm = () => sequence(oid(OID_ED25519))
  const name = () =>
    sequence(new SetOf({ value: [sequence(oid(OID_COMMON_NAME), new Utf8String({ value: commonName }))] }))
  const validity = sequence(
    new UTCTime({ valueDate: new Date(0) }),
    new GeneralizedTime({ valueDate: new Date('9999-12-31T23:59:59Z') }),
  )
  const publicKey = fromBER(ownBuffer(createPublicKey(key).export({ type: 'spki', format: 'der' }))).result
  const alternativeNames = sequence(
    generalName(DNS_NAME, Buffer.from('localhost')),
    generalName(IP_ADDRESS, Buffer.from([127, 0, 0, 1])),
  )
  const extensions = sequence(
    sequence(oid(OID_SUBJECT_ALT_NAME), octets(Buffer.from(alternativeNames.toBER()))),
  )
  const toBeSigned = sequence(
    context(0, new Integer({ value: 2 })),
    new Integer({ valueHex: ownBuffer(serial) }),
    algorithm(),
    name(),
    validity,
    name(),
    publicKey,
    context(3, extensions),
  )
  const signature = sign(null, Buffer.from(toBeSigned.toBER()), key)
  const der = sequence(toBeSigned, algorithm(), new BitString({ valueHex: ownBuffer(signature) })).toBER()
  return new X509Certificate(Buffer.from(der)).toString()
}

/** A copy in a buffer of its own: a Buffer is a window on a pool that it shares. */
function ownBuffer(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}
