/**
 * One execution as the rooms know it, whoever watches it, and what it takes to start one.
 * Rules: docs/protocol.md, sections 3 and 6.
 * @module
 */
import type { Ring } from '../../base/ring.ts'
import type { Action } from '../../defense/facts.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import type { Warrant } from '../../defense/warrant.ts'
import {
  type Child,
  type ExitStatus,
  type OutputPace,
  type OutputSource,
  type SpawnPlan,
  STDERR,
  STDOUT,
} from '../../ports.ts'

/** `unknown`: an earlier daemon has started it, or an operator has erased its result. */
export type ExecutionState = 'starting' | 'running' | 'finished' | 'not_started' | 'unknown'

export type RingPair = { readonly stdout: Ring; readonly stderr: Ring }

/** Its output on the way through the firewall. */
export type ExecutionOutput = {
  push(source: OutputSource, bytes: Uint8Array): void
  /** Both sources have ended; `done` once nothing of it is held any more, which is at once as a rule. */
  finish(done: () => void): void
  /** Nobody is to be asked any more: what is held or comes to be does not go on. */
  giveUp(): void
  /** The screens that something went through. */
  readonly screens: readonly Screen[]
}

/** Where in what came in orders were found, by the kind of the first. */
export type InjectionFinding = { readonly kind: string; readonly offset: number; readonly length: number }

/** Whoever watches an execution: at most one. */
export type Watcher = {
  started(): void
  /** New bytes are in the ring of that source. */
  output(source: OutputSource): void
  stdinDrained(): void
  /** What it prints waits for a human. */
  held?(): void
  finished(): void
  notStarted(): void
  /** Another watcher took its place. */
  replaced(): void
  /** How fast it takes output; absent, and without a watcher: as it comes. */
  readonly pace?: OutputPace | undefined
}

export type Execution = {
  readonly id: string
  readonly idBytes: Uint8Array
  readonly owner: string
  /** Of the owner's key, since ids are: who gets the name later has nothing of it. */
  readonly scope: string
  readonly instance: string
  readonly sessionId: string
  /** The program's base name, bounded; never its arguments. */
  readonly command: string
  /** Moved with the wall clock where that is set: the time between start and end is that of the monotonic one. */
  startedAtMs: number
  /** On the monotonic clock. */
  readonly begunMs: number
  readonly warrantId: string
  /** How what it changes is kept apart from the real files; undefined where nobody said. */
  readonly isolation: string | undefined
  /** Unary: the head of the output is kept and what follows is counted, whoever watches. */
  readonly keepsHead: boolean
  /** Its plan looks at its output first, and hands it on or not: nobody attaches to it. */
  readonly isOfPlan?: boolean
  state: ExecutionState
  child: Child | undefined
  /** Undefined once they were needed elsewhere. */
  rings: RingPair | undefined
  watcher: Watcher | undefined
  exit: ExitStatus | undefined
  errno: number
  endedAtMs: number
  timedOut: boolean
  /** Why the device ended it, or how it ended is not known, in a sentence for its caller; undefined otherwise. */
  why: string | undefined
  lastOutputAtMs: number
  /** Output bytes still taken into the rings; what comes after is counted and dropped. */
  acceptBytes: [number, number]
  discardedBytes: number
  /** Sizes of both streams, also when the rings are gone. */
  outputBytes: [number, number]
  paused: [boolean, boolean]
  /** The firewall holds what came: nothing more is read, whoever would take it. */
  withheld: [boolean, boolean]
  /** Bytes that its stdin has been given: whoever comes back goes on from there. */
  stdinBytes: number
  /** Signals that were delivered lately, by the number that their sender drew. */
  readonly signalIds: number[]
  readonly isTerminal: boolean
  /** It was asked to leave what it started running. */
  readonly mayLeave?: boolean
  /** What its output goes through; undefined before there is any. */
  screened: ExecutionOutput | undefined
  /** Where in its output orders were found; undefined before it has ended, and where there are none. */
  findings?: readonly InjectionFinding[]
  /** When somebody was told how it ended, on the monotonic clock; undefined: nobody was. */
  toldAtMs: number | undefined
}

