/**
 * A real daemon whose record cannot be written for a while: nothing is done unrecorded, the message is plain, and the
 * chain goes on where it was.
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { changeConfig, type Daemon, install, sassEdge, startDaemon, startNew, until } from './daemon.node.ts'

const PIECE_BYTES = 65_536

/** A tmpfs of 8 MiB at the directory until the end of the test; false where none can be mounted. */
function smallDisk(t: Test, directory: string): boolean {
  mkdirSync(directory, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', directory], { stdio: 'ignore' })
  } catch {
    return false
  }
  t.teardown(() => execFileSync('umount', ['-l', directory]))
  return true
}

type LoopDisk = {
  /** As Linux does it with a disk that gives errors (ext4, errors=remount-ro), at once and whoever writes there. */
  becomesReadOnly(): void
  /** Taken out and put in again; `how` are options of mount(8). */
  mountAgain(how: string): void
}

/** A file system of its own in a file; undefined where none can be made. */
function loopDisk(t: Test, directory: string): LoopDisk | undefined {
  let [image, count] = [`${directory}.ext4`, 0]
  mkdirSync(directory, { recursive: true })
  writeFileSync(image, '')
  truncateSync(image, 33_554_432)
  const run = (command: string, ...args: readonly string[]) =>
    execFileSync(command, args, { stdio: 'ignore' })
  try {
    run('mkfs.ext4', '-q', '-F', image)
    run('mount', '-o', 'loop', image, directory)
  } catch {
    return undefined
  }
  t.teardown(() => spawnSync('umount', ['-l', directory]))
  return {
    becomesReadOnly: () => run('mount', '-o', 'remount,abort', directory),
    mountAgain(how) {
      run('umount', directory)
      // What the disk has, in another one: the first may still be mounted in the namespaces of other programs.
      const before = image
      image = `${directory}.${++count}.ext4`
      copyFileSync(before, image)
      // It exits with 1 where it has put something in order.
      spawnSync('e2fsck', ['-p', image])
      run('mount', '-o', how, image, directory)
    },
  }
}

/** Leaves that much room, whatever the daemon writes meanwhile; nothing: until nothing more can be written. */
function fill(directory: string, leave: number): string {
  const path = join(directory, 'filler')
  const descriptor = openSync(path, 'w')
  const roomNow = () => {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize - leave
  }
  try {
    for (let room = roomNow(); room > 0; room = roomNow())
      writeSync(descriptor, Buffer.alloc(Math.min(room, PIECE_BYTES)))
  } catch (cause) {
    if (leave > 0 || (cause as NodeJS.ErrnoException).code !== 'ENOSPC') throw cause
  } finally {
    closeSync(descriptor)
  }
  return path
}

async function touches(daemon: Daemon, name: string): Promise<'done' | 'refused'> {
  const { port, fingerprint: pin, seed } = daemon
  try {
    const client = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: seed(), pin })
    try {
      await client.execute('touch', [name])
    } finally {
      await client.close().catch(() => {})
    }
  } catch {
    return existsSync(join(daemon.workspace, name)) ? 'done' : 'refused'
  }
  return 'done'
}

async function verified(directory: string): Promise<boolean> {
  const { stdout } = await sassEdge(['audit', 'verify', '--json'], { cwd: directory })
  return JSON.parse(stdout.toString()).ok
}

async function levelOf(daemon: Daemon): Promise<string> {
  const { stdout } = await daemon.cli(['level', 'show', '--json'])
  const { levels } = JSON.parse(stdout.toString()) as { levels: { level: string }[] }
  return levels[0]?.level ?? 'NORMAL'
}

async function onSmallDisk(t: Test): Promise<{ daemon: Daemon; disk: string } | undefined> {
  const directory = await install(t, { defense: { vi_swap: { hold_seconds: 1 } } })
  const disk = join(directory, 'disk')
  if (!smallDisk(t, disk)) {
    t.comment('skipped: a small file system cannot be mounted here')
    t.pass()
    return undefined
  }
  changeConfig(directory, { audit: { directory: join(disk, 'audit') } })
  return { daemon: await startDaemon(t, directory), disk }
}

t.test('a disk that fills up: RESTRICT, then HALT, and room ends both without a loss', async (t) => {
  const staged = await onSmallDisk(t)
  if (staged === undefined) return
  const { daemon, disk } = staged
  t.equal(await touches(daemon, 'before'), 'done')
  const filler = fill(disk, 700_000)
  await until('RESTRICT', async () => (await levelOf(daemon)) === 'RESTRICT')
  t.ok(
    daemon
      .log()
      .some((line) => /level scope=daemon name=Storage .*has only 0\.\d MiB left: make room/.test(line)),
    'it says why, in the log',
  )
  t.equal(await touches(daemon, 'restricted'), 'refused', 'what changes anything')
  rmSync(filler)
  fill(disk, 0)
  const isHalted = () => daemon.log().some((line) => / level scope=daemon name=Storage .*to=HALT/.test(line))
  // What fits into the last block is still written.
  for (let index = 0; index < 60 && !isHalted(); index++)
    t.equal(await touches(daemon, `full-${index}`), 'refused')
  t.ok(isHalted(), 'HALT')
  t.ok(
    daemon
      .log()
      .some((line) =>
        /cannot be written(?: to \S+)?, since the disk is full, so nothing was done; make room on its disk/.test(
          line,
        ),
      ),
    'in plain words',
  )
  t.equal(await touches(daemon, 'halted'), 'refused')
  rmSync(filler)
  await until('its end', async () => (await levelOf(daemon)) === 'NORMAL')
  t.equal(await touches(daemon, 'after'), 'done')
  await daemon.stop()
  t.ok(await verified(daemon.directory), 'the chain is whole')
  const text = readFileSync(join(disk, 'audit/audit.jsonl'), 'utf8')
  t.match(text, /"what":"storage"/, 'the record says that there was no room')
  const replayed = await sassEdge(['audit', 'replay', '--json'], { cwd: daemon.directory })
  t.match(JSON.parse(replayed.stdout.toString()), { ok: true, different: 0, missing: 0 })
})

