import t from 'tap'
import type { Json } from '../../../src/base/encoding/strict-json.ts'
import { begin, type CycleState, end, firstState } from '../../../src/intent/proposals/cycle.ts'
import type { CycleInput } from '../../../src/intent/proposals/decide.ts'
import { logAppends } from '../../../src/intent/proposals/log-appends.ts'
import { budget, systemEvent, timestamp } from '../../../src/intent/proposals/observations.ts'
import { Permit } from '../../../src/intent/proposals/permit.ts'
import { replay } from '../../../src/intent/proposals/replay.ts'
import {
  type ExecutionEvent,
  linesDigest,
  STREAMS,
  type StreamLines,
  type StreamName,
} from '../../../src/intent/proposals/streams.ts'
import { AT, candidate, input, LAW, notify, OBSERVED, SAID } from './ground.node.ts'

type Logs = Record<StreamName, readonly string[]>

/** Runs cycles one after another, and returns what they leave behind. */
function run(inputs: readonly CycleInput[]): {
  logs: Logs
  states: readonly CycleState[]
  uncovered: number
} {
  const logs: Logs = {
    observations: [],
    artifacts: [],
    admission_trace: [],
    selector_trace: [],
    execution_trace: [],
  }
  const states = [firstState(LAW)]
  let uncovered = 0
  for (const cycle of inputs) {
    const state = states.at(-1) ?? firstState(LAW)
    const decided = begin(LAW, state, cycle)
    const executed: readonly ExecutionEvent[] =
      decided.permit === undefined
        ? []
        : [
            {
              type: 'execution_event',
              warrant_id: decided.permit.warrant.warrant_id,
              tool: decided.permit.warrant.action_type,
              result: 'committed',
              detail: '',
            },
          ]
    const ended = end(LAW, state, { run: 'test', input: cycle, decided, executed })
    for (const { name, lines } of ended.appends) logs[name] = [...logs[name], ...lines]
    states.push(ended.state)
    uncovered += ended.uncovered
  }
  return { logs, states, uncovered }
}

const CYCLES: readonly CycleInput[] = [
  input([candidate(), notify('other'), { broken: 1 }]),
  input([candidate({ claim: null })]),
  input([], { proposed: 'no JSON' }),
  input([candidate()], { observations: [timestamp(AT), budget(6_001, 1, 0)] as unknown as readonly Json[] }),
  input(
    [candidate({ type: 'WriteLocal', fields: { path: './workspace/a', content: '"é😀\\'.repeat(20_000) } })],
    {
      realPaths: { './workspace/a': 'workspace/a' },
    },
  ),
  input([candidate()], { observations: [SAID] as unknown as readonly Json[] }),
  input([candidate({ type: 'Exit', fields: { reason_code: 'USER_REQUESTED' } })]),
]

t.test(
  'a run is decided once more out of its logs alone, actions and their citations too (RX-36, RX-39, RX-24)',
  (t) => {
    const { logs, states, uncovered } = run(CYCLES)
    t.equal(uncovered, 0)
    const replayed = replay(LAW, logs)
    t.strictSame(replayed, { ok: true, state: states.at(-1) })
    t.match(logs.artifacts.join('\n'), /authority_citations/, 'what a candidate has cited is in the log')
    t.strictSame(replay(LAW, run([]).logs), { ok: true, state: firstState(LAW) })
    const broken = run([input([], { observations: [...OBSERVED, { kind: 'rumour' }] })])
    t.match(
      replay(LAW, broken.logs),
      { ok: true, state: { lastDecision: 'EXIT' } },
      'an exit for integrity as well',
    )
    t.end()
  },
)

t.test('the hash of a cycle follows from all before it, and is the same on every machine (RX-24)', (t) => {
  const [one, other] = [run(CYCLES), run(CYCLES)]
  t.strictSame(one.states, other.states)
  t.equal(new Set(one.states.map(({ stateHash }) => stateHash)).size, CYCLES.length + 1)
  const changed = run([input([notify('changed')]), ...CYCLES.slice(1)])
  t.not(changed.states.at(-1)?.stateHash, one.states.at(-1)?.stateHash)
  t.end()
})

