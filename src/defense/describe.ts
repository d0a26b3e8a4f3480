/**
 * A decision in words for an operator: what was asked, what would really run, which layer and rule decided, why, and
 * what to do. The same words whether the decision has been made or is only tried out.
 * Rules: docs/responses.md, section 3: every denial says what, why, and what to do.
 * @module
 */

import { visible } from '../base/text/visible.ts'
import { EXPLAINED_CHARS } from '../limits.ts'
import type { EffectiveCommand } from './13policy/effective.ts'
import { CLASS_TEXTS, type OpaqueClass } from './13policy/opaque/opaque-class.ts'
import type { ExecuteAction, Facts } from './facts.ts'
import type { Policy } from './layer.ts'
import { opaqueClassOf, WEAKNESS_TEXTS } from './opaque.ts'
import { type LayerName, RESPONSE_NUMBERS, RESPONSES, type Verdict } from './verdict.ts'

export type Described = {
  readonly asked: string
  /** `R4 VI_SWAP`, or `STATUS` where it is refused with a sentence. */
  readonly response: string
  readonly layer: string
  readonly rule: string
  readonly reason: string
  readonly advice: string
  readonly severity: string
  readonly agent: string
  readonly source: string
  /** Each command that would really run. */
  readonly effective: readonly string[]
  /** What of a command nobody has read, by its class; empty: its words say what it does. */
  readonly opaque: string
  /** How far from the device it runs; empty: that is not known, or nothing runs. */
  readonly confinement: string
}

const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/
const PERMITTED = `R${RESPONSE_NUMBERS.EXECUTE}`
const MOST_COMMANDS = 32
const NOTHING_ASKED = '(nothing)'
const COMMAND_CHARS = 256

