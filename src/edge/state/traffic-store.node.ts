/**
 * What the link has carried, over a restart: one small file in the state directory, written at the end of the daemon
 * and once an hour while something passes, so that flash is not worn for a count. What cannot be read or written is
 * counted anew.
 * @module
 */
import { join } from 'node:path'
import { parseStrictJson } from '../../base/encoding/strict-json.ts'
import { readBounded } from '../../base/files.node.ts'
import { TRAFFIC_FILE_BYTES } from '../../limits.ts'
import type { Clock } from '../../ports.ts'
import type { DayBytes, Days, Traffic } from '../../session/standing/traffic.ts'
import { createSavedText, type SavedText } from './saved-text.node.ts'

const NAME = 'traffic.json'
const KEYS = ['sinceMs', 'received', 'sent'] as const

function dayIn(value: unknown): DayBytes | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const given = value as Readonly<Record<string, unknown>>
  const [sinceMs, received, sent] = KEYS.map((key) => {
    const number = given[key]
    return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined
  })
  return sinceMs === undefined || received === undefined || sent === undefined
    ? undefined
    : { sinceMs, received, sent }
}

/** Undefined where there is none, or none that can be used. */
export function loadTraffic(stateDirectory: string): Days | undefined {
  try {
    const read = readBounded(join(stateDirectory, NAME), TRAFFIC_FILE_BYTES)
    const json = read.ok ? parseStrictJson(read.bytes, { size: TRAFFIC_FILE_BYTES }) : undefined
    if (json?.ok !== true || typeof json.value !== 'object' || json.value === null) return undefined
    const given = json.value as Readonly<Record<string, unknown>>
    const today = dayIn(given['today'])
    return today && { today, yesterday: dayIn(given['yesterday']) }
  } catch {
    return undefined
  }
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
