/**
 * Where the constitution of proposals is: the one that ships, in the program itself, or a file that is named, with the
 * file of its hash beside it. Before anything is decided by it, it is held against its pin and everything in it that is
 * relied upon is looked up; without one nothing is decided.
 * Rules: docs/proposals.md, section on the constitution.
 * @module
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { errnoOf, errnoText, readBounded } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { citationIndex, selfTest } from '../../intent/proposals/citations.ts'
import {
  CONSTITUTION_SHA256,
  type ConstitutionFiles,
  readConstitution,
} from '../../intent/proposals/constitution.ts'
import type { Law } from '../../intent/proposals/decide.ts'
import { CONSTITUTION_BYTES } from '../../intent/proposals/limits.ts'

/** Brotli in base64 of `{text, hash}`, which a build puts in; undefined from the sources. */
declare const PACKED_CONSTITUTION: string | undefined

const SHIPPED = '../../../policy/constitution/proposals.v0.1.1.json'
/** A file of a hash is one line of sha256sum. */
const HASH_FILE_BYTES = 1_024

function shipped(): ConstitutionFiles {
  if (typeof PACKED_CONSTITUTION === 'string') {
    const packed = brotliDecompressSync(Buffer.from(PACKED_CONSTITUTION, 'base64')).toString()
    const { text, hash } = JSON.parse(packed) as { text: string; hash: string }
    return { bytes: Buffer.from(text), hashFile: hash }
  }
  const path = fileURLToPath(new URL(SHIPPED, import.meta.url))
  return { bytes: readFileSync(path), hashFile: readFileSync(`${path}.sha256`, 'utf8') }
}

function unusable(where: string, problem: string): SassError {
  return new SassError(
    'INTEGRITY_RISK',
    `The constitution of proposals in ${where} is not used, since ${problem}: nothing is proposed on this device until the right file is there, or the pin of the one that is meant.`,
    { path: where, problem },
  )
}

function fileBytes(path: string, limit: number): Uint8Array | string {
  try {
    const read = readBounded(path, limit)
    if (read.ok) return read.bytes
    return read.reason === 'too-large' ? `it is larger than ${limit} bytes` : 'it is not a regular file'
  } catch (error) {
    return errnoText(errnoOf(error))
  }
}

function filesAt(path: string): ConstitutionFiles {
  const bytes = fileBytes(path, CONSTITUTION_BYTES)
  if (typeof bytes === 'string') throw unusable(path, bytes)
  const hash = fileBytes(`${path}.sha256`, HASH_FILE_BYTES)
  return { bytes, hashFile: typeof hash === 'string' ? undefined : decodeUtf8(hash) }
}

/**
 * What proposals are decided by.
 * @param path of another constitution than the one that ships; undefined: that one
 * @param pin SHA-256 of its bytes, lower-case hex; undefined: that of the one that ships
 * @throws SassError INTEGRITY_RISK where it is not the pinned one, or something in it cannot be cited
 */
export function loadLaw({ path, pin }: { path?: string | undefined; pin?: string | undefined } = {}): Law {
  const where = path ?? 'the program'
  const read = readConstitution(path === undefined ? shipped() : filesAt(path), pin ?? CONSTITUTION_SHA256)
  if (!read.ok) throw unusable(where, read.problem)
  const { constitution } = read
  const index = citationIndex(constitution)
  if (index === undefined) throw unusable(where, 'an id stands twice in it')
  const missing = selfTest(index, constitution)
  if (missing !== undefined) throw unusable(where, `${missing} names nothing in it`)
  return { constitution, index }
}
