import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

type Work = { readonly blocks: number; readonly searched: number }
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

const RATIO = 16
/** Blocks of code that run and characters that are searched, for each character that is given. */
const WORK_A_CHARACTER = 150

t.test('sixteen times the text takes sixteen times the work, in every lexer and parser', (t) => {
  const rows = count()
  t.ok(rows.length > 60, `${rows.length} kinds of text`)
  for (const { kind, work } of rows) {
    const [short, long] = work.map(({ blocks, searched }) => blocks + searched)
    if (short === undefined || long === undefined) throw new Error(`no work counted for ${kind}`)
    // What is the same for every length, such as the tables, is let go of.
    t.ok(long <= RATIO * 1.15 * short + 50_000, `${JSON.stringify(kind)}: ${short} and ${long}`)
    t.ok(long <= WORK_A_CHARACTER * 1_048_576, `${JSON.stringify(kind)}: ${long}`)
  }
  t.end()
})
