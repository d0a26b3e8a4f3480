/**
 * `sass-edge audit incident SEQ`: one incident in one answer, out of the record alone: who it was, what raised which level
 * and who lowered it, what was refused and ended, which states were saved and restored, from its record on until now.
 * Rules: jerry.md, requirement 036; docs/responses.md, section 7 (what is recorded).
 * @module
 */

import type { ChainRecord } from '../../audit/chain.ts'
import { findRecord } from '../../audit/find-record.node.ts'
import { matchingRecords } from '../../audit/matching-records.node.ts'
import { steadily } from '../../audit/retention.node.ts'
import { visible } from '../../base/text/visible.ts'
import { misuse } from '../../errors.ts'
import { localState, takeWords } from '../common/local-config.node.ts'
import { wholeNumber } from '../words/arguments.ts'
import type { Subcommand } from '../words/subcommand.ts'
import { lineOf, SHOWN_RECORDS_MAX } from './audit-tail.node.ts'

type Event = ChainRecord['event']
/** With R1 it was done; R2 and R3 wait, and have records of their own. */
const REFUSED: readonly unknown[] = ['R4', 'R5', 'R6', 'STATUS']

/** What a summary has, in this order. */
const PARTS: Readonly<Record<string, (event: Event) => boolean>> = {
  levels: ({ type }) => type === 'level',
  refused: (event) => event.type === 'decision' && REFUSED.includes(event['response']),
  ended: (event) => event.type === 'execution_lost' || typeof event['killed'] === 'string',
  asked: ({ type }) => type === 'confirmation',
  saved: ({ type, what }) => type === 'branch' && /^(preserve|checkpoint)/.test(String(what)),
  restored: ({ type, what }) => type === 'branch' && what === 'restored',
  merged: ({ type, what }) => type === 'branch' && /^(merged|undone|dropped)$/.test(String(what)),
}

/** Whoever the record is about, by names that other records have. */
function namesIn(event: Event): string[] {
  const { scope } = event
  const fields = ['session', 'instance', 'branch', ...(scope === 'daemon' ? [] : ['name'])]
  // An agent is meant where the whole of it was: another session of it has nothing to do with this one.
  const all = [...fields, ...(scope === undefined && event['session'] === undefined ? ['agent'] : [])]
  return all.flatMap((name) => (typeof event[name] === 'string' ? [event[name]] : []))
}

export const incident: Subcommand = async (context) => {
  const [, word = ''] = takeWords(context, 2)
  const sequence = wholeNumber(word, 1, Number.MAX_SAFE_INTEGER)
  if (sequence === undefined)
    throw misuse('Write audit incident SEQ, with the number of a record: see sass-edge level.')
  const { directory } = localState(context).config.audit
  const { record, lastSequence } = findRecord(directory, sequence)
  if (record === undefined) throw misuse(`There is no record ${sequence}: the last one is ${lastSequence}.`)
  const about = namesIn(record.event)
  const since = { about, from: sequence }
  const { records, total } = steadily(directory, () => matchingRecords(directory, since, SHOWN_RECORDS_MAX))
  const parts = Object.entries(PARTS).map(
    ([name, fits]) => [name, records.filter(({ event }) => fits(event))] as const,
  )
  const value = Object.fromEntries(parts.map(([name, of]) => [name, of.map(({ event }) => event)]))
  return context.output.result({ incident: sequence, about, records: total, ...value }, [
    lineOf(record),
    `It is about ${about.map(visible).join(', ') || 'nobody'}: ${total} records since.`,
    ...(total > records.length ? [`The last ${records.length} of them were looked at.`] : []),
    ...parts.flatMap(([name, of]) => [
      `${name}: ${of.length || 'nothing'}`,
      ...of.map((one) => `  ${lineOf(one)}`),
    ]),
  ])
}
