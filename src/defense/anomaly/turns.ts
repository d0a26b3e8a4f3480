/**
 * One agent's turns against its own baseline: how often, how much, how much in a minute, and how many fail. A turn is a
 * command that has ended, or a request that was refused. What is beyond is told once, when it begins; a turn with two
 * measures beyond at once is anomalous, and enough of those in a row contain the agent.
 * Pure: a state and a turn in, a state and what was found out; time comes with the turn.
 * Rules: docs/anomaly.md; JF-045, JF-084, JF-090, JF-R31.
 * @module
 */
import {
  AMOUNT_SPREAD,
  EXITS_IN_ROW,
  FAILURE_TURNS,
  LARGEST_TIMES,
  LARGEST_TURNS,
  LATELY_MS,
  LATELY_TURNS,
  LEARN_MS,
  LEAST_FAILURES_PERMILLE,
  LEAST_FILL_BYTES,
  LEAST_FREQUENCY,
  LEAST_VOLUME_BYTES,
  MEASURES_AT_ONCE,
  REFUSALS_IN_ROW,
  SHARE_SPREAD,
  TURN_BYTES_MAX,
} from './limits.ts'
import {
  added,
  isBeyond,
  isCalibrated,
  limitOf,
  meanOf,
  NO_SUMS,
  type Sums,
  stepOf,
  varianceOf,
} from './sums.ts'

/** `refused`: nothing ran, by a decision or since it could not be started. */
export type Ending = 'done' | 'failed' | 'refused'

export type Turn = {
  readonly atMs: number
  /** Of both outputs. */
  readonly bytes: number
  readonly ending: Ending
}

/** Measures that have a baseline. `fill`: bytes of the last minute. */
export const MEASURES = Object.freeze(['frequency', 'volume', 'failures', 'fill'] as const)
export type Measure = (typeof MEASURES)[number]
/** All that can be beyond. `row`: failures in a row. */
export type Sign = Measure | 'row'

export type Baselines = Readonly<Record<Measure, Sums>>
export const NO_BASELINES: Baselines = Object.freeze({
  frequency: NO_SUMS,
  volume: NO_SUMS,
  failures: NO_SUMS,
  fill: NO_SUMS,
})

export type Watched = {
  readonly baselines: Baselines
  /** The newest last. */
  readonly lately: readonly { readonly atMs: number; readonly bytes: number }[]
  /** Whether each of the last turns failed. */
  readonly failures: readonly boolean[]
  readonly failedInRow: number
  readonly refusedInRow: number
  /** What the last turn was beyond. */
  readonly beyond: readonly Sign[]
  readonly anomalousInRow: number
  /** When what is about a minute, or about many turns, entered its baseline last. */
  readonly learnedAtMs: number
}

/** Only baselines outlive the daemon. */
export function watchedFrom(baselines: Baselines): Watched {
  return {
    baselines,
    lately: [],
    failures: [],
    failedInRow: 0,
    refusedInRow: 0,
    beyond: [],
    anomalousInRow: 0,
    learnedAtMs: Number.NEGATIVE_INFINITY,
  }
}

/** One measure that has begun to be beyond. All integers; mean, variance and limit in the steps of `sums.ts`. */
export type Alert = {
  readonly measure: Sign
  /** Turns a minute, bytes, per mille, or how many in a row. */
  readonly value: number
  readonly step: number
  readonly mean: number
  readonly variance: number
  readonly limit: number
  readonly samples: number
}

export type TurnSettings = {
  readonly sigma: number
  /** Anomalous turns in a row that contain; null: none do. */
  readonly consecutive: number | null
}

export type TurnOutcome = {
  readonly watched: Watched
  readonly alerts: readonly Alert[]
  readonly contains: boolean
}

type Reading = {
  readonly measure: Measure
  readonly value: number
  readonly step: number
  /** Below it nothing is beyond. */
  readonly least: number
  readonly spread: number
}

function amount(measure: Measure, value: number, least: number): Reading {
  return { measure, value, step: stepOf(value), least, spread: AMOUNT_SPREAD }
}

