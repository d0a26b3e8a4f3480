/**
 * The rules that the daemon works with: those that ship with it, the operator's own file, or both.
 * A file that cannot be read is CONFIG_LOAD_FAILED, one that cannot be used is CONFIG_INVALID with every problem in
 * `details.problems`; nothing of a bad file is used. Of the files nothing stays in memory but the compiled rules.
 * @module
 */
import { fileURLToPath } from 'node:url'
import { errnoOf, errnoText, readBounded } from '../base/files.node.ts'
import { decodeUtf8 } from '../base/utf8.ts'
import { createMatcher, type Matcher } from '../defense/13policy/matcher.ts'
import type { RuleSet, RulesProblem } from '../defense/13policy/rule-set.ts'
import { joinRules, RULES_FILE_BYTES, readRules, rulesProblemText } from '../defense/13policy/rules-file.ts'
import { SassError } from '../errors.ts'

declare const VERSION: string | undefined

/** The name of the shipped rules beside the bundle, and in the directory policy/ of the sources. */
const SHIPPED_NAME = 'default-rules.json'

export type PolicyFiles = {
  /** Whether the rules that ship take part. */
  readonly defaultRules: boolean
  /** The operator's own rules; absolute. */
  readonly rulesFile: string | null
}

/** The rules that ship: beside the program where it is a bundle, in the repository where it is not. */
export function shippedRulesPath(): string {
  const place = typeof VERSION === 'string' ? `./${SHIPPED_NAME}` : `../../policy/${SHIPPED_NAME}`
  return fileURLToPath(new URL(place, import.meta.url))
}

function loadFailed(path: string, since: string, errno: string | undefined, cause?: unknown): SassError {
  const remedy = 'correct that, or name another file'
  const sentence = `The rules in ${path} cannot be read, since ${since}: ${remedy}.`
  return new SassError(
    'CONFIG_LOAD_FAILED',
    sentence,
    errno === undefined ? { path } : { path, errno },
    cause,
  )
}

function readText(path: string): string {
  let read: ReturnType<typeof readBounded>
  try {
    read = readBounded(path, RULES_FILE_BYTES)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined) throw error
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

/** The error of files that were read and cannot be used. */
function invalid(path: string, problems: readonly RulesProblem[]): SassError {
  const all = problems.map(rulesProblemText).join('; ')
  const many = problems.length > 1
  const sentence = `The rules in ${path} cannot be used, since ${many ? `there are ${problems.length} problems: ` : ''}${all}: correct ${many ? 'them' : 'it'} and try again.`
  return new SassError('CONFIG_INVALID', sentence, { path, problems })
}

/**
 * The rules of one file, with their examples.
 * @throws SassError CONFIG_LOAD_FAILED or CONFIG_INVALID
 */
export function readRulesFile(path: string): RuleSet {
  const result = readRules(readText(path), path)
  if (!result.ok) throw invalid(path, result.problems)
  return result.rules
}

/**
 * The rules of all files together, with their examples.
 * @throws SassError CONFIG_LOAD_FAILED or CONFIG_INVALID
 */
export function readPolicy({ defaultRules, rulesFile }: PolicyFiles): RuleSet {
  const paths = [...(defaultRules ? [shippedRulesPath()] : []), ...(rulesFile === null ? [] : [rulesFile])]
  const joined = joinRules(paths.map(readRulesFile))
  if (!joined.ok) throw invalid(paths.join(' and '), joined.problems)
  return joined.rules
}

/**
 * The compiled rules. Without either source there are none, and nothing matches.
 * @param home the home directory of the user that commands run as; absolute
 * @throws SassError CONFIG_LOAD_FAILED or CONFIG_INVALID
 */
export function loadRules(files: PolicyFiles, home: string): Matcher {
  return createMatcher(readPolicy(files), home)
}
