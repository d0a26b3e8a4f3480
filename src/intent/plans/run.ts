/**
 * One run of a plan, call after call, as an engine: what has happened goes in, what is to be done comes out, in order.
 * Whoever starts a call writes it down as begun first, and it is never started again, whatever becomes of the daemon. The
 * first call that does not end well is the last one: what follows was meant for what came before.
 * Rules: SAOE 2.4; docs/plans.md.
 * @module
 */

/**
 * `exited`, `signalled`: it ran, `number` says how it ended. `not_started`: nothing ran, `number` is the errno.
 * `refused`: it, or what it printed, was decided against, with a sentence. `unanswered`: it was decided against, and nobody is told so.
 * `unknown`: it was begun, and how it ended is not known.
 */
export type OutcomeKind = 'exited' | 'signalled' | 'not_started' | 'refused' | 'unanswered' | 'unknown'

export type CallOutcome = {
  readonly kind: OutcomeKind
  readonly number: number
  /** A sentence where something is to be said; else empty. */
  readonly why: string
  readonly stdoutBytes: number
  readonly stderrBytes: number
}

/** Why a run has ended. */
export type RunEnd = 'done' | 'call_failed' | 'interrupted' | 'stopped'

export type RunState = {
  readonly size: number
  /** The call that is at work, or comes next. */
  readonly at: number
  readonly phase: 'ready' | 'calling' | 'over'
  readonly mustStop: boolean
}

export type RunInput<Outcome extends CallOutcome = CallOutcome> =
  | { readonly kind: 'go' }
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  /** Whoever runs it may not any more, or the daemon goes down. */
  | { readonly kind: 'stop' }

export type RunOutput<Outcome extends CallOutcome = CallOutcome> =
  | { readonly kind: 'start'; readonly at: number }
  | { readonly kind: 'ended'; readonly at: number; readonly outcome: Outcome }
  | { readonly kind: 'over'; readonly end: RunEnd }

export type RunStep<Outcome extends CallOutcome = CallOutcome> = {
  readonly state: RunState
  readonly outputs: readonly RunOutput<Outcome>[]
}

/** A run of so many calls, of which none has begun. */
export function newRun(size: number): RunState {
  return { size, at: 0, phase: 'ready', mustStop: false }
}

/** Whether what follows may run. */
export function endedWell({ kind, number }: Pick<CallOutcome, 'kind' | 'number'>): boolean {
  return kind === 'exited' && number === 0
}

/** What has happened, and what is to be done about it. What means nothing in a state changes nothing. */
export function stepRun<Outcome extends CallOutcome>(
  state: RunState,
  input: RunInput<Outcome>,
): RunStep<Outcome> {
  const { at, phase } = state
  if (phase === 'over') return { state, outputs: [] }
  switch (input.kind) {
    case 'go':
      return phase === 'ready' ? begin(state) : { state, outputs: [] }
    case 'stop':
      // What is at work is ended by whoever stops it, and tells how.
      return phase === 'ready' ? over(state, 'stopped') : { state: { ...state, mustStop: true }, outputs: [] }
    case 'ended': {
      if (phase !== 'calling') return { state, outputs: [] }
      const ended = { kind: 'ended', at, outcome: input.outcome } as const
      const next = after<Outcome>(state, input.outcome)
      return { state: next.state, outputs: [ended, ...next.outputs] }
    }
  }
}

function after<Outcome extends CallOutcome>(state: RunState, outcome: Outcome): RunStep<Outcome> {
  if (!endedWell(outcome)) return over(state, 'call_failed')
  if (state.at + 1 >= state.size) return over(state, 'done')
  return state.mustStop ? over(state, 'stopped') : begin({ ...state, at: state.at + 1 })
}

function begin<Outcome extends CallOutcome>(state: RunState): RunStep<Outcome> {
  const { at } = state
  return {
    state: { ...state, phase: 'calling' },
    outputs: [{ kind: 'start', at }],
  }
}

function over<Outcome extends CallOutcome>(state: RunState, end: RunEnd): RunStep<Outcome> {
  return { state: { ...state, phase: 'over' }, outputs: [{ kind: 'over', end }] }
}
