/**
 * The verification of a chain in its files: each is read once, a piece at a time, and the first record that is not
 * what it should be is named with its file and line.
 * Rules: docs/responses.md, section 7 (verification).
 * @module
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { closeSync } from 'node:fs'
import { hostSha256 } from '../base/crypto/sha256.node.ts'
import { encodeHex } from '../base/encoding/hex.ts'
import { beginningOf } from './beginning.node.ts'
import { DROPPED } from './chain.ts'
import { eachLine, openSegment, textOfLine } from './segments.node.ts'
import {
  createVerifier,
  type Finding,
  isFinding,
  type Report,
  type Verifier,
  type VerifierOptions,
  type VerifySignature,
} from './verify.ts'

export type FoundAt = Finding & {
  readonly path: string
  /** Counted from 1 in that file. */
  readonly line: number
}

const WHOLE = { kind: 'whole' } as const

export type Verified =
  /** `dropped`: number of the last record that is gone, 0 where all are there. */
  | { readonly ok: true; readonly report: Report; readonly dropped: number }
  | { readonly ok: false; readonly finding: FoundAt }

// RFC 8410, section 4: what stands before the 32 bytes of a public key.
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

/** Remembers the key that it was last asked about: a thousand records in a row have the same. */
export function signatureVerifier(): VerifySignature {
  let known: { readonly hex: string; readonly key: KeyObject } | undefined
  return (publicKey, message, signature) => {
    const hex = encodeHex(publicKey)
    if (known?.hex !== hex) {
      const der = Buffer.concat([SPKI_HEAD, publicKey])
      known = { hex, key: createPublicKey({ key: der, format: 'der', type: 'spki' }) }
    }
    return verify(null, message, known.key, signature)
  }
}

export type ChainOptions = Omit<VerifierOptions, 'hash' | 'verifySignature' | 'beginning' | 'onRecord'> & {
  /** Where the summary of what was dropped and the keys of that time are, if anything was. */
  readonly directory?: string | undefined
  /** A part of a chain: what stands for its beginning is not signed in it, since nothing was dropped. */
  readonly isExcerpt?: boolean
}

/**
 * Verifies the files in that order, as one chain.
 * @throws the system's error where one cannot be read
 */
export function verifyChain(
  paths: readonly string[],
  { directory, isExcerpt = false, ...options }: ChainOptions,
): Verified {
  const verifySignature = signatureVerifier()
  const begun = directory === undefined ? WHOLE : beginningOf(directory, options, verifySignature)
  const [first = ''] = paths
  if (begun.kind === 'broken')
    return { ok: false, finding: { sequence: 1, why: begun.why, path: first, line: 1 } }
  const dropped = begun.kind === 'dropped' ? begun.dropped : undefined
  let isSigned = dropped === undefined || isExcerpt
  const verifier = createVerifier({
    ...options,
    hash: hostSha256,
    verifySignature,
    beginning: begun.kind === 'dropped' ? begun.beginning : undefined,
    onRecord({ type, last, last_hash }) {
      if (type === DROPPED && last === dropped?.last && last_hash === dropped?.last_hash) isSigned = true
    },
  })
  const read = readThrough(paths, verifier)
  if ('finding' in read) return { ok: false, finding: read.finding }
  const end = verifier.end(read.rest)
  if (isFinding(end)) return { ok: false, finding: { ...end, path: read.path, line: read.line + 1 } }
  if (!isSigned) {
    const why =
      'The summary of the records that were dropped is not in the chain: somebody else took them away.'
    return { ok: false, finding: { sequence: (dropped?.last ?? 0) + 1, why, path: first, line: 1 } }
  }
  const genesis = begun.kind === 'dropped' ? begun.genesis : end.genesis
  return { ok: true, report: { ...end, genesis }, dropped: dropped?.last ?? 0 }
}

type Read =
  | { readonly rest: string; readonly path: string; readonly line: number }
  | { readonly finding: FoundAt }

/** Gives every line of the files to the verifier, up to its first finding. */
function readThrough(paths: readonly string[], verifier: Verifier): Read {
  let finding: FoundAt | undefined
  let rest = ''
  let [path, line] = ['', 0]
  for (path of paths) {
    line = 0
    const descriptor = openSegment(path)
    try {
      const left = eachLine(descriptor, (bytes) => {
        line++
        // What follows the end of a file must begin a line, and nothing may stand before it.
        const found = verifier.push(rest === '' ? (textOfLine(bytes) ?? '') : '')
        if (found !== undefined) finding = { ...found, path, line }
        return found !== undefined
      })
      // It may end within a character: what is not written to its end is no text yet.
      if (left !== undefined && left.length > 0) rest = left.toString('utf8')
    } finally {
      closeSync(descriptor)
    }
    if (finding !== undefined) return { finding }
  }
  return { rest, path, line }
}
