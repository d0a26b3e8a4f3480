/**
 * The checks of work that was handed on: of the token that a worker names, of how far work has come, and of the part
 * that was handed on with the token. Rights are narrowed by intersection: whoever is above, the worker and the part must
 * each allow it.
 * Rules: docs/responses.md, layers 8 and 9; docs/protocol.md, section 4 (delegation).
 * @module
 */
import {
  type CapabilitySet,
  NO_CAPABILITY,
  type Permission,
  permitsEffective,
  permitsPath,
} from '../capability.ts'
import type { Facts, HandedOn, TokenState } from '../facts.ts'
import { isFileAction } from '../file-action.ts'
import { type Finding, type Policy, refusal, violation } from '../layer.ts'

const TOKENS: Readonly<Record<Exclude<TokenState, 'open'>, string>> = Object.freeze({
  unknown: 'it is none of this device, or was ended with the session of whoever handed it on',
  used: 'it was used already, and is good for one session',
  expired: 'its time is over',
  not_its: 'it was made for another agent, or for another key of this one',
  orchestrator_gone: 'the session of whoever handed it on has ended',
  twice: 'the agent acts for somebody else already, or the session that it resumes has another one',
})

/** A worker whose token is not open gets no session: without it the session would have all that the worker has. */
export function judgeToken(state: TokenState): Finding | undefined {
  if (state === 'open') return undefined
  const reason = `The token of a delegation was not taken: ${TOKENS[state]}; ask for another one.`
  const isHostile = state === 'used' || state === 'not_its'
  return {
    outcome: 'status',
    code: 'CAPABILITY_DENIED',
    rule: `delegation.token_${state}`,
    reason,
    severity: isHostile ? 'critical' : 'warning',
    // Whoever shows a token that was made for another one has taken it from somewhere.
    ...(state === 'not_its' ? { incident: 'violation' } : {}),
  }
}

/** Work is handed on once: whoever has it may not hand it on, and has tried what nobody tries by accident. */
export function handsOnFurther(name: string): Finding {
  return violation(
    'CAPABILITY_DENIED',
    'delegation.depth',
    `${name} acts for another one and tried to hand the work on; work may be handed on once.`,
  )
}

function setNamed(policy: Policy, name: string): CapabilitySet | undefined {
  return Object.hasOwn(policy.capabilities, name) ? policy.capabilities[name] : undefined
}

const notHandedOn = (what: string, rule: string): Finding =>
  refusal('CAPABILITY_DENIED', rule, `${what} was not handed on to this session; ask whoever handed it on.`)

/** One name for the users that a set may have: none is the daemon's. */
const userOf = (set: CapabilitySet | undefined): string | null => set?.run_as ?? null

/**
 * The part that was handed on, of a command or a transfer.
 * @param sets the names of the worker's set and of those above it
 */
export function judgeHanded(
  { action }: Facts,
  policy: Policy,
  { allowed_commands, allowed_paths }: HandedOn,
  sets: readonly string[],
): Finding | undefined {
  const [own, ...above] = sets.map((name) => userOf(setNamed(policy, name)))
  if (above.some((user) => user !== own))
    return refusal(
      'CAPABILITY_DENIED',
      'delegation.user',
      'The worker’s commands run as another user than those of whoever handed the work on, so nothing is what both may do; give both sets the same run_as.',
    )
  const isWithin = (path: string) => permitsPath({ ...NO_CAPABILITY, allowed_paths }, path) === 'allowed'
  if (isFileAction(action))
    return isWithin(action.path) && isWithin(action.real)
      ? undefined
      : notHandedOn('The path of the transfer', 'delegation.allowed_paths')
  if (action?.kind !== 'execute') return undefined
  const permission: Permission = permitsEffective(
    { allowed_commands, denied_commands: [] },
    action.argv,
    action.executable?.path,
    policy.effective(action).commands,
  )
  if (permission !== 'allowed')
    return notHandedOn('The command, or one that it would start,', 'delegation.allowed_commands')
  return isWithin(action.cwd) ? undefined : notHandedOn('The working directory', 'delegation.allowed_paths')
}
