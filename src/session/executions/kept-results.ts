/**
 * What is known of executions beyond their rings, their session and the daemon itself: which ids were started, and how
 * each ended. An id is written down before its command starts, and its result before anybody hears of it; in memory is
 * only where the line of each stands. What was started by a daemon that did not live to see the end has no outcome, and
 * that is what is said of it. Results go after a day, or for newer ones of the same key, or where all of them together
 * grow too large: then the id is unknown again. What runs is never forgotten.
 * Rules: docs/protocol.md, section 3 (at most once).
 * @module
 */
import { decodeHex } from '../../base/encoding/hex.ts'
import {
  CLOCK_FLOOR_MS,
  CLOCK_STEP_MS,
  KEPT_RESULT_MS,
  KEPT_RESULTS_BYTES,
  KEPT_RESULTS_PER_KEY,
  KEPT_RESULTS_SLACK_BYTES,
} from '../../limits.ts'
import type { Clock, LineFile, LinePlace } from '../../ports.ts'
import { type Execution, type ExecutionKey, keyOf, type StartRecord, untouched } from './execution.ts'
import { injectionFindings } from './injection-event.ts'
import { type EndRecord, endLine, readKept, startLine, undoneLine } from './kept-record.ts'

export type KeptResults = {
  /**
   * Writes down that a command is about to start, for one that has to wait until the disk has that. The returned
   * function takes it back, unless it has begun by then.
   * @throws STATE_UNWRITABLE
   */
  announce(start: StartRecord): () => void
  /**
   * The same, for one that starts now.
   * @throws STATE_UNWRITABLE; then it must not start
   */
  begin(start: StartRecord): void
  /** It did not start after all: the id is free again. */
  undo(key: ExecutionKey): void
  /** How it ended; false: that could not be written, and must be tried again. */
  end(execution: Execution): boolean
  has(key: ExecutionKey): boolean
  find(key: ExecutionKey): Execution | undefined
  /** The newest of whoever has that id. */
  findAnywhere(id: string): Execution | undefined
  /** Those that ended last first; undefined: everybody's. */
  newest(scope: string | undefined, most: number): Execution[]
  countOf(scope: string | undefined): number
  /**
   * Erases what is known of a session's executions but that they were started; how many there were.
   * @throws STATE_UNWRITABLE
   */
  purge(sessionId: string): number
  /**
   * The wall clock was set. What is in memory lives by the monotonic one; what is in the file is given the time by which
   * the next daemon lets it live as long.
   */
  clockSet(): void
  /** Forgets what is too old, and has the file written anew where that is worth it. */
  tick(): void
  readonly whenKept: LineFile['whenKept']
}

export type KeptResultsOptions = {
  readonly file: LineFile
  readonly clock: Clock
  /** Called once for each that an earlier daemon has started and not seen the end of. */
  readonly lost: (start: StartRecord) => void
  /** Called where lines of the file are not what was once written. */
  readonly damaged: (lines: number) => void
}

type Entry = LinePlace & {
  /** On the monotonic clock: the other one may be set, and what is known must not be forgotten for that. */
  readonly untilSeconds: number
}

/** An id that was written down and whose end was not. */
type Begun = {
  readonly place: LinePlace
  /** Requests that wait to start it. */
  waiting: number
  isRunning: boolean
}

const LOST = 'The daemon was interrupted while it ran.'
const ERASED = 'An operator has erased its result.'

/** As one whose rings are gone. */
function revived({ id, state, ...end }: EndRecord): Execution {
  return {
    ...end,
    ...{ id, state, idBytes: decodeHex(id) ?? new Uint8Array(0), instance: '', warrantId: '', begunMs: 0 },
    ...{ keepsHead: false, rings: undefined, watcher: undefined, lastOutputAtMs: 0 },
    ...{ ...untouched(), acceptBytes: [0, 0], isTerminal: false },
  }
}

function asLost(start: StartRecord, endedAtMs: number, why: string): EndRecord {
  return {
    ...start,
    ...{ state: 'unknown', exit: undefined, errno: 0, endedAtMs, outputBytes: [0, 0] },
    ...{ discardedBytes: 0, timedOut: false, why },
  }
}

