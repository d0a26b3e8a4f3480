/**
 * Kills of a daemon while it runs a plan of 20 calls, at moments drawn from a seed: each call leaves a directory behind
 * that can be made once alone, so that one which ran twice shows.
 * @module
 */
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { client } from './agents.node.ts'
import { type Daemon, ON_REAL_FILES, type Scope, sleep, startDaemon } from './daemon.node.ts'
import { bytesOf, installPlanned, MAKE, plan } from './planned.node.ts'

const CALLS = 20
/** From before the first call to after the last one, on a slow machine as well. */
const SPREAD_MS = 400

export type Kills = {
  readonly kills: number
  readonly ran: number
  readonly unknown: number
  readonly wrong: string[]
}

/** Runs and kills so often; `wrong` says what the results have that is not so. */
export async function killPlans(t: Scope, times: number, seed: number): Promise<Kills> {
  const directory = await installPlanned(t, ON_REAL_FILES, [MAKE])
  const told = { kills: 0, ran: 0, unknown: 0, wrong: [] as string[] }
  let state = seed >>> 0
  const drawn = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  for (let time = 0; time < times; time++) {
    const daemon = await startDaemon(t, directory)
    const place = `run-${time}`
    mkdirSync(join(daemon.workspace, place))
    const signed = plan(
      daemon,
      Array.from({ length: CALLS }, (_, at) => ['make', { path: `${place}/${at}` }] as const),
    )
    const id = String(signed['plan_id'])
    const agent = await client(daemon)
    const run = agent.plans.run(bytesOf(signed)).catch(() => undefined)
    await sleep(drawn() * SPREAD_MS)
    daemon.signal('SIGKILL')
    await daemon.ended
    await run
    told.kills++
    const again = await startDaemon(t, directory)
    await look(again, id, bytesOf(signed), place, told)
    await again.stop()
  }
  return told
}

async function look(
  daemon: Daemon,
  id: string,
  signed: Uint8Array,
  place: string,
  told: { ran: number; unknown: number; wrong: string[] },
): Promise<void> {
  const agent = await client(daemon)
  const made = new Set(readdirSync(join(daemon.workspace, place)))
  const plan = await agent.plans.state({ planId: id }).catch(() => undefined)
  // It was killed before the plan was used up: nothing of it has run, and it can be run.
  if (plan === undefined) {
    if (made.size > 0) told.wrong.push(`${place}: calls ran of a plan that is not known`)
    return void (await agent.close())
  }
  if (plan.state === 'running') told.wrong.push(`${place}: it runs on`)
  for (const [at, { state, number }] of plan.calls.entries()) {
    const isThere = made.has(String(at))
    if (state === 'exited' && (number !== 0 || !isThere))
      told.wrong.push(`${place}/${at}: exited ${number}, there ${isThere}`)
    if (state === 'waiting' && isThere) told.wrong.push(`${place}/${at}: waiting, and there`)
    if (state === 'exited') told.ran++
    else if (state === 'unknown') told.unknown++
    else if (state !== 'waiting') told.wrong.push(`${place}/${at}: ${state}`)
  }
  // Once for ever: it is not run again, by anybody.
  const second = await agent.plans.run(signed).then(
    () => 'ran',
    (cause: unknown) => String(cause),
  )
  if (!second.includes('run before')) told.wrong.push(`${place}: the second time ${second}`)
  if (readdirSync(join(daemon.workspace, place)).length !== made.size) told.wrong.push(`${place}: more ran`)
  await agent.close()
}
