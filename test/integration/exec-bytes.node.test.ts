/**
 * The bytes of a command through the command line and a real daemon: all of them, both ways, in order, at the speed of
 * the slower side, and what happens where one side stops early.
 * @module
 */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  collect,
  environment,
  isAlive,
  ON_REAL_FILES,
  PROGRAM,
  type Result,
  runProgram,
  sleep,
  startNew,
  until,
} from './daemon.node.ts'

const KIB = 1_024
const MIB = 1_048_576
const GROWTH_KIB = 8 * KIB
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const daemon = await startNew(t, ON_REAL_FILES)
const { directory, workspace } = daemon

/** `sass-edge exec -- sh -c SCRIPT`. */
const sh = (script: string, input?: string | Buffer): Promise<Result> =>
  daemon.cli(['exec', '--', 'sh', '-c', script], input === undefined ? {} : { input })

/** The command line in a shell of this machine, for what is about pipes between programs. */
const pipeline = (script: string): Promise<Result> =>
  runProgram('sh', ['-c', `exec_() { '${PROGRAM}' exec -- "$@"; }; ${script}`], { cwd: directory })

t.test('stdout and stderr stay apart, each in order, and nothing is printed twice', async (t) => {
  const { code, stdout, stderr } = await sh('seq 1 20000; seq 20001 40000 >&2; seq 40001 41000; exit 9')
  const numbers = (from: number, to: number): string =>
    Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join('')
  t.equal(code, 9)
  t.ok(stdout.toString() === numbers(1, 20_000) + numbers(40_001, 41_000))
  t.ok(stderr === numbers(20_001, 40_000))
})

t.test('every byte value and UTF-8 that is cut anywhere pass as they are, both ways', async (t) => {
  const bytes = Buffer.from(Array.from({ length: 256 * 4 }, (_, index) => index % 256))
  t.ok((await sh('cat', bytes)).stdout.equals(bytes))
  // 4 and 3 bytes a character, behind one byte: the ends of chunks and windows fall into characters.
  const text = `x${'🙂語'.repeat(40_000)}`
  t.ok((await sh('cat', text)).stdout.toString() === text)
  const slowly = await sh('for b in 360 237 231 202; do printf "\\\\$b"; sleep 0.05; done')
  t.equal(slowly.stdout.toString(), Buffer.from([0o360, 0o237, 0o231, 0o202]).toString())
})

t.test('64 MiB come out bit for bit, and the daemon stays as small as it was', async (t) => {
  const bytes = randomBytes(64 * MIB)
  writeFileSync(join(workspace, 'large'), bytes)
  // What the first large transfer makes once: buffers, compiled code, the rings of an execution.
  await daemon.cli(['exec', '--', 'head', '-c', String(16 * MIB), 'large'])
  const before = daemon.anonymousKib()
  let most = 0
  const watching = setInterval(() => {
    most = Math.max(most, daemon.anonymousKib())
  }, 50)
  const { code, stdout } = await daemon.cli(['exec', '--', 'cat', 'large'])
  clearInterval(watching)
  t.same([code, sha256(stdout)], [0, sha256(bytes)])
  t.comment(`daemon: ${before} KiB of memory before, ${most} KiB at most, ${daemon.anonymousKib()} KiB after`)
  t.ok(most - before < GROWTH_KIB, `${most - before} KiB more at most`)
})

t.test('stdin passes through: 32 MiB and an archive come back as they went', async (t) => {
  const bytes = randomBytes(32 * MIB)
  const { code, stdout } = await daemon.cli(['exec', '--', 'cat'], { input: bytes })
  t.same([code, sha256(stdout)], [0, sha256(bytes)])
  const files = join(directory, 'files')
  mkdirSync(files)
  for (let index = 0; index < 50; index++) writeFileSync(join(files, `f${index}`), randomBytes(index * KIB))
  const listed = await pipeline(
    'tar c -C files . | exec_ tar t | sort > there; tar c -C files . | tar t | sort | cmp - there',
  )
  t.same([listed.code, listed.stderr], [0, ''])
  const back = await pipeline(
    'tar c -C files . | exec_ cat | tar x -C . --one-top-level=back && diff -r files back',
  )
  t.same([back.code, back.stdout.toString(), back.stderr], [0, '', ''])
  t.equal((await sh('cat; echo over')).stdout.toString(), 'over\n', 'without input stdin is at its end')
})

