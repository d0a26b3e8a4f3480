/**
 * The layers about the command itself: single things (pinned programs, the daemon's own files, secrets, hidden
 * characters, what nobody has read, toxic combinations) and the rules of 13Policy.
 * Rules: docs/responses.md, layers 10 and 11, and the section on the rules.
 * @module
 */
import { isWithin } from '../../base/text/lexical-path.ts'
import type { ToxicProperty } from '../../base/toxic-property.ts'
import type { Code } from '../../errors.ts'
import type { EffectiveCommand, UsedPath } from '../13policy/effective.ts'
import { meaningOf, type RuleHead } from '../13policy/rules/rule-set.ts'
import type { ExecuteAction, Facts, Ledger } from '../facts.ts'
import { judgedCommand } from '../file-action.ts'
import { judgeHandoff } from '../handoffs/judge.ts'
import {
  askHuman,
  type Check,
  type Finding,
  impossible,
  type Measure,
  type Note,
  type Policy,
  refusal,
  stricterOf,
  tarpit,
  violation,
} from '../layer.ts'
import { opaqueClassOf, opaqueReason, recordedWeaknesses } from '../opaque.ts'
import { isProgram } from '../program-kinds.ts'
import { mayTouch } from '../touched-path.ts'
import { toxicProperties, toxicRule } from '../toxic.ts'
import { challenge } from './session.ts'

/** A refusal, a question, a note, or nothing, as the configuration has it. */
function measured(
  measure: Measure,
  facts: Facts,
  ledger: Ledger,
  finding: { readonly code: Code; readonly rule: string; readonly reason: string },
  denial = refusal,
): Finding | Note | undefined {
  const { code, rule, reason } = finding
  switch (measure) {
    case 'deny':
      return denial(code, rule, reason)
    case 'ask':
      return askHuman(facts, ledger, code, rule, reason)
    case 'audit':
      return { outcome: 'note', rule, reason }
    case 'allow':
      return undefined
    default:
      return impossible(measure)
  }
}

function judgeFile(path: string, sha256: string | null, policy: Policy): Finding | undefined {
  const { pins, pinnedOnly } = policy.security
  const pin = Object.hasOwn(pins, path) ? pins[path] : undefined
  if (pin === undefined)
    return pinnedOnly
      ? refusal(
          'CAPABILITY_CMD_DENIED',
          'executables.unpinned',
          `Only pinned programs may run, and ${path} is not one.`,
        )
      : undefined
  if (sha256 === pin) return undefined
  return violation(
    'CAPABILITY_CMD_DENIED',
    'executables.changed',
    `${path} is not the file that was pinned: it has been replaced or altered.`,
  )
}

/** A tool's file is that of its manifest, whatever else is pinned. One that is not there is not started. */
function judgeTool(
  executable: ExecuteAction['executable'],
  { tool, sha256 }: NonNullable<ExecuteAction['plan']>,
): Finding | undefined {
  if (executable === null || executable.sha256 === sha256) return undefined
  return refusal(
    'CAPABILITY_CMD_DENIED',
    'executables.tool',
    `${executable.path} is not the file that the tool ${tool} was registered with: it has been replaced or altered.`,
  )
}

/** The program itself and every other one that it would start. */
function judgePins(
  { executable, plan }: ExecuteAction,
  { programs }: Facts,
  policy: Policy,
): Finding | undefined {
  const { pins, pinnedOnly } = policy.security
  const ofTool = plan === undefined ? undefined : judgeTool(executable, plan)
  if (ofTool !== undefined) return ofTool
  if (!pinnedOnly && Object.keys(pins).length === 0) return undefined
  const own =
    executable === null || plan !== undefined
      ? undefined
      : judgeFile(executable.path, executable.sha256, policy)
  if (own !== undefined) return own
  for (const { path, sha256 } of programs ?? []) {
    const finding = judgeFile(path, sha256, policy)
    if (finding !== undefined) return finding
  }
  return undefined
}

/** What makes a search mean certain names, and not all that lies there. */
const NAME_TESTS: readonly string[] = Object.freeze([
  '-name',
  '-iname',
  '-path',
  '-ipath',
  '-wholename',
  '-regex',
  '-iregex',
])

/** Removes or changes a whole directory. A search that is for certain names does not. */
function takesWhole(command: EffectiveCommand): boolean {
  const { names, argv } = command
  if (isProgram('remover', command)) return true
  if (!names.includes('find')) return false
  return !argv.some((word, index) => NAME_TESTS.includes(word) && !/^\*+$/.test(argv[index + 1] ?? '*'))
}

