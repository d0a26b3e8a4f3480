/**
 * The handoffs that are kept: in memory what is known of each, in a file its text as well and beside it the files that
 * it brings, so that a restart loses none and changes none. One that was taken is kept like any other, since what is handed on is held against it; after a day it
 * is forgotten. Bounds are the decision's (docs/responses.md, quota): here everything is only counted.
 * Rules: docs/handoffs.md.
 * @module
 */

import type { HandoffBefore, HandoffCounts } from '../../defense/facts.ts'
import {
  HANDOFFS_PER_MINUTE,
  KEPT_ARTIFACT_BYTES,
  KEPT_ARTIFACT_BYTES_PER_SENDER,
  KEPT_ARTIFACTS,
  ROUNDS_UNNAMED_MS,
} from '../../defense/handoffs/limits.ts'
import { SassError } from '../../errors.ts'
import { CLOCK_FLOOR_MS, HANDOFF_KEPT_MS, KEPT_RESULTS_SLACK_BYTES } from '../../limits.ts'
import type { Clock, CopyStore, LineFile, LinePlace } from '../../ports.ts'
import type { Recipient } from '../callers/identities.ts'
import { copiesOf, type HandoffRecord, readHandoffLine, sentLine, takenLine } from './handoff-record.ts'

const MINUTE_MS = 60_000
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

export type KeptHandoff = HandoffRecord & { readonly isTaken: boolean }

export function isFor({ to, recipient }: HandoffRecord, own: Recipient): boolean {
  return to === own.name && (recipient === undefined || recipient === own.scope)
}

export type Handoffs = {
  counts(sender: string, to: string): HandoffCounts
  /** One more try of that sender in its minute; true where it was not too many. */
  tried(sender: string): boolean
  find(id: string): KeptHandoff | undefined
  /** How often that sender has given that agent this task: by its name, and where one has none by its digest, lately. */
  rounds(sender: string, to: string, taskId: string | undefined, task: string): number
  /**
   * The latest that was given to that agent for this task, by its name or by its digest. By its name only what it has
   * taken: anybody may write to it under any name.
   */
  received(own: Recipient, taskId: string | undefined, task: string): KeptHandoff | undefined
  /** How many files and bytes more that sender's handoffs may bring. */
  roomOf(sender: string): Brought
  /** Counts one that is being made ready like those that are kept, with what it will bring, until the function is called. */
  prepare(coming: Coming): () => void
  /** The copies themselves. */
  readonly copies: CopyStore
  /** @throws STATE_UNWRITABLE; nothing is kept then */
  add(record: HandoffRecord, content: string): void
  /**
   * Its text, as it was sent; from then on it is marked as taken.
   * @throws STATE_UNWRITABLE
   */
  take(id: string): string
  /** The latest first; undefined: everybody's. */
  listFor(own: Recipient | undefined): readonly KeptHandoff[]
  /**
   * Erases what that session has sent; how many there were.
   * @throws STATE_UNWRITABLE
   */
  purge(session: string): number
  /** What is too old goes, with what it has brought. */
  tick(): void
  readonly whenKept: LineFile['whenKept']
}

export type Brought = { files: number; bytes: number }
export type Coming = Brought & { readonly sender: string; readonly to: string }

type Entry = {
  readonly record: HandoffRecord
  readonly place: LinePlace
  taken: LinePlace | undefined
  /** On the monotonic clock: the other one may be set. */
  readonly untilMs: number
}

export type HandoffsOptions = {
  readonly file: LineFile
  readonly copies: CopyStore
  readonly clock: Clock
  /** Called where lines of the file are not what was once written. */
  readonly damaged: (lines: number) => void
}

export function beforeOf({
  id,
  task,
  criticality,
  classification,
  persistent,
  depth,
}: HandoffRecord): HandoffBefore {
  return { id, task, criticality, classification, persistent, depth }
}

