/**
 * `sass-edge audit tail`: the last records, or the last of those that somebody is asked about: who did what, for whom,
 * with which tool and when.
 * @module
 */

import { type ChainRecord, readRecord } from '../../audit/chain.ts'
import { lastRecords } from '../../audit/last-records.node.ts'
import { matchingRecords, type Wanted } from '../../audit/matching-records.node.ts'
import { steadily } from '../../audit/retention.node.ts'
import { unreadableChain } from '../../audit/segments.node.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { nearest } from '../../base/text/suggest.ts'
import { visible } from '../../base/text/visible.ts'
import { TOOLS } from '../../base/tool-name.ts'
import { misuse } from '../../errors.ts'
import { localState, takeWords } from '../common/local-config.node.ts'
import type { Described } from '../words/arguments.ts'
import { isGiven, type Options, optionValue, wholeNumber } from '../words/arguments.ts'
import { plainId } from '../words/listing.ts'
import type { Subcommand } from '../words/subcommand.ts'

const SHOWN_RECORDS = 20
export const SHOWN_RECORDS_MAX = 10_000

export const tailOptions: Described = Object.freeze({
  '-n, --lines COUNT': 'tail: so many of the last records',
  '--session ID': 'tail: only records of that session',
  '--agent NAME': 'tail: only records of that agent, or of one instance of it',
  '--for NAME': 'tail: only what was decided for an agent that acted for this one',
  '--tool TOOL':
    'tail: only what was permitted to use that tool: Read, Glob, Grep, Write, Edit, Bash or WebFetch; egress: what sessions talked to',
  '--since TIME': 'tail: only from then on, as 2026-03-01 or 2026-03-01T12:00:00Z',
  '--until TIME': 'tail: only up to then',
})

/** What records of the gate to the network have for a tool. */
const EGRESS = 'egress'
const FILTERS = ['session', 'agent', 'for', 'tool', 'since', 'until'] as const

/** As records have it. A day alone begins, or as an end ends, in UTC. */
function timeOf(options: Options, name: 'since' | 'until'): string | undefined {
  const text = optionValue(options, name)
  if (text === undefined) return undefined
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text)
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text)
  const ms =
    isDay || isTime ? Date.parse(isDay && name === 'until' ? `${text}T23:59:59.999Z` : text) : Number.NaN
  if (Number.isNaN(ms))
    throw misuse(
      `--${name} takes a day or a time with its zone, as 2026-03-01 or 2026-03-01T12:00:00Z, and not ${JSON.stringify(text.slice(0, 40))}.`,
    )
  return new Date(ms).toISOString()
}

function toolOf(options: Options): string | undefined {
  const text = optionValue(options, 'tool')
  const tools = [...TOOLS, EGRESS]
  if (text === undefined || tools.some((tool) => tool === text)) return text
  const meant = nearest(text, tools)
  throw misuse(
    `There is no tool ${JSON.stringify(text.slice(0, 40))}${meant === undefined ? `: it is one of ${tools.join(', ')}.` : `: did you mean ${meant}?`}`,
  )
}

function wantedBy(options: Options): Wanted | undefined {
  if (!FILTERS.some((name) => isGiven(options, name))) return undefined
  const session = optionValue(options, 'session')
  return {
    session: session === undefined ? undefined : plainId(session),
    agent: optionValue(options, 'agent'),
    actsFor: optionValue(options, 'for'),
    tool: toolOf(options),
    since: timeOf(options, 'since'),
    until: timeOf(options, 'until'),
  }
}

/** TCP is what nobody has to be told of. */
function withoutTcp({
  protocol,
  ...fields
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return protocol === 'udp' ? { ...fields, port: `${fields['port']}/udp` } : fields
}

/** One record as one line for people: what it is first, then its fields as they are. */
export function lineOf({ event, timestamp }: ChainRecord): string {
  const { type, seq, ...all } = event
  const fields = type === EGRESS ? withoutTcp(all) : all
  const told = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return visible([`${seq}`, timestamp, type, ...told].join(' '))
}

/** All that are asked for: the last of them, and how many there are. */
function read(directory: string, wanted: Wanted | undefined, count: number) {
  try {
    if (wanted !== undefined) return steadily(directory, () => matchingRecords(directory, wanted, count))
    const lines = steadily(directory, () => lastRecords(directory, count))
    const records = lines.flatMap((line) => readRecord(line) ?? [])
    return { records, total: records.length }
  } catch (cause) {
    throw unreadableChain(directory, cause)
  }
}

export const tail: Subcommand = async (context) => {
  takeWords(context, 1)
  const { options } = context.arguments
  const text = optionValue(options, 'lines')
  const count = text === undefined ? SHOWN_RECORDS : wholeNumber(text, 1, SHOWN_RECORDS_MAX)
  if (count === undefined) throw misuse(`--lines takes a number from 1 to ${SHOWN_RECORDS_MAX}.`)
  const wanted = wantedBy(options)
  const { records, total } = read(localState(context).config.audit.directory, wanted, count)
  const value = records.map(({ timestamp, event, hash }) => ({
    timestamp,
    event,
    chain_hash: encodeHex(hash),
  }))
  const left = total - records.length
  return context.output.result({ records: value, ...(wanted === undefined ? {} : { total }) }, [
    ...(left === 0 ? [] : [`${left} more before these: ask for them with -n.`]),
    ...records.map(lineOf),
    ...(wanted !== undefined && total === 0 ? ['No record fits.'] : []),
  ])
}