export type StartRequest = {
  readonly id: string
  readonly idBytes: Uint8Array
  readonly owner: string
  readonly scope: string
  /** The owner's instance that asked for it. */
  readonly instance: string
  readonly sessionId: string
  readonly keepsHead: boolean
  readonly isOfPlan?: boolean
  /** Most bytes that the execution may deliver of each stream; Infinity: no cap. */
  readonly acceptBytes: number
  readonly timeoutMs: number | undefined
  readonly plan: SpawnPlan
  readonly warrant: Warrant
  readonly action: Action
}

/** Why a command was ended whose caller may run nothing any more: for what reason is the operator's to know. */
export const NO_LONGER_PERMITTED =
  'The device ended it, since its agent or its session may run nothing here any more; ask the operator.'

/** What permits one deed: the warrant, the action that it was minted for, and the session of whoever asks. */
export type Permit = { readonly warrant: Warrant; readonly action: Action; readonly sessionId: string }

export function isRunning({ state }: Pick<Execution, 'state'>): boolean {
  return state === 'starting' || state === 'running'
}

/** It has something to say, and cannot. */
export function isHeldBack({ paused, withheld }: Pick<Execution, 'paused' | 'withheld'>): boolean {
  return paused[STDOUT] || paused[STDERR] || withheld[STDOUT] || withheld[STDERR]
}

type Untouched = 'child' | 'paused' | 'withheld' | 'stdinBytes' | 'signalIds' | 'screened' | 'toldAtMs'

/** Of one that nothing has been done to, and nobody was told of. */
export function untouched(): Pick<Execution, Untouched> {
  return {
    ...{ child: undefined, paused: [false, false], withheld: [false, false] },
    ...{ stdinBytes: 0, signalIds: [], screened: undefined, toldAtMs: undefined },
  }
}

/** One that is about to start. `record` is what was written down of it. */
export function newExecution(
  request: StartRequest,
  record: StartRecord,
  rings: RingPair,
  watcher: Watcher,
  nowMs: number,
): Execution {
  return {
    ...record,
    idBytes: request.idBytes,
    ...untouched(),
    keepsHead: request.keepsHead,
    isOfPlan: request.isOfPlan === true,
    state: 'starting',
    rings,
    watcher,
    exit: undefined,
    errno: 0,
    endedAtMs: 0,
    timedOut: false,
    why: undefined,
    begunMs: nowMs,
    lastOutputAtMs: nowMs,
    acceptBytes: [request.acceptBytes, request.acceptBytes],
    discardedBytes: 0,
    outputBytes: [0, 0],
    isTerminal: request.plan.terminal !== undefined,
    mayLeave: request.plan.keepsBackground === true,
  }
}

/** As records name it. */
export function namedBy({
  id,
  owner,
  instance,
  sessionId,
}: Pick<Execution, 'id' | 'owner' | 'instance' | 'sessionId'>) {
  return { execution: id, agent: owner, instance, session: sessionId }
}

/** What names it among all callers'. */
export function keyOf({ scope, id }: Pick<Execution, 'scope' | 'id'>): string {
  return `${scope}/${id}`
}

/** Holds that output back, or lets it go on: for whoever takes it, or for the firewall. */
export function setHeld(
  execution: Execution,
  source: OutputSource,
  isHeld: boolean,
  by: 'paused' | 'withheld' = 'paused',
): void {
  if (execution[by][source] === isHeld) return
  execution[by][source] = isHeld
  if (execution.paused[source] || execution.withheld[source]) execution.child?.pause(source)
  else execution.child?.resume(source)
}

/** By which an execution is known: the key of its caller, and the id that the caller has chosen. */
export type ExecutionKey = {
  /** Hexadecimal. */
  readonly id: string
  /** Of the caller's key; empty on the admin socket. */
  readonly scope: string
}

export type StartRecord = ExecutionKey &
  Pick<Execution, 'owner' | 'instance' | 'sessionId' | 'command' | 'startedAtMs' | 'isolation' | 'warrantId'>

/** The limit is of the session: another command of it may have taken the memory. */
export const MEMORY_KILL =
  'The kernel killed a process of the session, whose memory was over its limit (sandbox.limits.memory_bytes).'
