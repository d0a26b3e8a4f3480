import t from 'tap'
import { killPlans } from './plan-kills.node.ts'

/** `npm run plan-kills -- 500` for more of them. */
const TIMES = Number(process.env['SASS_PLAN_KILLS'] ?? 4)
const SEED = Number(process.env['SASS_PLAN_SEED'] ?? 7)

t.test(
  'a daemon that is killed during a plan runs no call twice, and the result says which ran (SA-28)',
  { timeout: 60_000 + TIMES * 20_000 },
  async (t) => {
    const { kills, ran, unknown, wrong } = await killPlans(t, TIMES, SEED)
    t.comment(`${kills} kills, ${ran} calls had ended, of ${unknown} nobody knows`)
    t.strictSame(wrong, [])
    t.equal(kills, TIMES)
    // At most the one call that was at work.
    t.ok(unknown <= kills, `${unknown} of ${kills}`)
  },
)
