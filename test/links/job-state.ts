/**
 * What the history checker knows of a job while it runs, whichever client runs it: bytes that came, bytes that are
 * declared lost, and everything that docs/protocol.md does not allow.
 * @module
 */
import { firstDifference, type Job, outputBytes } from './jobs.ts'

export type Outcome =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signalled'; readonly signal: number }
  | { readonly kind: 'not-started'; readonly errno: number }
  | { readonly kind: 'mistake' }
  | { readonly kind: 'denied' }
  /** STATUS 18: it was started, and how it ended is not known. */
  | { readonly kind: 'unknown' }
  /** STATUS 13 */
  | { readonly kind: 'not-known' }

export type Gap = { readonly source: 0 | 1; readonly from: number; readonly to: number }

export type JobState = {
  readonly job: Job
  /** Its id on the device: that of the job, or one that the library has drawn. */
  executionId: string | undefined
  /** The next offset that is due of each stream. */
  readonly received: [number, number]
  readonly gaps: Gap[]
  outcome: Outcome | undefined
  /** The device has said that it began. */
  hasStarted: boolean
  /** Requests that were sent, and those that were answered with anything, as far as the client tells. */
  sent: number
  answered: number
  /** How much of its stdin was ever sent, and how much the device has said it has. */
  stdinSent: number
  stdinTold: number
  /** Ids of signals, in their order, and how many of them were answered. */
  readonly signals: { readonly id: number; readonly signal: number }[]
  signalsDone: number
  readonly problems: string[]
}

export function newState(job: Job): JobState {
  return {
    job,
    executionId: undefined,
    received: [0, 0],
    gaps: [],
    outcome: undefined,
    hasStarted: false,
    sent: 0,
    answered: 0,
    stdinSent: 0,
    stdinTold: 0,
    signals: [],
    signalsDone: 0,
    problems: [],
  }
}

const SIGTERM = 15
const SIGKILL = 9

/** Different for each of a job, and greater than 0. */
const signalId = ({ job, signals }: JobState) => Number.parseInt(job.id.slice(0, 8), 16) + signals.length + 1

/** What a signal is sent for: the lines that ask for the next one. */
function wantSignals(state: JobState): void {
  const { kind } = state.job
  const want = (count: number, signal: number) => {
    while (state.signals.length < count) state.signals.push({ id: signalId(state), signal })
  }
  // R is two bytes, each T three.
  if (kind === 'signals' && state.received[0] >= 2)
    want(Math.min(3, 1 + Math.floor((state.received[0] - 2) / 3)), SIGTERM)
  if (kind === 'stubborn' && state.received[0] >= 2) {
    want(1, SIGTERM)
    want(2, SIGKILL)
  }
}

/** A signal that was delivered twice shows in the output: more lines than signals were sent. */
function checkSignals(state: JobState): void {
  if (state.job.kind !== 'signals' || state.received[0] < 5) return
  const answered = Math.floor((state.received[0] - 2) / 3)
  if (answered > state.signals.length)
    state.problems.push(`${answered} signals arrived, and ${state.signals.length} were sent`)
}

export function takeData(state: JobState, source: 0 | 1, offset: number | undefined, data: Uint8Array): void {
  const due = state.received[source]
  const output = source === 0 ? state.job.stdout : state.job.stderr
  if (offset !== due) state.problems.push(`stream ${source}: offset ${offset} came where ${due} was due`)
  const at = firstDifference(output, due, data)
  if (at !== undefined)
    state.problems.push(`stream ${source}: wrong byte at ${at} (${outputBytes(output)} are due)`)
  state.received[source] = due + data.length
  checkSignals(state)
  wantSignals(state)
}

/** Bytes `from` to `to` of one stream are declared lost. */
export function addGap(state: JobState, source: 0 | 1, from: number, to: number): void {
  const due = state.received[source]
  const all = outputBytes(source === 0 ? state.job.stdout : state.job.stderr)
  if (from !== due || to <= from || to > all)
    state.problems.push(`stream ${source}: ${from} to ${to} of ${all} declared lost where ${due} was due`)
  state.gaps.push({ source, from, to })
  state.received[source] = to
  checkSignals(state)
  wantSignals(state)
}

/** A unary answer says no more of what it has not than that it has not all: every byte after it is declared lost. */
export function declareCut(state: JobState): void {
  for (const source of [0, 1] as const) {
    const all = outputBytes(source === 0 ? state.job.stdout : state.job.stderr)
    if (state.received[source] < all) addGap(state, source, state.received[source], all)
  }
}
