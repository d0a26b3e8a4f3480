/**
 * The layers of what the caller may: its tools, those for whom it acts, and its capability set with the bounds that
 * hold for every agent. Each only narrows.
 * Rules: docs/responses.md, layers 7 to 9.
 * @module
 */
import { baseName } from '../../base/text/lexical-path.ts'
import type { Tool } from '../../base/tool-name.ts'
import type { EffectiveCommand } from '../13policy/effective.ts'
import { isShell } from '../13policy/programs/names.ts'
import {
  blocksCommand,
  type CapabilitySet,
  type CommandSet,
  type Permission,
  permitsEffective,
  permitsPath,
} from '../capability.ts'
import type { ExecuteAction, Facts, FileAction, HandoffAction, Identity, Ledger } from '../facts.ts'
import { isFileAction } from '../file-action.ts'
import {
  askHuman,
  type Check,
  type Finding,
  type Note,
  type Policy,
  refusal,
  stricterOf,
  violation,
} from '../layer.ts'
import { opaqueClassOf } from '../opaque.ts'
import { grantsTool, type ToolList, toolsAsked } from '../tools.ts'
import { mayTouch } from '../touched-path.ts'
import { handsOnFurther, judgeHanded, judgeToken } from './delegated.ts'

type Known = Extract<Identity, { kind: 'known' }>

/** Work may be handed on once, and pass through no more than three pairs of hands. */
const DELEGATION_DEPTH = 1
const DELEGATION_HOPS = 3

export const toolAccess: Check = (facts, policy) => {
  const { identity: who, request } = facts
  if (who.kind !== 'known' || request === undefined) return undefined
  if (request.audience === 'operator' && who.role !== 'operator')
    return violation('CAPABILITY_DENIED', 'method.operator', `${request.method} is an operator's method.`)
  // What it is to hand on what was handed on, the next layer says.
  if (facts.action?.kind === 'delegate' && who.delegation !== undefined) return undefined
  const needed = toolsAsked(facts, policy.effective)
  const missing = lacking(who, [who.tools], needed)
  if (missing.length === 0) return undefined
  return {
    ...violation(
      'CAPABILITY_DENIED',
      `tools.${who.tier}`,
      `The request needs ${missing.join(' and ')}, which tier ${who.tier} and the tools of ${who.name} do not give.`,
    ),
    needed: [...needed],
  }
}

/** The tools that are needed and that the tier and the lists do not give. */
function lacking({ tier }: Known, lists: readonly ToolList[], needed: ReadonlySet<Tool>): readonly Tool[] {
  const missing: Tool[] = []
  for (const tool of needed) if (!grantsTool(tier, lists, tool)) missing.push(tool)
  return missing
}

export const delegation: Check = (facts, policy) => {
  const { identity: who, request, action } = facts
  if (who.kind !== 'known' || request === undefined) return undefined
  if (action?.kind === 'authenticate' && action.token !== undefined) {
    const refused = judgeToken(action.token)
    if (refused !== undefined) return refused
  }
  if (who.delegation === undefined) return undefined
  if (action?.kind === 'delegate') return handsOnFurther(who.name)
  const { chain, hops } = who.delegation
  if (chain.length > DELEGATION_DEPTH)
    return violation(
      'CAPABILITY_DENIED',
      'delegation.depth',
      `${who.name} acts for one who acts for another; work may be handed on once.`,
    )
  if (hops >= DELEGATION_HOPS)
    return violation('CAPABILITY_DENIED', 'delegation.hops', `The work has been handed on ${hops} times.`)
  const lists = [who.tools, ...chain.map(({ tools }) => tools)]
  if (lacking(who, lists, toolsAsked(facts, policy.effective)).length === 0) return undefined
  return violation(
    'CAPABILITY_DENIED',
    'delegation.rights',
    `${who.name} acts for ${chain.map(({ name }) => name).join(' for ')}, who may not do this.`,
  )
}

function setNamed(policy: Policy, name: string): CapabilitySet | undefined {
  return Object.hasOwn(policy.capabilities, name) ? policy.capabilities[name] : undefined
}

