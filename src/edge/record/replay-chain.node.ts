/**
 * The replay of a whole chain from its files: each decision with its sealed facts, under the policy that the chain says
 * held then, and the state of the daemon from record to record. The chain is read once; frames that no record names (a crash came in between) are passed over.
 * Rules: docs/responses.md, section 7 (replay).
 * @module
 */
import { join } from 'node:path'
import { policyNamed, readRecord } from '../../audit/chain.ts'
import { type FactsFrame, readFacts } from '../../audit/facts-files.node.ts'
import { chainPaths, policyOfDropped } from '../../audit/retention.node.ts'
import { eachLine, openSegment } from '../../audit/segments.node.ts'
import { closing } from '../../base/closing.node.ts'
import type { Policy } from '../../defense/layer.ts'
import { asSassError } from '../../errors.ts'
import type { AuditEvent } from '../../ports.ts'
import { createRebuiltAnomalies } from '../../session/standing/rebuilt-anomalies.ts'
import { createRebuiltState, type Departure } from '../../session/standing/rebuilt-state.ts'
import { type Outcome, replayDecision, type Sealed } from '../../session/standing/replay.ts'
import { loadLaw } from '../intent/constitution.node.ts'
import { thawPolicy } from './thawed-policy.node.ts'

export type ReplayReport = {
  readonly decisions: number
  readonly counts: Readonly<Record<Outcome['kind'], number>>
  /** The first that came out otherwise, at most SHOWN of them. */
  readonly different: readonly { readonly sequence: number; readonly fields: readonly string[] }[]
  /** Numbers of the first whose facts are not there. */
  readonly missing: readonly number[]
  /** Of the daemon's own state, rebuilt from the records before each. */
  readonly state: {
    /** Decisions whose state came out as they had it, and those of which too little is there to tell. */
    readonly followed: number
    readonly untold: number
    /** Records that do not follow from those before them, the first of them, at most SHOWN. */
    readonly broken: readonly ({ readonly sequence: number } & Departure)[]
  }
  /** Programs of other versions that decided, and policies that could not be read. */
  readonly notes: readonly string[]
}

const SHOWN = 20

/** Hands out frames by their digest, in order; what is passed over is gone. */
function frameFinder(directory: string): (digest: string) => FactsFrame | undefined {
  const frames = readFacts(directory)
  /** Frames that were read while another one was looked for: orphans, and those of records still to come. */
  const ahead = new Map<string, FactsFrame>()
  return (digest) => {
    const known = ahead.get(digest)
    if (known !== undefined) {
      ahead.delete(digest)
      return known
    }
    // Orphans come one at a crash; a frame that is not within so many is not there.
    while (ahead.size < 64) {
      const next = frames.next()
      if (next.done === true) return undefined
      if (next.value.digest === digest) return next.value
      ahead.set(next.value.digest, next.value)
    }
    const [oldest] = ahead.keys()
    if (oldest !== undefined) ahead.delete(oldest)
    return undefined
  }
}

function sealedOf(frame: FactsFrame | undefined): Sealed {
  if (frame === undefined || frame.content === 'unreadable') return { kind: 'missing' }
  if (frame.content === 'purged') return { kind: 'purged' }
  return { kind: 'content', value: JSON.parse(Buffer.from(frame.content).toString('utf8')) }
}

export type ReplayOptions = {
  /** The name of the policy that held when what is there of the chain begins; absent: as it says beside the chain. */
  readonly policy?: string | undefined
  /** Only decisions of that session. */
  readonly session?: string | undefined
}

/**
 * @param directory that of the audit
 * @param program the version of this program
 * @throws the system's error where the chain cannot be read
 */
export function replayChain(
  directory: string,
  program: string,
  { policy: startPolicy = policyOfDropped(directory), session: only }: ReplayOptions = {},
): ReplayReport {
  const counts = { same: 0, purged: 0, missing: 0, no_policy: 0, different: 0 }
  const different: { sequence: number; fields: readonly string[] }[] = []
  const missing: number[] = []
  const notes = new Set<string>()
  const find = frameFinder(directory)
  const thawed = new Map<string, Policy | undefined>()
  let policy: Policy | undefined

  function thawedAs(name: string): Policy | undefined {
    if (thawed.has(name)) return thawed.get(name)
    let found: Policy | undefined
    try {
      const frozen = thawPolicy(join(directory, 'policies'), name)
      found = frozen.policy
      if (frozen.program !== program)
        notes.add(`version ${frozen.program} of this program decided a part of it`)
    } catch (cause) {
      const known = asSassError(cause)
      notes.add(known?.message ?? `the policy ${name} is not there`)
    }
    thawed.set(name, found)
    return found
  }

  const law = loadLaw()
  const rebuilt = createRebuiltState()
  const anomalies = createRebuiltAnomalies()
  const state = { followed: 0, untold: 0, broken: [] as ({ sequence: number } & Departure)[] }

  function decideAgain(event: AuditEvent, sequence: number): Outcome | undefined {
    const { type, facts } = event
    if (type !== 'decision' || typeof facts !== 'string') return undefined
    if (only !== undefined && event['session'] !== only) return undefined
    const outcome = replayDecision(event, sealedOf(find(facts)), policy, law)
    counts[outcome.kind]++
    if (outcome.kind === 'missing' && missing.length < SHOWN) missing.push(sequence)
    if (outcome.kind === 'different' && different.length < SHOWN)
      different.push({ sequence, fields: outcome.fields })
    return outcome
  }

  function take(event: AuditEvent, atMs: number): void {
    const named = policyNamed(event)
    if (named !== undefined) policy = thawedAs(named)
    const sequence = typeof event['seq'] === 'number' ? event['seq'] : 0
    const outcome = decideAgain(event, sequence)
    const decided = outcome !== undefined && 'decided' in outcome ? outcome.decided : undefined
    const { isTold, departures } = rebuilt.take(event, decided)
    for (const departure of [...departures, ...anomalies.take(event, atMs)])
      if (state.broken.length < SHOWN) state.broken.push({ sequence, ...departure })
    if (outcome === undefined || departures.length > 0) return
    if (isTold) state.followed++
    else state.untold++
  }

  if (startPolicy !== undefined) policy = thawedAs(startPolicy)
  for (const path of chainPaths(directory)) {
    const descriptor = openSegment(path)
    using _descriptor = closing(descriptor)
    eachLine(descriptor, (line) => {
      const record = readRecord(line.toString('utf8'))
      if (record !== undefined) take(record.event, Date.parse(record.timestamp))
      return false
    })
  }
  const decisions = Object.values(counts).reduce((sum, count) => sum + count, 0)
  return { decisions, counts, different, missing, state, notes: [...notes] }
}