t.test('a file that cannot be read to its end is not told as one that ends', async (t) => {
  const { stdout, stderr } = await pipeline('exec_ cat < /proc/self/mem')
  t.equal(stdout.length, 0)
  t.match(stderr, /^sass-edge: stdin cannot be read any further, since .*; to the command it ends there\.$/m)
})

t.test('a command that closes stdin early ends well, whatever was still to be sent', async (t) => {
  const input = Buffer.from('line\n'.repeat(4 * MIB))
  const { code, stdout, stderr } = await daemon.cli(['exec', '--', 'head', '-1'], { input })
  t.same([code, stdout.toString(), stderr], [0, 'line\n', ''])
  const endless = await pipeline('yes | exec_ head -2')
  t.same([endless.code, endless.stdout.toString()], [0, 'y\ny\n'])
})

t.test('a reader that goes away ends the remote command, also one that is deaf to SIGPIPE', async (t) => {
  const pid = join(workspace, 'writer.pid')
  const script = 'echo $$ > writer.pid; exec yes'
  const ended = await pipeline(`{ exec_ sh -c '${script}'; echo $? >&2; } | head -1`)
  t.same([ended.stdout.toString(), ended.stderr], ['y\n', '141\n'])
  t.notOk(isAlive(Number(readFileSync(pid, 'utf8'))))
  const deaf = 'trap "" PIPE; echo $$ > writer.pid; while :; do echo x; done 2>/dev/null'
  const killed = await pipeline(`{ exec_ sh -c '${deaf}'; echo $? >&2; } | head -1`)
  t.same([killed.stdout.toString(), killed.stderr], ['x\n', '141\n'])
  // It has been killed; the kernel may still be about it.
  await until('its end', () => !isAlive(Number(readFileSync(pid, 'utf8'))))
})

t.test('a reader that stops holds the command back, and ^C is heard all the same', async (t) => {
  const child = spawn(PROGRAM, ['exec', '--', 'sh', '-c', 'echo $$ > held.pid; exec cat /dev/urandom'], {
    cwd: directory,
    env: environment(directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await new Promise((resolve) => child.stdout.once('readable', resolve))
  const jobs = async (): Promise<{ stdout_bytes: number }[]> =>
    JSON.parse((await daemon.cli(['jobs', '--json'])).stdout.toString()).jobs
  let held: { stdout_bytes: number } | undefined
  const isHeld = async () => {
    const before = held?.stdout_bytes
    await sleep(700)
    ;[held] = await jobs()
    return held?.stdout_bytes === before
  }
  await until('it is held back', isHeld)
  const before = daemon.anonymousKib()
  await sleep(700)
  t.same(await jobs(), [held], 'nothing more is written than the windows and pipes hold')
  t.ok((held?.stdout_bytes ?? 0) < 8 * MIB)
  t.ok(daemon.anonymousKib() - before < KIB)
  child.kill('SIGINT')
  const pid = Number(readFileSync(join(workspace, 'held.pid'), 'utf8'))
  await until('its end', () => !isAlive(pid))
  t.equal((await collect(child)).code, 130)
})

t.test('output that cannot be written is said, and is no success', async (t) => {
  const { code, stderr } = await pipeline('exec_ echo text > /dev/full')
  t.equal(code, 141)
  t.match(
    stderr,
    /^sass-edge: The output cannot be written, since the disk is full; the command goes on[^\n]+\n$/,
  )
})