export function createKeptResults({ file, clock, lost, damaged }: KeptResultsOptions): KeptResults {
  /** By key, in the order of their ends. */
  const results = new Map<string, Map<string, Entry>>()
  const begun = new Map<string, Begun>()
  let resultBytes = 0
  let isLoaded = false

  const name = ({ scope, id }: ExecutionKey): string => `${scope}/${id}`

  function drop({ scope, id }: ExecutionKey): void {
    const ofKey = results.get(scope)
    const entry = ofKey?.get(id)
    if (ofKey === undefined || entry === undefined) return
    ofKey.delete(id)
    if (ofKey.size === 0) results.delete(scope)
    resultBytes -= entry.bytes
  }

  function keep(key: ExecutionKey, place: LinePlace, leftMs = KEPT_RESULT_MS): void {
    // The newest is the last one of its map.
    drop(key)
    const { scope, id } = key
    const ofKey = results.get(scope) ?? new Map<string, Entry>()
    results.set(scope, ofKey)
    ofKey.set(id, {
      at: place.at,
      bytes: place.bytes,
      untilSeconds: Math.ceil((clock.monotonicMs() + leftMs) / 1_000),
    })
    resultBytes += place.bytes
    const [oldest] = ofKey.keys()
    if (ofKey.size > KEPT_RESULTS_PER_KEY && oldest !== undefined) drop({ scope, id: oldest })
    while (resultBytes > KEPT_RESULTS_BYTES) dropOldest()
  }

  function dropOldest(): void {
    let oldest: { readonly key: ExecutionKey; readonly at: number } | undefined
    for (const [scope, ofKey] of results) {
      const [first] = ofKey
      if (first === undefined) continue
      const [id, { at }] = first
      if (oldest === undefined || at < oldest.at) oldest = { key: { scope, id }, at }
    }
    if (oldest !== undefined) drop(oldest.key)
  }

  /**
   * How much longer that is kept which ended at that time; a clock that was set back makes it no longer. What ended under
   * a clock that was never set may have ended just now: an id that is forgotten too early would run twice.
   */
  function leftOf(endedAtMs: number): number {
    if (endedAtMs < CLOCK_FLOOR_MS) return KEPT_RESULT_MS
    return KEPT_RESULT_MS - Math.max(0, clock.wallMs() - endedAtMs)
  }

  /** Reads the file when it is first needed: whoever starts the daemon does not wait for what ran before. */
  function load(): void {
    if (isLoaded) return
    let unreadable = 0
    const left = new Map<string, { readonly start: StartRecord; readonly place: LinePlace }>()
    const bad = file.read((line, place) => {
      const record = readKept(line)
      if (record === undefined) {
        unreadable++
        return
      }
      const key = { scope: record.scope, id: record.id }
      left.delete(name(key))
      drop(key)
      if (record.kind === 'start') left.set(name(key), { start: record, place })
      else if (record.kind === 'end' && leftOf(record.endedAtMs) > 0)
        keep(key, place, leftOf(record.endedAtMs))
    })
    isLoaded = true
    for (const { start, place } of left.values()) {
      lost(start)
      keep(start, place)
      write(asLost(start, clock.wallMs(), LOST))
    }
    if (bad + unreadable === 0) return
    damaged(bad + unreadable)
    file.keepOnlySoon(places)
  }

  /** Everything that is still wanted of the file. */
  function* places(): Iterable<LinePlace> {
    for (const ofKey of results.values()) yield* ofKey.values()
    for (const { place } of begun.values()) yield place
  }

  function write(end: EndRecord): boolean {
    try {
      keep(end, file.append(endLine(end)))
      return true
    } catch {
      return false
    }
  }

  function read(entry: Entry): Execution | undefined {
    const record = readKept(file.line(entry))
    if (record === undefined || record.kind === 'undone') return undefined
    return revived(record.kind === 'end' ? record : asLost(record, clock.wallMs(), LOST))
  }

  function find({ scope, id }: ExecutionKey): Execution | undefined {
    load()
    const entry = results.get(scope)?.get(id)
    return entry === undefined ? undefined : read(entry)
  }

  function begin(start: StartRecord): Begun {
    load()
    const known = begun.get(name(start))
    if (known !== undefined) return known
    const one = { place: file.append(startLine(start)), waiting: 0, isRunning: false }
    begun.set(name(start), one)
    return one
  }

  function undo(key: ExecutionKey): void {
    if (!begun.delete(name(key))) return
    try {
      file.append(undoneLine(key))
    } catch {
      // It is free in this daemon; another one would say that it does not know, which does no harm.
    }
  }

  function* newestOf(scope: string | undefined): Iterable<Entry> {
    const ofKeys = scope === undefined ? [...results.values()] : [results.get(scope) ?? new Map()]
    const entries = ofKeys.flatMap((ofKey) => [...ofKey.values()] as Entry[])
    yield* entries.sort((a, b) => b.at - a.at)
  }

  function isDue(): boolean {
    return file.sizeBytes > 2 * resultBytes + KEPT_RESULTS_SLACK_BYTES
  }

  return {
    announce(start) {
      // One that has run meanwhile does not run again, and is not what is written down here.
      const known = find(start)
      if (known !== undefined && known.state !== 'not_started') return () => {}
      const one = begin(start)
      one.waiting++
      return () => {
        one.waiting--
        if (begun.get(name(start)) === one && one.waiting === 0 && !one.isRunning) undo(start)
      }
    },
    begin(start) {
      begin(start).isRunning = true
    },
    undo,
    end(execution) {
      const { state } = execution
      const isKept =
        state !== 'starting' &&
        state !== 'running' &&
        write({ ...execution, state, findings: injectionFindings(execution) })
      if (isKept) begun.delete(name(execution))
      return isKept
    },
    has({ scope, id }) {
      load()
      return results.get(scope)?.has(id) === true
    },
    find,
    findAnywhere(id) {
      load()
      let newest: Entry | undefined
      for (const ofKey of results.values()) {
        const entry = ofKey.get(id)
        if (entry !== undefined && entry.at > (newest?.at ?? -1)) newest = entry
      }
      return newest === undefined ? undefined : read(newest)
    },
    newest(scope, most) {
      load()
      const found: Execution[] = []
      for (const entry of newestOf(scope)) {
        if (found.length === most) break
        const execution = read(entry)
        if (execution !== undefined) found.push(execution)
      }
      return found
    },
    countOf(scope) {
      load()
      if (scope !== undefined) return results.get(scope)?.size ?? 0
      let count = 0
      for (const ofKey of results.values()) count += ofKey.size
      return count
    },
    purge(sessionId) {
      load()
      let count = 0
      for (const ofKey of [...results.values()])
        for (const entry of [...ofKey.values()]) {
          const execution = read(entry)
          if (execution?.sessionId !== sessionId) continue
          count++
          const { id, scope, owner, startedAtMs, endedAtMs } = execution
          const nothing = { id, scope, owner, instance: '', sessionId: '', command: '', startedAtMs }
          const end = asLost({ ...nothing, isolation: undefined, warrantId: '' }, endedAtMs, ERASED)
          keep(end, file.append(endLine(end)), 1_000 * entry.untilSeconds - clock.monotonicMs())
        }
      // Lines that nobody wants any more may be of it as well.
      file.keepOnly(places)
      return count
    },
    clockSet() {
      if (!isLoaded) return
      const now = clock.monotonicMs()
      for (const ofKey of [...results.values()])
        for (const entry of [...ofKey.values()]) {
          const leftMs = 1_000 * entry.untilSeconds - now
          const endedAtMs = Math.round(clock.wallMs() + leftMs - KEPT_RESULT_MS)
          const record = readKept(file.line(entry))
          // One that says later is kept for longer, which does no harm.
          if (record?.kind !== 'end' || endedAtMs - record.endedAtMs < CLOCK_STEP_MS) continue
          const startedAtMs = record.startedAtMs + endedAtMs - record.endedAtMs
          try {
            keep(record, file.append(endLine({ ...record, startedAtMs, endedAtMs })), leftMs)
          } catch {
            // The disk is full: the next daemon forgets it earlier, if it ever gets so far.
            return
          }
        }
    },
    tick() {
      try {
        load()
      } catch {
        // Whoever asks for an id is told, and nothing is started.
        return
      }
      const now = clock.monotonicMs()
      for (const [scope, ofKey] of results)
        for (const [id, { untilSeconds }] of ofKey) {
          if (1_000 * untilSeconds > now) break
          drop({ scope, id })
        }
      if (isDue()) file.keepOnlySoon(places)
    },
    whenKept: file.whenKept,
  }
}

/**
 * What runs and what ended last: what is here, and the kept results of what is not.
 * @param scope undefined: everybody's. `total` counts all that is known.
 */
export function newestOf(
  executions: ReadonlyMap<string, Execution>,
  results: Pick<KeptResults, 'newest' | 'has' | 'countOf'>,
  scope: string | undefined,
  most: number,
): { readonly found: Execution[]; readonly total: number } {
  const own = (execution: Execution) => scope === undefined || execution.scope === scope
  const here = [...executions.values()].filter(own)
  const gone = results.newest(scope, most).filter((execution) => !executions.has(keyOf(execution)))
  const kept = here.filter((execution) => results.has(execution)).length
  return {
    found: [...here, ...gone].sort((a, b) => b.startedAtMs - a.startedAtMs).slice(0, most),
    total: here.length - kept + results.countOf(scope),
  }
}
