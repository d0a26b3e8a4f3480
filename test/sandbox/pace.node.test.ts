/**
 * How far a real program is ahead of whoever reads it, counted by the kernel: what it has written and nobody has read.
 * @module
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { loadSyscalls } from '../../src/sandbox/kernel/syscalls.node.ts'
import { openPipe, pipeSize } from '../../src/sandbox/launcher/pipes.node.ts'
import { createSpawner } from '../../src/sandbox/launcher/spawner.node.ts'
import { planFor, shell, sleep, start } from './run-child.node.ts'

const spawner = await createSpawner()
t.teardown(() => spawner.close())

/** 64 bytes in a write of their own, without end. */
const WRITER = `while :; do echo ${'x'.repeat(63)}; done`

function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1])
}

/** What it has written once it writes no more. */
async function settledBytes(pid: number): Promise<number> {
  for (let last = -1; ; await sleep(100)) {
    const now = writtenBytes(pid)
    if (now === last) return now
    last = now
  }
}

/** Reads a writer up to `limit` bytes in all, and stops there. */
function paced(t: Test, pace: { readBytes: number; aheadBytes: number }, terminal = false) {
  const sizes: number[] = []
  let [limit, taken, pid] = [0, 0, 0]
  const left = () => Math.max(0, limit - taken)
  const plan = terminal
    ? planFor(['/usr/bin/yes', 'x'.repeat(63)], { terminal: { rows: 24, columns: 80 } })
    : shell(WRITER)
  const { child, outcome } = start(spawner, plan, {
    spawned(number) {
      pid = number
    },
    output(_, bytes) {
      sizes.push(bytes.length)
      taken += bytes.length
      if (left() === 0) child.pause(0)
    },
    pace: {
      readBytes: () => Math.min(pace.readBytes, left()),
      aheadBytes: () => pace.aheadBytes,
    },
  })
  child.pause(0)
  t.teardown(async () => {
    child.killTree()
    // What waits in its pipe is read, or it would not be over.
    limit = Number.POSITIVE_INFINITY
    child.resume(0)
    await outcome
  })
  return {
    sizes,
    async read(bytes: number): Promise<{ taken: number; ahead: number }> {
      limit += bytes
      child.resume(0)
      while (taken < limit) await sleep(5)
      return { taken, ahead: (await settledBytes(pid)) - taken }
    },
  }
}

t.test(
  'a program is ahead of its reader by one page where it is to be, and by its pipe where not',
  async (t) => {
    const slow = paced(t, { readBytes: 1_000, aheadBytes: 4_096 })
    const first = await slow.read(20_000)
    t.equal(first.taken, 20_000, 'no byte more is read than may be')
    t.ok(first.ahead <= 4_096, `${first.ahead} bytes`)
    t.ok(slow.sizes.every((size) => size <= 1_000))
    const fast = paced(t, { readBytes: 65_536, aheadBytes: 65_536 })
    t.ok((await fast.read(200_000)).ahead > 4_096)
  },
)

t.test('the pipe grows and shrinks with the reader while the program writes', async (t) => {
  const pace = { readBytes: 4_096, aheadBytes: 65_536 }
  const { read, sizes } = paced(t, pace)
  const before = await read(100_000)
  t.ok(before.ahead > 32_768, `${before.ahead} bytes`)
  pace.aheadBytes = 4_096
  // Slower than the program, which fills its pipe after every read: on a busy machine before it could be made smaller,
  // so that it is tried again with the next one.
  let between = await read(4_096)
  for (let more = 0; more < 100 && between.ahead > 4_096; more++) between = await read(4_096)
  t.ok(between.ahead <= 4_096, `${between.ahead} bytes`)
  t.ok(
    sizes.some((size) => size > 4_096),
    'what was in it is read at once',
  )
  pace.aheadBytes = 65_536
  const after = await read(100_000)
  t.ok(after.ahead > 32_768, `${after.ahead} bytes`)
})

t.test('a terminal too is read no further than may be', async (t) => {
  const { read, sizes } = paced(t, { readBytes: 700, aheadBytes: 4_096 }, true)
  t.equal((await read(10_000)).taken, 10_000)
  t.ok(sizes.every((size) => size <= 700))
})

t.test(
  'after ^C nothing comes from a terminal that was written before it, unless the program wants it',
  async (t) => {
    for (const [flags, least, most] of [
      ['echo', 0, 100],
      ['noflsh', 3_000, 70_000],
    ] as const) {
      let [limit, taken, after] = [0, 0, '']
      let isTyped = false
      const script = `stty ${flags}; trap 'echo; echo caught; exit' INT; yes ${'x'.repeat(60)}`
      const { child, outcome } = start(spawner, shell(script, { terminal: { rows: 24, columns: 80 } }), {
        output(_, bytes) {
          taken += bytes.length
          if (isTyped) after += Buffer.from(bytes).toString('latin1')
          if (taken >= limit) child.pause(0)
        },
        pace: { readBytes: () => Math.max(0, limit - taken), aheadBytes: () => 4_096 },
      })
      limit = 50_000
      while (taken < limit) await sleep(5)
      // What the kernel's own worker still moves is in the master's buffer, and stays there.
      await sleep(200)
      isTyped = true
      child.writeStdin(Uint8Array.of(3))
      await sleep(200)
      limit = Number.POSITIVE_INFINITY
      child.resume(0)
      await outcome
      t.match(after, /caught\r\n$/, 'what came after it is whole')
      const old = after.split('x').length - 1
      t.ok(old >= least && old <= most, `${flags}: ${old} bytes`)
    }
  },
)

t.test('a pipe that holds more than it may is made smaller when it has been read', async (t) => {
  const syscalls = loadSyscalls()
  const pipe = openPipe(syscalls)
  if (typeof pipe === 'number') throw new Error(`errno ${-pipe}`)
  const F_GETPIPE_SZ = 1_032
  const holds = () => syscalls.libc.fcntl(pipe.readEnd, F_GETPIPE_SZ, 0n)
  const size = pipeSize(pipe.readEnd, syscalls)
  size.fit(65_536)
  t.equal(holds(), 65_536)
  const bytes = new Uint8Array(20_000)
  t.equal(Number(syscalls.libc.write(pipe.writeEnd, bytes, 20_000n)), 20_000)
  size.fit(4_096)
  t.equal(holds(), 65_536, 'not while more is in it')
  t.equal(Number(syscalls.libc.read(pipe.readEnd, bytes, 20_000n)), 20_000)
  size.fit(4_096)
  t.equal(holds(), 4_096)
  syscalls.libc.close(pipe.readEnd)
  syscalls.libc.close(pipe.writeEnd)
})