/** As a shell would have to be given it, without anything that steers a terminal. */
export function quoteWord(word: string): string {
  if (PLAIN_WORD.test(word)) return word
  return `'${visible(word).replaceAll("'", `'\\''`)}'`
}

/** Words of a command, cut to a length: no longer than it can be read. */
export function commandLine(argv: readonly string[], chars: number): string {
  let line = ''
  for (const word of argv) {
    const next = line === '' ? quoteWord(word.slice(0, chars)) : `${line} ${quoteWord(word.slice(0, chars))}`
    if (next.length > chars) return cut(next, chars)
    line = next
  }
  return line
}

/** Half a character at the cut would make the whole message impossible to send. */
function cut(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** What an operator can do about it: the layer, the beginning of the rule (of which the first that fits counts), the advice. */
const ADVICE: readonly (readonly [LayerName | 'any' | 'egress' | 'firewall', string, string])[] =
  Object.freeze([
    ['any', 'deny_on_error', 'This is a defect of the daemon: keep the audit and report it.'],
    [
      'acl',
      'acl.penalties',
      'See `sass-edge penalties list`; `sass-edge penalties clear ADDRESS` lets it in again.',
    ],
    ['acl', 'acl.early_drop', 'Too many connections wait to authenticate: find who opens them, or wait.'],
    ['level', '', 'See `sass-edge level show`; `sass-edge level set SCOPE NAME NORMAL` lowers the level.'],
    ['specifics', 'sensitive_files', 'Answer with `sass-edge confirm`, or change security.sensitive_files.'],
    [
      'specifics',
      'opaque.unknown',
      'Answer with `sass-edge confirm`; name the program in security.known_programs if you know what it does, or have the whole sandbox hold (see `sass-edge doctor`), so that nobody need be asked.',
    ],
    [
      'specifics',
      'opaque.',
      'Answer with `sass-edge confirm`, or have the whole sandbox hold (network "gate", no devices, no sockets; see `sass-edge doctor`), so that nobody need be asked; security.opaque says otherwise.',
    ],
    [
      'specifics',
      'executables.tool',
      'Look at the file on the device; if it is right, write its new SHA-256 into the manifest of the tool.',
    ],
    [
      'specifics',
      'executables.',
      'Look at the file on the device; if it is right, pin its new SHA-256 in security.executables.',
    ],
    [
      'specifics',
      'handoff.',
      'See docs/handoffs.md; what waits for an answer is answered with `sass-edge confirm`.',
    ],
    [
      'specifics',
      'toxic.',
      'Answer with `sass-edge confirm`, or let the agent begin a new session for the other task.',
    ],
    [
      'specifics',
      'argument.hidden',
      'Look at the text that the agent was given: hardly anybody writes such characters by hand.',
    ],
    ['specifics', 'protected.', 'Nobody may name the daemon’s own files; look at what the agent was after.'],
    [
      'egress',
      'unlisted',
      'Answer with `sass-edge confirm`; if it is meant to be reached, approve it with --always, or add it to sandbox.egress.',
    ],
    ['firewall', 'secrets', 'Look at the file on the device, then answer with `sass-edge confirm`.'],
    [
      'firewall',
      'injection',
      'Read what is shown, then answer with `sass-edge confirm`; the words are data of whoever wrote them, and no agent should do what they say.',
    ],
    ['capability', 'security.', 'Change `security` in the configuration, then `sass-edge reload`.'],
    ['quota', 'quota.', 'Answer with `sass-edge confirm`, or raise the limit in `quota`.'],
    ['tool_access', 'method.operator', 'The agent called a method of operators: look at what it is.'],
    ['acl', '', 'Add the address to acl.allow if it should be let in.'],
    ['transport', '', 'The peer speaks another protocol or version, or the link damages what it carries.'],
    [
      'identity',
      '',
      'Check the name and the key with `sass-edge agent list`; look at the source if you do not know it.',
    ],
    ['session', '', 'The client answers a challenge by itself; one that does not is not one of ours.'],
    ['completeness', '', 'The caller sent an incomplete request: its own mistake, nothing to do here.'],
    ['tool_access', '', 'Change the tier or the tools of the agent if it should be able to do this.'],
    ['delegation', '', 'Change for whom the agent acts (delegated_by), or what that one may do.'],
    [
      'capability',
      'capability.missing',
      'The agent’s capability set is not in the configuration: add it, or name another one.',
    ],
    ['capability', '', 'Add the command or path to the capability set of the agent if it should be allowed.'],
    ['specifics', '', 'Change `security` if this should be allowed.'],
    [
      '13policy',
      '',
      'If this device needs it, narrow it by an own rule (docs/policy.md), or name the rule in policy.disabled_rules.',
    ],
    ['quota', '', 'Wait until something has ended, or raise the limit that is named.'],
  ] as const)

const ANSWER_RULE =
  'Answer with `sass-edge confirm`; if nobody need be asked about this here, name the rule in policy.disabled_rules.'

/** What a verdict and its record in the chain both say. `response` is `R1` to `R6` or `STATUS`. */
export type Outcome = { readonly layer: string; readonly rule: string; readonly response: string }

/** What an operator can do about a decision, be it one that was just made or one that was read from the chain. */
export function adviceFor({ layer, rule, response }: Outcome): string {
  if (response === PERMITTED)
    return layer === 'all' ? '' : 'It was allowed; look at it if it is not what you expect.'
  // A rule denies (R4 and up), or asks: then it waits, or a human has not approved it.
  if (layer === '13policy' && (response === 'R3' || response === 'STATUS')) return ANSWER_RULE
  const advice = ADVICE.find(
    ([at, beginning]) => (at === 'any' || at === layer) && rule.startsWith(beginning),
  )
  return advice?.[2] ?? ''
}

/** What a yes could lead to, by the beginning of the rule that asks. */
const RISKS: readonly (readonly [string, string])[] = Object.freeze([
  ['sensitive_files', 'high: whoever has the secret can act as its owner'],
  ['toxic.', 'high: secrets could leave the device, or what strangers wrote could change it'],
  ['level.', 'high: the session has done what raised the alarm'],
  ['secrets', 'high: whoever has the secret can act as its owner'],
  ['injection', 'high: the agent may do what its output tells it to, with all that it may do'],
  ['unlisted', 'medium: data could go to a host that nobody has listed, or come from it'],
  ['opaque.', 'medium: nobody has read what it does, and something of the sandbox is missing'],
  ['handoff.injection', 'high: the text could make the agent that receives it do what you would not'],
  ['handoff.', 'medium: others go on with work that was found wanting'],
  ['quota.', 'low: more of what the session does already'],
  ['', 'medium: the agent is not meant to do this by itself'],
])

/** How bad a yes could be (high, medium, low) and why, for whoever is asked. */
export function riskOf(rule: string): string {
  return RISKS.find(([beginning]) => rule.startsWith(beginning))?.[1] ?? ''
}

/** `R4 VI_SWAP` for the `R4` of a record; what is no response stays as it is. */
export function nameOfResponse(recorded: string): string {
  const found = RESPONSES.find((response) => `R${RESPONSE_NUMBERS[response]}` === recorded)
  return found === undefined ? recorded : `${recorded} ${found}`
}

/** Which call of which plan it is; nothing where it was asked for by itself. */
function planText(plan: ExecuteAction['plan']): string {
  return plan === undefined
    ? ''
    : ` (${visible(plan.tool)}, call ${visible(plan.call)} of plan ${visible(plan.id)} by ${visible(plan.issuer)})`
}

function askedFor({ action, request }: Facts): string {
  if (action === undefined) return visible(request?.method ?? 'a connection')
  switch (action.kind) {
    case 'execute':
      return `${commandLine(action.argv, EXPLAINED_CHARS)}${planText(action.plan)}`
    case 'run_plan':
      return `plan ${visible(action.digest)}`
    case 'deceive':
      return `(a stranger) ${commandLine(action.argv, EXPLAINED_CHARS)}`
    case 'upload':
    case 'download':
      return commandLine([action.kind, action.path], EXPLAINED_CHARS)
    case 'read':
      return visible(action.method)
    case 'merge':
      return commandLine([action.kind, action.branch, ...action.paths], EXPLAINED_CHARS)
    case 'handoff':
      return `handoff to ${visible(action.to)}`
    case 'take_handoff':
      return `take handoff ${visible(action.id)}${action.artifact === undefined ? '' : `, ${visible(action.artifact)}`}`
    case 'submit_envelope':
      return `envelope for ${visible(action.to)}`
    case 'take_envelope':
      return `take envelope ${visible(action.id)}`
    case 'settle_envelope':
      return `${action.releases ? 'release' : 'discard'} ${visible(action.name)} of the quarantine`
    case 'propose':
      return `propose, ${action.decision}${action.tool === null ? '' : ` ${action.tool}`}`
    case 'undo_merge':
    case 'drop_branch':
    case 'checkpoint':
      return `${action.kind} ${visible(action.branch)}`
    default:
      return 'executionId' in action ? `${action.kind} ${visible(action.executionId)}` : action.kind
  }
}

/** As the record has it. */
function recordedResponse(verdict: Verdict): string {
  return verdict.kind === 'status' ? 'STATUS' : `R${RESPONSE_NUMBERS[verdict.response]}`
}

export function responseName(verdict: Verdict): string {
  return nameOfResponse(recordedResponse(verdict))
}

/** `whole (ef01...)`, or what is missing. The digest is that of the record. */
function confinementText(action: Facts['action']): string {
  if (action?.kind !== 'execute' || action.place === undefined) return ''
  const { weak, digest } = action.place.confinement
  const what =
    weak.length === 0 ? 'whole' : `weak, since ${weak.map((one) => WEAKNESS_TEXTS[one]).join(', and ')}`
  return digest === '' ? what : `${what} (${digest})`
}

/** What a command comes down to; nothing where it cannot be read, which is why it was refused. */
function readOf(facts: Facts, policy: Policy): Read {
  const { action } = facts
  if (action?.kind !== 'execute') return UNREAD
  try {
    return { commands: policy.effective(action).commands, opaque: opaqueClassOf(action, facts, policy) }
  } catch {
    return UNREAD
  }
}

type Read = { readonly commands: readonly EffectiveCommand[]; readonly opaque: OpaqueClass | undefined }
const UNREAD: Read = Object.freeze({ commands: [], opaque: undefined })

export function describeDecision(facts: Facts, verdict: Verdict, policy: Policy): Described {
  const { action, identity, source } = facts
  const asked = askedFor(facts)
  const { commands, opaque } = readOf(facts, policy)
  return {
    asked: asked === '' ? NOTHING_ASKED : asked,
    response: responseName(verdict),
    layer: verdict.layer,
    rule: visible(verdict.rule),
    // It may quote what the caller named.
    reason: visible(cut(verdict.reason, EXPLAINED_CHARS)),
    advice: adviceFor({
      layer: verdict.layer,
      rule: verdict.rule,
      response: recordedResponse(verdict),
    }),
    severity: verdict.severity,
    agent: identity.kind === 'known' ? visible(identity.name) : '',
    source: visible(source.address),
    effective: commands
      .filter(({ argv }) => argv.length > 0)
      .slice(0, MOST_COMMANDS)
      .map(({ argv }) => commandLine(argv, COMMAND_CHARS)),
    opaque: opaque === undefined ? '' : `${opaque}: ${CLASS_TEXTS[opaque]}`,
    confinement: confinementText(action),
  }
}
