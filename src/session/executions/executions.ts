/**
 * What runs and what ran: every execution of the daemon by its caller's key and its id. An id starts at most once;
 * asking for it again finds the running execution or its kept result, which stays when rings, session and daemon go.
 * Output goes into two rings from a pool made at start, and from there to whoever watches; without a watcher the oldest
 * output is dropped, with one the process is held back.
 * Touches the world only through the Spawner, and only with a warrant that it redeems first.
 * Rules: docs/protocol.md, sections 3 and 6; docs/responses.md, section 6.
 * @module
 */

import { Warrant } from '../../defense/warrant.ts'
import { SassError } from '../../errors.ts'
import { PIPE_READ_BYTES, TERM_TO_KILL_MS } from '../../limits.ts'
import type { ChildEvents, LineFile, OutputSource } from '../../ports.ts'
import { STDERR, STDOUT } from '../../ports.ts'
import {
  type Execution,
  isHeldBack,
  isRunning,
  keyOf,
  MEMORY_KILL,
  newExecution,
  type Permit,
  type RingPair,
  type StartRecord,
  type StartRequest,
  setHeld,
  type Watcher,
} from './execution.ts'
import { screenedOutput } from './execution-output.ts'
import type { ExecutionsGround } from './executions-ground.ts'
import { startRecord } from './kept-record.ts'
import { newestOf } from './kept-results.ts'
import { createLeftWork } from './left-work.ts'
import { createRingPool } from './ring-pool.ts'

export type Executions = {
  start(request: StartRequest, watcher: Watcher): Execution
  /**
   * Keeps a place for a command that is permitted and may not start yet, and writes its id down.
   * @throws STATE_UNWRITABLE
   */
  reserve(start: StartRecord): Reservation
  find(scope: string, id: string): Execution | undefined
  /** Operators look across callers. */
  findAnywhere(id: string): Execution | undefined
  watch(execution: Execution, watcher: Watcher): void
  /** Only the watcher that is there can leave; the execution goes on. */
  leave(execution: Execution, watcher: Watcher): void
  /** Holds the source back, or lets it go on. */
  hold(execution: Execution, source: OutputSource, isHeld: boolean): void
  signal(execution: Execution, number: number, permit: Permit): boolean
  cancel(execution: Execution, permit: Permit): boolean
  /** What runs or can still be read from the beginning. */
  present(): Execution[]
  /** What runs and what ended last; `total` counts all that is known. Undefined: everybody's. */
  recent(scope: string | undefined, most: number): { readonly found: Execution[]; readonly total: number }
  runningOf(owner: string): number
  /** It has ended, and what it was asked to leave runs on. */
  hasLeft(execution: Execution): boolean
  /** How many such there are in that session. */
  leftIn(sessionId: string): number
  /** The owner's sessions in which something was left, or is about to be, but for that one. */
  leavingSessions(owner: string, except: string): number
  /** What the owner takes up: executions that run or have left something, and ended ones whose output somebody has yet to take. */
  slotsOf(owner: string): number
  readonly running: number
  /** Held back, since nobody takes what they write. */
  readonly stalled: number
  readonly free: number
  /** Pairs of rings: all there are, and those that cannot be given to another one. */
  readonly rings: { readonly all: number; readonly used: number }
  /** SIGKILL to every execution that fits; `why` in a sentence for its caller. */
  endWhere(fits: (execution: Execution) => boolean, why: string): void
  /** TERM to all, or KILL; `why` as in `endWhere`. */
  endAll(how: 'term' | 'kill', why: string): void
  /** Whether something of that session has ended and has output here, and nobody has been told how it ended. */
  owesEnd(sessionId: string): boolean
  /** Gives up the rings of a session's finished executions, as soon as their ends have arrived; their results are kept. */
  sessionEnded(sessionId: string): void
  /**
   * Erases what is known of what a session has run, of which nothing may run any more; how many that were.
   * @throws STATE_UNWRITABLE
   */
  purge(sessionId: string): number
  /** Kills what has not written a byte for that long; null: nothing. */
  endSilent(seconds: number | null): void
  /** The wall clock was set by so much: what runs was started earlier by that clock, or later. */
  clockSet(byMs: number): void
  tick(): void
}

