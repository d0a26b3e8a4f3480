/**
 * The layers of what the caller may: its tools, those for whom it acts, and its capability set with the bounds that
 * hold for every agent. Each only narrows.
 * Rules: docs/responses.md, layers 7 to 9.
 * @module
 */
import { isWithin } from '../../base/lexical-path.ts'
import type { EffectiveCommand, UsedPath } from '../13policy/effective.ts'
import {
  blocksCommand,
  type CapabilitySet,
  matchesPath,
  type Permission,
  permitsEffective,
  permitsPath,
} from '../capability.ts'
import type { ExecuteAction, Facts, Identity, Ledger } from '../facts.ts'
import { askHuman, type Check, type Finding, type Policy, violation } from '../layer.ts'
import { intersectTools, type Tool, toolOfMethod, toolsNeeded } from '../tools.ts'

type Known = Extract<Identity, { kind: 'known' }>

/** Work may be handed on once, and pass through no more than three pairs of hands. */
const DELEGATION_DEPTH = 1
const DELEGATION_HOPS = 3

const SHELLS: ReadonlySet<string> = new Set([
  'sh',
  'ash',
  'bash',
  'csh',
  'dash',
  'fish',
  'ksh',
  'mksh',
  'rbash',
  'tcsh',
  'yash',
  'zsh',
])

export const toolAccess: Check = ({ identity: who, request, action }, policy) => {
  if (who.kind !== 'known' || request === undefined) return undefined
  if (request.audience === 'operator' && who.role !== 'operator')
    return violation('CAPABILITY_DENIED', 'method.operator', `${request.method} is an operator's method.`)
  const method = toolOfMethod(request.method)
  const needed: ReadonlySet<Tool> =
    action?.kind === 'execute'
      ? toolsNeeded(policy.effective(action))
      : new Set(method === undefined ? [] : [method])
  if (needed.size === 0) return undefined
  const granted = intersectTools(who.tier, [who.tools])
  const missing = [...needed].filter((tool) => !granted.has(tool))
  if (missing.length === 0) return undefined
  return violation(
    'CAPABILITY_DENIED',
    `tools.${who.tier}`,
    `The request needs ${missing.join(' and ')}, which tier ${who.tier} and the tools of ${who.name} do not give.`,
  )
}

export const delegation: Check = ({ identity: who, request, action }, policy) => {
  if (who.kind !== 'known' || who.delegation === undefined || request === undefined) return undefined
  const { chain, hops } = who.delegation
  if (chain.length > DELEGATION_DEPTH)
    return violation(
      'CAPABILITY_DENIED',
      'delegation.depth',
      `${who.name} acts for one who acts for another; work may be handed on once.`,
    )
  if (hops >= DELEGATION_HOPS)
    return violation('CAPABILITY_DENIED', 'delegation.hops', `The work has been handed on ${hops} times.`)
  if (action?.kind !== 'execute') return undefined
  const needed = toolsNeeded(policy.effective(action))
  const granted = intersectTools(
    who.tier,
    chain.map(({ tools }) => tools),
  )
  if ([...needed].every((tool) => granted.has(tool))) return undefined
  return violation(
    'CAPABILITY_DENIED',
    'delegation.rights',
    `${who.name} acts for ${chain.map(({ name }) => name).join(' for ')}, who may not do this.`,
  )
}

function setNamed(policy: Policy, name: string): CapabilitySet | undefined {
  return Object.hasOwn(policy.capabilities, name) ? policy.capabilities[name] : undefined
}

/** Written and read paths as the decision judges them: as given, and where they really lie. */
function judgedPaths(path: UsedPath, reals: Facts['realPaths']): readonly string[] {
  const real = reals.find((candidate) => candidate.path === path.path)?.real
  return real === undefined || real === path.path ? [path.path] : [path.path, real]
}

