/**
 * Where a chain stands that is to be continued: its last signed record, the key that has signed it, the one that is ready for the
 * next epoch, and those that a crash has left. A chain whose end no key of this device has signed is not continued.
 * Rules: docs/responses.md, section 7 (epochs).
 * @module
 */
import { encodeBase64Url } from '../base/encoding/base64.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { SassError } from '../errors.ts'
import type { AuditEvent } from '../ports.ts'
import { EPOCH } from './chain.ts'
import type { ChainFile } from './chain-file.node.ts'
import { readTail, type SignedRecord, type Tail, tailOf } from './chain-tail.node.ts'
import type { EpochKey, EpochKeys } from './epoch-keys.ts'
import { activePath, segmentsOf } from './segments.node.ts'

/** What the end of the chain and the keys beside it say together. */
export type Standing = {
  readonly tail: Tail
  readonly current: EpochKey
  /** A key that was made for the next epoch and has signed nothing. */
  readonly spare: EpochKey | undefined
  /** Keys whose time is over. */
  readonly old: readonly EpochKey[]
}

function risk(sentence: string, path: string): SassError {
  return new SassError('INTEGRITY_RISK', sentence, { path })
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => encodeHex(a) === encodeHex(b)

/** The end of the chain: of the file that is written to, or of the one before where that has no record yet. */
function endOf(file: ChainFile, directory: string): Tail {
  const path = activePath(directory)
  const tail = readTail(file.descriptor, path)
  const closed = segmentsOf(directory).findLast(({ first }) => first !== undefined)
  if (tail.last !== undefined || closed === undefined) return tail
  const before = tailOf(closed.path)
  if (before.rest !== '' || before.last === undefined)
    throw risk(
      `The audit chain is not whole at the end of ${closed.path}, so it cannot be continued: look with sass-edge audit verify and keep it as evidence.`,
      closed.path,
    )
  return { ...before, endBytes: tail.endBytes, rest: tail.rest }
}

/** The key that a record of an epoch brings in. */
export function keyNamed(event: AuditEvent, keys: readonly EpochKey[]): EpochKey | undefined {
  return keys.find(
    ({ epoch, publicKey }) => epoch === event['epoch'] && encodeBase64Url(publicKey) === event['public_key'],
  )
}

/**
 * @param file the one that is written to
 * @throws INTEGRITY_RISK where chain and keys do not belong together or the end of the chain was changed
 */
export function standingOf(file: ChainFile, directory: string, keys: EpochKeys): Standing {
  const tail = endOf(file, directory)
  const found = keys.found()
  const genesis = keys.genesis()
  const { last } = tail
  const path = activePath(directory)
  if (last === undefined) {
    if (genesis !== undefined || found.some(({ epoch }) => epoch > 0))
      throw risk(
        `The audit chain in ${directory} is gone: its keys are here, and its records are not. Put them back, or look into who removed them.`,
        path,
      )
    return { tail, current: found[0] ?? keys.create(0), spare: undefined, old: [] }
  }
  const current =
    last.event.type === EPOCH ? keyNamed(last.event, found) : found.find((key) => isSignedBy(key, last))
  if (current === undefined)
    throw risk(
      `The last record of ${path} was not signed by a key of this device, so the chain cannot be continued: it or the keys beside it were changed; look with sass-edge audit verify and keep it as evidence.`,
      path,
    )
  return {
    tail,
    current,
    spare: found.find(({ epoch }) => epoch === current.epoch + 1),
    old: found.filter(({ epoch }) => epoch < current.epoch),
  }
}

/** Ed25519 signatures are a function of key and message: who holds the key can compare. */
function isSignedBy(key: EpochKey, { hash, signature }: SignedRecord): boolean {
  return sameBytes(key.sign(hash), signature)
}
