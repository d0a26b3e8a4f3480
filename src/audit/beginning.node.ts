/**
 * Where a chain begins whose first files were dropped: the keys are followed from the first one on through the records
 * that brought them in, and the summary says which record is the last that is gone. The summary is believed only where
 * the chain that follows has signed the same.
 * Rules: docs/responses.md, section 7 (retention).
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { hostSha256 } from '../base/crypto/sha256.node.ts'
import { decodeHex } from '../base/encoding/hex.ts'
import { readRecord, sequenceOf } from './chain.ts'
import { type Dropped, linksPath, readDropped, readLink } from './retention.node.ts'
import { type Beginning, createVerifier, type VerifierOptions, type VerifySignature } from './verify.ts'

export type Begun =
  | { readonly kind: 'whole' }
  | {
      readonly kind: 'dropped'
      readonly beginning: Beginning
      readonly dropped: Dropped
      readonly genesis: Uint8Array
    }
  /** What is beside the chain does not lead from the first key to where it begins. */
  | { readonly kind: 'broken'; readonly why: string }

export type Keys = { readonly epoch: number; readonly publicKey: Uint8Array; readonly genesis: Uint8Array }

/**
 * Follows the keys through every record that is kept, each signed by the key of its time; a sentence where one is not.
 * @param text lines of links.jsonl
 * @param last the number of the last record that is gone: what a crash has kept of later ones says nothing
 */
export function followKeys(
  text: string,
  last: number,
  options: Pick<VerifierOptions, 'isGenesis'>,
  verifySignature: VerifySignature,
): Keys | string {
  let keys: Keys | undefined
  let sequence = 0
  for (const [index, entry] of text.split('\n').slice(0, -1).entries()) {
    const wrong = `Line ${index + 1} of the kept records does not follow from the one before it.`
    const link = readLink(entry)
    const seq = link === undefined ? undefined : sequenceOf(readRecord(link.line))
    if (link === undefined || seq === undefined) return wrong
    // A crash while files were dropped writes some of them twice.
    if (seq <= sequence || seq > last) continue
    sequence = seq
    const hash = keys === undefined ? undefined : decodeHex(link.previous)
    const beginning =
      hash === undefined || keys === undefined ? undefined : { ...keys, hash, sequence: seq - 1 }
    const verifier = createVerifier({ ...options, hash: hostSha256, verifySignature, beginning })
    const finding = verifier.push(link.line)
    const report = verifier.end('')
    if (finding !== undefined) return keys === undefined ? finding.why : wrong
    if ('why' in report || report.publicKey === undefined || report.genesis === undefined) return wrong
    keys = { epoch: report.epoch, publicKey: report.publicKey, genesis: keys?.genesis ?? report.genesis }
  }
  return keys ?? 'No key is kept of the records that were dropped.'
}

/** @throws the system's error where a file cannot be read */
export function beginningOf(
  directory: string,
  options: Pick<VerifierOptions, 'isGenesis'>,
  verifySignature: VerifySignature,
): Begun {
  const dropped = readDropped(directory)
  if (dropped === undefined) return { kind: 'whole' }
  const path = linksPath(directory)
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const keys = followKeys(text, dropped.last, options, verifySignature)
  const hash = decodeHex(dropped.last_hash)
  if (typeof keys === 'string') return { kind: 'broken', why: keys }
  if (hash?.length !== 32) return { kind: 'broken', why: 'The summary of what was dropped has no hash.' }
  const { epoch, publicKey, genesis } = keys
  return { kind: 'dropped', dropped, genesis, beginning: { sequence: dropped.last, hash, epoch, publicKey } }
}
