/**
 * What a layer is: a pure check of facts, policy and ledger that passes (undefined), notes something and passes, or
 * says what happens instead. And the policy that all of them read.
 * Rules: docs/responses.md, section 1.
 * @module
 */
import type { ToxicProperty } from '../base/toxic-property.ts'
import type { Code } from '../errors.ts'
import type { Effective } from './13policy/effective.ts'
import type { Matcher } from './13policy/rules/matcher.ts'
import type { CapabilitySet } from './capability.ts'
import type { ExecuteAction, Facts, Ledger } from './facts.ts'
import type { Tool } from './tools.ts'
import type { Awaited, Incident, LayerName, Response, Severity } from './verdict.ts'
import type { TextDigest } from './warrant.ts'

/** What a rule about single things leads to. `ask`: a human decides. */
export type Measure = 'deny' | 'ask' | 'audit' | 'allow'

export type Policy = {
  readonly capabilities: Readonly<Record<string, CapabilitySet>>
  /** What holds for every agent, before its own set: `security` of the configuration. */
  readonly security: {
    /** Whether a command shell may be the program of a command. */
    readonly allowShell: boolean
    readonly allowedCommands: readonly string[]
    readonly blockedCommands: readonly string[]
    /** Whether a human is asked about a command that nothing lists. */
    readonly confirmsUnlisted: boolean
    readonly sensitiveFiles: Measure
    readonly toxicCombinations: Measure
    /** What may not come together within a session. */
    readonly toxicRegistry: readonly (readonly ToxicProperty[])[]
    /** What happens to a command that nobody has read where it could reach the device. */
    readonly opaque: Exclude<Measure, 'audit'>
    /** Whether a human is asked what a rule would ask; else it is refused. Absent: asked. */
    readonly rulesAsk?: boolean
    /** Whether breaking a founding rule contains the agent at once; absent: it is refused as it always is. */
    readonly foundingRules?: boolean
    /** Names of programs that the operator knows. */
    readonly knownPrograms: readonly string[]
    /** SHA-256, hex, of the file at that real path. */
    readonly pins: Readonly<Record<string, string>>
    readonly pinnedOnly: boolean
  }
  /** The compiled rules of 13Policy. */
  readonly rules: Matcher
  /** SHA-256, hex, of the rules that they were compiled from. */
  readonly rulesDigest: string
  /** Home of the user that commands run as. */
  readonly home: string
  /** The daemon's own files: nothing that a caller starts may name them. `except` lies inside and is not one. */
  readonly ownPaths: { readonly paths: readonly string[]; readonly except: readonly string[] }
  readonly quota: {
    /** null: not counted. */
    readonly ticksPerTask: number | null
    readonly tokensPerSession: number | null
    readonly sessionsPerCaller: number
  }
  readonly earlyDrop: { readonly start: number; readonly ratePercent: number; readonly full: number }
  readonly deceives: boolean
  /** The effective commands of an action, remembered for as long as it is the last one asked about. */
  readonly effective: (action: ExecuteAction) => Effective
  /** SHA-256 of texts; absent: the portable one. */
  readonly digestOf?: TextDigest
}

export type Finding = {
  readonly outcome: Exclude<Response, 'EXECUTE'> | 'status' | 'status_and_end'
  readonly code: Code
  readonly rule: string
  readonly reason: string
  readonly severity: Severity
  readonly incident?: Incident
  readonly awaits?: Awaited
  /** The tools that were asked for, where that is what decided. */
  readonly needed?: readonly Tool[]
  /**
   * Says nothing about who asks, so the layers behind it are heard first: nobody is asked about what one of them
   * refuses, and what one of them finds hostile is answered as that.
   */
  readonly yields?: true
}

/** The layer passes, and the record says more than usual. */
export type Note = {
  readonly outcome: 'note'
  readonly code?: Code
  readonly rule: string
  readonly reason: string
}

export type Check = (facts: Facts, policy: Policy, ledger: Ledger) => Finding | Note | undefined
export type Layer = { readonly name: LayerName; readonly check: Check }

/** R5, or R6 where no tarpit is free. */
export function tarpit(ledger: Ledger, finding: Omit<Finding, 'outcome'>): Finding {
  return { ...finding, outcome: ledger.tarpitsFree > 0 ? 'TARPIT' : 'DROP' }
}

/** R4: the caller tried what nobody tries by accident. */
export function violation(code: Code, rule: string, reason: string): Finding {
  return { outcome: 'VI_SWAP', code, rule, reason, severity: 'critical', incident: 'violation' }
}

/** What the caller may not do here, and may well have asked for in good faith: a sentence, and no incident. */
export function refusal(code: Code, rule: string, reason: string): Finding {
  return { outcome: 'status', code, rule, reason, severity: 'warning', yields: true }
}

/** R3 until a human has answered; passes once the answer was yes, and is refused once it was anything else. */
export function askHuman(
  facts: Facts,
  ledger: Ledger,
  code: Code,
  rule: string,
  reason: string,
): Finding | undefined {
  const answer = facts.request?.approvals.find((approval) => approval.rule === rule)
  switch (answer?.outcome) {
    case 'approved':
      return undefined
    case 'denied':
      return refusal('CONFIRMATION_DENIED', rule, `${reason} A human was asked and said no.`)
    case 'timed_out':
      return refusal('CONFIRMATION_TIMEOUT', rule, `${reason} A human was asked and did not answer in time.`)
    case undefined:
      return {
        outcome: 'THROTTLE',
        code,
        rule,
        reason: ledger.confirmationsFree
          ? `${reason} A human is asked.`
          : `${reason} A human would be asked, but as many questions of this session wait already as may.`,
        severity: 'warning',
        yields: true,
        ...(ledger.confirmationsFree ? { awaits: 'operator' as const } : {}),
      }
  }
}

/** What is hostile before what is refused, that before what has to wait, that before a note. */
const RANKS: Readonly<Record<(Finding | Note)['outcome'], number>> = Object.freeze({
  VI_SWAP: 0,
  TARPIT: 0,
  DROP: 0,
  status: 1,
  status_and_end: 1,
  THROTTLE: 2,
  CHALLENGE: 2,
  note: 3,
})

/** Whether a finding is stricter than another one that was there before it. */
export function isStricter({ outcome }: Finding | Note, before: Finding | Note): boolean {
  return RANKS[outcome] < RANKS[before.outcome]
}

/** The stricter of two findings; of equals the first. */
export function stricterOf(
  first: Finding | Note | undefined,
  second: Finding | Note | undefined,
): Finding | Note | undefined {
  if (first === undefined || second === undefined) return first ?? second
  return isStricter(second, first) ? second : first
}

/** A value that the types say cannot be: the data is not what it should be, and the layer denies. */
export function impossible(value: never): never {
  throw new TypeError(`There is no case for ${String(value)}.`)
}
