/**
 * Who did what for whom, with which tool and when, out of the chain: the last records that fit what is asked. It tells
 * what stands there; whether the chain is whole is another question.
 * Rules: docs/responses.md, section 7 (what is recorded).
 * @module
 */
import { closeSync } from 'node:fs'
import { type ChainRecord, readRecord } from './chain.ts'
import { eachLine, openSegment, segmentsOf } from './segments.node.ts'

/** What is absent fits every record. */
export type Wanted = {
  readonly session?: string | undefined
  /** An agent, or one instance of it. */
  readonly agent?: string | undefined
  /** Whoever the agent acted for. */
  readonly actsFor?: string | undefined
  /** Of what was permitted; a command may need several. */
  readonly tool?: string | undefined
  /** RFC 3339 with milliseconds and Z, both included. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** Names, of which a field of the record is one: whoever or whatever it is about. */
  readonly about?: readonly string[]
  /** The number of the first one. */
  readonly from?: number
}

function isAmong(value: unknown, wanted: string): boolean {
  return typeof value === 'string' && value.split(' ').includes(wanted)
}

function fits({ event, timestamp }: ChainRecord, wanted: Wanted): boolean {
  const { session, agent, actsFor, tool, since, until, about, from = 0 } = wanted
  return (
    (session === undefined || event['session'] === session) &&
    (agent === undefined || event['agent'] === agent || event['instance'] === agent) &&
    (actsFor === undefined || isAmong(event['acts_for'], actsFor)) &&
    (tool === undefined || isAmong(event['tool'], tool)) &&
    (since === undefined || timestamp >= since) &&
    (until === undefined || timestamp <= until) &&
    Number(event['seq']) >= from &&
    (about === undefined ||
      Object.values(event).some((value) => typeof value === 'string' && about.includes(value)))
  )
}

/**
 * The last `count` records that fit, the oldest first, and how many there are in all.
 * @throws the system's error where a file cannot be read
 */
export function matchingRecords(
  directory: string,
  wanted: Wanted,
  count: number,
): { readonly records: readonly ChainRecord[]; readonly total: number } {
  // What does not have the words anywhere is not parsed; a device may have millions of records.
  const words = [wanted.session, wanted.agent, wanted.actsFor, wanted.tool].filter(
    (word) => word !== undefined,
  )
  const records: ChainRecord[] = []
  let total = 0
  for (const { path } of segmentsOf(directory)) {
    const descriptor = openSegment(path)
    try {
      eachLine(descriptor, (line) => {
        const record = words.every((word) => line.includes(word))
          ? readRecord(line.toString('utf8'))
          : undefined
        if (record === undefined || !fits(record, wanted)) return false
        total++
        records.push(record)
        if (records.length > count) records.shift()
        return false
      })
    } finally {
      closeSync(descriptor)
    }
  }
  return { records, total }
}
