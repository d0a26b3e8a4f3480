/** Text through the pass that ships, in pieces of any size. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCREEN_WORK_BYTES } from '../../../../src/defense/firewall/limits.ts'
import { readSecretTables, type SecretTables } from '../../../../src/defense/firewall/secrets/kinds.ts'
import type { KnownValue } from '../../../../src/defense/firewall/secrets/known.ts'
import { createSecretPass } from '../../../../src/defense/firewall/secrets/pass.ts'

function shipped(known: readonly KnownValue[] = []): SecretTables {
  const path = join(import.meta.dirname, '../../../../firewall/secrets.json')
  const tables = readSecretTables(JSON.parse(readFileSync(path, 'utf8')), known)
  if ('problems' in tables) throw new Error(tables.problems.join(' '))
  return tables
}

export const TABLES: SecretTables = shipped()

/** With one value that the device knows. */
export const knownTables = (value: string): SecretTables =>
  shipped([{ kind: 'known-secret', bytes: Buffer.from(value) }])

const work = new Uint8Array(SCREEN_WORK_BYTES)
/** What other streams may have left behind in it: more of a word, of a value or of a block, or its end. */
const LEFT_BEHIND = ['a', 'A1', '"', '\n', '=', '-----', 'aA1_aA1_'].map((text) => Buffer.alloc(2_048, text))

export type Passed = {
  readonly text: string
  readonly kinds: readonly string[]
  readonly secrets: readonly string[]
  /** The most that was kept back at once. */
  readonly keptBytes: number
}

/** @param cuts sizes of the pieces, over and over; none: one piece */
export function passed(text: string | Uint8Array, cuts: readonly number[] = []): Passed {
  const bytes = Buffer.from(text)
  const pass = createSecretPass(TABLES, work)
  const out: Buffer[] = []
  const [kinds, secrets]: [string[], string[]] = [[], []]
  let keptBytes = 0
  const emit: Parameters<typeof pass.push>[1] = (piece, _offset, span, secret) => {
    out.push(Buffer.from(piece))
    if (span === undefined) return
    kinds.push(span.kind)
    secrets.push(Buffer.from(secret ?? []).toString())
  }
  for (let [at, turn] = [0, 0]; at < bytes.length; turn++) {
    const size = cuts[turn % cuts.length] ?? bytes.length
    work.set(LEFT_BEHIND[turn % LEFT_BEHIND.length] ?? [])
    pass.push(bytes.subarray(at, at + size), emit)
    keptBytes = Math.max(keptBytes, pass.keptBytes)
    at += size
  }
  pass.finish(emit)
  return { text: Buffer.concat(out).toString('latin1'), kinds, secrets, keptBytes }
}
