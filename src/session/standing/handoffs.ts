/**
 * The handoffs that are kept: in memory what is known of each, in a file its text as well, so that a restart loses none
 * and changes none. One that was taken is kept like any other, since what is handed on is held against it; after a day it
 * is forgotten. Bounds are the decision's (docs/responses.md, quota): here everything is only counted.
 * Rules: docs/handoffs.md.
 * @module
 */

import type { HandoffBefore, HandoffCounts } from '../../defense/facts.ts'
import { HANDOFFS_PER_MINUTE, ROUNDS_UNNAMED_MS } from '../../defense/handoffs/limits.ts'
import { SassError } from '../../errors.ts'
import { CLOCK_FLOOR_MS, HANDOFF_KEPT_MS, KEPT_RESULTS_SLACK_BYTES } from '../../limits.ts'
import type { Clock, LineFile, LinePlace } from '../../ports.ts'
import { type HandoffRecord, readHandoffLine, sentLine, takenLine } from './handoff-record.ts'

const MINUTE_MS = 60_000

export type KeptHandoff = HandoffRecord & { readonly isTaken: boolean }

export type Handoffs = {
  counts(sender: string, to: string): HandoffCounts
  /** One more try of that sender in its minute; true where it was not too many. */
  tried(sender: string): boolean
  find(id: string): KeptHandoff | undefined
  /** How often that sender has given that agent this task: by its name, and where one has none by its digest, lately. */
  rounds(sender: string, to: string, taskId: string | undefined, task: string): number
  /** The latest that was given to that agent for this task, by its name or by its digest. */
  received(to: string, taskId: string | undefined, task: string): KeptHandoff | undefined
  /** @throws STATE_UNWRITABLE; nothing is kept then */
  add(record: HandoffRecord, content: string): void
  /**
   * Its text, as it was sent; from then on it is marked as taken.
   * @throws STATE_UNWRITABLE
   */
  take(id: string): string
  /** The latest first; undefined: everybody's. */
  listFor(to: string | undefined): readonly KeptHandoff[]
  /**
   * Erases what that session has sent; how many there were.
   * @throws STATE_UNWRITABLE
   */
  purge(session: string): number
  readonly whenKept: LineFile['whenKept']
}

type Entry = {
  readonly record: HandoffRecord
  readonly place: LinePlace
  taken: LinePlace | undefined
  /** On the monotonic clock: the other one may be set. */
  readonly untilMs: number
}

export type HandoffsOptions = {
  readonly file: LineFile
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

export function createHandoffs({ file, clock, damaged }: HandoffsOptions): Handoffs {
  /** In the order in which they were sent. */
  const kept = new Map<string, Entry>()
  const lately = new Map<string, { readonly sinceMs: number; count: number }>()
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
    for (const [id, { untilMs }] of kept) if (untilMs <= now) kept.delete(id)
    return [...kept.values()]
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
      const all = current()
      return {
        waiting: all.filter(({ record, taken }) => record.to === to && taken === undefined).length,
        tried: triedLately(sender),
        ofSender: all.filter(({ record }) => record.sender === sender).length,
        kept: all.length,
      }
    },
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
    received(to, taskId, task) {
      const own = current().filter(({ record }) => record.to === to)
      const found =
        own.findLast(({ record }) => taskId !== undefined && record.taskId === taskId) ??
        own.findLast(({ record }) => record.task === task)
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
    listFor(to) {
      return current()
        .filter(({ record }) => to === undefined || record.to === to)
        .map(shown)
        .toReversed()
    },
    purge(session) {
      const own = current().filter(({ record }) => record.session === session)
      for (const { record } of own) kept.delete(record.id)
      // Lines that nobody wants any more may be of it as well.
      file.keepOnly(places)
      return own.length
    },
    whenKept: file.whenKept,
  }
}
