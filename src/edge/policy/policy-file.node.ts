/**
 * The rules that the daemon works with: those that ship with it, the operator's own file, or both.
 * A file that cannot be read is CONFIG_LOAD_FAILED, one that cannot be used is CONFIG_INVALID with every problem in
 * `details.problems`; nothing of a bad file is used. Of the files nothing stays in memory but the compiled rules.
 * @module
 */
import { brotliDecompressSync } from 'node:zlib'
import type { RuleSet, RulesProblem } from '../../defense/13policy/rules/rule-set.ts'
import { joinRules, readRules, rulesProblemText } from '../../defense/13policy/rules/rules-file.ts'
import { SassError } from '../../errors.ts'
import {
  type PolicyFiles,
  packedRules,
  readRulesText,
  rulesPaths,
  shippedRulesPath,
} from './rules-path.node.ts'

/** What a program was built with, read back: its rules are checked, and have no examples. */
export function checkedRules(brotli: Uint8Array, origin: string): RuleSet {
  const text = brotliDecompressSync(brotli).toString()
  return { origins: [origin], rules: JSON.parse(text) as RuleSet['rules'] }
}

/**
 * The rules in a text.
 * @throws SassError CONFIG_INVALID
 */
export function rulesOfText(text: string, path: string): RuleSet {
  const result = readRules(text, path)
  if (!result.ok) throw invalid(path, result.problems)
  return result.rules
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
  return rulesOfText(readRulesText(path), path)
}

/** The rules that ship, as the build has checked them; from the sources, the file itself. */
function readShipped(path: string): RuleSet {
  const packed = packedRules()
  return packed === undefined ? readRulesFile(path) : checkedRules(Buffer.from(packed, 'base64'), path)
}

/**
 * The rules of all files together, as the daemon needs them: those that ship are not checked once more, and have no
 * examples.
 * @throws SassError CONFIG_LOAD_FAILED or CONFIG_INVALID
 */
export function readRuntimePolicy(files: PolicyFiles): RuleSet {
  const shipped = shippedRulesPath()
  const joined = joinRules(
    rulesPaths(files).map((path) => (path === shipped ? readShipped(path) : readRulesFile(path))),
  )
  if (!joined.ok) throw invalid(rulesPaths(files).join(' and '), joined.problems)
  return joined.rules
}

/**
 * The rules of all files together, with their examples.
 * @throws SassError CONFIG_LOAD_FAILED or CONFIG_INVALID
 */
export function readPolicy(files: PolicyFiles): RuleSet {
  const paths = rulesPaths(files)
  const joined = joinRules(paths.map(readRulesFile))
  if (!joined.ok) throw invalid(paths.join(' and '), joined.problems)
  return joined.rules
}
