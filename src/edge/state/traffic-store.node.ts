/**
 * What the link has carried, over a restart: one small file in the state directory, written at the end of the daemon
 * and once an hour while something passes, so that flash is not worn for a count. What cannot be read or written is
 * counted anew.
 * @module
 */
import { join } from 'node:path'
import { fieldsOf, isCount, jsonAt } from '../../base/small-file.node.ts'
import { TRAFFIC_FILE_BYTES } from '../../limits.ts'
import type { Clock } from '../../ports.ts'
import type { DayBytes, Days, Traffic } from '../../session/standing/traffic.ts'
import { createSavedText, type SavedText } from './saved-text.node.ts'

const NAME = 'traffic.json'

function dayIn(value: unknown): DayBytes | undefined {
  const { sinceMs, received, sent } = fieldsOf(value)
  return isCount(sinceMs) && isCount(received) && isCount(sent) ? { sinceMs, received, sent } : undefined
}

/** Undefined where there is none, or none that can be used. */
export function loadTraffic(stateDirectory: string): Days | undefined {
  const given = fieldsOf(jsonAt(join(stateDirectory, NAME), TRAFFIC_FILE_BYTES))
  const today = dayIn(given['today'])
  return today && { today, yesterday: dayIn(given['yesterday']) }
}

export function createTrafficStore(
  stateDirectory: string,
  traffic: Pick<Traffic, 'settle' | 'days'>,
  clock: Pick<Clock, 'monotonicMs'>,
): SavedText {
  const settled = (): string => {
    traffic.settle()
    return JSON.stringify(traffic.days)
  }
  return createSavedText(join(stateDirectory, NAME), settled, clock)
}
