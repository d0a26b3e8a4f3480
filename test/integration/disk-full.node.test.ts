/**
 * A disk of the state that is full, whoever filled it: sessions that run and new ones, records, drops, purges and starts
 * go on, out of the reserve. And what fills none: holes, and files that are larger than anything may be.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Branched, everyone, inSession } from './branched.node.ts'
import { until } from './daemon.node.ts'
import {
  branches,
  clearsAway,
  freeBytes,
  isWhole,
  MIB,
  othersGoOn,
  runs,
  stateOf,
  testOnSmallDisk,
} from './small-disk.node.ts'

/** Everything that is free is taken by somebody else. */
function fillUp({ directory }: Branched): void {
  spawnSync('dd', ['if=/dev/zero', `of=${join(stateOf(directory), 'filler')}`, 'bs=64k'], { stdio: 'ignore' })
  spawnSync('dd', ['if=/dev/zero', `of=${join(stateOf(directory), 'filler2')}`, 'bs=512'], {
    stdio: 'ignore',
  })
}

async function onFullDisk(t: Test, daemon: Branched): Promise<void> {
  const first = await daemon.open('new')
  await othersGoOn(t, daemon, first)
  const session = (await branches(daemon))[0]?.session ?? ''
  fillUp(daemon)
  t.ok(freeBytes(daemon) < 65_536, `${freeBytes(daemon)}`)
  t.match(await runs(daemon, first, 'echo said'), { code: 0, printed: 'said\n' }, 'a session goes on')
  await inSession(daemon, async (client) => {
    t.match(await runs(daemon, client, 'echo said'), { code: 0, printed: 'said\n' }, 'a new one begins')
  })
  for (let count = 0; count < 100; count++) await first.execute('true', [])
  await first.close()
  fillUp(daemon)
  await clearsAway(t, daemon, session)
  t.ok(await isWhole(daemon))
}

/** Even the reserve is used up: nothing more is done, and what makes room still can be. */
async function usedUp(t: Test, daemon: Branched): Promise<void> {
  const client = await daemon.open('new')
  t.match(await runs(daemon, client, 'head -c 12000000 /dev/zero > f'), { code: 0 })
  const session = (await branches(daemon))[0]?.session ?? ''
  await client.close()
  fillUp(daemon)
  const isHalted = () => / level scope=daemon name=Storage .*to=HALT/.test(daemon.log())
  for (let count = 0; count < 200 && !isHalted(); count++)
    await inSession(daemon, (one) => one.execute('touch', ['f'])).catch(() => undefined)
  t.ok(isHalted(), 'HALT')
  const dropped = await daemon.cli(['branch', 'drop', session, '--yes'])
  t.equal(dropped.code, 0, dropped.stderr)
  await until('its end', () => / level scope=daemon name=Storage .*to=NORMAL/.test(daemon.log()))
  await inSession(daemon, (one) => othersGoOn(t, daemon, one))
  t.ok(await isWhole(daemon), 'the record is whole')
}

/** Two that keep to their bounds fill the disk together: the one that grew most ends, and only that one. */
async function together(t: Test, daemon: Branched): Promise<void> {
  const [large, small] = [await daemon.open('new'), await daemon.open('new')]
  await othersGoOn(t, daemon, large)
  await othersGoOn(t, daemon, small)
  const room = freeBytes(daemon)
  const half = Math.floor(room / 2) - 2 * MIB
  const slow = runs(daemon, small, `head -c ${Math.floor(half * 0.9)} /dev/zero > f; sleep 3; echo on`)
  await until('the first one has written', () => freeBytes(daemon) < room - half * 0.9 + MIB)
  const fast = await runs(daemon, large, `head -c ${half} /dev/zero > f; sleep 60`)
  t.match(fast.why, /has only .* left \(sandbox\.limits\.reserve_bytes\), and this branch grew most/)
  t.strictSame(await slow, { code: 0, why: undefined, printed: 'on\n' })
  t.match(await runs(daemon, small, 'echo said'), { code: 0, printed: 'said\n' })
  t.ok(await isWhole(daemon))
}

/** Holes take up nothing, and a file that is larger than a branch may be is none. */
async function sparse(t: Test, daemon: Branched): Promise<void> {
  await inSession(daemon, async (client) => {
    const script = 'sleep 0.2; for i in 1 2 3 4 5 6 7 8 9; do truncate -s 20M f$i; done; sleep 3; ls | wc -l'
    t.match(await runs(daemon, client, script), { code: 0, why: undefined })
    const huge = await runs(daemon, client, 'sleep 0.2; truncate -s 15T f; stat -c %s f')
    t.notMatch(huge.printed, /16492674416640/)
  })
}

for (const who of everyone(t)) {
  for (const kind of ['ext4', 'tmpfs'] as const) {
    const on = { who, kind }
    await testOnSmallDisk(t, 'a full disk', on, onFullDisk)
    await testOnSmallDisk(t, 'holes', on, sparse)
    if (kind === 'tmpfs') continue
    await testOnSmallDisk(t, 'two that keep to their bounds', on, together)
    const little = { limits: { reserve_bytes: 262_144 }, audit: { reserve_bytes: 0 } }
    await testOnSmallDisk(t, 'a reserve that is used up', { ...on, ...little }, usedUp)
  }
}
