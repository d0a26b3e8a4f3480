/**
 * What is wrong with a handoff, rule by rule, and what a human is asked about: the sender is who it is, the chain keeps
 * its task, its criticality and its persistent blockers and ends at the third hop, its rounds between two agents are counted, and from C2 on its quality is told.
 * Everything is counted and digested by the daemon; what the message says of itself is only compared with that.
 * Rules: docs/handoffs.md; docs/responses.md, section 1 (specifics, quota).
 * @module
 */
import type { Facts, HandoffAction, HandoffBefore, Ledger } from '../facts.ts'
import { askHuman, type Finding } from '../layer.ts'
import {
  DISCLOSING_CRITICALITY,
  HANDOFF_HOPS,
  HANDOFF_ROUNDS,
  HANDOFFS_PER_MINUTE,
  HELD_PERMILLE,
  HUMAN_CRITICALITY,
  INBOX_HANDOFFS,
  KEPT_HANDOFFS,
  KEPT_PER_SENDER,
  QUALITY_PERMILLE,
} from './limits.ts'

/** How often the task has been handed on once this one is delivered. */
export function depthOf({ previous }: Pick<HandoffAction, 'previous'>): number {
  return previous === null || previous === 'unknown' ? 1 : previous.depth + 1
}

function rejected(
  rule: string,
  reason: string,
  more: Partial<Pick<Finding, 'severity' | 'incident'>> = {},
): Finding {
  return {
    outcome: 'status',
    code: 'HANDOFF_REJECTED',
    rule: `handoff.${rule}`,
    reason,
    severity: 'warning',
    ...more,
  }
}

const FORGED = Object.freeze({ severity: 'critical', incident: 'violation' } as const)
/** Whoever changes what it was given to do does something else: its work ends until a human has looked. */
const CHANGED = Object.freeze({ severity: 'critical', incident: 'critical' } as const)
const LOWERED = Object.freeze({ incident: 'violation' } as const)

function judgeDepth(action: HandoffAction): Finding | undefined {
  if (depthOf(action) <= HANDOFF_HOPS) return undefined
  const text = `The task has been handed on ${HANDOFF_HOPS} times, which is as often as it may be`
  return action.criticality >= HUMAN_CRITICALITY
    ? rejected('depth', `${text}; at C${action.criticality} a human must decide how it goes on.`, {
        severity: 'critical',
      })
    : rejected('depth', `${text}; finish it, or tell whoever gave it to you.`)
}

function judgeRounds({ criticality, rounds = 0 }: HandoffAction): Finding | undefined {
  const most = HANDOFF_ROUNDS[criticality - 1] ?? 0
  if (rounds < most) return undefined
  return rejected(
    'rounds',
    `That agent was given this task ${rounds} times, and ${most} rounds is the most at C${criticality}: ask a human how it goes on.`,
  )
}

/** What a chain must keep. */
function judgeChain(action: HandoffAction, before: HandoffBefore): Finding | undefined {
  if (action.task !== before.task)
    return rejected(
      'task',
      'The task or its success criteria are not those of the handoff that this one follows; hand it on word for word.',
      CHANGED,
    )
  if (action.criticality < before.criticality)
    return rejected(
      'criticality',
      `The criticality is C${action.criticality}, and C${before.criticality} before: it never falls along a chain.`,
      LOWERED,
    )
  if (action.classification < before.classification)
    return rejected(
      'classification',
      'The classification is lower than that of the handoff before: it never falls along a chain.',
      LOWERED,
    )
  if (before.persistent.some((blocker) => !action.persistent.includes(blocker)))
    return rejected(
      'blockers',
      'A blocker that begins with [PERSISTENT] is missing: keep every one of the handoff before, word for word.',
      LOWERED,
    )
  return judgeDepth(action)
}