export type Reservation = {
  /** The place is free, once. */
  giveBack(): void
  /** If it has not started by now, it never will. */
  over(): void
  /** As in AuditSink, for its id. */
  readonly whenKept: LineFile['whenKept']
}

const SIGTERM = 15
/** HUP, INT, QUIT, KILL and TERM: whoever sends them does not wait for what is held. */
const ENDING_SIGNALS: readonly number[] = [1, 2, 3, 9, SIGTERM]

export function createExecutions({
  spawner,
  clock,
  rings,
  results,
  output,
  ended,
  processesIn,
  leftEnded,
  begun,
  freed,
}: ExecutionsGround): Executions {
  /** What runs, and what has rings, a watcher, or a result that could not be written yet. */
  const executions = new Map<string, Execution>()
  const pool = createRingPool(rings, settle)
  const unwritten = new Set<Execution>()
  const runningByOwner = new Map<string, number>()
  const cancelTimers = new Map<Execution, () => void>()
  const reservedByOwner = new Map<string, number>()
  let [running, reserved] = [0, 0]
  /** By place: commands that run there, each at least one process of it. */
  const runningIn = new Map<number, number>()
  const left = createLeftWork(
    (sessionId, place) => Math.max(0, (processesIn?.(sessionId, place) ?? 0) - (runningIn.get(place) ?? 0)),
    (execution) => {
      forgetTimer(execution)
      settle(execution)
      leftEnded?.(execution)
      freed?.()
    },
  )

  function forgetTimer(execution: Execution): void {
    cancelTimers.get(execution)?.()
    cancelTimers.delete(execution)
  }

  function countIn(place: number | undefined, change: 1 | -1): void {
    if (place === undefined) return
    const now = (runningIn.get(place) ?? 0) + change
    if (now > 0) runningIn.set(place, now)
    else runningIn.delete(place)
  }

  /** What nobody needs here any more is known from its result alone. */
  function settle(execution: Execution): void {
    if (isRunning(execution) || execution.rings !== undefined || execution.watcher !== undefined) return
    if (left.has(execution) || unwritten.has(execution) || executions.get(keyOf(execution)) !== execution)
      return
    executions.delete(keyOf(execution))
  }

  function releaseRings(execution: Execution): void {
    pool.release(execution)
    settle(execution)
  }

  function count(owner: string, change: 1 | -1, byOwner = runningByOwner): void {
    if (byOwner === runningByOwner) running += change
    else reserved += change
    const left = (byOwner.get(owner) ?? 0) + change
    if (left > 0) byOwner.set(owner, left)
    else byOwner.delete(owner)
  }

  function end(execution: Execution, state: 'finished' | 'not_started'): void {
    execution.state = state
    execution.endedAtMs = clock.wallMs()
    execution.startedAtMs = Math.round(execution.endedAtMs - (clock.monotonicMs() - execution.begunMs))
    execution.child = undefined
    // What it has left has no more time than the command had.
    if (!left.has(execution)) forgetTimer(execution)
    count(execution.owner, -1)
    // Before anybody hears of it.
    if (!results.end(execution)) unwritten.add(execution)
    pool.ended(execution)
    if (state === 'not_started') {
      pool.release(execution)
      execution.watcher?.notStarted()
    } else execution.watcher?.finished()
    settle(execution)
    ended(execution)
    freed?.()
  }

  /** What it has printed that waits for an answer does not keep it. */
  function kill(execution: Execution): void {
    execution.child?.killTree()
    execution.screened?.giveUp()
  }

  function timeOut(execution: Execution): void {
    if (left.end(execution) || !isRunning(execution)) return
    execution.timedOut = true
    execution.child?.signal(SIGTERM)
    cancelTimers.set(
      execution,
      clock.after(TERM_TO_KILL_MS, () => kill(execution)),
    )
  }

  function isKnown(scope: string, id: string): boolean {
    const known = find(scope, id)
    return known !== undefined && known.state !== 'not_started'
  }

  function find(scope: string, id: string): Execution | undefined {
    return executions.get(keyOf({ scope, id })) ?? results.find({ scope, id })
  }

  /** Spends the warrant and takes the rings. Throws INTERNAL where it cannot; then nothing is started. */
  function permit(request: StartRequest): RingPair {
    if (isKnown(request.scope, request.id))
      throw new SassError('INTERNAL', 'An execution was to start a second time; nothing was done.')
    Warrant.redeem(request.warrant, request.action, request.sessionId)
    const pair = pool.take()
    if (pair === undefined)
      throw new SassError('INTERNAL', 'There is no place for the output of a command; nothing was done.')
    return pair
  }

  function start(request: StartRequest, watcher: Watcher): Execution {
    const pair = permit(request)
    const record = startRecord(request, clock.wallMs())
    const execution = newExecution(request, record, pair, watcher, clock.monotonicMs())
    // One that did not start, and whose result is not written yet, has none any more.
    const before = executions.get(keyOf(execution))
    if (before !== undefined) unwritten.delete(before)
    executions.set(keyOf(execution), execution)
    count(request.owner, 1)
    const place = request.plan.namespaces?.number
    countIn(place, 1)
    if (request.timeoutMs !== undefined)
      cancelTimers.set(
        execution,
        clock.after(request.timeoutMs, () => timeOut(execution)),
      )
    try {
      results.begin(record)
      execution.child = spawner.spawn(request.plan, eventsOf(execution, place))
    } catch (cause) {
      // Nothing runs, and the id may be used again.
      results.undo(execution)
      executions.delete(keyOf(execution))
      forgetTimer(execution)
      count(request.owner, -1)
      countIn(place, -1)
      pool.release(execution)
      throw cause
    }
    return execution
  }

  function eventsOf(execution: Execution, place: number | undefined): ChildEvents {
    return {
      spawned() {
        execution.state = 'running'
        execution.watcher?.started()
        begun?.()
      },
      failed(errno) {
        countIn(place, -1)
        execution.errno = errno
        end(execution, 'not_started')
      },
      output(source, bytes) {
        execution.lastOutputAtMs = clock.monotonicMs()
        execution.screened ??= screenedOutput(execution, { ...output, clock })
        execution.screened.push(source, bytes)
      },
      pace: {
        readBytes: (source) => execution.watcher?.pace?.readBytes(source) ?? PIPE_READ_BYTES,
        aheadBytes: () => execution.watcher?.pace?.aheadBytes() ?? PIPE_READ_BYTES,
      },
      stdinDrained: () => execution.watcher?.stdinDrained(),
      exited(status) {
        countIn(place, -1)
        const over = (): void => {
          execution.exit = status
          if (place !== undefined && status.left !== undefined) left.add(execution, place, status.left)
          if (status.tookMemoryKill === true) execution.why = MEMORY_KILL
          end(execution, 'finished')
        }
        if (execution.screened === undefined) over()
        else execution.screened.finish(over)
      },
    }
  }

  return {
    start,
    reserve(record) {
      const { owner } = record
      const over = results.announce(record)
      let isHeld = true
      count(owner, 1, reservedByOwner)
      return {
        giveBack() {
          if (isHeld) count(owner, -1, reservedByOwner)
          isHeld = false
        },
        over,
        whenKept: results.whenKept,
      }
    },
    find,
    findAnywhere(id) {
      for (const execution of executions.values()) if (execution.id === id) return execution
      return results.findAnywhere(id)
    },
    watch(execution, watcher) {
      const previous = execution.watcher
      execution.watcher = watcher
      if (previous === watcher) return
      previous?.replaced()
      // What the previous one could not take is no reason to hold the process back for this one.
      setHeld(execution, STDOUT, false)
      setHeld(execution, STDERR, false)
    },
    leave(execution, watcher) {
      if (execution.watcher !== watcher) return
      execution.watcher = undefined
      setHeld(execution, STDOUT, false)
      setHeld(execution, STDERR, false)
      if (isRunning(execution)) return
      settle(execution)
      freed?.()
    },
    hold: setHeld,
    signal(execution, number, { warrant, action, sessionId }) {
      Warrant.redeem(warrant, action, sessionId)
      if (ENDING_SIGNALS.includes(number)) execution.screened?.giveUp()
      return execution.child?.signal(number) ?? left.signal(execution, number)
    },
    cancel(execution, { warrant, action, sessionId }) {
      Warrant.redeem(warrant, action, sessionId)
      if (left.has(execution)) return left.end(execution)
      if (!isRunning(execution) || execution.child === undefined) return false
      kill(execution)
      return true
    },
    present: () => [...executions.values()],
    recent: (scope, most) => newestOf(executions, results, scope, most),
    runningOf: (owner) => runningByOwner.get(owner) ?? 0,
    hasLeft: left.has,
    leftIn: left.inSession,
    leavingSessions(owner, except) {
      const found = left.sessionsOf(owner)
      for (const execution of executions.values())
        if (execution.owner === owner && execution.mayLeave === true && isRunning(execution))
          found.add(execution.sessionId)
      found.delete(except)
      return found.size
    },
    slotsOf(owner) {
      const own = (runningByOwner.get(owner) ?? 0) + (reservedByOwner.get(owner) ?? 0)
      return own + pool.readBy(owner) + left.countOf(owner)
    },
    get running() {
      return running
    },
    get stalled() {
      let count = 0
      for (const execution of executions.values()) if (isRunning(execution) && isHeldBack(execution)) count++
      return count
    },
    get free() {
      return pool.free - reserved
    },
    get rings() {
      return { all: rings.length, used: rings.length - pool.free }
    },
    endWhere(fits, why) {
      for (const execution of executions.values()) {
        if (!isRunning(execution) || !fits(execution)) continue
        execution.why ??= why
        kill(execution)
      }
      left.endWhere(fits)
    },
    endAll(how, why) {
      for (const execution of executions.values()) {
        if (!isRunning(execution)) continue
        execution.why ??= why
        if (how === 'term') execution.child?.signal(SIGTERM)
        else kill(execution)
      }
      if (how === 'kill') left.endWhere(() => true)
    },
    owesEnd(sessionId) {
      for (const { sessionId: own, toldAtMs, rings, exit } of executions.values())
        if (own === sessionId && exit !== undefined && rings !== undefined && toldAtMs === undefined)
          return true
      return false
    },
    sessionEnded(sessionId) {
      for (const execution of executions.values()) {
        if (execution.sessionId === sessionId && !isRunning(execution) && execution.watcher === undefined)
          pool.giveUp(execution, clock.monotonicMs())
      }
    },
    purge(sessionId) {
      for (const execution of executions.values()) {
        if (execution.sessionId !== sessionId || isRunning(execution)) continue
        if (unwritten.has(execution) && results.end(execution)) unwritten.delete(execution)
        pool.release(execution)
        if (!unwritten.has(execution)) executions.delete(keyOf(execution))
      }
      return results.purge(sessionId)
    },
    endSilent(seconds) {
      if (seconds === null) return
      const since = clock.monotonicMs() - seconds * 1_000
      for (const execution of executions.values()) {
        if (execution.state !== 'running' || execution.lastOutputAtMs > since) continue
        // Who is held back by a slow reader has something to say, and cannot.
        if (isHeldBack(execution) || execution.why !== undefined) continue
        execution.why = `It said nothing for ${seconds} seconds (sandbox.limits.silence_seconds), and was killed.`
        kill(execution)
      }
    },
    clockSet(byMs) {
      for (const execution of executions.values()) if (isRunning(execution)) execution.startedAtMs += byMs
      results.clockSet()
    },
    tick() {
      left.tick()
      results.tick()
      for (const execution of unwritten) if (results.end(execution)) unwritten.delete(execution)
      pool.tick(clock.monotonicMs())
      for (const execution of executions.values()) {
        if (isRunning(execution) || execution.watcher !== undefined || unwritten.has(execution)) continue
        // What its result has survived is not kept for its output.
        if (results.has(execution)) settle(execution)
        else releaseRings(execution)
      }
    },
  }
}
