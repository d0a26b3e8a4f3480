/**
 * The layers of the decision, in their order, as one table. Each looks at the facts and passes (undefined) or says
 * what happens instead; the first that does not pass decides. A layer without a check has nothing to ask: the
 * daemon holds no levels, tiers, delegations, specifics or rules that it could be asked about.
 * Rules: docs/responses.md, section 1. The conditions of each cell are tested one by one.
 * @module
 */
import { baseName } from '../base/lexical-path.ts'
import type { Code } from '../errors.ts'
import { ALPN_PROTOCOL, LOGIN_GRACE_MS, TLS_CIPHERS, UNAUTHENTICATED_CONNECTIONS } from '../limits.ts'
import { type CapabilitySet, permitsCommand, permitsPath } from './capability.ts'
import type { Facts, Ledger } from './facts.ts'
import type { LayerName, Response, Severity } from './verdict.ts'
import type { Sha256 } from './warrant.ts'

export type Policy = {
  readonly capabilities: Readonly<Record<string, CapabilitySet>>
  /** Whether a command shell may be the program of a command. */
  readonly allowShell: boolean
  /** SHA-256; absent: the portable one. */
  readonly hash?: Sha256
}

export type Finding = {
  readonly outcome: Exclude<Response, 'EXECUTE'> | 'mistake' | 'mistake_and_end'
  readonly code: Code
  readonly rule: string
  readonly reason: string
  readonly severity: Severity
}

type Check = (facts: Facts, policy: Policy, ledger: Ledger) => Finding | undefined
export type Layer = { readonly name: LayerName; readonly check: Check | undefined }

const SUITES: readonly string[] = TLS_CIPHERS.split(':')

/** R5, or R6 where no tarpit is free. */
function tarpit(ledger: Ledger, finding: Omit<Finding, 'outcome'>): Finding {
  return { ...finding, outcome: ledger.tarpitsFree > 0 ? 'TARPIT' : 'DROP' }
}

const acl: Check = ({ source }) => {
  if (source.isAllowed) return undefined
  return {
    outcome: 'DROP',
    code: 'ACL_DENIED',
    rule: 'acl.allow',
    reason: `The address ${source.address} is not in acl.allow.`,
    severity: 'warning',
  }
}

function transportProblem({ source, transport }: Facts): string | undefined {
  if (transport === undefined) return undefined
  if (transport.frameProblem !== undefined) return `The peer sent ${transport.frameProblem}.`
  if (source.transport === 'admin') return undefined
  if (transport.version !== 'TLSv1.3') return `The peer spoke ${transport.version}, only TLS 1.3 is taken.`
  if (!SUITES.includes(transport.suite))
    return `The suite ${transport.suite} is not one of ${SUITES.join(' and ')}.`
  if (transport.alpn !== ALPN_PROTOCOL) return `The application protocol was not ${ALPN_PROTOCOL}.`
  return transport.hasExporter ? undefined : 'The TLS connection exports no keying material to bind to.'
}

const transport: Check = (facts) => {
  const reason = transportProblem(facts)
  if (reason === undefined) return undefined
  const isFrame = facts.transport?.frameProblem !== undefined
  return {
    outcome: 'DROP',
    code: isFrame ? 'FRAME_MALFORMED' : 'TLS_HANDSHAKE_FAILED',
    rule: isFrame ? 'frame' : 'tls',
    reason,
    severity: 'warning',
  }
}

const identity: Check = ({ identity: who, request, session, action }, _policy, ledger) => {
  if (who.kind === 'known') return undefined
  if (who.kind === 'failed') {
    return tarpit(ledger, { code: who.code, rule: 'authenticate', reason: who.why, severity: 'critical' })
  }
  if (who.dismissed !== 'no') {
    const isLate = who.dismissed === 'grace'
    return {
      outcome: 'DROP',
      code: 'AUTH_REQUIRED',
      rule: isLate ? 'login_grace' : 'crowd',
      reason: isLate
        ? `The peer did not authenticate within ${LOGIN_GRACE_MS / 1_000} seconds.`
        : `The peer had not authenticated and made room for a newer one: ${UNAUTHENTICATED_CONNECTIONS} were waiting.`,
      severity: 'warning',
    }
  }
  if (request === undefined && session === undefined && action?.kind === 'connect') return undefined
  return tarpit(ledger, {
    code: 'AUTH_REQUIRED',
    rule: 'before_authenticate',
    reason: `The peer asked for ${request?.method ?? 'something'} before it had authenticated.`,
    severity: 'warning',
  })
}

const session: Check = ({ session: held, request }, _policy, ledger) => {
  if (request === undefined || held === undefined || held.state === 'live') return undefined
  if (held.state === 'expired') {
    // What renews an expired session must pass; nothing else does.
    return {
      outcome: 'CHALLENGE',
      code: 'SESSION_EXPIRED',
      rule: 'session.expired',
      reason: 'The session has expired.',
      severity: 'info',
    }
  }
  return tarpit(ledger, {
    code: 'SESSION_NOT_FOUND',
    rule: 'session.unknown',
    reason: 'The request names a session that is not the caller’s own.',
    severity: 'critical',
  })
}

