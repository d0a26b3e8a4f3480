/**
 * A session that takes more of the disk than it may, tried with everything that fills one: a large file, many of them at
 * once, names without end, files that have no name any more. It is ended and says why, its branch stays; every other
 * session, the record, drops, purges and starts go on.
 * @module
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Branched, everyone } from './branched.node.ts'
import { type Json, until } from './daemon.node.ts'
import {
  auditEvents,
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

type Fill = {
  readonly script: string
  readonly limits?: Json
  readonly why: RegExp
  /** It is smaller as soon as its processes have ended. */
  readonly isGone?: true
  /** On another kind of disk too. */
  readonly isTriedTwice?: true
}
const FILLS: Readonly<Record<string, Fill>> = {
  'a large file': {
    script: 'head -c 200000000 /dev/zero > fill; sleep 5',
    why: /branch_bytes/,
    isTriedTwice: true,
  },
  'many writers at once': {
    script: 'for i in 1 2 3 4 5 6 7 8; do head -c 200000000 /dev/zero > fill$i & done; wait; sleep 60',
    why: /branch_bytes/,
    isTriedTwice: true,
  },
  'many small files': {
    script: 'mkdir d; i=0; while :; do echo x > d/$i; i=$((i+1)); done',
    limits: { branch_files: 2_000 },
    why: /2000 files of the 2000 .*branch_files/,
  },
  'as many names as the disk has': {
    // It goes on where the disk has none left: then it is still to be ended.
    script: 'mkdir d; i=0; while :; do true > d/$i; i=$((i+1)); done 2> /dev/null',
    why: /files of the \d+ .*branch_files/,
  },
  'directories in each other': {
    script: 'while :; do mkdir d; cd d; head -c 100000 /dev/zero > f; done',
    why: /branch_bytes/,
  },
  'files that have no name any more': {
    script:
      'for i in 3 4 5 6 7; do eval "exec $i>f$i"; rm f$i; head -c 20000000 /dev/zero >&$i; done; sleep 60',
    why: /branch_bytes/,
    isGone: true,
  },
}

async function fills(t: Test, daemon: Branched, { script, why, isGone }: Fill): Promise<void> {
  const other = await daemon.open('new')
  await othersGoOn(t, daemon, other)
  const before = freeBytes(daemon)
  const filling = await daemon.open('new')
  const ran = await runs(daemon, filling, script)
  const after = freeBytes(daemon)
  t.comment(`${(before / MIB).toFixed(1)} MiB were free, then ${(after / MIB).toFixed(1)}`)
  t.match(ran.why, why)
  t.not(ran.code, 0)
  await othersGoOn(t, daemon, other)
  const own = (await branches(daemon)).find((one) => one.stopped !== undefined)
  t.match(own?.stopped, /sandbox\.limits\./)
  const told = await daemon.cli(['branch', 'diff', '--stat', own?.session ?? ''])
  t.match(told.stderr, why, 'who looks at it hears why')
  if (isGone === true) await filling.execute('true', [])
  else await t.rejects(filling.execute('true', []), { message: /nothing more begins in it/ })
  const events = auditEvents(stateOf(daemon.directory))
  t.match(
    events.filter(({ type, what }) => type === 'branch' && what === 'stopped'),
    [{ branch: own?.session, why }],
  )
  t.match(events.findLast(({ killed }) => typeof killed === 'string')?.['killed'], why)
  await othersGoOn(t, daemon, other)
  t.ok(await isWhole(daemon), 'the record is whole')
  if (isGone !== true) {
    await daemon.stop()
    await daemon.start()
    t.match((await branches(daemon)).find(({ session }) => session === own?.session)?.stopped, why)
    const again = await daemon.cli(['exec', '--branch', own?.session ?? '', '--', 'true'])
    t.match(again, { code: 255, stderr: why }, 'a restart has not forgotten it')
    await clearsAway(t, daemon, own?.session ?? '')
  }
}

/** What the daemon itself writes for a session is the session's as well. */
async function uploads(t: Test, daemon: Branched): Promise<void> {
  const path = join(daemon.directory, 'large')
  writeFileSync(path, Buffer.alloc(35 * MIB, 1))
  await daemon.cli(['cp', path, ':large'])
  await until('it is stopped', async () =>
    (await branches(daemon)).some(({ stopped }) => stopped !== undefined),
  )
  t.match(await daemon.cli(['exec', '--', 'true']), { code: 255, stderr: /branch_bytes/ })
  t.match(await daemon.cli(['cp', path, ':more']), { code: 255 })
  t.match(await daemon.cli(['exec', '--branch', 'new', '--', 'echo', 'on']), { code: 0 })
  t.ok(await isWhole(daemon), 'the record is whole')
}

for (const who of everyone(t)) {
  await testOnSmallDisk(t, 'an upload', { who, kind: 'ext4' }, uploads)
  for (const kind of ['ext4', 'tmpfs'] as const) {
    for (const [name, fill] of Object.entries(FILLS)) {
      if (kind === 'tmpfs' && fill.isTriedTwice !== true) continue
      const on = { who, kind, limits: fill.limits }
      await testOnSmallDisk(t, name, on, (t, daemon) => fills(t, daemon, fill))
    }
  }
}
