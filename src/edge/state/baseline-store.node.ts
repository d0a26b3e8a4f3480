/**
 * The baselines of the anomaly monitor, over a restart: one small file in the state directory, written at the end of the
 * daemon and once an hour where they have changed, so that flash is not worn for them. What cannot be read, or cannot be
 * a baseline, begins anew: then an agent is uncalibrated, and only the fixed bounds hold for it.
 * @module
 */
import { join } from 'node:path'
import { fieldsOf, isCount, jsonAt } from '../../base/small-file.node.ts'
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

function sumsIn(value: unknown): Sums | undefined {
  const { count, sum, squares, largest } = fieldsOf(value)
  if (!isCount(count) || !isCount(sum) || !isCount(squares) || !isCount(largest)) return undefined
  const isPossible =
    count <= BASELINE_TURNS && sum <= count * STEP_MAX && squares <= count * STEP_MAX * STEP_MAX
  return isPossible ? { count, sum, squares, largest } : undefined
}

function baselinesIn(value: unknown): Baselines | undefined {
  const given = fieldsOf(value)
  const [frequency, volume, failures, fill] = MEASURES.map((measure) => sumsIn(given[measure]))
  return frequency && volume && failures && fill && { frequency, volume, failures, fill }
}

/** What there is and can be used; nothing else is an error. */
export function loadBaselines(stateDirectory: string): KeptBaselines {
  const kept: unknown = jsonAt(join(stateDirectory, NAME), BASELINES_FILE_BYTES)
  if (!Array.isArray(kept)) return []
  return kept.slice(-AGENTS_WATCHED).flatMap((entry: unknown) => {
    const [agent, given] = Array.isArray(entry) ? (entry as readonly unknown[]) : []
    const baselines = baselinesIn(given)
    const isName = typeof agent === 'string' && agent !== '' && agent.length <= AGENT_NAME_BYTES
    return isName && baselines !== undefined ? [[agent, baselines] as const] : []
  })
}

export function createBaselineStore(
  stateDirectory: string,
  kept: () => KeptBaselines,
  clock: Pick<Clock, 'monotonicMs'>,
): SavedText {
  return createSavedText(join(stateDirectory, NAME), () => JSON.stringify(kept()), clock)
}