const completeness: Check = ({ request }) => {
  if (request === undefined) return undefined
  if (request.overExpanded) {
    return {
      outcome: 'mistake_and_end',
      code: 'DECOMPRESSION_LIMIT_EXCEEDED',
      rule: 'raw_payload',
      reason:
        'The payload expands to more than PAYLOAD_PLAIN_BYTES; nothing was run and the connection ends.',
      severity: 'warning',
    }
  }
  if (request.problems === '') return undefined
  return {
    outcome: 'mistake',
    code: 'FRAME_MALFORMED',
    rule: 'message',
    reason: `The request was not run: ${request.problems}.`,
    severity: 'info',
  }
}

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

const capability: Check = ({ identity: who, request, action }, policy) => {
  if (who.kind !== 'known') return undefined
  if (request?.audience === 'operator' && who.role !== 'operator') {
    return violation('CAPABILITY_DENIED', 'method.operator', `${request.method} is an operator's method.`)
  }
  if (action === undefined || action.kind !== 'execute') return undefined
  // A set that is not there allows nothing.
  const set = Object.hasOwn(policy.capabilities, who.capability)
    ? policy.capabilities[who.capability]
    : undefined
  if (set === undefined)
    return violation(
      'CAPABILITY_DENIED',
      'capability.missing',
      `There is no capability set ${who.capability}.`,
    )
  const program = action.argv[0] ?? ''
  const resolved = action.executable?.path
  const command = permitsCommand(set, action.argv, resolved)
  if (command !== 'allowed') {
    const rule = command === 'denied' ? 'denied_commands' : 'allowed_commands'
    return violation(
      'CAPABILITY_CMD_DENIED',
      `${who.capability}.${rule}`,
      `The command ${command === 'denied' ? 'is denied' : 'is not allowed'} by capability ${who.capability}.`,
    )
  }
  if (!policy.allowShell && (SHELLS.has(baseName(program)) || SHELLS.has(baseName(resolved ?? '')))) {
    return violation(
      'CAPABILITY_CMD_DENIED',
      'security.allow_shell',
      'The program is a command shell and security.allow_shell is false.',
    )
  }
  const path = permitsPath(set, action.cwd)
  if (path === 'allowed') return undefined
  const rule = path === 'denied' ? 'denied_paths' : 'allowed_paths'
  return violation(
    'CAPABILITY_PATH_DENIED',
    `${who.capability}.${rule}`,
    `The working directory ${path === 'denied' ? 'is denied' : 'is not allowed'} by capability ${who.capability}.`,
  )
}

function violation(code: Code, rule: string, reason: string): Finding {
  return { outcome: 'VI_SWAP', code, rule, reason, severity: 'critical' }
}

const quota: Check = ({ identity: who, action }, policy, ledger) => {
  if (action?.kind === 'authenticate' && action.isNew && !ledger.sessionsFree) {
    return {
      outcome: 'THROTTLE',
      code: 'SESSION_LIMIT',
      rule: 'session.max_sessions',
      reason:
        'The device already holds as many sessions as session.max_sessions allows; try again when one has ended.',
      severity: 'warning',
    }
  }
  if (action?.kind !== 'execute' || who.kind !== 'known') return undefined
  const most = Object.hasOwn(policy.capabilities, who.capability)
    ? (policy.capabilities[who.capability]?.max_concurrent ?? 0)
    : 0
  const isCallerFull = ledger.executionsOfCaller >= most
  if (!isCallerFull && ledger.executionsFree > 0) return undefined
  return {
    outcome: 'THROTTLE',
    code: 'RESPONSE_THROTTLED',
    rule: isCallerFull ? `${who.capability}.max_concurrent` : 'execution.max_concurrent',
    reason: isCallerFull
      ? `The caller already runs ${most} commands (max_concurrent of capability ${who.capability}); wait for one or end one.`
      : 'The device already runs as many commands as execution.max_concurrent allows; try again when one has ended.',
    severity: 'info',
  }
}

/** Complete and in order: the array is the table of docs/responses.md, section 1. */
export const LAYERS: readonly Layer[] = Object.freeze([
  { name: 'acl', check: acl },
  { name: 'transport', check: transport },
  { name: 'identity', check: identity },
  { name: 'session', check: session },
  { name: 'level', check: undefined },
  { name: 'completeness', check: completeness },
  { name: 'tool_access', check: undefined },
  { name: 'delegation', check: undefined },
  { name: 'capability', check: capability },
  { name: 'specifics', check: undefined },
  { name: '13policy', check: undefined },
  { name: 'quota', check: quota },
])
