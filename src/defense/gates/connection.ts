/**
 * The layers before there is a caller: the address and its past, the transport, the proof of identity.
 * Rules: docs/responses.md, layers 1 to 3, and the section on strangers of this host.
 * @module
 */
import { ALPN_PROTOCOL, LOGIN_GRACE_MS, TLS_CIPHERS, UNAUTHENTICATED_CONNECTIONS } from '../../limits.ts'
import { isDeceivable } from '../deception/read-commands.ts'
import { dropsEarly } from '../early-drop.ts'
import type { Facts } from '../facts.ts'
import { type Check, tarpit } from '../layer.ts'

const SUITES: readonly string[] = TLS_CIPHERS.split(':')

export const acl: Check = ({ source, action }, policy) => {
  if (!source.isAllowed) {
    return {
      outcome: 'DROP',
      code: 'ACL_DENIED',
      rule: 'acl.allow',
      reason: `The address ${source.address} is not in acl.allow.`,
      severity: 'warning',
    }
  }
  // A penalty keeps new connections out; one that is in has proven who it is, or is judged by what it does.
  if (source.isPenalised && action?.kind === 'connect') {
    return {
      outcome: 'DROP',
      code: 'ACL_DENIED',
      rule: 'acl.penalties',
      reason: `The address ${source.address} is under a penalty for what it did before.`,
      severity: 'warning',
    }
  }
  if (source.crowd !== undefined && dropsEarly(source.crowd.waiting, source.crowd.draw, policy.earlyDrop)) {
    return {
      outcome: 'DROP',
      code: 'ACL_DENIED',
      rule: 'acl.early_drop',
      reason: `${source.crowd.waiting} connections wait to authenticate, so this one was dropped by lot.`,
      severity: 'info',
    }
  }
  return undefined
}

function transportProblem({ source, transport: agreed }: Facts): string | undefined {
  if (agreed === undefined) return undefined
  if (agreed.frameProblem !== undefined) return `The peer sent ${agreed.frameProblem}.`
  if (source.transport === 'admin') return undefined
  if (agreed.version !== 'TLSv1.3') return `The peer spoke ${agreed.version}, only TLS 1.3 is taken.`
  if (!SUITES.includes(agreed.suite))
    return `The suite ${agreed.suite} is not one of ${SUITES.join(' and ')}.`
  if (agreed.alpn !== ALPN_PROTOCOL) return `The application protocol was not ${ALPN_PROTOCOL}.`
  return agreed.hasExporter ? undefined : 'The TLS connection exports no keying material to bind to.'
}

export const transport: Check = (facts) => {
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

/** A stranger of this host asked for a command: a few harmless reads are answered with what is not true. */
const localStranger: Check = ({ action }, policy, ledger) => {
  if (policy.deceives && ledger.deceptionsFree && action?.kind === 'deceive' && isDeceivable(action.argv)) {
    return {
      outcome: 'note',
      code: 'SPOOFED_RESPONSE',
      rule: 'localhost.deception',
      reason: 'A process of this host asked to read without authenticating and is given what is not true.',
    }
  }
  return tarpit(ledger, {
    code: 'LOCALHOST_UNAUTHORIZED',
    rule: 'localhost.unauthorized',
    reason: 'A process of this host asked for something before it had authenticated.',
    severity: 'critical',
  })
}

export const identity: Check = (facts, policy, ledger) => {
  const { identity: who, request, session, action, source } = facts
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
  if (action?.kind === 'deceive' && source.transport === 'tls' && source.isLoopback)
    return localStranger(facts, policy, ledger)
  return tarpit(ledger, {
    code: 'AUTH_REQUIRED',
    rule: 'before_authenticate',
    reason: `The peer asked for ${request?.method ?? 'something'} before it had authenticated.`,
    severity: 'warning',
  })
}
