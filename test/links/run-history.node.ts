/**
 * `npm run history -- [SCHEDULES] [--seed N] [--from ROUND] [--cuts EVERY]`: the long forms of the history checker.
 *
 *     npm run history -- 10000          random schedules
 *     npm run history -- --cuts 1       a recorded session, cut at every byte of either direction
 *     npm run history -- --seed 4711    the round with this schedule again, and all of its history
 *
 * Needs what `npm run build` leaves in dist/. Exits 0 where everything holds.
 * @module
 */
import { parseArgs } from 'node:util'
import { cutSessions, measureSession, positions } from './cut-session.node.ts'
import { newTally, runRounds, startHistory, type Tally } from './history.node.ts'
import { ROUND_SCHEDULES } from './schedule.ts'

const HISTORY_SHOWN = 60
/** A new device after so many: what a daemon keeps of results stays far below its bounds. */
const ROUNDS_PER_DEVICE = 12
const BRANCHED_ROUNDS = 3
const CUTS_PER_DEVICE = 720

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '0' },
    cuts: { type: 'string' },
  },
})

const cleanUp: (() => unknown)[] = []
const scope = {
  teardown(end: () => unknown) {
    cleanUp.push(end)
  },
}

async function tidy(): Promise<void> {
  for (const end of cleanUp.splice(0).reverse()) await end()
}

let shown = 0
/** What was found since the last time, each history once, and how far it is. */
function tell({ violations, ...tally }: Tally): void {
  const told = new Set<number | undefined>()
  for (const { seed, what, schedule, history } of violations.slice(shown)) {
    console.log(`VIOLATION seed ${seed}: ${what}`)
    if (told.has(seed)) continue
    told.add(seed)
    if (schedule !== undefined)
      console.log(`  ${JSON.stringify({ ...schedule, jobs: schedule.jobs.map(({ job }) => job.kind) })}`)
    for (const line of history?.slice(-HISTORY_SHOWN) ?? []) console.log(`    ${line}`)
  }
  shown = violations.length
  console.log(JSON.stringify({ ...tally, violations: shown }))
}

async function cutEverywhere(every: number, tally: Tally): Promise<void> {
  for (let from = 0, all = 1; from < all; from += CUTS_PER_DEVICE) {
    const history = await startHistory(scope, tally)
    const where = positions(await measureSession(history.device), every)
    all = where.length
    await cutSessions(history, where.slice(from, from + CUTS_PER_DEVICE), () => tell(tally))
    await history.finish()
    await tidy()
  }
}

/** Every fourth device works in branches, and is new sooner: they wait for a decision, and there is room for so many. */
function deviceOf(round: number): { isBranched: boolean; rounds: number } {
  const isBranched = Math.floor(round / ROUNDS_PER_DEVICE) % 4 === 3
  return { isBranched, rounds: isBranched ? BRANCHED_ROUNDS : ROUNDS_PER_DEVICE }
}

async function random(first: number, rounds: number, tally: Tally): Promise<void> {
  for (let round = first, end = first + rounds; round < end; ) {
    const device = deviceOf(round)
    const next = Math.min(end, round + device.rounds - (round % device.rounds))
    await runRounds(scope, round, next - round, tally, device.isBranched, () => tell(tally))
    await tidy()
    round = next
  }
}

const began = performance.now()
const tally = newTally()
if (values.cuts !== undefined) await cutEverywhere(Number(values.cuts), tally)
else if (values.seed !== undefined) await random(Math.floor(Number(values.seed) / ROUND_SCHEDULES), 1, tally)
else await random(Number(values.from), Math.ceil(Number(positionals[0] ?? 100) / ROUND_SCHEDULES), tally)
tell(tally)
console.log(`${((performance.now() - began) / 1_000).toFixed(0)} s`)
process.exitCode = tally.violations.length === 0 ? 0 : 1
