/**
 * How texts of agents are read before other agents read them: the one place that asks the firewall about a whole text.
 * What the assessment of injections needs (some 500 KiB) is made at the first text, and given up by nobody.
 * Rules: docs/handoffs.md; docs/firewall.md.
 * @module
 */
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import {
  assessWindow,
  type InjectionTables,
  readInjectionTables,
} from '../../defense/firewall/injections/assess.ts'
import { INJECTION_OVERLAP_BYTES, INJECTION_WINDOW_BYTES } from '../../defense/firewall/injections/limits.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import { SassError } from '../../errors.ts'
import type { ReadText } from '../../session/common/rooms.ts'

/** JSON of patterns and weights, Brotli in Base64. */
declare const PACKED_INJECTIONS: string | undefined

function injectionFiles(): readonly unknown[] {
  if (typeof PACKED_INJECTIONS === 'string')
    return JSON.parse(brotliDecompressSync(Buffer.from(PACKED_INJECTIONS, 'base64')).toString()) as unknown[]
  return ['injections.json', 'injection-weights.json'].map((name): unknown =>
    JSON.parse(readFileSync(new URL(`../../../firewall/${name}`, import.meta.url), 'utf8')),
  )
}

/** @throws CONFIG_LOAD_FAILED where the data is not what it is to be */
function makeTables(): InjectionTables {
  const [patterns, weights] = injectionFiles()
  const read = readInjectionTables(patterns, weights)
  if (read.ok) return read.tables
  const problem = `The injections of the firewall cannot be read: ${read.problems[0] ?? ''}`
  throw new SassError('CONFIG_LOAD_FAILED', problem)
}

/** @param open a screen for one text, as for one stream of output */
export function createReadText(open: () => Screen): ReadText {
  let tables: InjectionTables | undefined
  return {
    hide(text) {
      const screen = open()
      const pieces: Uint8Array[] = []
      // What is given is lent.
      const emit = (bytes: Uint8Array) => void pieces.push(bytes.slice())
      screen.push(encodeUtf8(text), emit)
      screen.finish(emit)
      const hidden = screen.findings?.count ?? 0
      // What is not UTF-8 any more was cut where a secret stood.
      return { text: hidden === 0 ? text : Buffer.concat(pieces).toString(), hidden }
    },
    assess(text) {
      tables ??= makeTables()
      const bytes = encodeUtf8(text)
      let most = 0
      for (let at = 0; at < bytes.length; at += INJECTION_WINDOW_BYTES - INJECTION_OVERLAP_BYTES)
        most = Math.max(most, assessWindow(tables, bytes, at, at + INJECTION_WINDOW_BYTES).permille)
      return most
    },
  }
}
