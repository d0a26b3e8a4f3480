/** The data base and the weights that ship, for the tests of this folder; and short ways to ask them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Assessment,
  assessWindow,
  type InjectionTables,
  readInjectionTables,
} from '../../../../src/defense/firewall/injections/assess.ts'
import { INJECTION_WINDOW_BYTES } from '../../../../src/defense/firewall/injections/limits.ts'

const FIREWALL = join(import.meta.dirname, '../../../../firewall')

export function shippedJson(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(FIREWALL, name), 'utf8')) as Record<string, unknown>
}

export function shippedTables(): InjectionTables {
  const read = readInjectionTables(shippedJson('injections.json'), shippedJson('injection-weights.json'))
  if (!read.ok) throw new Error(read.problems.join('\n'))
  return read.tables
}

/** The highest assessment of windows that overlap by a quarter. */
export function assessText(tables: InjectionTables, text: string | Uint8Array): Assessment {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  let highest = assessWindow(tables, bytes, 0, INJECTION_WINDOW_BYTES)
  for (let at = (INJECTION_WINDOW_BYTES * 3) / 4; at < bytes.length; at += (INJECTION_WINDOW_BYTES * 3) / 4) {
    const next = assessWindow(tables, bytes, at, at + INJECTION_WINDOW_BYTES)
    if (next.permille > highest.permille) highest = next
  }
  return highest
}
