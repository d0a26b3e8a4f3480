/**
 * One child: argv, environment and directory as given; output and stdin byte by byte; the rule of its end.
 * @module
 */

import { createHash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { STDERR, STDOUT } from '../../../src/ports.ts'
import { createSpawner } from '../../../src/sandbox/launcher/spawner.node.ts'
import { OUTPUT_SILENCE_MS } from '../../../src/sandbox/limits.ts'
import { ENVIRONMENT, planFor, run, shell, sleep, start, until } from '../run-child.node.ts'

const spawner = await createSpawner()
t.teardown(() => spawner.close())
const MIB = 1_048_576
const DIRECTORY = t.testdir({ script: 'echo no interpreter line\n', plain: 'x' })

function anonymousKib(): number {
  return Number(/Anonymous:\s+(\d+)/.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))?.[1])
}

t.test('argv reaches the program byte by byte: empty, UTF-8, newlines, blanks, 100 KB', async (t) => {
  const argv = [
    'printf',
    '%s\\0',
    '',
    ' ',
    'Grüße 日本語 🚀',
    'two\nlines\n',
    'quote \' and " and $HOME `id` \\',
    '-',
    'x'.repeat(100_000),
    '',
  ]
  const { stdout } = await run(spawner, planFor(argv, { file: '/usr/bin/printf' }))
  t.same(stdout.toString().split('\0').slice(0, -1), argv.slice(2))
})

t.test('argv[0] is the one given, so no login shell comes of it (SS-28)', async (t) => {
  const plan = planFor(['sh', '-c', 'echo $0; shopt -q login_shell 2>/dev/null && echo login; echo done'], {
    file: '/bin/bash',
  })
  t.equal((await run(spawner, plan)).stdout.toString(), 'sh\ndone\n')
})

t.test('the environment is exactly the one given, UTF-8 and empty values included', async (t) => {
  process.env['SASS_EDGE_TEST_SECRET'] = 'must not be seen'
  const environment = ['A=1', 'EMPTY=', 'NAME=Zoë', 'LINES=a\nb', 'EQ=a=b']
  const { stdout } = await run(spawner, planFor(['/usr/bin/env', '-0'], { environment }))
  delete process.env['SASS_EDGE_TEST_SECRET']
  t.same(stdout.toString().split('\0').slice(0, -1), environment)
  t.equal((await run(spawner, planFor(['/usr/bin/env'], { environment: [] }))).stdout.length, 0)
})

t.test('the working directory is the one given', async (t) => {
  t.equal(
    (await run(spawner, planFor(['/bin/pwd', '-P'], { cwd: '/usr/lib' }))).stdout.toString(),
    '/usr/lib\n',
  )
})

t.test('what cannot be started fails with the errno of the kernel, and nothing is left open', async (t) => {
  chmodSync(`${DIRECTORY}/script`, 0o755)
  chmodSync(`${DIRECTORY}/plain`, 0o644)
  const before = readdirSync('/proc/self/fd').length
  const big = Array.from({ length: 40 }, () => 'x'.repeat(100_000))
  const cases = [
    ['a program that is not there', planFor(['/no/such/program'], { stdin: 'pipe' }), 2],
    ['a directory that is not there', planFor(['/bin/true'], { cwd: '/no/such/directory' }), 2],
    ['a file as the directory', planFor(['/bin/true'], { cwd: '/etc/passwd' }), 20],
    ['a path through a file', planFor(['/etc/passwd/x']), 20],
    ['a file that is not executable', planFor([`${DIRECTORY}/plain`]), 13],
    ['a directory as the program', planFor(['/etc']), 13],
    ['a script without an interpreter line', planFor([`${DIRECTORY}/script`]), 8],
    ['one argument over 128 KiB', planFor(['/bin/true', 'x'.repeat(131_073)]), 7],
    ['more than the kernel takes', planFor(['/bin/true', ...big]), 7],
    ['more than any kernel takes', planFor(['/bin/true', ...big, ...big]), 7],
    [
      'a terminal that does not help either',
      planFor(['/no/such/program'], { terminal: { rows: 24, columns: 80 } }),
      2,
    ],
  ] as const
  for (const [what, plan, errno] of cases) {
    const outcome = await run(spawner, plan)
    t.same([outcome.pid, outcome.errno, outcome.status], [0, errno, undefined], what)
  }
  t.equal(await until(() => readdirSync('/proc/self/fd').length <= before), true, 'descriptors')
})

