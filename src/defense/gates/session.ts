/**
 * The layers of the caller's standing: is the session live, has the challenge been met, which level of alarm holds,
 * and is the message complete.
 * Rules: docs/responses.md, layers 4 to 6; docs/protocol.md, section 5.
 * @module
 */
import { isActionKind } from '../action-kinds.ts'
import type { Facts, Ledger } from '../facts.ts'
import { askHuman, type Check, type Finding, impossible, type Policy, tarpit, violation } from '../layer.ts'
import { intersectTools, toolOfMethod, toolsAsked } from '../tools.ts'

/** R2, or R3 where the caller has been challenged too often lately. */
export function challenge(ledger: Ledger, finding: Pick<Finding, 'code' | 'rule' | 'reason'>): Finding {
  if (ledger.challengesFree) return { ...finding, outcome: 'CHALLENGE', severity: 'info' }
  return {
    outcome: 'THROTTLE',
    code: 'CHALLENGE_RATE_LIMIT',
    rule: finding.rule,
    reason: `${finding.reason} The caller has been challenged as often as may be in a minute; try again later.`,
    severity: 'warning',
  }
}

function challengeOutcome(facts: Facts, ledger: Ledger): Finding | undefined {
  switch (facts.request?.challenge) {
    case 'failed':
      return tarpit(ledger, {
        code: 'CHALLENGE_FAILED',
        rule: 'challenge.wrong',
        reason: 'The answer to the challenge was wrong.',
        severity: 'critical',
        incident: 'critical',
      })
    case 'late':
      return tarpit(ledger, {
        code: 'CHALLENGE_TIMEOUT',
        rule: 'challenge.late',
        reason: 'The challenge was not answered in time.',
        severity: 'critical',
        incident: 'violation',
      })
    case 'unknown':
      return tarpit(ledger, {
        code: 'CHALLENGE_REPLAY',
        rule: 'challenge.replay',
        reason: 'The peer answered a challenge that is not waiting for an answer.',
        severity: 'critical',
        incident: 'violation',
      })
    default:
      return undefined
  }
}

export const session: Check = (facts, _policy, ledger) => {
  const { session: held, request, action, source, identity } = facts
  const failed = challengeOutcome(facts, ledger)
  if (failed !== undefined) return failed
  if (request === undefined) return undefined
  if (held?.state === 'unknown') {
    return tarpit(ledger, {
      code: 'SESSION_NOT_FOUND',
      rule: 'session.unknown',
      reason: 'The request names a session that is not the caller’s own.',
      severity: 'critical',
    })
  }
  if (request.challenge === 'passed') return undefined
  if (action?.kind === 'authenticate' && source.transport === 'tls') {
    if (!source.isSuspect || identity.kind !== 'known' || identity.role !== 'agent') return undefined
    return challenge(ledger, {
      code: 'RESPONSE_CHALLENGE_REQUIRED',
      rule: 'authenticate.suspect',
      reason: `The address ${source.address} has failed here lately, so the caller must prove itself once more.`,
    })
  }
  if (held === undefined || held.state === 'live') return undefined
  // The kernel vouches for each connection of the admin socket: there is nothing that could be proven better.
  if (source.transport === 'admin') return undefined
  return challenge(ledger, {
    code: held.state === 'expired' ? 'SESSION_EXPIRED' : 'RESPONSE_CHALLENGE_REQUIRED',
    rule: held.state === 'expired' ? 'session.expired' : 'session.unproven',
    reason:
      held.state === 'expired'
        ? 'The session has expired and must be renewed.'
        : 'The challenge that came with the session is not answered yet.',
  })
}

/** Not done under RESTRICT: who may come in, and with which key, is changed; another agent is told what to do. */
const CHANGING: ReadonlySet<string | undefined> = new Set([
  'enroll',
  'rotate_key',
  'handoff',
  'submit_envelope',
])

