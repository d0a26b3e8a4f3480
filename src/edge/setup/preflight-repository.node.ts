/**
 * The files of a device where they are kept, before any device has them: rules with their structure, examples and mark,
 * manifests of tools, and the digests of what is pinned. Nothing of this machine counts: neither its programs nor who
 * owns a file that was checked out. What a device leaves out at its start is a failure here.
 * Rules: docs/operations.md, "At each commit, and in a pipeline".
 * @module
 */
import { existsSync, realpathSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { testRules } from '../../defense/13policy/rules/examples.ts'
import { knownError } from '../../errors.ts'
import { readRulesFile } from '../policy/policy-file.node.ts'
import { rulesDigest } from '../record/integrity.node.ts'
import { type Finding, fail } from './finding.ts'
import { checkPlans } from './preflight-intent.node.ts'
import { checkPins, checkPolicyFiles } from './preflight-policy.node.ts'

/** Rules of one's own hold against their own examples, and have a mark, without which nobody sees that they changed. */
function checkOwnRules({ policy: { rules_file, rules_sha256 } }: Config): readonly Finding[] {
  if (rules_file === null) return []
  try {
    const failures = testRules(readRulesFile(rules_file)).map(({ rule, kind, example }) =>
      fail(
        'policy.rules_file',
        `the example "${example}" of ${rule} ${kind === 'match' ? 'does not match' : 'matches'}`,
        'correct the rule, or the example',
      ),
    )
    if (rules_sha256 !== null) return failures
    const mark = `write "${rulesDigest(rules_file)}", once somebody has read them`
    return [...failures, fail('policy.rules_sha256', 'the rules have no mark', mark)]
  } catch (error) {
    // Rules that cannot be used are told by checkPolicyFiles.
    knownError(error)
    return []
  }
}

/**
 * Everything that can be said of the files alone.
 * @param root where the files of the device lie, by their paths there: `/usr/local/bin/x` is `root/usr/local/bin/x`
 */
export async function checkRepository(config: Config, root: string): Promise<readonly Finding[]> {
  if (!existsSync(root))
    return [fail('', `${root} is not there`, 'name the directory with the files of the device')]
  const beneath = realpathSync(root)
  return [
    ...(await checkPolicyFiles(config)),
    ...checkOwnRules(config),
    ...checkPins(config, beneath),
    ...checkPlans(config, beneath),
  ]
}
