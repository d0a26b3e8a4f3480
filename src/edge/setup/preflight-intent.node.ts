/**
 * Whether what arrives signed can be taken in and done: the vault as the daemon itself would read it, its pin first, the
 * directories that envelopes come from, the pins of issuers, and the tools of plans.
 * @module
 */

import { existsSync } from 'node:fs'
import { statOf } from '../../base/files.node.ts'
import type { Config } from '../../config/config.ts'
import { knownError } from '../../errors.ts'
import { planSettings, runsPlans } from '../intent/plans.node.ts'
import { readVault } from '../intent/vault.node.ts'
import { type Finding, fail, NOT_LOOKED_AT, pass, warn } from './finding.ts'

async function checkVault(directory: string, pin: string): Promise<readonly Finding[]> {
  const check = 'intent.vault'
  try {
    const { templates, capabilitySets, notes } = await readVault(directory, pin)
    return [
      pass(check, `${directory} has ${templates} templates and ${capabilitySets} capability sets`),
      ...notes.map((note) => warn(check, note.replace(/\.$/, ''), 'publish it anew, or remove it')),
    ]
  } catch (error) {
    return [failed(error, (code) => (code === 'PIN_MISMATCH' ? 'intent.dispatcher_pin' : check))]
  }
}

/** A refusal of the start, as a finding: its sentence ends with what to do. */
function failed(error: unknown, checkOf: (code: string) => string): Finding {
  const known = knownError(error)
  const at = known.message.lastIndexOf(': ')
  const [detail, remedy] = [known.message.slice(0, at), known.message.slice(at + 2).replace(/\.$/, '')]
  return fail(checkOf(known.code), detail, remedy)
}

/**
 * The pins of issuers, and the tools of plans.
 * @param root where the files of tools lie where that is not this machine: there one may be absent, and none be wrong
 */
export function checkPlans(config: Pick<Config, 'intent' | 'agents'>, root?: string): readonly Finding[] {
  const check = 'intent.tools'
  if (!runsPlans(config)) return []
  const found = root === undefined ? warn : fail
  try {
    const { loaded, refused } = planSettings(config, { root }).tools
    const absent = [...loaded.values()].filter(({ executable }) => !existsSync(`${root ?? ''}${executable}`))
    return [
      ...absent.map(({ executable }) => warn(check, `${root}${executable} is not there`, NOT_LOOKED_AT)),
      ...(loaded.size > 0 ? [pass(check, `plans may call ${[...loaded.keys()].join(', ')}`)] : []),
      ...refused.map(({ file, why }) =>
        found(check, `${file} is not loaded: ${why}`, 'correct it, or grant what it wants in intent.grants'),
      ),
    ]
  } catch (error) {
    return [failed(error, () => 'intent.issuer_pins')]
  }
}

/** Nothing where neither a vault nor tools are named. */
export async function checkIntent(config: Pick<Config, 'intent' | 'agents'>): Promise<readonly Finding[]> {
  const { intent } = config
  const plans = checkPlans(config)
  if (intent.vault === null) return plans
  const absent = intent.drop_directories.filter((path) => statOf(path)?.isDirectory() !== true)
  return [
    ...(await checkVault(intent.vault, intent.dispatcher_pin ?? '')),
    ...absent.map((path) =>
      warn('intent.drop_directories', `${path} is not there now`, 'it is taken from when it comes'),
    ),
    ...plans,
  ]
}