/** Whether a command names what is denied, by where it says that a path is or by where it really is. */
function namesDenied(
  set: CapabilitySet,
  commands: readonly EffectiveCommand[],
  reals: Facts['realPaths'],
): boolean {
  if (set.denied_paths.length === 0) return false
  return commands.some(({ paths }) =>
    paths.some((used) => {
      const real = reals.find(({ path }) => path === used.path)?.real
      return set.denied_paths.some(
        (place) => mayTouch(place, used) || (real !== undefined && mayTouch(place, { ...used, path: real })),
      )
    }),
  )
}

function judgeShell(
  action: ExecuteAction,
  commands: readonly EffectiveCommand[],
  policy: Policy,
): Finding | undefined {
  if (policy.security.allowShell) return undefined
  const resolved = action.executable?.path
  const names = commands.flatMap((command) => command.names)
  if (resolved !== undefined) names.push(baseName(resolved))
  if (!isShell(names)) return undefined
  return refusal(
    'CAPABILITY_CMD_DENIED',
    'security.allow_shell',
    'A command shell would run, and security.allow_shell is false: name the program itself.',
  )
}

const NO_PATTERNS: readonly string[] = Object.freeze([])

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
  const { forbidden_commands: forbidden = NO_PATTERNS } = set
  const tries: CommandSet = { allowed_commands: NO_PATTERNS, denied_commands: forbidden }
  if (
    forbidden.length > 0 &&
    permitsEffective(tries, action.argv, action.executable?.path, commands) === 'denied'
  )
    return {
      ...violation(
        'CAPABILITY_CMD_DENIED',
        `${name}.forbidden_commands`,
        `The command, or one that it would start, is forbidden by capability ${name}, so the agent is contained.`,
      ),
      incident: 'critical',
    }
  const blocked =
    security.blockedCommands.length === 0
      ? undefined
      : security.blockedCommands.find((text) => commands.some((command) => blocksCommand(text, command)))
  if (blocked !== undefined)
    return refusal(
      'CAPABILITY_CMD_DENIED',
      'security.blocked_commands',
      `The command is blocked by "${blocked}" of security.blocked_commands: nobody may run that here.`,
    )
  const outer: CommandSet = { allowed_commands: security.allowedCommands, denied_commands: NO_PATTERNS }
  const resolved = action.executable?.path
  const own = permitsEffective(set, action.argv, resolved, commands)
  const general = permitsEffective(outer, action.argv, resolved, commands)
  const worst = WORSE[general] > WORSE[own] ? general : own
  if (worst === 'allowed') return undefined
  if (worst === 'denied')
    return refusal(
      'CAPABILITY_CMD_DENIED',
      `${name}.denied_commands`,
      `The command, or one that it would start, is denied by capability ${name}.`,
    )
  const rule = own === 'unlisted' ? `${name}.allowed_commands` : 'security.allowed_commands'
  const reason = `The command, or one that it would start, is not allowed by ${own === 'unlisted' ? `capability ${name}` : rule}.`
  return security.confirmsUnlisted
    ? askHuman(facts, ledger, 'CAPABILITY_CMD_DENIED', rule, reason)
    : refusal('CAPABILITY_CMD_DENIED', rule, reason)
}

/** A place that an operator has denied is one that nobody is to go near; one that is not listed is merely outside. */
function refusedPath(permission: Exclude<Permission, 'allowed'>, name: string, what: string): Finding {
  return permission === 'denied'
    ? violation('CAPABILITY_PATH_DENIED', `${name}.denied_paths`, `${what} is denied by capability ${name}.`)
    : refusal(
        'CAPABILITY_PATH_DENIED',
        `${name}.allowed_paths`,
        `${what} is not allowed by capability ${name}.`,
      )
}

function judgePlaces(
  facts: Facts,
  name: string,
  set: CapabilitySet,
  action: ExecuteAction,
  commands: readonly EffectiveCommand[],
): Finding | undefined {
  const cwd = permitsPath(set, action.cwd)
  if (cwd !== 'allowed') return refusedPath(cwd, name, 'The working directory')
  if (!namesDenied(set, commands, facts.realPaths)) return undefined
  return violation(
    'CAPABILITY_PATH_DENIED',
    `${name}.denied_paths`,
    `The command names a path that is denied by capability ${name}.`,
  )
}

