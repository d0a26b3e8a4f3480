/**
 * A decision in words for an operator: what was asked, what would really run, which layer and rule decided, why, and
 * what to do. The same words whether the decision has been made or is only tried out.
 * Rules: docs/responses.md, section 3: every denial says what, why, and what to do.
 * @module
 */
import { visible } from '../base/visible.ts'
import { EXPLAINED_CHARS } from '../limits.ts'
import type { Facts } from './facts.ts'
import type { Policy } from './layer.ts'
import { RESPONSE_NUMBERS, RESPONSES, type Verdict } from './verdict.ts'

export type Described = {
  readonly asked: string
  /** `R4 VI_SWAP`, or `STATUS` for a caller's plain mistake. */
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
}

const PLAIN_WORD = /^[A-Za-z0-9_@%+=:,./-]+$/
const PERMITTED = `R${RESPONSE_NUMBERS.EXECUTE}`
const MOST_COMMANDS = 32
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
    // Half a character at the cut would make the whole message impossible to send.
    if (next.length > chars) return `${next.slice(0, chars - 1).replace(/[\ud800-\udbff]$/, '')}…`
    line = next
  }
  return line
}

/** What an operator can do about it, by the rule and then by the layer that decided. */
const ADVICE: readonly (readonly [string, string])[] = Object.freeze([
  ['rule:deny_on_error', 'This is a defect of the daemon: keep the audit and report it.'],
  [
    'rule:acl.penalties',
    'See `sass-edge penalties list`; `sass-edge penalties clear ADDRESS` lets it in again.',
  ],
  ['rule:acl.early_drop', 'Too many connections wait to authenticate: find who opens them, or wait.'],
  ['rule:level.', 'See `sass-edge level show`; `sass-edge level set SCOPE NAME NORMAL` lowers the level.'],
  ['rule:sensitive_files', 'Answer with `sass-edge confirm`, or change security.sensitive_files.'],
  [
    'rule:internal_addresses',
    'Add the range to security.reachable_addresses, or change security.internal_addresses.',
  ],
  [
    'rule:executables.',
    'Look at the file on the device; if it is right, pin its new SHA-256 in security.executables.',
  ],
  [
    'rule:toxic.',
    'Answer with `sass-edge confirm`, or let the agent begin a new session for the other task.',
  ],
  ['rule:protected.', 'Nobody may name the daemon’s own files; look at what the agent was after.'],
  ['rule:security.', 'Change `security` in the configuration, then `sass-edge reload`.'],
  ['rule:quota.', 'Answer with `sass-edge confirm`, or raise the limit in `quota`.'],
  ['rule:method.operator', 'The agent called a method of operators: look at what it is.'],
  ['layer:acl', 'Add the address to acl.allow if it should be let in.'],
  ['layer:transport', 'The peer speaks another protocol or version, or the link damages what it carries.'],
  [
    'layer:identity',
    'Check the name and the key with `sass-edge agent list`; look at the source if you do not know it.',
  ],
  ['layer:session', 'The client answers a challenge by itself; one that does not is not one of ours.'],
  ['layer:completeness', 'The caller sent an incomplete request: its own mistake, nothing to do here.'],
  ['layer:tool_access', 'Change the tier or the tools of the agent if it should be able to do this.'],
  ['layer:delegation', 'Change for whom the agent acts (delegated_by), or what that one may do.'],
  ['layer:capability', 'Add the command or path to the capability set of the agent if it should be allowed.'],
  ['layer:specifics', 'Change `security` if this should be allowed.'],
  [
    'layer:13policy',
    'See `sass-edge policy explain -- CMD`; an own rule or `policy.disabled_rules` can change it.',
  ],
  ['layer:quota', 'Wait until something has ended, or raise the limit that is named.'],
] as const)

/** What a verdict and its record in the chain both say. `response` is `R1` to `R6` or `STATUS`. */
export type Outcome = { readonly layer: string; readonly rule: string; readonly response: string }

/** What an operator can do about a decision, be it one that was just made or one that was read from the chain. */
export function adviceFor({ layer, rule, response }: Outcome): string {
  if (response === PERMITTED)
    return layer === 'all' ? '' : 'It was allowed; look at it if it is not what you expect.'
  for (const [key, text] of ADVICE) {
    const [kind, name = ''] = key.split(/:(.*)/)
    if (kind === 'rule' ? rule.startsWith(name) : layer === name) return text
  }
  return ''
}

/** `R4 VI_SWAP` for the `R4` of a record; what is no response stays as it is. */
export function nameOfResponse(recorded: string): string {
  const found = RESPONSES.find((response) => `R${RESPONSE_NUMBERS[response]}` === recorded)
  return found === undefined ? recorded : `${recorded} ${found}`
}

function askedFor({ action, request }: Facts): string {
  if (action === undefined) return request?.method ?? 'a connection'
  switch (action.kind) {
    case 'execute':
      return commandLine(action.argv, EXPLAINED_CHARS)
    case 'deceive':
      return `(a stranger) ${commandLine(action.argv, EXPLAINED_CHARS)}`
    case 'read':
      return action.method
    default:
      return 'executionId' in action ? `${action.kind} ${action.executionId}` : action.kind
  }
}

/** As the record has it. */
function recordedResponse(verdict: Verdict): string {
  return verdict.kind === 'mistake' ? 'STATUS' : `R${RESPONSE_NUMBERS[verdict.response]}`
}

export function responseName(verdict: Verdict): string {
  return nameOfResponse(recordedResponse(verdict))
}

export function describeDecision(facts: Facts, verdict: Verdict, policy: Policy): Described {
  const { action, identity, source } = facts
  const commands = action?.kind === 'execute' ? policy.effective(action).commands : []
  return {
    asked: askedFor(facts),
    response: responseName(verdict),
    layer: verdict.layer,
    rule: verdict.rule,
    reason: verdict.reason,
    advice: adviceFor({
      layer: verdict.layer,
      rule: verdict.rule,
      response: recordedResponse(verdict),
    }),
    severity: verdict.severity,
    agent: identity.kind === 'known' ? identity.name : '',
    source: source.address,
    effective: commands.slice(0, MOST_COMMANDS).map(({ argv }) => commandLine(argv, COMMAND_CHARS)),
  }
}
