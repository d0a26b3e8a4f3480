/**
 * How fast signed envelopes are taken in: a thousand files in one inbox, from the first look to the last that waits for
 * its receiver, and what the daemon's memory has done meanwhile. `npm run bench:intent -- 1000`
 * @module
 */

import { readFileSync } from 'node:fs'
import { startDaemon, until } from '../test/integration/daemon.node.ts'
import { drop, HELPER, installIntent, signed } from '../test/integration/intent.node.ts'

/** What a device should do at least, a second. */
const LEAST_PER_SECOND = 300
const COUNT = Number(process.argv[2] ?? 1_000)

const undo: (() => unknown)[] = []
const scope = { teardown: (call: () => unknown) => void undo.unshift(call) }

const world = await installIntent(scope as never, { intent: { envelopes_per_hour: 1_000_000 } })
const daemon = await startDaemon(scope as never, world.directory)
const wave = async (count: number): Promise<number> => {
  const before = world.names('accepted', HELPER).length
  const made = Array.from({ length: count }, () => signed(world))
  const from = performance.now()
  for (const bytes of made) drop(world, bytes)
  await until('all wait', () => world.names('accepted', HELPER).length === before + count, 120_000)
  return performance.now() - from
}
await wave(100)
/** Processor time of the daemon, in hundredths of a second (proc_pid_stat(5)). */
const busy = (): number =>
  readFileSync(`/proc/${daemon.pid}/stat`, 'utf8')
    .split(' ')
    .slice(13, 15)
    .reduce((sum, ticks) => sum + Number(ticks), 0)
const before = busy()
const kib = daemon.anonymousKib()
const ms = await wave(COUNT)
const perSecond = Math.round((COUNT * 1_000) / ms)
console.log(`envelopes taken in a second        ${perSecond} (bound: ${LEAST_PER_SECOND})`)
console.log(`the daemon’s processor time for one  ${(((busy() - before) * 10) / COUNT).toFixed(2)} ms`)
console.log(`anonymous memory before and after  ${kib} KiB, ${daemon.anonymousKib()} KiB`)
for (const call of undo) await call()
process.exitCode = perSecond >= LEAST_PER_SECOND ? 0 : 1