export function createHandoffs({ file, copies, clock, damaged }: HandoffsOptions): Handoffs {
  /** In the order in which they were sent. */
  const kept = new Map<string, Entry>()
  const lately = new Map<string, { readonly sinceMs: number; count: number }>()
  const coming = new Set<Coming>()
  let isLoaded = false

  /** A clock that was set back, or never set, makes it no shorter. */
  function leftOf(sentAtMs: number): number {
    if (sentAtMs < CLOCK_FLOOR_MS) return HANDOFF_KEPT_MS
    return HANDOFF_KEPT_MS - Math.max(0, clock.wallMs() - sentAtMs)
  }

  function load(): void {
    if (isLoaded) return
    let unreadable = 0
    const bad = file.read((line, place) => {
      const read = readHandoffLine(line)
      if (read === undefined) unreadable++
      else if (read.kind === 'taken') markTaken(read.id, place)
      else if (leftOf(read.record.sentAtMs) > 0) keep(read.record, place)
    })
    isLoaded = true
    const named = new Set([...kept.values()].flatMap(({ record }) => copiesOf(record)))
    copies.keepOnly((name) => named.has(name))
    if (bad + unreadable === 0) return
    damaged(bad + unreadable)
    file.keepOnlySoon(places)
  }

  function keep(record: HandoffRecord, place: LinePlace): void {
    const untilMs = clock.monotonicMs() + leftOf(record.sentAtMs)
    kept.set(record.id, { record, place, taken: undefined, untilMs })
  }

  function markTaken(id: string, place: LinePlace): void {
    const entry = kept.get(id)
    if (entry !== undefined) entry.taken = place
  }

  function* places(): Iterable<LinePlace> {
    for (const { place, taken } of kept.values()) {
      yield place
      if (taken !== undefined) yield taken
    }
  }

  /** Everything that is kept, without what is too old by now. */
  function current(): readonly Entry[] {
    load()
    const now = clock.monotonicMs()
    for (const { record, untilMs } of kept.values()) if (untilMs <= now) forget(record, false)
    return [...kept.values()]
  }

  function forget(record: HandoffRecord, erases: boolean): void {
    kept.delete(record.id)
    copies.remove(copiesOf(record), erases)
  }

  /** Those that are kept and those that soon will be, as they count. */
  function counted(): readonly Coming[] {
    const present = current().map(({ record: { sender, to, artifacts } }) => {
      const brought = artifacts.filter(({ sha256 }) => sha256 !== '')
      return { sender, to, files: brought.length, bytes: sumOf(brought.map(({ size }) => size)) }
    })
    return [...present, ...coming]
  }

  function shrink(): void {
    let bytes = 0
    for (const place of places()) bytes += place.bytes
    if (file.sizeBytes > 2 * bytes + KEPT_RESULTS_SLACK_BYTES) file.keepOnlySoon(places)
  }

  const shown = ({ record, taken }: Entry): KeptHandoff => ({ ...record, isTaken: taken !== undefined })

  function find(id: string): KeptHandoff | undefined {
    const entry = current().find(({ record }) => record.id === id)
    return entry === undefined ? undefined : shown(entry)
  }

  function triedLately(sender: string): number {
    const entry = lately.get(sender)
    return entry === undefined || clock.monotonicMs() - entry.sinceMs >= MINUTE_MS ? 0 : entry.count
  }

  return {
    counts(sender, to) {
      const all = counted()
      const waiting = current().filter(({ record, taken }) => record.to === to && taken === undefined)
      return {
        waiting: waiting.length + [...coming].filter((one) => one.to === to).length,
        tried: triedLately(sender),
        ofSender: all.filter((one) => one.sender === sender).length,
        kept: all.length,
      }
    },
    roomOf(sender) {
      const all = counted()
      const own = all.filter((one) => one.sender === sender)
      const left = (most: number, of: readonly Coming[]) => most - sumOf(of.map(({ bytes }) => bytes))
      return {
        files: KEPT_ARTIFACTS - sumOf(all.map(({ files }) => files)),
        bytes: Math.min(left(KEPT_ARTIFACT_BYTES, all), left(KEPT_ARTIFACT_BYTES_PER_SENDER, own)),
      }
    },
    prepare(one) {
      coming.add(one)
      return () => coming.delete(one)
    },
    copies,
    tried(sender) {
      const count = triedLately(sender) + 1
      const now = clock.monotonicMs()
      if (count === 1) {
        for (const [name, { sinceMs }] of lately) if (now - sinceMs >= MINUTE_MS) lately.delete(name)
        lately.set(sender, { sinceMs: now, count })
      } else lately.set(sender, { sinceMs: lately.get(sender)?.sinceMs ?? now, count })
      return count <= HANDOFFS_PER_MINUTE
    },
    find,
    rounds(sender, to, taskId, task) {
      // Whoever gives tasks names has said which are the same; of others an hour tells a round from what comes daily.
      const lately = clock.monotonicMs() + HANDOFF_KEPT_MS - ROUNDS_UNNAMED_MS
      const isSame = ({ record, untilMs }: Entry) =>
        taskId !== undefined && record.taskId !== undefined
          ? record.taskId === taskId
          : record.task === task && untilMs > lately
      const pair = current().filter(({ record }) => record.sender === sender && record.to === to)
      return pair.filter(isSame).length
    },
    received(own, taskId, task) {
      const given = current().filter(({ record }) => isFor(record, own))
      const found =
        given.findLast(({ record, taken }) => taken && taskId !== undefined && record.taskId === taskId) ??
        given.findLast(({ record }) => record.task === task)
      return found === undefined ? undefined : shown(found)
    },
    add(record, content) {
      load()
      keep(record, file.append(sentLine(record, content)))
      shrink()
    },
    take(id) {
      const entry = current().find(({ record }) => record.id === id)
      const read = entry === undefined ? undefined : readHandoffLine(file.line(entry.place))
      if (entry === undefined || read?.kind !== 'sent')
        throw new SassError('INTERNAL', 'A handoff that was found is not there; list the handoffs again.')
      entry.taken ??= file.append(takenLine(id))
      return read.content
    },
    listFor(own) {
      return current()
        .filter(({ record }) => own === undefined || isFor(record, own))
        .map(shown)
        .toReversed()
    },
    purge(session) {
      const own = current().filter(({ record }) => record.session === session)
      for (const { record } of own) forget(record, true)
      // Lines that nobody wants any more may be of it as well.
      file.keepOnly(places)
      return own.length
    },
    tick: () => void current(),
    whenKept: file.whenKept,
  }
}
