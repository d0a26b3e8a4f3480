import t from 'tap'
import { stepOf } from '../../../src/defense/anomaly/sums.ts'
import {
  type Alert,
  type Ending,
  NO_BASELINES,
  type TurnSettings,
  takeTurn,
  type Watched,
  watchedFrom,
} from '../../../src/defense/anomaly/turns.ts'

const MIB = 1_048_576
const SETTINGS: TurnSettings = { sigma: 3, consecutive: 3 }

/** Turns of one agent from a beginning on; `every` milliseconds apart. */
function stage(settings = SETTINGS) {
  let watched: Watched = watchedFrom(NO_BASELINES)
  let atMs = 1_000_000_000
  const alerts: Alert[] = []
  let contained = 0
  return {
    alerts,
    get watched() {
      return watched
    },
    get contained() {
      return contained
    },
    names: () => alerts.map(({ measure }) => measure),
    turns(count: number, bytes: number, ending: Ending = 'done', every = 10_000) {
      for (let number = 0; number < count; number++) {
        atMs += every
        const outcome = takeTurn(watched, { atMs, bytes, ending }, settings)
        watched = outcome.watched
        alerts.push(...outcome.alerts)
        if (outcome.contains) contained++
      }
    },
  }
}

t.test('before 30 turns there is no baseline, and only what is out of all proportion is told', async (t) => {
  const staged = stage()
  staged.turns(29, 1_000)
  t.same(staged.names(), [])
  staged.turns(1, 16 * MIB)
  t.same(staged.names(), [], 'just at the bound')
  const other = stage()
  other.turns(5, 1_000)
  other.turns(1, 20 * MIB)
  t.same(other.names(), ['volume'], 'more than twice the largest')
  const first = stage()
  first.turns(4, 1_000)
  first.turns(1, 20 * MIB)
  t.same(first.names(), [], 'of four turns nobody says what is usual')
})

t.test(
  'more than three standard deviations above the mean is an alert with its numbers (JF-084)',
  async (t) => {
    const staged = stage()
    staged.turns(40, 1_000)
    staged.turns(1, 20 * MIB)
    const mean = stepOf(1_000)
    t.match(staged.alerts, [
      {
        ...{ measure: 'volume', value: 20 * MIB, step: stepOf(20 * MIB), mean, variance: 256 },
        ...{ limit: mean + 48, samples: 40 },
      },
    ])
    for (const alert of staged.alerts)
      for (const value of Object.values(alert))
        t.ok(typeof value === 'string' || Number.isSafeInteger(value), 'integers alone')
  },
)

t.test('what goes on is told once, and once more when it begins anew', async (t) => {
  const staged = stage({ ...SETTINGS, consecutive: null })
  staged.turns(40, 1_000)
  staged.turns(3, 20 * MIB, 'done', 120_000)
  t.same(staged.names(), ['volume', 'fill'])
  staged.turns(1, 1_000, 'done', 120_000)
  staged.turns(1, 100 * MIB, 'done', 120_000)
  t.same(staged.names(), ['volume', 'fill', 'volume', 'fill'])
})

t.test(
  'three turns in a row with two measures beyond contain, and three more do again (JF-090)',
  async (t) => {
    const staged = stage()
    staged.turns(40, 1_000)
    staged.turns(3, 20 * MIB, 'done', 1_000)
    t.equal(staged.contained, 1)
    staged.turns(2, 20 * MIB, 'done', 1_000)
    t.equal(staged.contained, 1)
    const broken = stage()
    broken.turns(40, 1_000)
    broken.turns(2, 20 * MIB, 'done', 1_000)
    broken.turns(1, 10, 'done', 1_000)
    broken.turns(2, 20 * MIB, 'done', 1_000)
    t.equal(broken.contained, 0, 'not in a row')
  },
)

t.test('where consecutive is null nothing contains', async (t) => {
  const staged = stage({ ...SETTINGS, consecutive: null })
  staged.turns(40, 1_000)
  staged.turns(20, 20 * MIB, 'done', 1_000)
  t.equal(staged.contained, 0)
  t.same(staged.names(), ['volume', 'fill'])
})

t.test(
  'the fourth refusal in a row is an alert, and the twenty-first command that fails (JF-R31)',
  async (t) => {
    const refused = stage()
    refused.turns(3, 0, 'refused')
    t.same(refused.names(), [])
    refused.turns(1, 0, 'refused')
    t.match(refused.alerts, [{ measure: 'row', value: 4, limit: 3 }])
    const failed = stage()
    failed.turns(20, 10, 'failed')
    t.same(failed.names(), [])
    failed.turns(1, 10, 'failed')
    t.match(failed.alerts, [{ measure: 'row', value: 21, limit: 20 }])
  },
)

t.test(
  'a morning of searches without a match and of broken tests contains nobody, at any length',
  async (t) => {
    const staged = stage()
    staged.turns(40, 2_000, 'done', 4_000)
    staged.turns(200, 500, 'failed', 1_500)
    t.equal(staged.contained, 0)
    staged.turns(30, 0, 'refused', 1_500)
    t.equal(staged.contained, 0)
  },
)

t.test('trying things out as fast as it goes contains', async (t) => {
  const staged = stage()
  staged.turns(60, 2_000, 'done', 5_000)
  staged.turns(400, 0, 'refused', 50)
  t.ok(staged.contained > 0)
  t.ok(staged.names().includes('frequency'))
  t.ok(staged.names().includes('row'))
})

t.test('a clock that is set back or forward raises nothing by itself', async (t) => {
  let watched = watchedFrom(NO_BASELINES)
  let atMs = 1_000_000_000
  for (let number = 0; number < 400; number++) {
    atMs += number % 50 === 0 ? -5_000_000 : 3_000
    const { watched: next, alerts } = takeTurn(watched, { atMs, bytes: 100, ending: 'done' }, SETTINGS)
    t.same(alerts, [])
    watched = next
  }
})

t.test('what an agent takes up is bounded', async (t) => {
  const staged = stage()
  staged.turns(3_000, 100, 'done', 1)
  t.ok(JSON.stringify(staged.watched).length < 40_000)
})
