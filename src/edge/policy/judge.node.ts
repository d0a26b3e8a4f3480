/**
 * The heavy half of a policy: the rules compiled, and what takes a command line apart. It is loaded when the first
 * caller comes and not before: most of a device's life nobody is there, and it takes some megabytes.
 * Own rules are read at the start all the same, so that a mistake in them is told then.
 * @module
 */
import { isWithin } from '../../base/text/lexical-path.ts'
import type { Config } from '../../config/config.ts'
import type { Effective } from '../../defense/13policy/effective.ts'
import { createMatcher, type Match, type Matcher } from '../../defense/13policy/rules/matcher.ts'
import type { RuleSet } from '../../defense/13policy/rules/rule-set.ts'
import { effectiveCommands } from '../../defense/13policy/unwrap.ts'
import type { ExecuteAction } from '../../defense/facts.ts'
import type { Policy } from '../../defense/layer.ts'
import { currentUser } from '../host/current-user.node.ts'
import { realPlace } from '../state/real-place.node.ts'
import { createCommandMemory } from './command-memory.ts'
import { readRuntimePolicy } from './policy-file.node.ts'

export type Judge = Pick<Policy, 'rules' | 'effective'>

function takeApart(
  { argv, environment, cwd, terminal, stdin, executable }: ExecuteAction,
  home: string,
): Effective {
  const surroundings = { cwd, home, resolved: executable?.path, terminal, stdin }
  return { ...effectiveCommands(argv, surroundings, environment), kept: {} }
}

/** What the rules have said about commands that are remembered. */
type Found = WeakMap<Effective, { answer?: { readonly match: Match | undefined } }>

/** Taken apart once, however often it is asked about. */
function effectiveOf(home: string, found: Found): Policy['effective'] {
  const memory = createCommandMemory()
  // Several layers ask about one request; what failed is not tried again for each of them.
  let failed: { readonly action: ExecuteAction; readonly cause: unknown } | undefined
  return (action) => {
    const known = memory.find(action)
    if (known !== undefined) return known
    if (failed?.action === action) throw failed.cause
    let effective: Effective
    try {
      effective = takeApart(action, home)
    } catch (cause) {
      failed = { action, cause }
      throw cause
    }
    if (memory.keep(action, effective)) found.set(effective, {})
    return effective
  }
}

/** Where anybody may leave something; rules are stricter about what lies there. */
const TEMPORARY: readonly string[] = Object.freeze(['/tmp', '/var/tmp', '/dev/shm'])
/** A place that no rule knows. */
const NEUTRAL_WORKSPACE = '/srv/workspace'

/**
 * The same commands with the workspace in a neutral place: to the rules a workspace is a workspace, also where somebody
 * has put it among temporary files.
 */
function placed(workspace: string): (effective: Effective) => Effective {
  if (!TEMPORARY.some((place) => workspace.startsWith(`${place}/`))) return (effective) => effective
  const move = (path: string) =>
    isWithin(workspace, path) ? `${NEUTRAL_WORKSPACE}${path.slice(workspace.length)}` : path
  return ({ commands }) => ({
    commands: commands.map((command) => ({
      ...command,
      path: command.path === undefined ? undefined : move(command.path),
      cwd: command.cwd === undefined ? undefined : move(command.cwd),
      paths: command.paths.map((used) => ({ ...used, path: move(used.path) })),
    })),
  })
}

function matcherFor(rules: Matcher, workspace: string, silenced: ReadonlySet<string>, found: Found): Matcher {
  const place = placed(workspace)
  return {
    count: rules.count,
    strictest(effective) {
      const kept = found.get(effective)
      if (kept?.answer !== undefined) return kept.answer.match
      const match = rules.strictest(place(effective))
      if (kept !== undefined) kept.answer = { match }
      return match
    },
    everyMatch: (effective) => rules.everyMatch(place(effective)),
    // What lies in the workspace is the caller's own work, and its being seen is for the rules.
    knows: (command) =>
      (command.path !== undefined && isWithin(workspace, command.path)) ||
      rules.knows(command) ||
      command.names.some((name) => silenced.has(name)),
  }
}

export type JudgeGround = {
  readonly set: RuleSet
  /** Ids of rules that do not hold. */
  readonly disabled: readonly string[]
  /** Home of the user that commands run as. */
  readonly home: string
  /** Where the workspace really lies. */
  readonly workspace: string
}

/** From rules that were read and checked. */
export function judgeOf({ set, disabled, home, workspace }: JudgeGround): Judge {
  const rules = disabled.length === 0 ? set.rules : set.rules.filter(({ id }) => !disabled.includes(id))
  const matcher = createMatcher({ ...set, rules }, home)
  // Who took a denial out has thought about its programs.
  const silenced = set.rules
    .filter(({ id, action }) => disabled.includes(id) && action !== 'allow')
    .flatMap(({ argv }) => argv?.flatMap(({ program }) => program ?? []) ?? [])
  const found: Found = new WeakMap()
  return {
    rules: matcherFor(matcher, workspace, new Set(silenced), found),
    effective: effectiveOf(home, found),
  }
}

/** @throws SassError CONFIG_INVALID or CONFIG_LOAD_FAILED */
export function makeJudge(config: Config): Judge {
  const { default_rules: defaultRules, rules_file: rulesFile, disabled_rules: disabled } = config.policy
  const set = readRuntimePolicy({ defaultRules, rulesFile })
  return judgeOf({
    set,
    disabled,
    home: currentUser().home,
    workspace: realPlace(config.security.workspace_root),
  })
}
