/**
 * What runs and what ran: every execution of the daemon by owner and id. An id starts at most once; asking for it
 * again finds the running execution or its kept result. Output goes into two rings from a pool made at start, and
 * from there to whoever watches; without a watcher the oldest output is dropped, with one the process is held back.
 * Touches the world only through the Spawner, and only with a warrant that it redeems first.
 * Rules: docs/protocol.md, sections 3 and 6; docs/responses.md, section 6.
 * @module
 */
import { Warrant } from '../defense/warrant.ts'
import { SassError } from '../errors.ts'
import { KEPT_RESULT_MS, KEPT_RESULTS_PER_KEY, TERM_TO_KILL_MS } from '../limits.ts'
import type { ChildEvents, Clock, OutputSource, Spawner } from '../ports.ts'
import { STDERR, STDOUT } from '../ports.ts'
import { commandName } from './command-name.ts'
import type { Execution, Permit, RingPair, StartRequest, Watcher } from './execution.ts'

/** The limit is of the session: another command of it may have taken the memory. */
const MEMORY_KILL =
  'The kernel killed a process of the session, whose memory was over its limit (sandbox.limits.memory_bytes).'

export type Executions = {
  start(request: StartRequest, watcher: Watcher): Execution
  /** Keeps a place for a command of this owner that is permitted and may not start yet; gives it back, once. */
  reserve(owner: string): () => void
  find(owner: string, id: string): Execution | undefined
  /** Operators look across owners. */
  findAnywhere(id: string): Execution | undefined
  watch(execution: Execution, watcher: Watcher): void
  /** Only the watcher that is there can leave; the execution goes on. */
  leave(execution: Execution, watcher: Watcher): void
  /** Holds the source back, or lets it go on. */
  hold(execution: Execution, source: OutputSource, isHeld: boolean): void
  signal(execution: Execution, number: number, permit: Permit): boolean
  cancel(execution: Execution, permit: Permit): boolean
  list(owner: string | undefined): Execution[]
  runningOf(owner: string): number
  /** What the owner takes up: executions that run, and ended ones whose output somebody has yet to take. */
  slotsOf(owner: string): number
  readonly running: number
  readonly free: number
  /** SIGKILL to every execution that fits: its session or its agent has ended. */
  endWhere(fits: (execution: Execution) => boolean): void
  /** At the end of the daemon: TERM to all, or KILL. */
  endAll(how: 'term' | 'kill'): void
  /** Releases the rings of a session's finished executions; their results are kept. */
  sessionEnded(sessionId: string): void
  /** Forgets everything that a session started; false where something of it still runs. */
  purge(sessionId: string): boolean
  /** Kills what has not written a byte for that long; null: nothing. */
  endSilent(seconds: number | null): void
  forgetOld(nowMs: number): void
}

export type ExecutionsOptions = {
  readonly spawner: Spawner
  readonly clock: Clock
  readonly rings: readonly RingPair[]
  /** Called once an execution, after its last output: for the audit and the session. */
  readonly ended: (execution: Execution) => void
  /** Called when a command runs. */
  readonly begun?: () => void
  /** Called when a place may have become free: whoever waits for one may have its turn. */
  readonly freed?: () => void
}

const SIGTERM = 15

function keyOf(owner: string, id: string): string {
  return `${owner}/${id}`
}