t.test('strings that would reach the program changed are refused before anything is started', (t) => {
  const events = { spawned() {}, failed() {}, output() {}, stdinDrained() {}, exited() {} }
  const before = readdirSync('/proc/self/fd').length
  for (const plan of [
    planFor(['/bin/true\0x']),
    planFor(['/bin/true', 'a\0b']),
    planFor(['/bin/true'], { cwd: '/\0' }),
    planFor(['/bin/true'], { environment: ['A=\0'] }),
    planFor(['/bin/true', '\ud800']),
    planFor(['/bin/true', 'a\0b'], { stdin: 'pipe', terminal: { rows: 1, columns: 1 } }),
  ]) {
    t.throws(() => spawner.spawn(plan, events), { code: 'SPAWN_FAILED' })
  }
  t.ok(readdirSync('/proc/self/fd').length <= before)
  t.end()
})

t.test('nothing is told from inside spawn, spawned comes first, and exited last', async (t) => {
  const told: string[] = []
  const { outcome } = start(spawner, shell('echo out; echo err >&2'), {
    spawned: () => told.push('spawned'),
    output: (source) => told.push(source === STDOUT ? 'out' : 'err'),
    exited: () => told.push('exited'),
  })
  t.same(told, [])
  await outcome
  t.same([told[0], told.at(-1), [...told].sort()], ['spawned', 'exited', ['err', 'exited', 'out', 'spawned']])
})

t.test('all 256 byte values come through stdin and out of both outputs unchanged', async (t) => {
  const bytes = Uint8Array.from({ length: 256 }, (_, value) => value)
  const { child, outcome } = start(spawner, shell('exec tee /dev/stderr', { stdin: 'pipe' }))
  child.writeStdin(bytes)
  child.endStdin()
  const { stdout, stderr } = await outcome
  t.same([new Uint8Array(stdout), new Uint8Array(stderr)], [bytes, bytes])
})

t.test('stdin none is /dev/null, and stdin ended at once is empty', async (t) => {
  t.equal(
    (await run(spawner, planFor(['/usr/bin/readlink', '/proc/self/fd/0']))).stdout.toString(),
    '/dev/null\n',
  )
  const { child, outcome } = start(spawner, planFor(['/usr/bin/wc', '-c'], { stdin: 'pipe' }))
  child.endStdin()
  t.equal((await outcome).stdout.toString(), '0\n')
})

t.test('64 MiB of output arrive with the right digest and memory stays flat', async (t) => {
  const script = 'yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 67108864'
  const digestOf = async (
    plan: ReturnType<typeof shell>,
  ): Promise<{ digest: string; bytes: number; peakKib: number }> => {
    const hash = createHash('sha256')
    let bytes = 0
    let chunks = 0
    let peakKib = 0
    await start(spawner, plan, {
      output(_, chunk) {
        bytes += chunk.length
        hash.update(chunk)
        if ((++chunks & 255) === 0) peakKib = Math.max(peakKib, anonymousKib())
      },
    }).outcome
    return { digest: hash.digest('hex'), bytes, peakKib }
  }
  await digestOf(shell(script))
  const before = anonymousKib()
  const { digest, bytes, peakKib } = await digestOf(shell(script))
  const expected = await run(spawner, shell(`${script} | sha256sum | cut -d' ' -f1`))
  t.same([bytes, digest], [64 * MIB, expected.stdout.toString().trim()])
  t.comment(`anonymous memory ${before} KiB before, ${peakKib} KiB at most`)
  t.ok(peakKib - before < 8_192, 'less than 8 MiB more')
})

t.test('32 MiB go through cat and come back, with nobody ahead of a paused reader', async (t) => {
  const block = new Uint8Array(65_536).map((_, index) => (index * 7 + (index >> 8)) & 0xff)
  const blocks = 512
  const sent = createHash('sha256')
  const received = createHash('sha256')
  let written = 0
  let receivedBytes = 0
  let waits = 0
  const write = (): void => {
    while (written < blocks) {
      written += 1
      sent.update(block)
      if (!running.child.writeStdin(block)) {
        waits += 1
        return
      }
    }
    running.child.endStdin()
  }
  const running = start(spawner, planFor(['/bin/cat'], { stdin: 'pipe' }), {
    output(_, chunk) {
      receivedBytes += chunk.length
      received.update(chunk)
    },
    stdinDrained: write,
  })
  running.child.pause(STDOUT)
  write()
  await sleep(300)
  t.equal(receivedBytes, 0, 'paused: nothing is read')
  t.ok(written * block.length < MIB, `paused: the writer was held back after ${written * block.length} bytes`)
  running.child.resume(STDOUT)
  t.same((await running.outcome).status, { kind: 'exited', code: 0 })
  t.equal(receivedBytes, blocks * block.length)
  t.equal(received.digest('hex'), sent.digest('hex'))
  t.ok(waits > 10, `the writer waited ${waits} times`)
})

