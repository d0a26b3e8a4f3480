/**
 * One cycle after another: each is decided, and its lines, their warrants and its hash are made of what was decided and
 * of what became of it. The state between two cycles is three things and is handed on as data.
 * Rules: docs/proposals.md, sections on the streams and on replay.
 * @module
 */
import { type CycleInput, type Decided, decide, type Law } from './decide.ts'
import { type LogAppend, type LogAppends, logAppends, writtenLines } from './log-appends.ts'
import { cycleLines, type ExecutionEvent, genesis, stateHash, summaryLine } from './streams.ts'

export type CycleState = {
  /** Of the cycle that comes next. */
  readonly cycle: number
  readonly stateHash: string
  /** Nothing comes after an exit. */
  readonly lastDecision: 'NONE' | Decided['decision']['type']
}

export type Ended = {
  readonly state: CycleState
  readonly appends: readonly LogAppend[]
  /** Lines that no warrant covers: an executor_integrity_fail for the next cycle. */
  readonly uncovered: number
}

export function firstState({ constitution }: Law, cycle = 0): CycleState {
  return { cycle, stateHash: genesis(constitution), lastDecision: 'NONE' }
}

/** The time of the cycle, which all that is made in it has. */
function timeOf({ observations }: Decided): string {
  return String(observations.find(({ kind }) => kind === 'timestamp')?.payload['iso8601_utc'] ?? '')
}

/** Decides the next cycle. */
export function begin(law: Law, state: CycleState, input: Omit<CycleInput, 'cycle'>): Decided {
  return decide(law, { ...input, cycle: state.cycle })
}

/**
 * What is written of a cycle once it is known what became of it: the warrants for its lines, and the state after it. The
 * last of them is the summary's, which counts those before it.
 */
export function end(
  law: Law,
  state: CycleState,
  cycle: {
    readonly run: string
    readonly input: Omit<CycleInput, 'cycle'>
    readonly decided: Decided
    readonly executed: readonly ExecutionEvent[]
  },
): Ended {
  const { decided, input, executed } = cycle
  const run = { id: cycle.run, constitution: law.constitution }
  const lines = cycleLines(run, { ...input, cycle: state.cycle }, decided, executed)
  const appending = { cycle: state.cycle, session: input.session, at: timeOf(decided) }
  const written: LogAppends = logAppends(law, lines, appending)
  const hash = stateHash(state.stateHash, lines)
  const summary = summaryLine(run, state.cycle, { written: writtenLines(written.appends), state: hash })
  const nothing = { observations: [], artifacts: [], admission_trace: [], selector_trace: [] }
  const last = logAppends(law, { ...nothing, execution_trace: [summary] }, appending)
  return {
    state: { cycle: state.cycle + 1, stateHash: hash, lastDecision: decided.decision.type },
    appends: [...written.appends, ...last.appends],
    uncovered: written.uncovered + last.uncovered,
  }
}
