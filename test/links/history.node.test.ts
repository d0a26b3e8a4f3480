/**
 * The short form of the history checker; `npm run history` has the long ones. A violation is printed with its seed, and
 * `npm run history -- --seed N` runs that round again.
 * @module
 */
import t, { type Test } from 'tap'
import { cutSessions, measureSession, positions } from './cut-session.node.ts'
import { newTally, runRounds, startHistory, type Tally } from './history.node.ts'

const EVERY = 37
/** The second loses its daemon; which of them misses output is the machine's draw as well. */
const ROUNDS = 3
const MOST_ROUNDS = 12
const SHOWN = 5

function nothingIsWrong(t: Test, { violations, ...tally }: Tally): void {
  for (const { seed, what, history } of violations.slice(0, SHOWN))
    t.comment(`seed ${seed}: ${what}\n${history?.join('\n') ?? ''}`)
  t.strictSame(
    violations.map(({ seed, what }) => `seed ${seed}: ${what}`),
    [],
  )
  t.comment(JSON.stringify(tally))
}

t.test('a session that is cut anywhere loses nothing, does nothing twice and leaves nothing', async (t) => {
  const tally = newTally()
  const history = await startHistory(t, tally)
  await cutSessions(history, positions(await measureSession(history.device), EVERY))
  await history.finish()
  nothingIsWrong(t, tally)
  t.ok(
    tally.connections > tally.schedules + 50,
    `${tally.connections} connections for ${tally.schedules} sessions`,
  )
})

t.test('random jobs on random links, and a daemon that is killed: the histories add up', async (t) => {
  const tally = newTally()
  for (let first = 0; first < MOST_ROUNDS && (tally.kills === 0 || tally.gaps === 0); first += ROUNDS)
    await runRounds(t, first, ROUNDS, tally, false)
  nothingIsWrong(t, tally)
  t.ok(tally.kills > 0 && tally.gaps > 0, `${tally.kills} kills, ${tally.gaps} gaps`)
})

t.test('so do those of commands that run in branches', async (t) => {
  const tally = newTally()
  await runRounds(t, 1, 1, tally, true)
  nothingIsWrong(t, tally)
  t.ok(tally.kills > 0)
})