function judgeDisclosure({ criticality, confidence, artifacts }: HandoffAction): Finding | undefined {
  if (criticality >= DISCLOSING_CRITICALITY && confidence === null)
    return rejected(
      'confidence',
      `At C${criticality} a handoff says how sure its sender is: add confidence, 0 to 1.`,
    )
  const missing = artifacts.findIndex(({ isThere }) => !isThere)
  return missing === -1
    ? undefined
    : rejected(
        'artifacts',
        `artifacts[${missing}] is no file or directory that the sender has: name what is there.`,
      )
}

/** @param agent the name of the caller; it may call itself by that, too */
function judgeSender({ from, claims, sealed, declared }: HandoffAction, agent: string): Finding | undefined {
  if (claims !== null && claims !== from && claims !== agent)
    return rejected(
      'from',
      'from_agent names somebody else than who sends it: leave it out, the device sets it.',
      FORGED,
    )
  return declared === null || declared === sealed
    ? undefined
    : rejected(
        'digest',
        'integrity.sha256 is not that of task, success_criteria and criticality: the message was changed on its way.',
        FORGED,
      )
}

/** Why the handoff is rejected whoever is asked about it; undefined: it is not. */
export function rejectedHandoff(action: HandoffAction, agent: string): Finding | undefined {
  const sender = judgeSender(action, agent)
  if (sender !== undefined) return sender
  if (!action.isListed)
    return rejected(
      'to',
      'to_agent names nobody that this device has: sass-edge agent list shows there who is, and one that was just added is one after sass-edge reload.',
    )
  const { previous } = action
  if (previous === 'unknown')
    return rejected('previous', 'previous names no handoff that the sender was given: list them again.')
  const chain = previous === null ? undefined : judgeChain(action, previous)
  return chain ?? judgeRounds(action) ?? judgeDisclosure(action)
}

/** The layer of specifics for handoffs. */
export function judgeHandoff(facts: Facts, action: HandoffAction, ledger: Ledger): Finding | undefined {
  const agent = facts.identity.kind === 'known' ? facts.identity.name : ''
  const found = rejectedHandoff(action, agent)
  if (found !== undefined) return found
  const { criticality, priorScore, injection } = action
  const ask = (rule: string, reason: string) => askHuman(facts, ledger, 'RESPONSE_THROTTLED', rule, reason)
  if (!(injection < HELD_PERMILLE)) {
    const asked = ask(
      'handoff.injection',
      'The handoff reads as if it gave orders to the model that receives it.',
    )
    if (asked !== undefined) return asked
  }
  return criticality >= DISCLOSING_CRITICALITY && priorScore !== null && priorScore < QUALITY_PERMILLE
    ? ask(
        'handoff.quality',
        `The work was scored ${priorScore} per mille, and ${QUALITY_PERMILLE} are asked for at C${criticality}.`,
      )
    : undefined
}

const NOTHING_COUNTED = Object.freeze({
  waiting: Number.NaN,
  tried: Number.NaN,
  ofSender: Number.NaN,
  kept: Number.NaN,
})

/** The layer of quota for handoffs. A number that is missing is one too many. */
export function judgeHandoffRoom({ handoffs = NOTHING_COUNTED }: Ledger): Finding | undefined {
  const full = (rule: string, reason: string): Finding => ({
    outcome: 'THROTTLE',
    code: 'RESPONSE_THROTTLED',
    rule: `handoff.${rule}`,
    reason,
    severity: 'warning',
  })
  if (!(handoffs.tried <= HANDOFFS_PER_MINUTE))
    return full('rate', `More than ${HANDOFFS_PER_MINUTE} handoffs were tried in a minute; try again in one.`)
  if (!(handoffs.waiting < INBOX_HANDOFFS))
    return full(
      'inbox',
      `${INBOX_HANDOFFS} handoffs wait for that agent already; try again when some are taken.`,
    )
  if (!(handoffs.ofSender < KEPT_PER_SENDER))
    return full(
      'sender',
      `${KEPT_PER_SENDER} handoffs of the sender are kept, as many as may be in a day; try again later.`,
    )
  return handoffs.kept < KEPT_HANDOFFS
    ? undefined
    : full('kept', `${KEPT_HANDOFFS} handoffs are kept, as many as the device holds; try again later.`)
}