/** What is certain about a path with wild characters or an unknown end: the directory in front of it. */
function knownPart(path: string): string {
  const wild = path.search(/[*?[]/)
  if (wild === -1) return path
  return path.slice(0, path.lastIndexOf('/', wild)) || '/'
}

/**
 * Whether a command names what is denied: the path itself, what may expand to it, or what is written or removed with
 * it inside. What is allowed bounds where a command starts and what is transferred; what it then writes is bounded by
 * where it runs.
 */
function namesDenied(
  set: CapabilitySet,
  commands: readonly EffectiveCommand[],
  reals: Facts['realPaths'],
): boolean {
  if (set.denied_paths.length === 0) return false
  return commands.some(({ paths }) =>
    paths.some((used) => {
      const candidates = judgedPaths(used, reals)
      const known = used.isGlob ? knownPart(used.path) : used.path
      const isWide = used.isGlob || used.isOpaque || used.use === 'write'
      return set.denied_paths.some(
        (pattern) =>
          candidates.some((path) => matchesPath(pattern, path)) ||
          (isWide && pattern !== '*' && isWithin(known, pattern)),
      )
    }),
  )
}

function judgeShell(action: ExecuteAction, commands: readonly EffectiveCommand[], policy: Policy): Finding | undefined {
  if (policy.security.allowShell) return undefined
  const resolved = action.executable?.path
  const names = commands.flatMap((command) => command.names)
  if (resolved !== undefined) names.push(resolved.slice(resolved.lastIndexOf('/') + 1))
  if (!names.some((name) => SHELLS.has(name))) return undefined
  return violation(
    'CAPABILITY_CMD_DENIED',
    'security.allow_shell',
    'A command shell would run and security.allow_shell is false.',
  )
}

const WORSE: Readonly<Record<Permission, number>> = Object.freeze({ denied: 2, unlisted: 1, allowed: 0 })

function judgeCommands(
  facts: Facts,
  ledger: Ledger,
  policy: Policy,
  name: string,
  set: CapabilitySet,
  action: ExecuteAction,
  commands: readonly EffectiveCommand[],
): Finding | undefined {
  const { security } = policy
  const blocked = security.blockedCommands.find((text) => commands.some((command) => blocksCommand(text, command)))
  if (blocked !== undefined)
    return violation(
      'CAPABILITY_CMD_DENIED',
      'security.blocked_commands',
      `The command is blocked by "${blocked}" of security.blocked_commands.`,
    )
  const outer: CapabilitySet = { ...set, allowed_commands: security.allowedCommands, denied_commands: [] }
  const resolved = action.executable?.path
  const own = permitsEffective(set, action.argv, resolved, commands)
  const general = permitsEffective(outer, action.argv, resolved, commands)
  const worst = WORSE[general] > WORSE[own] ? general : own
  if (worst === 'allowed') return undefined
  if (worst === 'denied')
    return violation(
      'CAPABILITY_CMD_DENIED',
      `${name}.denied_commands`,
      `The command is denied by capability ${name}.`,
    )
  const rule = own === 'unlisted' ? `${name}.allowed_commands` : 'security.allowed_commands'
  const reason = `The command is not allowed by ${own === 'unlisted' ? `capability ${name}` : rule}.`
  return security.confirmsUnlisted
    ? askHuman(facts, ledger, 'CAPABILITY_CMD_DENIED', rule, reason)
    : violation('CAPABILITY_CMD_DENIED', rule, reason)
}

function judgeSet(
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
  name: string,
  action: ExecuteAction,
): Finding | undefined {
  const set = setNamed(policy, name)
  // A set that is not there allows nothing.
  if (set === undefined)
    return violation('CAPABILITY_DENIED', 'capability.missing', `There is no capability set ${name}.`)
  const { commands } = policy.effective(action)
  const command = judgeCommands(facts, ledger, policy, name, set, action, commands)
  if (command !== undefined) return command
  const shell = judgeShell(action, commands, policy)
  if (shell !== undefined) return shell
  const cwd = permitsPath(set, action.cwd)
  if (cwd !== 'allowed') {
    const rule = cwd === 'denied' ? 'denied_paths' : 'allowed_paths'
    return violation(
      'CAPABILITY_PATH_DENIED',
      `${name}.${rule}`,
      `The working directory ${cwd === 'denied' ? 'is denied' : 'is not allowed'} by capability ${name}.`,
    )
  }
  if (!namesDenied(set, commands, facts.realPaths)) return undefined
  return violation(
    'CAPABILITY_PATH_DENIED',
    `${name}.denied_paths`,
    `The command names a path that is denied by capability ${name}.`,
  )
}

/** The caller's own set, and the sets of all for whom it acts. */
function setsOf(who: Known): readonly string[] {
  return [who.capability, ...(who.delegation?.chain.map(({ capability: name }) => name) ?? [])]
}

export const capability: Check = (facts, policy, ledger) => {
  const { identity: who, action } = facts
  if (who.kind !== 'known' || action?.kind !== 'execute') return undefined
  for (const name of setsOf(who)) {
    const finding = judgeSet(facts, policy, ledger, name, action)
    if (finding !== undefined) return finding
  }
  return undefined
}
