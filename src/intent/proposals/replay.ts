/**
 * Decides every cycle of a run once more out of its logs alone, and derives every line again: what was logged and what
 * follows from it must be the same, line by line, in all five streams. Missing, changed, added and reordered lines are
 * found, as the lines or the hash of their cycle come out another way. What was executed is read and never done again.
 * Rules: docs/proposals.md, section on replay.
 * @module
 */
import { type Json, parseStrictJson } from '../../base/encoding/strict-json.ts'
import { begin, type CycleState, end, firstState } from './cycle.ts'
import type { CycleInput, Law } from './decide.ts'
import { isObject } from './fields.ts'
import type { RealPaths } from './gates.ts'
import { REPLAY_LINES } from './limits.ts'
import { type ExecutionEvent, STREAMS, type StreamLines, type StreamName, wholeLines } from './streams.ts'

export type ReplayResult =
  | { readonly ok: true; readonly state: CycleState }
  | { readonly ok: false; readonly problem: string }

type Line = { readonly [key: string]: Json }
type Cycle = Readonly<Record<StreamName, readonly string[]>>

const LINE_UNITS = 65_536

function parsedLines(lines: readonly string[]): readonly Line[] | undefined {
  const values: Line[] = []
  for (const line of lines) {
    const parsed = parseStrictJson(line, { size: LINE_UNITS })
    if (!parsed.ok || !isObject(parsed.value)) return undefined
    values.push(parsed.value)
  }
  return values
}

/** The lines of a stream by cycle, each cycle in one piece and in its order; undefined: they are not so. */
function byCycle(lines: readonly string[]): ReadonlyMap<number, string[]> | undefined {
  const values = parsedLines(lines)
  if (values === undefined) return undefined
  const cycles = new Map<number, string[]>()
  let last = -1
  for (const [at, value] of values.entries()) {
    const cycle = value['cycle_id']
    if (typeof cycle !== 'number' || cycle < last) return undefined
    last = cycle
    const own = cycles.get(cycle) ?? []
    own.push(lines[at] ?? '')
    cycles.set(cycle, own)
  }
  return cycles
}

/** The values of a stream of one cycle, with parts of lines put together. */
function valuesOf(lines: readonly string[]): readonly Line[] | undefined {
  const parts = parsedLines(lines)
  const whole = parts && wholeLines(parts)
  if (whole === undefined) return undefined
  const values: Line[] = []
  for (const line of whole) {
    const parsed = parseStrictJson(line, { size: Number.MAX_SAFE_INTEGER })
    if (!parsed.ok || !isObject(parsed.value)) return undefined
    values.push(parsed.value)
  }
  return values
}

function member(values: readonly Line[], name: string): Json | undefined {
  return values.find((value) => Object.hasOwn(value, name))?.[name]
}

type Recorded = {
  readonly run: string
  readonly input: Omit<CycleInput, 'cycle'>
  readonly executed: readonly ExecutionEvent[]
}

/** What a cycle was given, out of what it has left behind. */
function recordedOf(cycle: Cycle, session: string): Recorded | undefined {
  const observed = valuesOf(cycle.observations)
  const artifacts = valuesOf(cycle.artifacts)
  const executed = valuesOf(cycle.execution_trace)
  if (observed === undefined || artifacts === undefined || executed === undefined) return undefined
  const unread = member(observed, 'unread')
  const seen = observed.flatMap((value) => (value['observation'] === undefined ? [] : [value['observation']]))
  const events = executed.map((value) => value['event']).filter((event) => isObject(event))
  return {
    run: String(observed[0]?.['run_id'] ?? ''),
    input: {
      session,
      observations: Array.isArray(unread) ? unread : seen,
      proposed: String(member(artifacts, 'proposed') ?? '[]'),
      realPaths: (member(observed, 'paths') ?? {}) as RealPaths,
    },
    executed: events.filter(({ type }) => type === 'execution_event') as unknown as readonly ExecutionEvent[],
  }
}

function firstDifference(one: readonly string[], other: readonly string[]): number | undefined {
  const at = Array.from({ length: Math.max(one.length, other.length) }).findIndex(
    (_, index) => one[index] !== other[index],
  )
  return at === -1 ? undefined : at
}

/**
 * Replays a run from its first cycle. What is returned is the state after it, or the first thing that is not as it was.
 * @param logs the lines of each stream, without their ends
 */
export function replay(law: Law, logs: StreamLines, session = ''): ReplayResult {
  const fail = (problem: string): ReplayResult => ({ ok: false, problem })
  const streams = {} as Record<StreamName, ReadonlyMap<number, string[]>>
  for (const name of STREAMS) {
    if (logs[name].length > REPLAY_LINES) return fail(`${name} has more than ${REPLAY_LINES} lines`)
    const cycles = byCycle(logs[name])
    if (cycles === undefined) return fail(`${name} has lines that are none, or that are out of their order`)
    streams[name] = cycles
  }
  const numbers = [...streams.observations.keys()]
  const foreign = STREAMS.find((name) =>
    [...streams[name].keys()].some((cycle) => !streams.observations.has(cycle)),
  )
  if (foreign !== undefined) return fail(`${foreign} has lines of a cycle in which nothing was observed`)
  let state = firstState(law, numbers[0] ?? 0)
  for (const number of numbers) {
    if (number !== state.cycle) return fail(`cycle ${state.cycle} is missing`)
    if (state.lastDecision === 'EXIT') return fail(`cycle ${number} comes after an exit`)
    const cycle = Object.fromEntries(
      STREAMS.map((name) => [name, streams[name].get(number) ?? []]),
    ) as unknown as Cycle
    const recorded = recordedOf(cycle, session)
    if (recorded === undefined) return fail(`cycle ${number} has a line that is none, or parts of one`)
    const decided = begin(law, state, recorded.input)
    const ended = end(law, state, { ...recorded, decided })
    for (const name of STREAMS) {
      const derived = ended.appends.filter((append) => append.name === name).flatMap(({ lines }) => lines)
      const at = firstDifference(cycle[name], derived)
      if (at !== undefined) return fail(`line ${at + 1} of cycle ${number} in ${name} comes out another way`)
    }
    state = ended.state
  }
  return { ok: true, state }
}