/** What runs only as a call of a signed plan. What nobody has read may also run where a human says so. */
function judgePlan(
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
  name: string,
  { require_plan: need = 'never' }: CapabilitySet,
): Finding | undefined {
  const { action } = facts
  if (need === 'never' || (action?.kind === 'execute' && action.plan !== undefined)) return undefined
  const rule = `${name}.require_plan`
  if (need === 'always')
    return refusal(
      'CAPABILITY_CMD_DENIED',
      rule,
      `Capability ${name} runs nothing but the calls of signed plans: have it put into one, and run that.`,
    )
  if (opaqueClassOf(action, facts, policy) === undefined) return undefined
  return askHuman(
    facts,
    ledger,
    'CAPABILITY_CMD_DENIED',
    rule,
    `Nobody has read what the command does, and capability ${name} runs such only as a call of a signed plan.`,
  )
}

function judgeSet(
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
  name: string,
  action: ExecuteAction,
): Finding | Note | undefined {
  const set = setNamed(policy, name)
  // A set that is not there allows nothing.
  if (set === undefined)
    return violation('CAPABILITY_DENIED', 'capability.missing', `There is no capability set ${name}.`)
  const { commands } = policy.effective(action)
  const ofCommands = judgeCommands(facts, ledger, policy, name, set, action, commands)
  const ofShell = judgeShell(action, commands, policy)
  const ofRights = stricterOf(
    stricterOf(ofCommands, ofShell),
    judgePlaces(facts, name, set, action, commands),
  )
  return stricterOf(ofRights, judgePlan(facts, policy, ledger, name, set))
}

/** By where it says that it is and by where it really is: each must be allowed, and neither denied. */
function judgeTransfer(
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
  name: string,
  action: FileAction,
): Finding | undefined {
  const set = setNamed(policy, name)
  if (set === undefined)
    return violation('CAPABILITY_DENIED', 'capability.missing', `There is no capability set ${name}.`)
  for (const path of [action.path, action.real]) {
    const permission = permitsPath(set, path)
    if (permission === 'allowed') continue
    return refusedPath(permission, name, 'The path of the transfer')
  }
  const most = set.max_file_size_bytes
  if (action.size === null || action.size <= most) return judgePlan(facts, policy, ledger, name, set)
  return {
    outcome: 'status',
    code: 'FILE_TOO_LARGE',
    rule: `${name}.max_file_size_bytes`,
    reason: `The file has ${action.size} bytes, and ${most} may be transferred.`,
    severity: 'warning',
  }
}

/** What is named to somebody else must be what the sender may use: nobody finds out by it what else is there. */
function judgeArtifacts(policy: Policy, name: string, { artifacts }: HandoffAction): Finding | undefined {
  if (artifacts.length === 0) return undefined
  const set = setNamed(policy, name)
  if (set === undefined)
    return violation('CAPABILITY_DENIED', 'capability.missing', `There is no capability set ${name}.`)
  for (const path of artifacts.flatMap((one) => [one.path, one.real])) {
    const permission = permitsPath(set, path)
    if (permission !== 'allowed') return refusedPath(permission, name, 'An artifact of the handoff')
  }
  return undefined
}

/** The caller's own set, and the sets of all for whom it acts. */
function setsOf(who: Known): readonly string[] {
  return [who.capability, ...(who.delegation?.chain.map(({ capability: name }) => name) ?? [])]
}

export const capability: Check = (facts, policy, ledger) => {
  const { identity: who, action } = facts
  if (who.kind !== 'known') return undefined
  // Nobody is asked about what is denied anyway.
  let found: Finding | Note | undefined
  for (const name of setsOf(who)) {
    if (action?.kind === 'handoff') found = stricterOf(found, judgeArtifacts(policy, name, action))
    else if (isFileAction(action))
      found = stricterOf(found, judgeTransfer(facts, policy, ledger, name, action))
    else if (action?.kind === 'execute')
      found = stricterOf(found, judgeSet(facts, policy, ledger, name, action))
  }
  const handed = who.delegation?.handed
  if (handed === undefined) return found
  return stricterOf(found, judgeHanded(facts, policy, handed, setsOf(who)))
}
