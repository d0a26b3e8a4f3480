/**
 * The baselines of the anomaly monitor, over a restart: one small file in the state directory, written at the end of the
 * daemon and once an hour where they have changed, so that flash is not worn for them. What cannot be read, or cannot be
 * a baseline, begins anew: then an agent is uncalibrated, and only the fixed bounds hold for it.
 * @module
 */
import { join } from 'node:path'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { readBounded } from '../../base/files.node.ts'
import {
  AGENTS_WATCHED,
  BASELINE_TURNS,
  BASELINES_FILE_BYTES,
  STEP_MAX,
} from '../../defense/anomaly/limits.ts'
import type { KeptBaselines } from '../../defense/anomaly/monitor.ts'
import type { Sums } from '../../defense/anomaly/sums.ts'
import { type Baselines, MEASURES } from '../../defense/anomaly/turns.ts'
import { AGENT_NAME_BYTES } from '../../limits.ts'
import type { Clock } from '../../ports.ts'
import { createSavedText, type SavedText } from './saved-text.node.ts'

const NAME = 'baselines.json'
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

export function createBaselineStore(
  stateDirectory: string,
  kept: () => KeptBaselines,
  clock: Pick<Clock, 'monotonicMs'>,
): SavedText {
  return createSavedText(join(stateDirectory, NAME), () => JSON.stringify(kept()), clock)
}
