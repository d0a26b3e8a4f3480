import t from 'tap'
import { type CallOutcome, newRun, type RunInput, stepRun } from '../../../src/intent/plans/run.ts'

const outcome = (kind: CallOutcome['kind'], number = 0): CallOutcome => ({
  ...{ kind, number, why: '', stdoutBytes: 0, stderrBytes: 0 },
})

/** All that comes out of inputs, as short texts. */
function told(size: number, inputs: readonly RunInput[]): string[] {
  let state = newRun(size)
  return inputs.flatMap((input) => {
    const step = stepRun(state, input)
    state = step.state
    return step.outputs.map((output) =>
      output.kind === 'over' ? `over ${output.end}` : `${output.kind} ${output.at}`,
    )
  })
}

const GO: RunInput = { kind: 'go' }
const STOP: RunInput = { kind: 'stop' }
const WELL: RunInput = { kind: 'ended', outcome: outcome('exited') }

t.test('calls run one after the other', async (t) => {
  t.strictSame(told(2, [GO]), ['start 0'])
  t.strictSame(told(2, [GO, WELL]), ['start 0', 'ended 0', 'start 1'])
  t.strictSame(told(2, [GO, WELL, WELL]).slice(-2), ['ended 1', 'over done'])
  t.strictSame(told(1, [GO, WELL, WELL, GO, STOP]).slice(-1), ['over done'], 'nothing comes after its end')
  t.strictSame(told(2, [GO, GO]), ['start 0'], 'it begins once')
  t.strictSame(told(2, [WELL]), [], 'nothing ends that has not begun')
})

t.test('the first call that does not end well is the last one', async (t) => {
  for (const kind of ['signalled', 'not_started', 'refused', 'unanswered', 'unknown'] as const)
    t.strictSame(
      told(3, [GO, { kind: 'ended', outcome: outcome(kind) }]).slice(-2),
      ['ended 0', 'over call_failed'],
      kind,
    )
  t.strictSame(told(3, [GO, { kind: 'ended', outcome: outcome('exited', 1) }]).slice(-1), [
    'over call_failed',
  ])
})

t.test('a run that is stopped lets what runs end, and begins nothing more', async (t) => {
  t.strictSame(told(3, [STOP]), ['over stopped'])
  t.strictSame(told(3, [GO, STOP]), ['start 0'])
  t.strictSame(told(3, [GO, STOP, WELL]).slice(-2), ['ended 0', 'over stopped'])
  t.strictSame(told(1, [GO, STOP, WELL]).slice(-1), ['over done'], 'nothing was left to begin')
})