export function createExecutions({
  spawner,
  clock,
  rings,
  ended,
  begun,
  freed,
}: ExecutionsOptions): Executions {
  /** In the order of their start: the oldest finished one gives up its rings first. */
  const executions = new Map<string, Execution>()
  const freeRings = [...rings]
  /** Finished ones that still have rings, oldest first. */
  const withIdleRings = new Set<Execution>()
  const runningByOwner = new Map<string, number>()
  const cancelTimers = new Map<Execution, () => void>()
  const reservedByOwner = new Map<string, number>()
  let [running, reserved] = [0, 0]

  function takeRings(): RingPair | undefined {
    const free = freeRings.pop()
    if (free !== undefined) return free
    for (const execution of withIdleRings) {
      // Whoever still watches a finished execution is reading from its rings.
      if (execution.watcher !== undefined) continue
      const pair = execution.rings
      execution.rings = undefined
      withIdleRings.delete(execution)
      return pair
    }
    return undefined
  }

  function releaseRings(execution: Execution): void {
    if (execution.rings !== undefined) freeRings.push(execution.rings)
    execution.rings = undefined
    withIdleRings.delete(execution)
  }

  function isRunning(execution: Execution): boolean {
    return execution.state === 'starting' || execution.state === 'running'
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
    execution.child = undefined
    cancelTimers.get(execution)?.()
    cancelTimers.delete(execution)
    count(execution.owner, -1)
    if (execution.rings !== undefined) withIdleRings.add(execution)
    if (state === 'not_started') {
      releaseRings(execution)
      execution.watcher?.notStarted()
    } else execution.watcher?.finished()
    ended(execution)
    freed?.()
  }

  function takeOutput(execution: Execution, source: OutputSource, bytes: Uint8Array): void {
    const room = execution.acceptBytes[source]
    const taken = bytes.length <= room ? bytes : bytes.subarray(0, room)
    execution.discardedBytes += bytes.length - taken.length
    execution.lastOutputAtMs = clock.monotonicMs()
    if (taken.length === 0) return
    execution.acceptBytes[source] = room - taken.length
    execution.outputBytes[source] += taken.length
    ;(source === STDOUT ? execution.rings?.stdout : execution.rings?.stderr)?.write(taken)
    execution.watcher?.output(source)
  }

  function timeOut(execution: Execution): void {
    if (!isRunning(execution)) return
    execution.timedOut = true
    execution.child?.signal(SIGTERM)
    cancelTimers.set(
      execution,
      clock.after(TERM_TO_KILL_MS, () => execution.child?.killTree()),
    )
  }

  /** Spends the warrant and takes the rings. Throws INTERNAL where it cannot; then nothing is started. */
  function permit(request: StartRequest): RingPair {
    if (executions.has(keyOf(request.owner, request.id)))
      throw new SassError('INTERNAL', 'An execution was to start a second time; nothing was done.')
    Warrant.redeem(request.warrant, request.action, request.sessionId)
    const pair = takeRings()
    if (pair === undefined)
      throw new SassError('INTERNAL', 'There is no place for the output of a command; nothing was done.')
    pair.stdout.reset()
    pair.stderr.reset()
    return pair
  }

  function start(request: StartRequest, watcher: Watcher): Execution {
    const pair = permit(request)
    const execution: Execution = {
      id: request.id,
      idBytes: request.idBytes,
      owner: request.owner,
      sessionId: request.sessionId,
      instance: request.instance,
      command: commandName(request.plan.argv[0] ?? ''),
      startedAtMs: clock.wallMs(),
      warrantId: request.warrant.id,
      isolation: request.action.kind === 'execute' ? request.action.place?.level : undefined,
      keepsHead: request.keepsHead,
      state: 'starting',
      child: undefined,
      rings: pair,
      watcher,
      exit: undefined,
      errno: 0,
      endedAtMs: 0,
      timedOut: false,
      why: undefined,
      lastOutputAtMs: clock.monotonicMs(),
      acceptBytes: [request.acceptBytes, request.acceptBytes],
      discardedBytes: 0,
      outputBytes: [0, 0],
      paused: [false, false],
      stdinBytes: 0,
      signalIds: [],
      isTerminal: request.plan.terminal !== undefined,
    }
    executions.set(keyOf(request.owner, request.id), execution)
    count(request.owner, 1)
    if (request.timeoutMs !== undefined)
      cancelTimers.set(
        execution,
        clock.after(request.timeoutMs, () => timeOut(execution)),
      )
    try {
      execution.child = spawner.spawn(request.plan, eventsOf(execution))
    } catch (cause) {
      // Nothing runs, and the id may be used again.
      executions.delete(keyOf(request.owner, request.id))
      cancelTimers.get(execution)?.()
      cancelTimers.delete(execution)
      count(request.owner, -1)
      releaseRings(execution)
      throw cause
    }
    return execution
  }

  function eventsOf(execution: Execution): ChildEvents {
    return {
      spawned() {
        execution.state = 'running'
        execution.watcher?.started()
        begun?.()
      },
      failed(errno) {
        execution.errno = errno
        end(execution, 'not_started')
      },
      output: (source, bytes) => takeOutput(execution, source, bytes),
      stdinDrained: () => execution.watcher?.stdinDrained(),
      exited(status) {
        execution.exit = status
        if (status.tookMemoryKill === true) execution.why = MEMORY_KILL
        end(execution, 'finished')
      },
    }
  }

  function setHeld(execution: Execution, source: OutputSource, isHeld: boolean): void {
    if (execution.paused[source] === isHeld) return
    execution.paused[source] = isHeld
    if (isHeld) execution.child?.pause(source)
    else execution.child?.resume(source)
  }

  return {
    start,
    reserve(owner) {
      let isHeld = true
      count(owner, 1, reservedByOwner)
      return () => {
        if (isHeld) count(owner, -1, reservedByOwner)
        isHeld = false
      }
    },
    find: (owner, id) => executions.get(keyOf(owner, id)),
    findAnywhere(id) {
      for (const execution of executions.values()) if (execution.id === id) return execution
      return undefined
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
      if (!isRunning(execution)) freed?.()
    },
    hold: setHeld,
    signal(execution, number, { warrant, action, sessionId }) {
      Warrant.redeem(warrant, action, sessionId)
      return execution.child?.signal(number) ?? false
    },
    cancel(execution, { warrant, action, sessionId }) {
      Warrant.redeem(warrant, action, sessionId)
      if (!isRunning(execution) || execution.child === undefined) return false
      execution.child.killTree()
      return true
    },
    list: (owner) =>
      [...executions.values()].filter((execution) => owner === undefined || execution.owner === owner),
    runningOf: (owner) => runningByOwner.get(owner) ?? 0,
    slotsOf(owner) {
      let slots = (runningByOwner.get(owner) ?? 0) + (reservedByOwner.get(owner) ?? 0)
      for (const execution of withIdleRings)
        if (execution.owner === owner && execution.watcher !== undefined) slots++
      return slots
    },
    get running() {
      return running
    },
    get free() {
      let free = freeRings.length - reserved
      for (const execution of withIdleRings) if (execution.watcher === undefined) free++
      return free
    },
    endWhere(fits) {
      for (const execution of executions.values())
        if (isRunning(execution) && fits(execution)) execution.child?.killTree()
    },
    endAll(how) {
      for (const execution of executions.values()) {
        if (!isRunning(execution)) continue
        if (how === 'term') execution.child?.signal(SIGTERM)
        else execution.child?.killTree()
      }
    },
    sessionEnded(sessionId) {
      for (const execution of executions.values()) {
        if (execution.sessionId === sessionId && !isRunning(execution) && execution.watcher === undefined)
          releaseRings(execution)
      }
    },
    purge(sessionId) {
      const own = [...executions].filter(([, execution]) => execution.sessionId === sessionId)
      if (own.some(([, execution]) => isRunning(execution))) return false
      for (const [key, execution] of own) {
        releaseRings(execution)
        executions.delete(key)
      }
      return true
    },
    endSilent(seconds) {
      if (seconds === null) return
      const since = clock.monotonicMs() - seconds * 1_000
      for (const execution of executions.values()) {
        if (execution.state !== 'running' || execution.lastOutputAtMs > since) continue
        // Who is held back by a slow reader has something to say, and cannot.
        if (execution.paused[STDOUT] || execution.paused[STDERR] || execution.why !== undefined) continue
        execution.why = `It said nothing for ${seconds} seconds (sandbox.limits.silence_seconds), and was killed.`
        execution.child?.killTree()
      }
    },
    forgetOld(nowMs) {
      const kept = new Map<string, number>()
      for (const [key, execution] of [...executions].reverse()) {
        if (isRunning(execution) || execution.watcher !== undefined) continue
        const place = (kept.get(execution.owner) ?? 0) + 1
        kept.set(execution.owner, place)
        if (place <= KEPT_RESULTS_PER_KEY && nowMs - execution.endedAtMs < KEPT_RESULT_MS) continue
        releaseRings(execution)
        executions.delete(key)
      }
    },
  }
}
