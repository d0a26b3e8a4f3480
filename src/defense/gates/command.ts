/**
 * The layers about the command itself: single things (pinned programs, the daemon's own files, secrets, addresses
 * inside, hidden characters, toxic combinations) and the rules of 13Policy.
 * Rules: docs/responses.md, layers 10 and 11, and the section on the rules.
 * @module
 */
import { isWithin } from '../../base/lexical-path.ts'
import type { EffectiveCommand } from '../13policy/effective.ts'
import type { RuleHead } from '../13policy/rule-set.ts'
import type { Code } from '../../errors.ts'
import type { ExecuteAction, Facts, Ledger } from '../facts.ts'
import { namesInternalHost } from '../internal-address.ts'
import {
  askHuman,
  type Check,
  type Finding,
  type Measure,
  type Note,
  type Policy,
  tarpit,
  violation,
} from '../layer.ts'
import { isSensitive } from '../sensitive-file.ts'
import { NETWORK_PROGRAMS } from '../tools.ts'
import { toxicProperties, toxicRule } from '../toxic.ts'
import { challenge } from './session.ts'

/** R4, a question, a note, or nothing, as the configuration has it. */
function measured(
  measure: Measure,
  facts: Facts,
  ledger: Ledger,
  finding: { readonly code: Code; readonly rule: string; readonly reason: string },
): Finding | Note | undefined {
  const { code, rule, reason } = finding
  switch (measure) {
    case 'deny':
      return violation(code, rule, reason)
    case 'ask':
      return askHuman(facts, ledger, code, rule, reason)
    case 'audit':
      return { outcome: 'note', rule, reason }
    case 'allow':
      return undefined
  }
}

function judgePin({ executable }: ExecuteAction, policy: Policy): Finding | undefined {
  const { pins, pinnedOnly } = policy.security
  if (executable === null) return undefined
  const pin = Object.hasOwn(pins, executable.path) ? pins[executable.path] : undefined
  if (pin === undefined)
    return pinnedOnly
      ? violation(
          'CAPABILITY_CMD_DENIED',
          'executables.unpinned',
          `Only pinned programs may run, and ${executable.path} is not one.`,
        )
      : undefined
  if (executable.sha256 === pin) return undefined
  return violation(
    'CAPABILITY_CMD_DENIED',
    'executables.changed',
    `${executable.path} is not the file that was pinned: it has been replaced or altered.`,
  )
}

function judgeOwnPaths(commands: readonly EffectiveCommand[], facts: Facts, policy: Policy): Finding | undefined {
  const { paths: own, except } = policy.ownPaths
  const isOwn = (path: string) =>
    own.some((place) => isWithin(place, path)) && !except.some((place) => isWithin(place, path))
  const named = commands.flatMap(({ paths }) => paths.map(({ path }) => path))
  if (!named.some(isOwn) && !facts.realPaths.some(({ real }) => isOwn(real))) return undefined
  return {
    ...violation('CAPABILITY_PATH_DENIED', 'protected.daemon', 'The command names the daemon’s own files.'),
    incident: 'high',
  }
}

/**
 * Characters that nobody sees or that turn the order of what is shown: a name with one of them is not what it seems.
 * Zero width, line and paragraph separators, direction marks and overrides, tags, and the escape that steers terminals.
 */
function hasHiddenCharacter(word: string): boolean {
  for (let index = 0; index < word.length; index++) {
    const code = word.charCodeAt(index)
    if (code < 0x80) {
      if (code === 0x1b) return true
      continue
    }
    if (
      (code >= 0x200b && code <= 0x200f) ||
      (code >= 0x2028 && code <= 0x202e) ||
      (code >= 0x2060 && code <= 0x206f) ||
      code === 0xfeff ||
      code === 0x00ad ||
      // U+E0000 to U+E007F: tags.
      (code === 0xdb40 && (word.charCodeAt(index + 1) & 0xff80) === 0xdc00)
    )
      return true
  }
  return false
}

function judgeHidden(argv: readonly string[]): Finding | Note | undefined {
  const at = argv.findIndex(hasHiddenCharacter)
  if (at === -1) return undefined
  const isSteering = at === 0 || (argv[at] ?? '').startsWith('-')
  if (isSteering)
    return violation(
      'CAPABILITY_CMD_DENIED',
      'argument.hidden',
      'The program or an option holds characters that nobody sees, so it is not what it seems.',
    )
  return { outcome: 'note', rule: 'argument.hidden', reason: 'An argument holds characters that nobody sees.' }
}