/**
 * What takes the daemon's own files along, since it is done to a directory that holds them. Asked last: what the rules
 * say about such a command says more.
 */
function judgeAround(commands: readonly EffectiveCommand[], policy: Policy): Finding | undefined {
  const { paths: own } = policy.ownPaths
  const isAround = ({ path, use, isGlob, isOpaque }: UsedPath) =>
    use === 'write' && !isGlob && !isOpaque && own.some((place) => isWithin(path, place))
  const takes = commands.some((command) => takesWhole(command) && command.paths.some(isAround))
  if (!takes) return undefined
  return {
    ...violation(
      'CAPABILITY_PATH_DENIED',
      'protected.around',
      'The command would remove or change a directory that holds the daemon’s own files.',
    ),
    incident: 'high',
  }
}

type OwnPaths = Policy['ownPaths']

function liesIn(places: readonly string[], path: string): boolean {
  for (let at = 0; at < places.length; at++) if (isWithin(places[at] ?? '', path)) return true
  return false
}

function isOwn({ paths, except }: OwnPaths, path: string): boolean {
  return liesIn(paths, path) && !liesIn(except, path)
}

/** What a shell expands: `ls /var/lib/*` means others. */
function mayBecomeOwn({ paths, except }: OwnPaths, used: UsedPath): boolean {
  // What is removed around them is for the rules: this layer would hide what they say.
  const mention: UsedPath = { ...used, use: 'mention', isOpaque: false }
  return (
    paths.some(
      (place) =>
        mayTouch(place, mention) &&
        (used.path.split('/').length > place.split('/').length || !/\/[*?]+$/.test(used.path)),
    ) && !liesIn(except, used.path)
  )
}

function namesOwn(command: EffectiveCommand, own: OwnPaths): boolean {
  const { paths } = command
  for (let at = 0; at < paths.length; at++) {
    const used = paths[at] as UsedPath
    if (!(used.isGlob ? mayBecomeOwn(own, used) : isOwn(own, used.path))) continue
    // From a workspace that lies among them, the way up may be looked at, and not walked through.
    const isWayUp =
      used.use !== 'write' && !used.isGlob && own.except.some((place) => isWithin(used.path, place))
    if (!isWayUp || !isProgram('looker', command)) return true
  }
  return false
}

function judgeOwnPaths(
  commands: readonly EffectiveCommand[],
  facts: Facts,
  { ownPaths }: Policy,
): Finding | undefined {
  // Also where no path is used: the layer denies without its own data.
  if (ownPaths.paths.length === 0) return undefined
  const isNamed = commands.some((command) => namesOwn(command, ownPaths))
  if (!isNamed && !facts.realPaths.some(({ real }) => isOwn(ownPaths, real))) return undefined
  return {
    ...violation('CAPABILITY_PATH_DENIED', 'protected.daemon', 'The command names the daemon’s own files.'),
    incident: 'high',
  }
}

