/**
 * The heavy half of a policy: the rules compiled, and what takes a command line apart. It is loaded when the first
 * caller comes and not before: most of a device's life nobody is there, and it takes some megabytes.
 * Own rules are read at the start all the same, so that a mistake in them is told then.
 * @module
 */
import { homedir } from 'node:os'
import type { Config } from '../config.ts'
import type { Effective } from '../defense/13policy/effective.ts'
import { createMatcher } from '../defense/13policy/matcher.ts'
import { effectiveCommands } from '../defense/13policy/unwrap.ts'
import type { ExecuteAction } from '../defense/facts.ts'
import type { Policy } from '../defense/layer.ts'
import { readRuntimePolicy } from './policy-file.node.ts'

export type Judge = Pick<Policy, 'rules' | 'effective'>

/** Remembers the last action asked about: several layers ask about the same one. */
function effectiveOf(home: string): Policy['effective'] {
  let last: { readonly action: ExecuteAction; readonly effective: Effective } | undefined
  return (action) => {
    if (last?.action === action) return last.effective
    const { argv, environment, cwd, terminal, stdin, executable } = action
    // What the caller sets is judged as if it had been given to env(1): it may name a program, like PAGER.
    const whole = environment.length === 0 ? argv : ['env', ...environment, ...argv]
    const resolved = environment.length === 0 ? executable?.path : undefined
    const effective = effectiveCommands(whole, { cwd, home, resolved, terminal, stdin })
    last = { action, effective }
    return effective
  }
}

/** @throws SassError CONFIG_INVALID or CONFIG_LOAD_FAILED */
export function makeJudge(config: Config): Judge {
  const { default_rules: defaultRules, rules_file: rulesFile, disabled_rules: disabled } = config.policy
  const set = readRuntimePolicy({ defaultRules, rulesFile })
  const home = homedir()
  const rules = disabled.length === 0 ? set.rules : set.rules.filter(({ id }) => !disabled.includes(id))
  return { rules: createMatcher({ ...set, rules }, home), effective: effectiveOf(home) }
}
