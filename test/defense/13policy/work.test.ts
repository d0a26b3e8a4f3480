import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { DECISION_STEPS } from '../../../src/limits.ts'

type Work = { readonly blocks: number; readonly searched: number; readonly steps: number }
type Row = { readonly kind: string; readonly work: readonly [Work, Work] }

/** In a process of its own: the coverage of this one belongs to whoever runs the tests. */
function count(): readonly Row[] {
  const program = fileURLToPath(new URL('./work-count.node.ts', import.meta.url))
  const text = execFileSync(process.execPath, [program], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
  return JSON.parse(text) as Row[]
}

/** Blocks of code that run and characters that are searched, for each step that is paid for, and in any case. */
const WORK_A_STEP = 32
const WORK_AT_LEAST = 500_000

t.test('what a text is paid for is what it costs, in every lexer and parser', (t) => {
  const rows = count()
  t.ok(rows.length > 60, `${rows.length} kinds of text`)
  for (const { kind, work } of rows)
    for (const { blocks, searched, steps } of work) {
      const done = blocks + searched
      t.ok(done <= WORK_A_STEP * steps + WORK_AT_LEAST, `${JSON.stringify(kind)}: ${done} for ${steps} steps`)
      t.ok(steps <= DECISION_STEPS, `${JSON.stringify(kind)}: ${steps} steps`)
    }
  t.end()
})
