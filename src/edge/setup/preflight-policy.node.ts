/**
 * Whether the policy of a configuration can be used on this machine: rules that can be read, rules to disable that
 * exist, patterns that open more than they seem to, pinned programs that are there and are what was pinned, and
 * whether an incident still waits for somebody to look into it, and who has enrolled with a set that is gone.
 * @module
 */
import { realpathSync } from 'node:fs'
import { attempt } from '../../base/attempt.ts'
import type { Config } from '../../config/config.ts'
import type { RulesProblem } from '../../defense/13policy/rules/rule-set.ts'
import { rulesProblemText } from '../../defense/13policy/rules/rules-file.ts'
import { knownError } from '../../errors.ts'
import { createPinLook } from '../../sandbox/launcher/pinned.node.ts'
import { broadPatterns, unknownRules } from '../policy/policy.node.ts'
import { readRuntimePolicy } from '../policy/policy-file.node.ts'
import { checkRulesPin, isIntegrityRisk } from '../record/integrity.node.ts'
import { enrolledBeside, visibleBook } from '../state/identity-book.node.ts'
import { openLevelStore } from '../state/level-store.node.ts'
import { countFirewall } from '../work/firewall.node.ts'
import { type Finding, fail, NOT_LOOKED_AT, pass, warn } from './finding.ts'

/** Each problem of rules that cannot be used; the sentence where there is no list. */
function problemsOf(error: unknown): readonly string[] {
  const known = knownError(error)
  const { problems, problem } = known.details
  if (Array.isArray(problems)) return (problems as readonly RulesProblem[]).map(rulesProblemText)
  return [typeof problem === 'string' ? problem : known.message]
}

function* checkRules({ policy }: Config): Iterable<Finding> {
  const check = policy.rules_file === null ? 'policy.default_rules' : 'policy.rules_file'
  const files = { defaultRules: policy.default_rules, rulesFile: policy.rules_file }
  try {
    const { rules } = readRuntimePolicy(files)
    const ids = rules.map(({ id }) => id)
    const unknown = unknownRules(policy.disabled_rules, ids).map(({ id, hint }) =>
      fail('policy.disabled_rules', `"${id}" is no rule here`, hint),
    )
    const held = rules.length - ids.filter((id) => policy.disabled_rules.includes(id)).length
    const remedy = 'set policy.default_rules to true, or name a file with rules in policy.rules_file'
    if (held > 0) yield pass(check, `${held} rules hold`)
    else yield warn(check, 'no rule holds, so capability sets alone decide', remedy)
    yield* unknown
  } catch (error) {
    const path = policy.rules_file ?? 'the rules that ship'
    yield* problemsOf(error).map((problem) =>
      fail(check, `${path}: ${problem}`, 'correct it, or name another file'),
    )
  }
}

async function checkPatterns(config: Config): Promise<readonly Finding[]> {
  const check = 'policy.broad_patterns'
  const broad = await broadPatterns(config)
  if (broad.length === 0) return [pass(check, 'no allowed command opens more than it says')]
  const isRefused = config.policy.broad_patterns === 'refuse'
  return broad.map((sentence) => {
    const detail = sentence.replace(/\.$/, '')
    return isRefused
      ? fail(check, detail, 'name its arguments too, or set policy.broad_patterns to "warn"')
      : warn(check, detail, 'name its arguments too, if that is not meant')
  })
}

/** The real path; undefined where there is nothing. */
function realPathOf(path: string): string | undefined {
  return attempt(() => realpathSync(path), undefined)
}

/**
 * Pinned programs are there and what was pinned.
 * @param root where they lie where that is not this machine: there one may be absent
 */