t.test('a file that can be written no further: HALT, and on from there when it can', async (t) => {
  const daemon = await startNew(t, { defense: { vi_swap: { hold_seconds: 1 } } })
  t.equal(await touches(daemon, 'before'), 'done')
  /** RLIMIT_FSIZE of the daemon: beyond it every write(2) fails, as on a device that has gone bad. */
  const limit = (bytes: string) =>
    spawnSync('prlimit', ['--pid', `${daemon.pid}`, `--fsize=${bytes}:unlimited`]).status === 0
  if (!limit('1')) {
    t.comment('skipped: prlimit(1) is not here')
    return
  }
  t.equal(await touches(daemon, 'unwritable'), 'refused')
  await until('HALT', async () => daemon.log().some((line) => /name=Storage .*to=HALT/.test(line)))
  t.ok(
    daemon
      .log()
      .some((line) => /cannot be written, since the system says EFBIG, so nothing was done/.test(line)),
    'in plain words',
  )
  t.equal(await touches(daemon, 'halted'), 'refused')
  t.match((await daemon.cli(['level', 'show'])).stdout.toString(), /HALT/, 'an operator may look')
  t.ok(limit('unlimited'))
  await until('its end', async () => (await levelOf(daemon)) === 'NORMAL')
  t.equal(await touches(daemon, 'after'), 'done')
  await daemon.stop()
  t.ok(await verified(daemon.directory))
})

t.test('a disk that becomes read-only: HALT, and on from there when it was put in order', async (t) => {
  const directory = await install(t, { defense: { vi_swap: { hold_seconds: 1 } } })
  const place = join(directory, 'disk')
  const disk = loopDisk(t, place)
  if (disk === undefined) {
    t.comment('skipped: a file system in a file cannot be made or mounted here')
    t.pass()
    return
  }
  changeConfig(directory, { audit: { directory: join(place, 'audit'), fsync: 'always' } })
  const daemon = await startDaemon(t, directory)
  t.equal(await touches(daemon, 'before'), 'done')
  disk.becomesReadOnly()
  t.equal(await touches(daemon, 'read-only'), 'refused')
  await until('HALT', async () => daemon.log().some((line) => /name=Storage .*to=HALT/.test(line)))
  // Whether the journal of ext4 is known to be broken by then, or found so by this very write (EIO), is the kernel's affair.
  await until('plain words', async () =>
    daemon
      .log()
      .some((line) =>
        /since (the file system is read-only|the system says EIO), so nothing (more is|was) done/.test(line),
      ),
  )
  t.equal(await touches(daemon, 'halted'), 'refused')
  t.match((await daemon.cli(['level', 'show'])).stdout.toString(), /HALT/, 'an operator may look')
  await daemon.stop()
  disk.mountAgain('loop,ro')
  t.ok(await verified(directory), 'the chain is whole as far as it could be written')
  const { code, stderr } = await daemon.cli(['run'])
  t.equal(code, 125)
  t.match(stderr, /EROFS|read-only/, 'it does not start there, and says why')
  disk.mountAgain('loop')
  const again = await startDaemon(t, directory)
  t.equal(await touches(again, 'after'), 'done')
  await again.stop()
  t.ok(await verified(directory))
  const text = readFileSync(join(place, 'audit/audit.jsonl'), 'utf8')
  const permitted = text.match(/"action":"execute"[^\n]*"response":"R1"/g)?.length
  t.equal(permitted, 2, 'what was done is there, and nothing else was permitted')
})

t.test('ids that cannot be written down: nothing is started, HALT, and room ends it', async (t) => {
  const directory = await install(t, {
    audit: { reserve_bytes: 0 },
    defense: { vi_swap: { hold_seconds: 1 } },
  })
  const place = join(directory, '.sass-edge/state/executions')
  if (!smallDisk(t, place)) {
    t.comment('skipped: a small file system cannot be mounted here')
    t.pass()
    return
  }
  const daemon = await startDaemon(t, directory)
  t.equal(await touches(daemon, 'before'), 'done')
  const filler = fill(place, 0)
  const isHalted = () => daemon.log().some((line) => / level scope=daemon name=Storage .*to=HALT/.test(line))
  // What fits into the last block is still written.
  for (let index = 0; index < 60 && !isHalted(); index++) await touches(daemon, `full-${index}`)
  t.ok(isHalted(), 'HALT')
  t.ok(
    daemon
      .log()
      .some((line) =>
        /The file of executions .* since the disk is full, so nothing was done; make room/.test(line),
      ),
    'in plain words',
  )
  t.equal(await touches(daemon, 'halted'), 'refused')
  const started = () =>
    daemon
      .audit()
      .filter(
        ({ type, action, response }) => type === 'decision' && action === 'execute' && response === 'R1',
      ).length
  const [ended, undone] = ['execution_ended', 'execution_not_started'].map(
    (what) => daemon.audit().filter(({ type }) => type === what).length,
  )
  t.equal(started(), (ended ?? 0) + (undone ?? 0), 'whatever was permitted has ended, or was not started')
  t.ok((undone ?? 0) > 0)
  rmSync(filler)
  await until('its end', async () => (await levelOf(daemon)) === 'NORMAL')
  t.equal(await touches(daemon, 'after'), 'done')
  await daemon.stop()
  t.ok(await verified(directory))
})
