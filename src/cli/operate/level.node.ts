/**
 * `sass-edge level [show|set]`: the levels of alarm of the daemon, of agents and of sessions.
 * Rules: docs/responses.md, on levels.
 * @module
 */

import { isName } from '../../base/text/name.ts'
import { nearest } from '../../base/text/suggest.ts'
import { visible } from '../../base/text/visible.ts'
import type { LevelChange, Levels } from '../../client/operator-client.ts'
import { isLevel, LEVELS } from '../../defense/level.ts'
import { misuse } from '../../errors.ts'
import { takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS, utcTime } from '../common/operator.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { alignColumns } from '../words/listing.ts'

const SESSION_ID = /^[0-9a-f]{32}$/

/** The record of the incident that an entry's reason ends with. */
const RECORD = /, record (\d{1,16})$/

/** How each is looked into and lowered. HALT has a line of its own, and what the disk does ends with that. */
function nextSteps(entries: Levels['entries']): readonly string[] {
  const raised = entries.filter(
    ({ scope, name, level }) => scope !== 'daemon' || (name === '' && level !== 'HALT'),
  )
  if (raised.length === 0) return []
  const reasons = new Set(raised.flatMap(({ why }) => RECORD.exec(why)?.[1] ?? []))
  return [
    // What an operator has raised has no record to look into.
    ...(reasons.size === 0
      ? ['To let it go on:']
      : [
          'Look into it (sass-edge audit tail and branch diff say what else was done):',
          ...[...reasons].map((seq) => `  sass-edge why ${seq}`),
          'Then let it go on:',
        ]),
    ...raised.map(({ scope, name }) =>
      name === ''
        ? `  sass-edge level set ${visible(scope)} NORMAL`
        : `  sass-edge level set ${visible(scope)} ${visible(name)} NORMAL`,
    ),
  ]
}

function showLines({ entries, incident }: Levels): string[] {
  const rows = entries.map(({ scope, name, level, since, why }) => [
    visible(scope),
    name === '' ? '-' : visible(name),
    visible(level),
    utcTime(since),
    visible(why),
  ])
  const lines =
    rows.length === 0
      ? ['Everybody is at NORMAL.']
      : [
          ...alignColumns([['SCOPE', 'NAME', 'LEVEL', 'SINCE', 'WHY'], ...rows]),
          'Everybody else is at NORMAL.',
          ...nextSteps(entries),
        ]
  if (incident === undefined) return lines
  return [
    ...lines,
    `The daemon halted at the incident ${visible(incident)}. Once it has been looked into:`,
    `  sass-edge level set daemon NORMAL --ack-incident ${visible(incident)}`,
  ]
}

async function show(context: CommandContext): Promise<number> {
  const levels = await asOperator(context, ({ operator }) => operator.levels())
  return context.output.result(
    { levels: levels.entries, incident: levels.incident ?? null },
    showLines(levels),
  )
}

function levelOf(word: string): string {
  const level = word.toUpperCase()
  if (isLevel(level)) return level
  const meant = nearest(level, LEVELS)
  const hint = meant === undefined ? `write one of ${LEVELS.join(', ')}.` : `did you mean ${meant}?`
  throw misuse(`${JSON.stringify(word.slice(0, 40))} is no level: ${hint}`)
}

/** What SCOPE [NAME] LEVEL say. */
function changeOf(words: readonly string[]): Pick<LevelChange, 'scope' | 'name' | 'level'> {
  const [scope, second, third] = words
  if (scope === 'daemon' && second !== undefined && third === undefined)
    return { scope, level: levelOf(second) }
  if ((scope === 'agent' || scope === 'session') && second !== undefined && third !== undefined) {
    const isRight = scope === 'agent' ? isName(second) : SESSION_ID.test(second)
    if (isRight) return { scope, name: second, level: levelOf(third) }
    const what = scope === 'agent' ? 'no name of an agent' : 'no id of a session, which has 32 digits'
    throw misuse(`${JSON.stringify(second.slice(0, 64))} is ${what}: see sass-edge level show.`)
  }
  throw misuse(
    'Which level is meant is not clear: write level set daemon LEVEL, or level set agent NAME LEVEL, or level set session ID LEVEL.',
  )
}

async function set(context: CommandContext, words: readonly string[]): Promise<number> {
  const { options } = context.arguments
  const change = {
    ...changeOf(words),
    why: optionValue(options, 'why'),
    incident: optionValue(options, 'ack-incident'),
  }
  const outcome = await asOperator(context, ({ operator }) => operator.setLevel(change))
  const message = doneMessage(outcome, 'USAGE')
  const { scope, name, level } = change
  return context.output.result({ scope, name: name ?? null, level, message }, [message])
}

export const command: Command = {
  usage: ['level [show]', 'level set SCOPE [NAME] LEVEL [--why TEXT] [--ack-incident HASH]'],
  options: {
    '--why TEXT': 'the reason, for the record and for those who come after',
    '--ack-incident HASH': 'the incident that was looked into, to end HALT',
    ...OPERATOR_OPTIONS,
  },
  examples: {
    'sass-edge level': 'who is not at NORMAL, since when and why, and how to lower it',
    'sass-edge level set agent ci CONTAIN --why "odd pushes"': 'lets ci do nothing more',
    'sass-edge level set daemon NORMAL': 'the whole device goes on as usual',
  },
  async run(context) {
    const [action, ...words] = takeWords(context, 4)
    if ((action === undefined || action === 'show') && words.length === 0) return show(context)
    if (action === 'set') return set(context, words)
    throw misuse('level can show and set SCOPE [NAME] LEVEL: see sass-edge level --help.')
  },
}
