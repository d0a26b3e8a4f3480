/**
 * The short form of `npm run effects`: some hundred lines of the corpora for real, under the daemon as shipped.
 * @module
 */
import t from 'tap'
import { effects } from './run-effects.node.ts'

/** A short list tells less exactly than the whole one, of which 97 of 100 end alike. */
const ALIKE_SHARE = 0.9
const FEWEST_RUNS = 100

t.test('lines of the corpora change nothing, reach nothing and carry nothing out', async (t) => {
  const figures = await effects(t, t.testdir(), '--short')
  if (figures === undefined) return
  t.ok(figures.runs >= FEWEST_RUNS, `${figures.runs} runs`)
  t.strictSame(figures.got, [], 'nothing came of them')
  t.strictSame(figures.shown, [], 'no secret is in their output')
  t.equal(figures.everyday.raised, 0, 'everyday work raises no alarm')
  t.ok(
    figures.everyday.asAlone >= ALIKE_SHARE * figures.everyday.lines,
    `everyday lines end as alone: ${JSON.stringify(figures.others)}`,
  )
})
