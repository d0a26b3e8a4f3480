import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { assessText, shippedTables } from './shipped-tables.ts'

const VECTORS = join(import.meta.dirname, '../../../../../shared/vectors/prompt-injection')
const FLAGGED = 700

interface Vector {
  readonly id: string
  readonly tier: string
  readonly technique?: string
  readonly text: string
}

interface Tally {
  all: number
  flagged: number
}

function vectors(name: string): readonly Vector[] {
  return gunzipSync(readFileSync(join(VECTORS, `${name}_quarter.jsonl.gz`)))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Vector)
}

function tally(name: string): Map<string, Tally> {
  const tables = shippedTables()
  const tallies = new Map<string, Tally>()
  for (const { tier, technique, text } of vectors(name)) {
    const flagged = assessText(tables, text).permille >= FLAGGED
    for (const key of ['all', tier, ...(technique === undefined ? [] : [`${tier}: ${technique}`])]) {
      const entry = tallies.get(key) ?? { all: 0, flagged: 0 }
      tallies.set(key, { all: entry.all + 1, flagged: entry.flagged + (flagged ? 1 : 0) })
    }
  }
  return tallies
}

const percent = ({ all, flagged }: Tally): number => (100 * flagged) / all

t.test(
  'of the sample of others 95 % of the overrides are found, and of each disguise 90 % (JF-R11, JF-T02)',
  (t) => {
    if (!existsSync(VECTORS)) {
      t.comment('skipped: ../shared/vectors/prompt-injection is not here')
      t.pass()
      return t.end()
    }
    const found = tally('attack')
    for (const [key, entry] of found)
      t.comment(`${key}: ${entry.flagged} of ${entry.all}, ${percent(entry).toFixed(1)} %`)
    t.ok(percent(found.get('override') ?? { all: 1, flagged: 0 }) >= 95)
    for (const [key, entry] of found) if (key.startsWith('obfuscated: ')) t.ok(percent(entry) >= 90, key)
    return t.end()
  },
)

t.test('of their benign texts at most 3 % are flagged (JF-R11, JF-T02)', (t) => {
  if (!existsSync(VECTORS)) {
    t.comment('skipped: ../shared/vectors/prompt-injection is not here')
    t.pass()
    return t.end()
  }
  const found = tally('benign')
  for (const [key, entry] of found)
    t.comment(`${key}: ${entry.flagged} of ${entry.all}, ${percent(entry).toFixed(1)} %`)
  t.ok(percent(found.get('all') ?? { all: 1, flagged: 1 }) <= 3)
  return t.end()
})
