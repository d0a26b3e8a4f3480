/**
 * The reserve on small disks of their own: nobody else can take it, it is given back in pieces, and made again.
 * @module
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openChainFile } from '../../../src/audit/chain-file.node.ts'
import { activePath } from '../../../src/audit/segments.node.ts'
import { type MakeRoom, NO_ROOM, withRoom } from '../../../src/base/room.ts'
import { RESERVE_NAMES, RESERVE_PIECE_NAMES } from '../../../src/edge/state/limits.ts'
import { openReserve } from '../../../src/edge/state/reserve.node.ts'
import { temporary } from '../../integration/daemon.node.ts'

const MIB = 1_048_576

function disk(t: Test, kind: 'ext4' | 'tmpfs'): string | undefined {
  const directory = join(temporary(t), 'disk')
  mkdirSync(directory)
  try {
    if (kind === 'tmpfs')
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m,nr_inodes=4096', 'tmpfs', directory])
    else {
      writeFileSync(`${directory}.image`, '')
      truncateSync(`${directory}.image`, 32 * MIB)
      execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', `${directory}.image`])
      execFileSync('mount', ['-o', 'loop', `${directory}.image`, directory], { stdio: 'ignore' })
    }
  } catch {
    t.comment(`skipped: no ${kind} can be mounted here`)
    return undefined
  }
  t.teardown(() => spawnSync('umount', ['-l', directory]))
  return directory
}

function free(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

function fill(directory: string): string {
  const path = join(directory, 'filler')
  spawnSync('dd', ['if=/dev/zero', `of=${path}`, 'bs=4k'], { stdio: 'ignore' })
  return path
}

for (const kind of ['ext4', 'tmpfs'] as const) {
  t.test(`on ${kind}: kept while the disk is filled, given back by pieces, made again`, async (t) => {
    const directory = disk(t, kind)
    if (directory === undefined) return
    const reserve = openReserve(directory, 2 * MIB)
    t.equal(reserve.wholeBytes, 2 * MIB)
    t.equal(reserve.heldFor(directory), 2 * MIB)
    t.ok(statSync(join(directory, 'reserve')).blocks * 512 >= 2 * MIB, 'its blocks are there')
    t.equal(reserve.heldFor('/proc'), 0, 'on another disk there is none')
    t.equal(reserve.pieceFor('/proc')(), false)
    const filler = fill(directory)
    t.ok(free(directory) < 8_192, `${free(directory)}`)
    const record = Buffer.alloc(4_096)
    let written = 0
    try {
      for (; written < 1_000; written++)
        withRoom(reserve.pieceFor(directory), () => writeFileSync(join(directory, `r${written}`), record))
    } catch (cause) {
      t.match(cause, { code: 'ENOSPC' })
    }
    t.ok(written > 250 && written < 400, `${written} records of 4 KiB in three quarters of 2 MiB`)
    t.equal(reserve.heldFor(directory), MIB / 2, 'the last quarter is not for them')
    reserve.tick()
    t.equal(reserve.heldFor(directory), MIB / 2, 'nor made again on a full disk')
    reserve.clear(131_072)
    t.equal(reserve.heldFor(directory), MIB / 2 - 131_072, 'as much as is wanted, tried and not believed')
    reserve.make(262_144)
    t.equal(reserve.heldFor(directory), MIB / 2 - 131_072, 'others have none of the last quarter')
    rmSync(filler)
    reserve.tick()
    t.equal(reserve.heldFor(directory), 2 * MIB)
    reserve.close()
  })

  t.test(`on ${kind}: a start on a full disk has all of it, one beside a daemon has none`, async (t) => {
    const directory = disk(t, kind)
    if (directory === undefined) return
    const first = openReserve(directory, 2 * MIB)
    const filler = fill(directory)
    const beside = openReserve(directory, 2 * MIB)
    t.equal(beside.heldFor(directory), 0)
    t.equal(first.heldFor(directory), 2 * MIB, 'and takes nothing from it')
    beside.close()
    first.close()
    const next = openReserve(directory, 2 * MIB)
    t.equal(next.heldFor(directory), 0)
    t.ok(free(directory) >= 2 * MIB - 65_536, `${free(directory)}`)
    rmSync(filler)
    next.tick()
    t.equal(next.heldFor(directory), 2 * MIB)
    next.close()
    const none = openReserve(directory, 0)
    t.equal(none.heldFor(directory), 0)
    t.equal(none.pieceFor(directory)(), false)
    none.close()
    const most = openReserve(directory, 1_024 * MIB)
    t.ok(
      most.heldFor(directory) <= 4 * MIB && most.heldFor(directory) >= 2 * MIB,
      `${most.heldFor(directory)}`,
    )
    most.close()
  })
}

for (const kind of ['ext4', 'tmpfs'] as const)
  t.test(`on ${kind}: where no further file can be made there are some names left`, async (t) => {
    const directory = disk(t, kind)
    if (directory === undefined) return
    const reserve = openReserve(directory, 2 * MIB)
    const names = () => readdirSync(join(directory, 'reserve.names')).length
    t.equal(names(), RESERVE_NAMES)
    mkdirSync(join(directory, 'many'))
    /** How many files can be made, until there is none. */
    const make = (place: string, room: MakeRoom): number => {
      for (let number = 0; ; number++) {
        try {
          withRoom(room, () => writeFileSync(join(directory, place, `${number}`), '', { flag: 'wx' }))
        } catch (cause) {
          t.match(cause, { code: 'ENOSPC' })
          return number
        }
      }
    }
    t.ok(make('many', NO_ROOM) > 1_000)
    t.equal(names(), RESERVE_NAMES, 'nobody else has them')
    withRoom(reserve.pieceFor(directory), () => mkdirSync(join(directory, 'record')))
    t.equal(make('record', reserve.pieceFor(directory)), (RESERVE_NAMES * 3) / 4 - 1)
    t.equal(names(), RESERVE_NAMES / 4, 'the last quarter is not for them')
    reserve.tick()
    t.equal(names(), RESERVE_NAMES / 4, 'nor made again')
    reserve.clear(1)
    t.equal(names(), RESERVE_NAMES / 4 - RESERVE_PIECE_NAMES)
    t.equal(reserve.heldFor(directory), 2 * MIB, 'blocks were never missing')
    reserve.close()
    const next = openReserve(directory, 2 * MIB)
    t.equal(names(), 0, 'a start has all of them')
    rmSync(join(directory, 'many'), { recursive: true })
    next.tick()
    t.equal(names(), RESERVE_NAMES)
    next.close()
  })

t.test('writers that fill the disk at that moment leave the record what it needs', async (t) => {
  const directory = disk(t, 'ext4')
  if (directory === undefined) return
  const reserve = openReserve(directory, 4 * MIB)
  const script =
    'for i in 1 2 3 4; do while :; do head -c 1000000 /dev/zero >> w$i 2>/dev/null; done & done; wait'
  const writers = spawn('sh', ['-c', script], { cwd: directory, detached: true, stdio: 'ignore' })
  t.teardown(() => process.kill(-(writers.pid ?? 0), 'SIGKILL'))
  while (free(directory) > 65_536) await new Promise((resolve) => setTimeout(resolve, 5))
  const file = openChainFile(directory, () => true, performance.now, reserve.pieceFor(directory))
  const line = 'x'.repeat(3_000)
  let written = 0
  for (; written < 30; written++) {
    file.write(line)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  t.equal(written, 30, `with ${reserve.heldFor(directory)} bytes left`)
  t.equal(file.sizeBytes, 90_000)
  t.equal(readFileSync(activePath(directory), 'latin1'), 'x'.repeat(90_000))
  file.close()
  reserve.close()
})
