import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const TESTS = join(import.meta.dirname, '..')
const TICKETS = Array.from({ length: 10 }, (_, index) => `FT-${String(index + 1).padStart(3, '0')}`)

/** The names of tests: what stands between `t.test('` and the function. */
function names(text: string): readonly string[] {
  return [...text.matchAll(/t\.test\(\s*(['`"])(.*?)\1,/gs)].map(([, , name = '']) => name)
}

t.test('each of the ten security tickets of SAOE is in the name of a test (SA-60)', async (t) => {
  const all = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && !path.endsWith('tickets.test.ts'))
    .flatMap((path) => names(readFileSync(join(TESTS, path), 'utf8')))
  for (const ticket of TICKETS)
    t.ok(
      all.some((name) => name.includes(ticket)),
      ticket,
    )
})
