/**
 * The baselines of the anomaly monitor, over a restart: one small file in the state directory, written at the end of the
 * daemon and once an hour where they have changed, so that flash is not worn for them. What cannot be read, or cannot be
 * a baseline, begins anew: then an agent is uncalibrated, and only the fixed bounds hold for it.
 * @module
 */
import { join } from 'node:path'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { readBounded, replaceFile } from '../../base/files.node.ts'
import {
  AGENTS_WATCHED,
  BASELINE_TURNS,
  BASELINES_FILE_BYTES,
  STEP_MAX,
} from '../../defense/anomaly/limits.ts'
import type { KeptBaselines } from '../../defense/anomaly/monitor.ts'
import type { Sums } from '../../defense/anomaly/sums.ts'
import { type Baselines, MEASURES } from '../../defense/anomaly/turns.ts'
import { AGENT_NAME_BYTES, TRAFFIC_SAVE_MS } from '../../limits.ts'
import type { Clock } from '../../ports.ts'

const NAME = 'baselines.json'
const MODE = 0o600
const KEYS = ['count', 'sum', 'squares', 'largest'] as const

function sumsIn(value: unknown): Sums | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const given = value as Readonly<Record<string, unknown>>
  const numbers = KEYS.map((key) => given[key])
  if (!numbers.every((number) => Number.isSafeInteger(number) && (number as number) >= 0)) return undefined
  const [count = 0, sum = 0, squares = 0, largest = 0] = numbers as number[]
  const isPossible =
    count <= BASELINE_TURNS && sum <= count * STEP_MAX && squares <= count * STEP_MAX * STEP_MAX
  return isPossible ? { count, sum, squares, largest } : undefined
}

function baselinesIn(value: unknown): Baselines | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const given = value as Readonly<Record<string, unknown>>
  const [frequency, volume, failures, fill] = MEASURES.map((measure) => sumsIn(given[measure]))
  return frequency && volume && failures && fill && { frequency, volume, failures, fill }
}

/** What there is and can be used; nothing else is an error. */
export function loadBaselines(stateDirectory: string): KeptBaselines {
  try {
    const read = readBounded(join(stateDirectory, NAME), BASELINES_FILE_BYTES)
    const json = read.ok ? parseStrictJson(read.bytes, { size: BASELINES_FILE_BYTES }) : undefined
    if (json?.ok !== true || !Array.isArray(json.value)) return []
    return (json.value as readonly unknown[]).slice(-AGENTS_WATCHED).flatMap((entry) => {
      const [agent, given] = Array.isArray(entry) ? (entry as readonly unknown[]) : []
      const baselines = baselinesIn(given)
      const isName = typeof agent === 'string' && agent !== '' && agent.length <= AGENT_NAME_BYTES
      return isName && baselines !== undefined ? [[agent, baselines] as const] : []
    })
  } catch {
    return []
  }
}

export type BaselineStore = {
  /** Writes what has changed, where it is time. */
  tick(): void
  /** Writes what has changed now. */
  save(): void
}

export function createBaselineStore(
  stateDirectory: string,
  kept: () => KeptBaselines,
  clock: Pick<Clock, 'monotonicMs'>,
): BaselineStore {
  let written = JSON.stringify(kept())
  let writtenAtMs = clock.monotonicMs()

  function save(): void {
    writtenAtMs = clock.monotonicMs()
    const text = JSON.stringify(kept())
    if (text === written) return
    written = text
    try {
      replaceFile(join(stateDirectory, NAME), Buffer.from(`${text}\n`), MODE)
    } catch {
      // No reason to stop: it is written the next time, or begins anew.
      written = ''
    }
  }

  return {
    save,
    tick() {
      if (clock.monotonicMs() - writtenAtMs >= TRAFFIC_SAVE_MS) save()
    },
  }
}
