/**
 * `sass-edge why SEQ`: what was decided at a record of the audit chain, by whom, and what to do about it. The daemon
 * knows its last decisions in words; of an older one, and where no daemon runs, the record itself is read, which has
 * names and digests and no words of what was asked.
 * @module
 */

import type { ChainRecord } from '../../audit/chain.ts'
import { type FoundRecord, findRecord } from '../../audit/find-record.node.ts'
import { visible } from '../../base/text/visible.ts'
import { adviceFor, nameOfResponse } from '../../defense/describe.ts'
import { asSassError, misuse } from '../../errors.ts'
import type { AuditValue } from '../../ports.ts'
import type { Explanation } from '../../wire/status-messages.ts'
import { localState, takeWords } from '../common/local-config.node.ts'
import { asOperator, OPERATOR_OPTIONS, utcTime } from '../common/operator.node.ts'
import { optionValue, wholeNumber } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { alignColumns } from '../words/listing.ts'
import { asLocal } from './audit-words.node.ts'

type Row = readonly [string, string]

/** Rows with something to say, as lines that steer nothing. */
function lines(rows: readonly Row[]): string[] {
  return alignColumns(rows.filter(([, text]) => text !== '').map(([name, text]) => [name, visible(text)]))
}

function who(agent: string, source: string): string {
  const name = agent === '' ? 'nobody that is known' : agent
  return source === '' ? name : `${name}, from ${source}`
}

function tellDaemons(context: CommandContext, told: Explanation): void {
  context.output.result(
    {
      seq: told.seq,
      from: 'daemon',
      asked: told.asked,
      effective: told.effective,
      response: told.response,
      layer: told.layer,
      rule: told.rule,
      reason: told.reason,
      advice: told.advice,
      severity: told.severity,
      opaque: told.opaque,
      confinement: told.confinement,
      agent: told.agent_name,
      source: told.source,
      at: told.at,
    },
    lines([
      ['asked', told.asked],
      ...told.effective.map((command): Row => ['would run', command]),
      ['response', told.response],
      ['decided by', `${told.layer}, ${told.rule}`],
      ['severity', told.severity],
      ['not read', told.opaque],
      ['sandbox', told.confinement],
      ['why', told.reason],
      ['what to do', told.advice],
      ['who', who(told.agent_name, told.source)],
      ['when', utcTime(told.at)],
    ]),
  )
}

function textOf(value: AuditValue | undefined): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A record that is no decision: what it says, as it says it. */
function tellEvent(context: CommandContext, { event, timestamp }: ChainRecord, sequence: number): void {
  const { type, seq: _seq, ...rest } = event
  const rows = Object.entries(rest).map(([name, value]): Row => [name, textOf(value)])
  context.output.result({ seq: sequence, from: 'chain', at: timestamp, event }, [
    `Record ${sequence} is no decision but: ${visible(type)}, ${visible(timestamp)}`,
    ...lines(rows).map((line) => `  ${line}`),
  ])
}

/** As the record has it. */
function sandboxOf(level: string, weak: string, digest: string): string {
  if (level === '') return ''
  return `${level}${weak === '' ? '' : `, weak: ${weak}`} (${digest})`
}

function tellRecord(context: CommandContext, record: ChainRecord, sequence: number): void {
  const { event, timestamp } = record
  if (event.type !== 'decision') return tellEvent(context, record, sequence)
  const field = (name: string) => textOf(event[name])
  const [layer, rule, response] = [field('layer'), field('rule'), field('response')]
  const advice = adviceFor({ layer, rule, response })
  const digest = field('action_digest')
  const what = field('action') === '' ? field('method') : field('action')
  context.output.result(
    { seq: sequence, from: 'chain', at: timestamp, response: nameOfResponse(response), advice, event },
    lines([
      ['asked', digest === '' ? what : `${what}, of which the record has the digest ${digest} alone`],
      ['response', nameOfResponse(response)],
      ['decided by', `${layer}, ${rule}`],
      ['code', field('code')],
      ['severity', field('severity')],
      ['not read', field('opaque')],
      ['sandbox', sandboxOf(field('isolation'), field('weak'), field('confinement'))],
      ['what to do', advice],
      ['who', who(field('agent'), field('source'))],
      ['session', field('session')],
      ['execution', field('execution')],
      ['when', timestamp],
    ]),
  )
}

/** Undefined: the daemon of this machine does not remember it, or does not run. */
async function askDaemon(context: CommandContext, sequence: number): Promise<Explanation | undefined> {
  try {
    return await asOperator(context, ({ operator }) => operator.explain(sequence))
  } catch (error) {
    const code = asSassError(error)?.code
    const isElsewhere = optionValue(context.arguments.options, 'target') !== undefined
    if (isElsewhere || (code !== 'PROCESS_NOT_FOUND' && code !== 'CONNECT_FAILED')) throw error
    return undefined
  }
}

function recordOf(directory: string, sequence: number): FoundRecord {
  try {
    return findRecord(directory, sequence)
  } catch (error) {
    throw asLocal(error)
  }
}

export const command: Command = {
  usage: ['why SEQ'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge why 1042': 'the decision of that record, in words while the daemon remembers it',
    'sass-edge why 1042 --json': 'the same for a script',
  },
  async run(context) {
    const [word] = takeWords(context, 1)
    const sequence = wholeNumber(word ?? '', 1, Number.MAX_SAFE_INTEGER)
    if (sequence === undefined)
      throw misuse(
        'why takes the number of a record: it is in the log as seq, and the last one in sass-edge status.',
      )
    const told = await askDaemon(context, sequence)
    if (told !== undefined) {
      tellDaemons(context, told)
      return EXIT.OK
    }
    const { record, lastSequence } = recordOf(localState(context).config.audit.directory, sequence)
    if (record === undefined)
      throw misuse(
        `The audit chain has no record ${sequence}${lastSequence === 0 ? '' : `; its last one is ${lastSequence}`}: see sass-edge status.`,
      )
    tellRecord(context, record, sequence)
    return EXIT.OK
  },
}