function isPort(word: string): boolean {
  return word.length <= 5 && /^[0-9]+$/.test(word)
}

function reachesInside(command: EffectiveCommand, policy: Policy): boolean {
  const words = [...command.operands, ...command.optionValues.map(({ value }) => value)]
  const isNetwork = command.names.some((name) => NETWORK_PROGRAMS.has(name))
  return words.some(
    (word) =>
      (isNetwork ? !isPort(word) : word.includes('://') || word.startsWith('git@')) &&
      namesInternalHost(word, policy.security.reachable),
  )
}

function judgeSecrets(commands: readonly EffectiveCommand[], facts: Facts, policy: Policy): boolean {
  return (
    commands.some(({ paths }) => paths.some(({ path, isGlob }) => isSensitive(path, policy.home, isGlob))) ||
    facts.realPaths.some(({ real }) => isSensitive(real, policy.home))
  )
}

function judgeToxic(
  commands: readonly EffectiveCommand[],
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
): Finding | Note | undefined {
  const rule = toxicRule(ledger.toxic, toxicProperties({ commands }, policy.home, facts.realPaths))
  if (rule === undefined) return undefined
  const { toxicCombinations } = policy.security
  const measure = rule.measure === 'audit' && toxicCombinations !== 'allow' ? 'audit' : toxicCombinations
  return measured(measure, facts, ledger, {
    code: 'CAPABILITY_DENIED',
    rule: rule.id,
    reason: rule.description,
  })
}

export const specifics: Check = (facts, policy, ledger) => {
  const { identity: who, action } = facts
  if (who.kind !== 'known' || action?.kind !== 'execute') return undefined
  const { commands } = policy.effective(action)
  const { security } = policy
  const findings: (Finding | Note | undefined)[] = [
    judgePin(action, policy),
    judgeOwnPaths(commands, facts, policy),
    judgeHidden(action.argv),
  ]
  if (judgeSecrets(commands, facts, policy)) {
    const measure = ledger.level === 'RESTRICT' && security.sensitiveFiles !== 'allow' ? 'deny' : security.sensitiveFiles
    findings.push(
      measured(measure, facts, ledger, {
        code: 'CAPABILITY_PATH_DENIED',
        rule: 'sensitive_files',
        reason: 'The command uses a file that holds secrets.',
      }),
    )
  }
  if (security.internalAddresses !== 'allow' && commands.some((command) => reachesInside(command, policy))) {
    findings.push(
      measured(security.internalAddresses, facts, ledger, {
        code: 'CAPABILITY_DENIED',
        rule: 'internal_addresses',
        reason: 'The command would reach an address inside this network.',
      }),
    )
  }
  findings.push(judgeToxic(commands, facts, policy, ledger))
  return strictestOf(findings)
}

/** A refusal before a question, a question before a note. */
function strictestOf(findings: readonly (Finding | Note | undefined)[]): Finding | Note | undefined {
  const rank = (finding: Finding | Note) =>
    finding.outcome === 'VI_SWAP' ? 0 : finding.outcome === 'note' ? 2 : 1
  let strictest: Finding | Note | undefined
  for (const finding of findings) {
    if (finding !== undefined && (strictest === undefined || rank(finding) < rank(strictest))) strictest = finding
  }
  return strictest
}

const ruleReason = ({ description, why }: RuleHead): string => `${description} ${why}`

export const policy13: Check = (facts, policy, ledger) => {
  const { identity: who, action, request } = facts
  if (action?.kind !== 'execute') return undefined
  const match = policy.rules.strictest(policy.effective(action))
  if (match === undefined || match.rule.action === 'allow') return undefined
  const { id, severity, action: measure } = match.rule
  const reason = ruleReason(match.rule)
  if (severity === 'low') return { outcome: 'note', rule: id, reason }
  if (measure === 'challenge') {
    if (request?.challenge === 'passed') return { outcome: 'note', rule: id, reason }
    return challenge(ledger, { code: 'RESPONSE_CHALLENGE_REQUIRED', rule: id, reason })
  }
  const finding = { code: 'CAPABILITY_CMD_DENIED', rule: id, reason, severity: 'critical', incident: severity } as const
  if (severity === 'critical' || who.kind !== 'known') return tarpit(ledger, finding)
  return { ...finding, outcome: 'VI_SWAP' }
}
