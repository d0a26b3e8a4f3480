/**
 * The layer of limits: places for sessions and commands, decisions of one task, tokens of one session.
 * Rules: docs/responses.md, layer 12.
 * @module
 */
import type { Facts, Identity, Ledger } from '../facts.ts'
import { isFileAction } from '../file-action.ts'
import { judgeHandoffRoom } from '../handoffs/judge.ts'
import { askHuman, type Check, type Finding, type Policy } from '../layer.ts'

type Known = Extract<Identity, { kind: 'known' }>

function judgeSessions(
  { action, identity: who }: Facts,
  policy: Policy,
  ledger: Ledger,
): Finding | undefined {
  if (action?.kind !== 'authenticate' || !action.isNew) return undefined
  const most = policy.quota.sessionsPerCaller
  const isOperator = who.kind === 'known' && who.role === 'operator'
  // So that a number that is missing is one too many.
  const isCallers = !isOperator && !(ledger.sessionsOfCaller < most)
  if (!isCallers && ledger.sessionsFree) return undefined
  return {
    outcome: 'THROTTLE',
    code: 'SESSION_LIMIT',
    rule: isCallers ? 'session.max_per_agent' : 'session.max_sessions',
    reason: isCallers
      ? `The agent holds ${most} sessions already, which are connected or at work (session.max_per_agent); try again when one has ended, or run several commands in one session.`
      : 'The device already holds as many sessions as session.max_sessions allows; try again when one has ended.',
    severity: 'warning',
  }
}

function judgeBudgets(facts: Facts, policy: Policy, ledger: Ledger): Finding | undefined {
  const { ticksPerTask, tokensPerSession } = policy.quota
  if (ticksPerTask !== null && facts.request?.task !== undefined && !(ledger.ticks < ticksPerTask)) {
    const asked = askHuman(
      facts,
      ledger,
      'RESPONSE_THROTTLED',
      'quota.ticks_per_task',
      `The task has used its ${ticksPerTask} ticks.`,
    )
    if (asked !== undefined) return asked
  }
  if (tokensPerSession === null || ledger.tokens < tokensPerSession) return undefined
  return askHuman(
    facts,
    ledger,
    'RESPONSE_THROTTLED',
    'quota.tokens_per_session',
    `The session has been given its ${tokensPerSession} tokens.`,
  )
}

function judgeTransfers(facts: Facts, policy: Policy, ledger: Ledger): Finding | undefined {
  if (facts.action?.kind !== 'upload') {
    const budget = judgeBudgets(facts, policy, ledger)
    if (budget !== undefined) return budget
  }
  if (ledger.transfersFree === true) return undefined
  return {
    outcome: 'THROTTLE',
    code: 'RESPONSE_THROTTLED',
    rule: 'transfers',
    reason: 'As many files as may be are being transferred already; ask again when one is done.',
    severity: 'info',
  }
}

/** One session stays for whoever wants to look at what was left, and to end it. */
function judgeLeaving({ action, identity: who }: Facts, policy: Policy, ledger: Ledger): Finding | undefined {
  if (action?.kind !== 'execute' || action.place?.keepsBackground !== true) return undefined
  const most = policy.quota.sessionsPerCaller - 1
  const isOperator = who.kind === 'known' && who.role === 'operator'
  const leaving = ledger.leavingOfCaller ?? 0
  if (isOperator || leaving === 0 || leaving < most) return undefined
  return {
    outcome: 'THROTTLE',
    code: 'RESPONSE_THROTTLED',
    rule: 'session.max_per_agent',
    reason: `Work was left running in ${leaving} other sessions of the agent, and one more has no place (session.max_per_agent); end some of it first, see sass-edge jobs and kill.`,
    severity: 'info',
  }
}

/** What need not be recorded may go on, and whoever comes in is told then. */
const UNRECORDED: ReadonlySet<string> = new Set(['read', 'connect', 'authenticate'])

function judgeRecord({ action, identity: who }: Facts, ledger: Ledger): Finding | undefined {
  if (ledger.recordFree !== false || who.kind !== 'known' || who.role === 'operator') return undefined
  if (action === undefined || UNRECORDED.has(action.kind)) return undefined
  return {
    outcome: 'THROTTLE',
    code: 'RESPONSE_THROTTLED',
    rule: 'audit.share',
    reason:
      'The agent has filled its share of the record (a quarter of audit.keep_bytes a day), and what is not recorded is not done; ask again later, for less and with shorter arguments.',
    severity: 'warning',
  }
}

/** Of what was handed on with a token also those of whoever is above. */
function concurrentOf({ capabilities }: Policy, { capability, delegation }: Known): number {
  const above = delegation?.handed === undefined ? [] : delegation.chain.map((one) => one.capability)
  const numbers = [capability, ...above].map((name) =>
    Object.hasOwn(capabilities, name) ? (capabilities[name]?.max_concurrent ?? 0) : 0,
  )
  return Math.min(...numbers)
}

export const quota: Check = (facts, policy, ledger) => {
  const sessions = judgeSessions(facts, policy, ledger)
  if (sessions !== undefined) return sessions
  const record = judgeRecord(facts, ledger)
  if (record !== undefined) return record
  const { action, identity: who } = facts
  if (action?.kind === 'handoff') return judgeHandoffRoom(ledger)
  const isFetched = action?.kind === 'take_handoff' && action.artifact !== undefined
  if (who.kind === 'known' && (isFileAction(action) || isFetched))
    return judgeTransfers(facts, policy, ledger)
  if (action?.kind !== 'execute' || who.kind !== 'known') return undefined
  const budget = judgeBudgets(facts, policy, ledger)
  if (budget !== undefined) return budget
  const leaving = judgeLeaving(facts, policy, ledger)
  if (leaving !== undefined) return leaving
  const most = concurrentOf(policy, who)
  const isCallerFull = !(ledger.executionsOfCaller < most)
  if (!isCallerFull && ledger.executionsFree > 0) return undefined
  return {
    outcome: 'THROTTLE',
    code: 'RESPONSE_THROTTLED',
    rule: isCallerFull ? `${who.capability}.max_concurrent` : 'execution.max_concurrent',
    reason: isCallerFull
      ? `The caller already runs ${most} commands (max_concurrent of capability ${who.capability}); ask again when one has ended.`
      : 'The device already runs as many commands as execution.max_concurrent allows; ask again when one has ended.',
    severity: 'info',
    ...(ledger.queueFree ? { awaits: 'slot' as const } : {}),
  }
}