t.test(
  'a line that is missing, changed, added or out of its order is found in every stream (RX-36, RX-39)',
  (t) => {
    const { logs } = run(CYCLES.slice(0, 4))
    const fails = (changed: Partial<Logs>, what: string) => {
      const result = replay(LAW, { ...logs, ...changed })
      t.match(result, { ok: false, problem: /./ }, what)
    }
    for (const name of STREAMS) {
      const lines = logs[name]
      for (const at of lines.keys()) {
        fails({ [name]: lines.toSpliced(at, 1) }, `${name} without line ${at}`)
        fails({ [name]: lines.toSpliced(at, 0, lines[at] ?? '') }, `${name} with line ${at} twice`)
        fails(
          { [name]: lines.with(at, (lines[at] ?? '').replace(/.(?=[^"]*"[^"]*$)/, '~')) },
          `${name}: ${at} changed`,
        )
      }
      if (lines.length > 1) fails({ [name]: lines.toReversed() }, `${name} backwards`)
      fails({ [name]: [...lines, 'no JSON'] }, `${name} with what is no line`)
      fails({ [name]: [...lines, '{"cycle_id":99,"run_id":"test"}'] }, `${name} with a cycle more`)
    }
    const swapped = (lines: readonly string[]) =>
      lines
        .map((line) => line.replace(/"cycle_id":([01])/, (_, id) => `"cycle_id":${1 - Number(id)}`))
        .toSorted()
    fails({ observations: swapped(logs.observations) }, 'two cycles in each other’s place')
    t.end()
  },
)

t.test('nothing comes after an exit', (t) => {
  const exit = input([], {
    observations: [timestamp(AT), systemEvent('replay_fail', '')] as unknown as readonly Json[],
  })
  t.match(replay(LAW, run([exit, input([candidate()])]).logs), { ok: false, problem: /after an exit/ })
  t.end()
})

t.test(
  'a warrant covers 50 lines and 256,000 bytes, and no line has more than 10,000 characters (RX-31)',
  (t) => {
    const { logs, uncovered } = run([CYCLES[4] ?? input([])])
    t.equal(uncovered, 0, 'a content of 80,000 characters is written in parts')
    for (const name of STREAMS) t.ok(logs[name].every((line) => [...line].length <= 10_000))
    const appending = { cycle: 0, session: 'one', at: AT }
    const nothing: StreamLines = {
      observations: [],
      artifacts: [],
      admission_trace: [],
      selector_trace: [],
      execution_trace: [],
    }
    const batches = (artifacts: readonly string[]) =>
      logAppends(LAW, { ...nothing, artifacts }, appending).appends.map(({ lines }) => lines.length)
    t.strictSame(batches(Array(101).fill('x')), [50, 50, 1])
    t.strictSame(batches(Array(27).fill('é'.repeat(5_000))), [25, 2])
    const long = logAppends(LAW, { ...nothing, artifacts: ['x'.repeat(10_001), 'ok'] }, appending)
    t.match(long, { uncovered: 2 }, 'a line that no warrant covers is counted and not dropped')
    const fine = logAppends(LAW, { ...nothing, artifacts: ['x'.repeat(10_000)] }, appending)
    t.match(fine, { uncovered: 0, appends: { length: 1 } })
    t.end()
  },
)

t.test(
  'the kernel alone asks for its logs, with citations and nothing else, and each warrant is good once (RX-37, RX-26)',
  (t) => {
    const nothing: StreamLines = {
      observations: ['{}'],
      artifacts: [],
      admission_trace: [],
      selector_trace: [],
      execution_trace: [],
    }
    const [append] = logAppends(LAW, nothing, { cycle: 3, session: 'one', at: AT }).appends
    if (append === undefined) throw new Error('no warrant')
    t.match(append.bundle, {
      action_request: { author: 'kernel', created_at: AT },
      scope_claim: null,
      justification: null,
    })
    const { bundle, permit } = append
    t.match(permit.warrant.scope_constraints, { action_type: 'LogAppend', log_name: 'observations' })
    const here = { bundle, cycle: 3, session: 'one', spent: new Set<string>() }
    t.equal(Permit.redeem(permit, here), undefined)
    t.match(Permit.redeem(permit, here), /single-use/)
    t.end()
  },
)

t.test(
  'each cycle ends with one summary of what was written, which is not itself summed up (RX-32, RX-33)',
  (t) => {
    const { logs } = run(CYCLES.slice(0, 1))
    const events = logs.execution_trace.map((line) => JSON.parse(line))
    const summaries = events.filter(({ event }) => event?.type === 'log_commit_summary')
    t.equal(summaries.length, 1)
    const [{ event }] = summaries
    t.strictSame(event.streams_written, [...STREAMS])
    const written = STREAMS.reduce((sum, name) => sum + logs[name].length, 0)
    t.equal(event.total_lines_written, written - 1)
    t.equal(event.warrants.length, 5)
    t.equal(event.warrants[0].lines_sha256, linesDigest(logs.observations))
    t.match(events[1], { event: { type: 'execution_event', result: 'committed' } })
    t.end()
  },
)
