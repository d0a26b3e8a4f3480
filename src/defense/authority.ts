/**
 * What a permitted action rests on: the clause of the policy that allows it, cited so that it can be found there. What
 * rests on nothing is not done.
 *
 *     default.allowed_commands[2]   of a capability set, counted from 0
 *     approved security.allowed_commands   a human has said yes where that rule had asked
 *     role.operator, session, acl.allow    what a caller may by what it is
 * Rules: docs/responses.md, sections on the layers and on what is recorded.
 * @module
 */
import { matchesCommand, matchesPath } from './capability.ts'
import type { Action, Facts } from './facts.ts'
import { impossible, type Policy } from './layer.ts'

function clause(name: string, list: string, index: number): string | undefined {
  return index === -1 ? undefined : `${name}.${list}[${index}]`
}

/** By the capability set of the caller, or by whom a human has let it. */
function ofSet({ identity, request }: Facts, policy: Policy, action: Action): string | undefined {
  if (identity.kind !== 'known') return undefined
  const { capability: name } = identity
  const set = Object.hasOwn(policy.capabilities, name) ? policy.capabilities[name] : undefined
  if (set === undefined) return undefined
  if (action.kind === 'upload' || action.kind === 'download')
    return clause(
      name,
      'allowed_paths',
      set.allowed_paths.findIndex((pattern) => matchesPath(pattern, action.path)),
    )
  if (action.kind !== 'execute') return undefined
  const resolved = action.executable?.path
  const index = set.allowed_commands.findIndex((pattern) => matchesCommand(pattern, action.argv, resolved))
  const approved = request?.approvals.find(({ outcome }) => outcome === 'approved')
  return (
    clause(name, 'allowed_commands', index) ??
    (approved === undefined ? undefined : `approved ${approved.rule}`)
  )
}

/** Undefined: nothing allows it. */
export function authorityOf(facts: Facts, policy: Policy): string | undefined {
  const { action, source } = facts
  switch (action?.kind) {
    case undefined:
      return undefined
    case 'connect':
      return source.transport === 'admin' ? 'listen.admin_socket' : 'acl.allow'
    case 'authenticate':
      return 'agents'
    case 'enroll':
      return 'invitation'
    case 'delegate':
      return 'tools.Task'
    case 'deceive':
      return 'defense.localhost'
    case 'execute':
    case 'upload':
    case 'download':
      return ofSet(facts, policy, action)
    case 'attach':
    case 'signal':
    case 'cancel':
    case 'read':
    case 'renew':
    case 'rotate_key':
    case 'handoff':
    case 'take_handoff':
    case 'submit_envelope':
    case 'take_envelope':
    case 'run_plan':
    case 'propose':
      return facts.request?.audience === 'operator' ? 'role.operator' : 'session'
    case 'invite':
    case 'confirm':
    case 'set_level':
    case 'clear_penalties':
    case 'reload':
    case 'drain':
    case 'terminate':
    case 'purge':
    case 'merge':
    case 'undo_merge':
    case 'drop_branch':
    case 'checkpoint':
    case 'settle_envelope':
      return 'role.operator'
    default:
      return impossible(action)
  }
}