/** Goes on telling a running command what to do. */
function feeds(action: Facts['action']): boolean {
  return action?.kind === 'attach' && action.stdin
}

/** Under RESTRICT: what only looks, or ends what the caller itself began. */
function isReadOnly(facts: Facts, policy: Policy): boolean {
  if (feeds(facts.action) || CHANGING.has(facts.action?.kind)) return false
  const readers = intersectTools('T1', [])
  return [...toolsAsked(facts, policy.effective)].every((tool) => readers.has(tool))
}

/** What changes or moves something, and so waits for a human at a checkpoint. */
function isWork({ action, request }: Facts): boolean {
  return (
    action?.kind === 'execute' ||
    action?.kind === 'handoff' ||
    action?.kind === 'submit_envelope' ||
    feeds(action) ||
    toolOfMethod(request?.method ?? '') !== undefined
  )
}

/** A stranger of this host that would have been played along with: nobody is asked about it, and it gets no screen. */
function strangerAtLevel(ledger: Ledger, rule: string): Finding {
  return tarpit(ledger, {
    code: 'LOCALHOST_UNAUTHORIZED',
    rule,
    reason:
      'A process of this host asked for something before it had authenticated, while the daemon is on alarm.',
    severity: 'critical',
  })
}

export const level: Check = (facts, policy, ledger) => {
  const { identity, request, action } = facts
  // An operator must be able to look and to lower the level; nothing of the kind is a method of an agent.
  const isOperators = identity.kind === 'known' && identity.role === 'operator' && action?.kind !== 'execute'
  switch (ledger.level) {
    case 'NORMAL':
      return undefined
    case 'HALT':
      if (facts.source.transport === 'admin' && (isOperators || identity.kind === 'none')) return undefined
      return {
        outcome: 'DROP',
        code: 'ROGUE_AGENT_DETECTED',
        rule: 'level.halt',
        reason:
          'The daemon has halted after an incident and answers nobody until an operator has acknowledged it.',
        severity: 'critical',
      }
    case 'CONTAIN':
      if (identity.kind !== 'known' && request !== undefined) return strangerAtLevel(ledger, 'level.contain')
      if (request === undefined || isOperators || action?.kind === 'authenticate') return undefined
      // What is contained already is no new incident.
      return {
        outcome: 'VI_SWAP',
        code: 'ROGUE_AGENT_DETECTED',
        rule: 'level.contain',
        reason: 'The agent is contained after an incident; an operator can lower the level.',
        severity: 'warning',
      }
    case 'CHECKPOINT':
      if (identity.kind !== 'known' && request !== undefined)
        return strangerAtLevel(ledger, 'level.checkpoint')
      if (request === undefined || isOperators || !isWork(facts)) return undefined
      return askHuman(
        facts,
        ledger,
        'RESPONSE_THROTTLED',
        'level.checkpoint',
        'The session waits at a checkpoint after an incident.',
      )
    case 'RESTRICT':
      if (request === undefined || isOperators || isReadOnly(facts, policy)) return undefined
      return violation(
        'CAPABILITY_DENIED',
        'level.restrict',
        'The session may only read since an incident, and this would do more.',
      )
    default:
      return impossible(ledger.level)
  }
}

export const completeness: Check = ({ request, action }) => {
  if (action !== undefined && !isActionKind(action.kind)) return impossible(action as never)
  if (request === undefined) return undefined
  if (request.overExpanded) {
    return {
      outcome: 'status_and_end',
      code: 'DECOMPRESSION_LIMIT_EXCEEDED',
      rule: 'raw_payload',
      reason:
        'The payload expands to more than PAYLOAD_PLAIN_BYTES; nothing was run and the connection ends.',
      severity: 'warning',
    }
  }
  if (request.problems === '') return undefined
  return {
    outcome: 'status',
    code: 'FRAME_MALFORMED',
    rule: 'message',
    reason: `The request was not run: ${request.problems}.`,
    severity: 'info',
  }
}