export function checkPins({ security }: Config, root = ''): readonly Finding[] {
  const look = createPinLook()
  return security.executables.map(({ path: named, sha256 }, index) => {
    const check = `security.executables[${index}]`
    const path = root + named
    const real = realPathOf(path)
    if (real === undefined && root !== '') return warn(check, `${path} is not there`, NOT_LOOKED_AT)
    if (real === undefined)
      return fail(check, `${path} is not there`, 'install the program, or take the entry out')
    if (real !== path)
      return fail(check, `${path} is a link to ${real}, so the pin would never hold`, `write ${real}`)
    const found = look(path)
    if (found === undefined)
      return fail(
        check,
        `${path} is no regular file that can be read`,
        'name a program that this user may read',
      )
    if (found.sha256 === sha256) return pass(check, `${path} is what was pinned`)
    return fail(
      check,
      `${path} has SHA-256 ${found.sha256}, so it would not run`,
      'look into why it has changed; if it is right, pin that digest',
    )
  })
}

function* checkIncident({ state_directory }: Config): Iterable<Finding> {
  const check = 'levels'
  try {
    const { incident } = openLevelStore(state_directory).state
    if (incident === undefined) return
    const detail = `the daemon halted at the incident ${incident}`
    yield fail(check, detail, `look into it, then start the daemon with --ack-incident ${incident}`)
  } catch (error) {
    const known = knownError(error)
    const remedy = 'look into it, and remove it to begin without any'
    yield fail(check, `${String(known.details['path'])} cannot be read`, remedy)
  }
}

function* checkFirewall({ defense }: Config): Iterable<Finding> {
  const { patterns: path } = defense.firewall
  if (path === null) return
  const check = 'defense.firewall.patterns'
  try {
    const { kinds, patterns } = countFirewall(path)
    yield pass(check, `${kinds} kinds of secrets and ${patterns} patterns hold`)
  } catch (error) {
    const known = knownError(error)
    yield fail(check, known.message.replace(/\.$/, ''), 'correct it, or set it to null')
  }
}

/** Who has enrolled beside the configuration: a book that can be read, and sets that are still there. */
function* checkEnrolled(config: Config): Iterable<Finding> {
  const check = 'identities'
  try {
    yield* enrolledBeside(config, visibleBook(config.state_directory))
      .filter(({ capability }) => !Object.hasOwn(config.capabilities, capability))
      .map(({ name, capability }) =>
        warn(
          check,
          `${name} has enrolled with capability ${capability}, which capabilities does not have, so it may do nothing`,
          `add capabilities.${capability}, or run sass-edge agent remove ${name}`,
        ),
      )
  } catch (error) {
    const known = knownError(error)
    const remedy = 'look into it, and remove it to begin without any'
    yield fail(check, `${String(known.details['path'])} cannot be used`, remedy)
  }
}

/** What a start would halt at, told before. */
function checkPin(config: Config): readonly Finding[] {
  const check = 'policy.rules_sha256'
  // Without a file there is nothing to compare; that is told elsewhere, as is a file that cannot be read.
  if (config.policy.rules_sha256 === null || config.policy.rules_file === null) return []
  try {
    checkRulesPin(config)
    return [pass(check, 'the rules are the ones that were pinned')]
  } catch (error) {
    if (!isIntegrityRisk(error)) return []
    const found = String(error.details['found'])
    const detail = `pins other rules than those in ${config.policy.rules_file}, whose SHA-256 is ${found}, so the daemon halts`
    return [fail(check, detail, `look who changed them; if it was you, write "${found}"`)]
  }
}

/** The rules and patterns that a configuration names, whatever machine they are for. */
export async function checkPolicyFiles(config: Config): Promise<readonly Finding[]> {
  return [
    ...checkRules(config),
    ...checkPin(config),
    ...(await checkPatterns(config)),
    ...checkFirewall(config),
  ]
}

/** Looks at everything that the policy needs; reads files, changes nothing. */
export async function checkPolicy(config: Config): Promise<readonly Finding[]> {
  return [
    ...(await checkPolicyFiles(config)),
    ...checkPins(config),
    ...checkIncident(config),
    ...checkEnrolled(config),
  ]
}