/** What the turn measures: a refusal prints nothing, and a share needs its turns. */
function readingsOf(turn: Turn, lately: Watched['lately'], failures: readonly boolean[]): Reading[] {
  const readings = [amount('frequency', lately.length, LEAST_FREQUENCY)]
  if (turn.ending !== 'refused') readings.push(amount('volume', turn.bytes, LEAST_VOLUME_BYTES))
  const fill = lately.reduce((sum, { bytes }) => sum + bytes, 0)
  readings.push(amount('fill', fill, LEAST_FILL_BYTES))
  if (failures.length === FAILURE_TURNS) {
    const value = Math.floor((failures.filter((failed) => failed).length * 1_000) / FAILURE_TURNS)
    const least = LEAST_FAILURES_PERMILLE
    readings.push({ measure: 'failures', value, step: value, least, spread: SHARE_SPREAD })
  }
  return readings
}

function isOut(sums: Sums, { measure, value, step, least, spread }: Reading, sigma: number): boolean {
  if (value <= least) return false
  // Out of proportion whatever the others were like.
  if (measure === 'volume' && sums.count >= LARGEST_TURNS && value > LARGEST_TIMES * sums.largest) return true
  return isCalibrated(sums) && isBeyond(sums, step, sigma, spread)
}

function alertOf(sums: Sums, { measure, value, step, spread }: Reading, sigma: number): Alert {
  return {
    ...{ measure, value, step },
    ...{ mean: meanOf(sums), variance: varianceOf(sums, spread) },
    ...{ limit: limitOf(sums, sigma, spread), samples: sums.count },
  }
}

/** In a row: of refusals a few are too many, of exits only what nobody does who reads them. */
function rowOf(failedInRow: number, refusedInRow: number): Alert | undefined {
  const isRefused = refusedInRow > REFUSALS_IN_ROW
  if (!isRefused && failedInRow <= EXITS_IN_ROW) return undefined
  const value = isRefused ? refusedInRow : failedInRow
  const limit = isRefused ? REFUSALS_IN_ROW : EXITS_IN_ROW
  return { measure: 'row', value, step: value, mean: 0, variance: 0, limit, samples: value }
}

/** What is far above the mean moves it as far as what just is not: it adapts, and nobody pulls it along. */
function learned(sums: Sums, { step, value, spread }: Reading, sigma: number, isOutside: boolean): Sums {
  const most = isCalibrated(sums) || isOutside ? limitOf(sums, sigma, spread) : step
  return added(sums, Math.min(step, most), isOutside ? 0 : value)
}

/** Takes in one turn. */
export function takeTurn(watched: Watched, turn: Turn, { sigma, consecutive }: TurnSettings): TurnOutcome {
  const { atMs, ending } = turn
  const bytes = Math.min(turn.bytes, TURN_BYTES_MAX)
  // A clock that was set back leaves turns of the future: they are not of the last minute.
  const since = watched.lately.filter((one) => one.atMs > atMs - LATELY_MS && one.atMs <= atMs)
  const lately = [...since, { atMs, bytes }].slice(-LATELY_TURNS)
  const failures = [...watched.failures, ending !== 'done'].slice(-FAILURE_TURNS)
  const failedInRow = ending === 'done' ? 0 : watched.failedInRow + 1
  const refusedInRow = ending === 'refused' ? watched.refusedInRow + 1 : 0

  // A burst is not to be the baseline that it is held against: it gives a few values and not one a turn.
  const isDue = atMs >= watched.learnedAtMs + LEARN_MS || atMs < watched.learnedAtMs
  const baselines: Record<Measure, Sums> = { ...watched.baselines }
  const out: Alert[] = []
  for (const reading of readingsOf({ atMs, bytes, ending }, lately, failures)) {
    const sums = baselines[reading.measure]
    const isOutside = isOut(sums, reading, sigma)
    if (isOutside) out.push(alertOf(sums, reading, sigma))
    if (reading.measure !== 'volume' && !isDue) continue
    baselines[reading.measure] = learned(sums, reading, sigma, isOutside)
  }
  const row = rowOf(failedInRow, refusedInRow)
  if (row !== undefined) out.push(row)

  const isAnomalous = out.length >= MEASURES_AT_ONCE
  const inRow = isAnomalous ? watched.anomalousInRow + 1 : 0
  const contains = consecutive !== null && inRow >= consecutive
  return {
    watched: {
      ...{ baselines, lately, failures, failedInRow, refusedInRow },
      learnedAtMs: isDue ? atMs : watched.learnedAtMs,
      // Whoever was contained, and is let go on, has as many turns again.
      anomalousInRow: contains ? 0 : inRow,
      beyond: out.map(({ measure }) => measure),
    },
    alerts: out.filter(({ measure }) => !watched.beyond.includes(measure)),
    contains,
  }
}
