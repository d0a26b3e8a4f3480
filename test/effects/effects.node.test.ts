/**
 * Dangerous lines of the short form of `npm run effects`: for real, under the daemon as built and without its rules, half of
 * them as themselves and half from files that nothing has read.
 * @module
 */
import t from 'tap'
import { effects } from './run-effects.node.ts'

const FEWEST_RUNS = 75

t.test('lines of the corpora change nothing, reach nothing and carry nothing out (JF-T06)', async (t) => {
  const figures = await effects(t, t.testdir(), '--short', '--only', 'dangerous')
  if (figures === undefined) return
  t.ok(figures.runs >= FEWEST_RUNS, `${figures.runs} runs`)
  t.strictSame(figures.got, [], 'nothing came of them')
  t.equal(figures.stuck, 0, 'each has an end')
  t.strictSame(figures.shown, [], 'no secret is in their output')
})
