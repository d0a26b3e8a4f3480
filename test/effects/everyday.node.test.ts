/**
 * Everyday lines of the short form of `npm run effects`: they end under the daemon as they do without it.
 * @module
 */
import t from 'tap'
import { effects } from './run-effects.node.ts'

/** A short list tells less exactly than the whole one, of which 97 of 100 end alike. */
const ALIKE_SHARE = 0.85
const FEWEST_LINES = 18

t.test('everyday work is done, changes nothing on the host and raises no alarm', async (t) => {
  const figures = await effects(t, t.testdir(), '--short', '--only', 'everyday')
  if (figures === undefined) return
  const { everyday, near, stuck } = figures
  const [lines, asAlone] = [everyday.lines + near.lines, everyday.asAlone + near.asAlone]
  t.ok(lines >= FEWEST_LINES, `${lines} lines`)
  t.equal(stuck, 0, 'each has an end')
  t.strictSame(figures.got, [], 'nothing came of them')
  t.equal(everyday.raised, 0, 'no alarm')
  t.ok(asAlone >= ALIKE_SHARE * lines, `they end as alone: ${JSON.stringify(figures.others)}`)
})
