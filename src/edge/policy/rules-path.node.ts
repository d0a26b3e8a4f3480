/**
 * Where rules are found, and their text: those that ship, beside the program or in the sources, and the operator's own.
 * A file that cannot be read is CONFIG_LOAD_FAILED.
 * @module
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { decodeUtf8 } from '../../base/encoding/utf8.ts'
import { errnoText, readBounded, systemErrno } from '../../base/files.node.ts'
import { SassError } from '../../errors.ts'
import { RULES_FILE_BYTES } from '../../limits.ts'

declare const VERSION: string | undefined
declare const PACKED_RULES: string | undefined
declare const PACKED_RULES_SHA256: string | undefined

/** The name of the shipped rules beside the bundle, and in the directory policy/ of the sources. */
const SHIPPED_NAME = 'default-rules.json'

export type PolicyFiles = {
  /** Whether the rules that ship take part. */
  readonly defaultRules: boolean
  /** The operator's own rules; absolute. */
  readonly rulesFile: string | null
}

/**
 * What a build makes of the rules that ship, and puts into the program itself: checked, names of sets replaced, without
 * examples, Brotli in base64. Undefined from the sources.
 */
export function packedRules(): string | undefined {
  return typeof PACKED_RULES === 'string' ? PACKED_RULES : undefined
}

/** What names those rules: hashing them takes a start 3 ms. Undefined from the sources. */
export function packedRulesDigest(): string | undefined {
  return typeof PACKED_RULES_SHA256 === 'string' ? PACKED_RULES_SHA256 : undefined
}

/**
 * The rules that ship: beside the program where it is a bundle or a single binary, or where a package puts them; in the
 * repository where it runs from its sources.
 */
export function shippedRulesPath(): string {
  if (isSea()) {
    const directory = dirname(process.execPath)
    const beside = join(directory, SHIPPED_NAME)
    return existsSync(beside) ? beside : join(directory, '../share/sass-edge', SHIPPED_NAME)
  }
  const place = typeof VERSION === 'string' ? `./${SHIPPED_NAME}` : `../../../dist/${SHIPPED_NAME}`
  return fileURLToPath(new URL(place, import.meta.url))
}

function loadFailed(path: string, since: string, errno: string | undefined, cause?: unknown): SassError {
  const remedy = 'correct that, or name another file'
  const problem = `cannot be read, since ${since}`
  const sentence = `The rules in ${path} ${problem}: ${remedy}.`
  return new SassError(
    'CONFIG_LOAD_FAILED',
    sentence,
    errno === undefined ? { path, problem } : { path, errno, problem },
    cause,
  )
}

/**
 * The text of one file of rules.
 * @throws SassError CONFIG_LOAD_FAILED
 */
export function readRulesText(path: string): string {
  let read: ReturnType<typeof readBounded>
  try {
    read = readBounded(path, RULES_FILE_BYTES)
  } catch (error) {
    const errno = systemErrno(error)
    throw loadFailed(path, errnoText(errno), errno, error)
  }
  if (!read.ok) {
    const what =
      read.reason === 'too-large' ? `it is larger than ${RULES_FILE_BYTES} bytes` : 'it is not a regular file'
    throw loadFailed(path, what, undefined)
  }
  const text = decodeUtf8(read.bytes)
  if (text === undefined) throw loadFailed(path, 'it is not valid UTF-8', undefined)
  return text
}

/** The files that hold together, in the order in which they are read. */
export function rulesPaths({ defaultRules, rulesFile }: PolicyFiles): readonly string[] {
  return [...(defaultRules ? [shippedRulesPath()] : []), ...(rulesFile === null ? [] : [rulesFile])]
}