/**
 * Characters that nobody sees or that turn the order of what is shown: a name with one of them is not what it seems.
 * Zero width, line and paragraph separators, direction marks and overrides, the escape that steers terminals, the
 * controls of ISO 6429 beyond ASCII (one of them is the escape and its bracket in one), and U+E0000 to U+E01FF: tags and
 * the selectors that can carry any text.
 */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape is one of them
  /[\x1b\x80-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\udb40[\udc00-\uddff]/

/** By an expression: all that a request may hold is looked through in a millisecond, the first time as well. */
const hasHiddenCharacter = (word: string): boolean => HIDDEN.test(word)

function judgeHidden(argv: readonly string[]): Finding | Note | undefined {
  if (!argv.some(hasHiddenCharacter)) return undefined
  // The value of an option is text like any other; emoji are joined by such characters.
  const isSteering = (word: string, index: number) =>
    (index === 0 && hasHiddenCharacter(word)) ||
    (word.startsWith('-') && hasHiddenCharacter(word.split('=', 1)[0] ?? ''))
  if (argv.some(isSteering))
    return violation(
      'CAPABILITY_CMD_DENIED',
      'argument.hidden',
      'The program or an option holds characters that nobody sees, so it is not what it seems.',
    )
  return {
    outcome: 'note',
    rule: 'argument.hidden',
    reason: 'An argument holds characters that nobody sees.',
  }
}

/** Contained it runs, and is told by its class; where the device could be reached a human decides. */
function judgeOpaque(
  action: ExecuteAction,
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
): Finding | Note | undefined {
  const { opaque } = policy.security
  if (opaque === 'allow') return undefined
  const weak = recordedWeaknesses(action)
  if (weak.length === 0) return undefined
  const kind = opaqueClassOf(action, facts, policy)
  if (kind === undefined) return undefined
  return measured(opaque, facts, ledger, {
    code: 'CAPABILITY_CMD_DENIED',
    rule: `opaque.${kind}`,
    reason: opaqueReason(kind, weak),
  })
}

function judgeToxic(
  added: readonly ToxicProperty[],
  facts: Facts,
  policy: Policy,
  ledger: Ledger,
): Finding | Note | undefined {
  const { toxicCombinations, toxicRegistry } = policy.security
  const rule = toxicRule(toxicRegistry, ledger.toxic, added)
  if (rule === undefined) return undefined
  const measure = rule.isNoted && toxicCombinations !== 'allow' ? 'audit' : toxicCombinations
  return measured(measure, facts, ledger, {
    code: 'CAPABILITY_DENIED',
    rule: rule.id,
    reason: rule.description,
  })
}

export const specifics: Check = (facts, policy, ledger) => {
  if (facts.action?.kind === 'handoff' && facts.identity.kind === 'known')
    return judgeHandoff(facts, facts.action, ledger)
  const action = judgedCommand(facts.action)
  if (facts.identity.kind !== 'known' || action === undefined) return undefined
  const effective = policy.effective(action)
  const { commands } = effective
  const { security } = policy
  const properties = toxicProperties(effective, policy.home, facts.realPaths)
  let found: Finding | Note | undefined
  const add = (finding: Finding | Note | undefined) => {
    found = stricterOf(found, finding)
  }
  // What a transfer is like is not started: no program of it is pinned.
  if (action === facts.action) add(judgePins(action, facts, policy))
  add(judgeOwnPaths(commands, facts, policy))
  add(judgeHidden(action.argv))
  if (properties.includes('secret')) {
    const measure =
      ledger.level === 'RESTRICT' && security.sensitiveFiles !== 'allow' ? 'deny' : security.sensitiveFiles
    const finding = {
      code: 'CAPABILITY_PATH_DENIED',
      rule: 'sensitive_files',
      reason: 'The command uses a file that holds secrets.',
    } as const
    // Where secrets are denied, whoever goes for one is after it.
    add(measured(measure, facts, ledger, finding, violation))
  }
  if (action === facts.action) add(judgeOpaque(action, facts, policy, ledger))
  add(judgeToxic(properties, facts, policy, ledger))
  return found
}

const ruleReason = ({ description, why }: RuleHead): string => `${description} ${why}`

const rules: Check = (facts, policy, ledger) => {
  const { identity: who, request } = facts
  const action = judgedCommand(facts.action)
  if (action === undefined) return undefined
  const match = policy.rules.strictest(policy.effective(action))
  if (match === undefined) return undefined
  const { id, severity } = match.rule
  const reason = ruleReason(match.rule)
  const note: Note = { outcome: 'note', rule: id, reason }
  const meaning = meaningOf(match.rule)
  switch (meaning) {
    case 'allow':
      return undefined
    case 'note':
      return note
    case 'challenge':
      if (request?.challenge === 'passed') return note
      return challenge(ledger, { code: 'RESPONSE_CHALLENGE_REQUIRED', rule: id, reason })
    case 'ask':
      return policy.security.rulesAsk === false
        ? refusal('CAPABILITY_CMD_DENIED', id, reason)
        : (askHuman(facts, ledger, 'CAPABILITY_CMD_DENIED', id, reason) ?? note)
    default: {
      const finding = {
        code: 'CAPABILITY_CMD_DENIED',
        rule: id,
        reason,
        severity: 'critical',
        incident: meaning,
      } as const
      if (severity === 'critical' || who.kind !== 'known') return tarpit(ledger, finding)
      return { ...finding, outcome: 'VI_SWAP' }
    }
  }
}

export const policy13: Check = (facts, policy, ledger) => {
  const finding = rules(facts, policy, ledger)
  const action = judgedCommand(facts.action)
  if (action === undefined) return finding
  // The first of equals decides: what a rule says of a hostile command says more.
  return stricterOf(finding, judgeAround(policy.effective(action).commands, policy))
}
