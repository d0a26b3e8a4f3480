/**
 * The verification of a chain in its files: each is read once, a piece at a time, and the first record that is not
 * what it should be is named with its file and line.
 * Rules: docs/responses.md, section 7 (verification).
 * @module
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { closeSync } from 'node:fs'
import { encodeHex } from '../base/hex.ts'
import { hostSha256 } from '../base/sha256.node.ts'
import { eachLine, openSegment, textOfLine } from './segments.node.ts'
import {
  createVerifier,
  type Finding,
  isFinding,
  type Report,
  type VerifierOptions,
  type VerifySignature,
} from './verify.ts'

export type FoundAt = Finding & {
  readonly path: string
  /** Counted from 1 in that file. */
  readonly line: number
}

export type Verified =
  | { readonly ok: true; readonly report: Report }
  | { readonly ok: false; readonly finding: FoundAt }

// RFC 8410, section 4: what stands before the 32 bytes of a public key.
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

/** Remembers the key that it was last asked about: a thousand records in a row have the same. */
function signatureVerifier(): VerifySignature {
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

/**
 * Verifies the files in that order, as one chain.
 * @throws the system's error where one cannot be read
 */
export function verifyChain(
  paths: readonly string[],
  options: Omit<VerifierOptions, 'hash' | 'verifySignature'>,
): Verified {
  const verifier = createVerifier({ ...options, hash: hostSha256, verifySignature: signatureVerifier() })
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
    if (finding !== undefined) return { ok: false, finding }
  }
  const end = verifier.end(rest)
  return isFinding(end) ? { ok: false, finding: { ...end, path, line: line + 1 } } : { ok: true, report: end }
}