t.test('a paused output holds the process back at a full pipe, the other output goes on', async (t) => {
  const counts = [0, 0]
  const count = (source: number, chunk: Uint8Array): void => {
    counts[source] = (counts[source] ?? 0) + chunk.length
  }
  let pid = 0
  const running = start(spawner, shell('echo heard >&2; exec yes'), {
    spawned: (number) => {
      pid = number
    },
    output: count,
  })
  await until(() => (counts[STDOUT] ?? 0) > MIB)
  running.child.pause(STDOUT)
  const writtenBy = (): number => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
  await sleep(100)
  const [atPause, held] = [counts[STDOUT] ?? 0, writtenBy()]
  await sleep(200)
  t.same([counts[STDOUT], writtenBy()], [atPause, held], 'it stands still')
  t.ok(held - atPause <= 65_536 + 8_192, 'ahead by one pipe at most')
  t.equal(counts[STDERR], 6)
  running.child.resume(STDOUT)
  t.equal(await until(() => (counts[STDOUT] ?? 0) > atPause + MIB), true, 'and goes on')
  running.child.killTree()
  t.same((await running.outcome).status, { kind: 'signalled', signal: 9 })
})

t.test('a writer is not kept waiting by a program that closes its stdin', async (t) => {
  let drained = 0
  const running = start(spawner, shell('exec <&-; echo closed; sleep 0.3', { stdin: 'pipe' }), {
    stdinDrained: () => {
      drained += 1
    },
  })
  const block = new Uint8Array(131_072)
  t.equal(running.child.writeStdin(block), false)
  t.equal(await until(() => drained === 1), true)
  t.equal(running.child.writeStdin(block), true, 'dropped')
  running.child.endStdin()
  t.same((await running.outcome).status, { kind: 'exited', code: 0 })
})

t.test('a writer that does not wait is stopped at the bound of the queue', async (t) => {
  const running = start(spawner, planFor(['/bin/sleep', '30'], { stdin: 'pipe' }))
  const block = new Uint8Array(262_144)
  t.throws(
    () => {
      for (let count = 0; count < 10; count++) running.child.writeStdin(block)
    },
    { code: 'INTERNAL' },
  )
  running.child.killTree()
  await running.outcome
})

t.test('a background process that holds an output open does not hold back the end', async (t) => {
  const began = performance.now()
  const { status, stdout } = await run(spawner, shell('sleep 20 & echo $!'))
  const elapsed = performance.now() - began
  process.kill(Number(stdout.toString()), 'SIGKILL')
  t.same(status, { kind: 'exited', code: 0 })
  t.ok(elapsed >= 90 && elapsed < 15_000, `told after ${elapsed.toFixed(0)} ms`)
})

t.test('what a background process still writes at short intervals is read to its end', async (t) => {
  // The writer keeps its own times: on a busy machine it may be silent for longer than it was told to be.
  const kept = join(t.testdir({}), 'times')
  const script = `now() { date +%s%N | tee -a ${kept}; }; now; (for i in 1 2 3 4 5 6; do sleep 0.03; now; done) & exit 7`
  const written = () => readFileSync(kept, 'utf8').split('\n').slice(0, -1)
  for (let tries = 0; tries < 20; tries++) {
    writeFileSync(kept, '')
    const { status, stdout } = await run(spawner, shell(script))
    t.same(status, { kind: 'exited', code: 7 })
    // One that was silent for too long has nobody to write to.
    await until(() => written().length === 7)
    const times = written()
    const pauses = times.map((ns, at) => (Number(times[at + 1] ?? ns) - Number(ns)) / 1e6)
    if (times.length < 7 || pauses.some((ms) => ms > OUTPUT_SILENCE_MS * 0.8)) continue
    return void t.same(stdout.toString().split('\n').slice(0, -1), times)
  }
  t.fail('the writer never kept to its intervals')
})

t.test('a program that has ended with a paused output is told after its last byte', async (t) => {
  let exited = false
  const running = start(spawner, shell('sleep 20 & echo last; exit 3'), {
    exited: () => {
      exited = true
    },
  })
  running.child.pause(STDOUT)
  await sleep(300)
  t.same([exited, running.text()], [false, ''])
  running.child.resume(STDOUT)
  const { status, stdout } = await running.outcome
  t.same([status, stdout.toString()], [{ kind: 'exited', code: 3 }, 'last\n'])
  running.child.killTree()
})

t.test('a main thread that was busy loses no output of a program that has ended', async (t) => {
  const running = start(spawner, shell('sleep 20 & head -c 300000 /dev/zero'))
  const until = performance.now() + 400
  while (performance.now() < until);
  const { status, stdout } = await running.outcome
  t.same([status, stdout.length], [{ kind: 'exited', code: 0 }, 300_000])
  running.child.killTree()
})

t.test('killTree before the launcher has answered ends the program too', async (t) => {
  const running = start(spawner, shell('sleep 30 & sleep 30', { environment: ENVIRONMENT }))
  running.child.killTree()
  t.same((await running.outcome).status, { kind: 'signalled', signal: 9 })
})
