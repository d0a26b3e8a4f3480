/**
 * The first process of a session, run for real in mounts of its own: what it tells, where it then is, and that it ends
 * with its pipe. The one for the other machine is read back instruction by instruction.
 * @module
 */
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, readlinkSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  INIT_NAME,
  INIT_STEPS,
  sessionInit,
  TOLD_BYTES,
} from '../../../src/sandbox/namespaces/session-init.ts'
import { isAlive, until } from '../../integration/daemon.node.ts'

const SIGCHLD_BIT = 1n << 16n
const isHere = process.geteuid?.() === 0 && (process.arch === 'x64' || process.arch === 'arm64')

async function started(directory: string, places: readonly string[]) {
  for (const place of places) mkdirSync(join(directory, place))
  const file = join(directory, 'init')
  writeFileSync(file, sessionInit(process.arch === 'arm64' ? 'arm64' : 'x64'), { mode: 0o755 })
  const pipe = join(directory, 'pipe')
  execFileSync('mkfifo', [pipe])
  // For reading as well, so that opening it waits for nobody.
  const lifeline = openSync(pipe, 'r+')
  const readEnd = openSync(pipe, 'r')
  const child = spawn('unshare', ['--mount', file], { cwd: directory, stdio: [readEnd, 'pipe', 'ignore'] })
  closeSync(readEnd)
  const told: Buffer[] = []
  for await (const piece of child.stdout ?? []) told.push(piece)
  const all = Buffer.concat(told)
  const numbers = Array.from({ length: all.length / TOLD_BYTES }, (_, at) =>
    Number(all.readBigInt64LE(at * TOLD_BYTES)),
  )
  const pid = numbers.find((number) => number > 0) ?? -1
  return { lifeline, pid, steps: numbers.filter((number) => number !== pid) }
}

t.test('it makes its namespaces, tells of each step, and ends with its pipe', async (t) => {
  if (!isHere) return t.comment('skipped: only root makes these namespaces by itself')
  const directory = t.testdir()
  const { lifeline, pid, steps } = await started(directory, ['proc', 'sys'])
  t.ok(pid > 1, 'its number')
  t.strictSame(
    steps,
    INIT_STEPS.map(() => 0),
  )
  await until('its name', () => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === INIT_NAME)
  for (const kind of ['pid', 'ipc'])
    t.not(readlinkSync(`/proc/${pid}/ns/${kind}`), readlinkSync(`/proc/self/ns/${kind}`), kind)
  t.equal(readlinkSync(`/proc/${pid}/ns/net`), readlinkSync('/proc/self/ns/net'), 'the network it began in')
  const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n')
  const optionsAt = (place: string) =>
    mounts.find((line) => line.split(' ')[4] === join(directory, place))?.split(' ')[5] ?? ''
  t.match(optionsAt('proc'), /^rw,nosuid,nodev,noexec/)
  t.match(optionsAt('sys'), /^ro,nosuid,nodev,noexec/)
  const seen = `/proc/${pid}/root${directory}`
  t.equal(readFileSync(join(seen, 'proc/1/comm'), 'utf8').trim(), INIT_NAME, 'the first of its processes')
  const ignored = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  t.ok(BigInt(`0x${ignored}`) & SIGCHLD_BIT, 'the kernel reaps for it')
  writeSync(lifeline, 'x')
  t.ok(isAlive(pid), 'what is written to it means nothing')
  closeSync(lifeline)
  await until('its end', () => !isAlive(pid))
  t.notOk(isAlive(pid), 'it ends with its pipe')
})

t.test('what it cannot do it tells by its errno, and goes on', async (t) => {
  if (!isHere) return t.comment('skipped: only root makes these namespaces by itself')
  const { lifeline, steps } = await started(t.testdir(), ['proc'])
  closeSync(lifeline)
  t.strictSame(steps, [0, -2])
})

/** Numbers of the calls in the order of the code, with what is loaded into the first register for each. */
function callsForArm64(file: Buffer): (readonly [number: number, first: number | undefined])[] {
  const registers = new Map<number, number>()
  const calls: (readonly [number, number | undefined])[] = []
  for (let at = 176; at + 4 <= file.length; at += 4) {
    const word = file.readUInt32LE(at)
    const register = word & 31
    const half = (word >>> 5) & 0xffff
    if (word >>> 21 === 0x694) registers.set(register, half)
    else if (word >>> 21 === 0x795)
      registers.set(register, ((registers.get(register) ?? 0) | (half << 16)) >>> 0)
    else if (word === 0xd400_0001) {
      calls.push([registers.get(8) ?? -1, registers.get(0)])
      registers.clear()
    }
  }
  return calls
}

t.test('the one for arm64 makes the same calls in the same order', async (t) => {
  const [clone, write, exit, prctl, mount] = [220, 64, 94, 167, 40]
  const [close, action, read] = [57, 134, 63]
  const calls = callsForArm64(Buffer.from(sessionInit('arm64')))
  t.strictSame(
    calls.map(([number]) => number),
    [clone, write, exit, prctl, mount, write, mount, write, action, close, close, read, exit],
  )
  t.equal(calls[0]?.[1], 0x2000_0000 + 0x800_0000 + 0x8000 + 17, 'the namespaces')
})
