/**
 * createSpawner: what a child inherits, how its end is told, that nothing is left behind.
 * @module
 */

import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs'
import t from 'tap'
import { loadSyscalls } from '../../../src/sandbox/kernel/syscalls.node.ts'
import { openPipe, pipeSize } from '../../../src/sandbox/launcher/pipes.node.ts'
import { createSpawner } from '../../../src/sandbox/launcher/spawner.node.ts'
import { planFor, run, runDaemon, shell, start, until } from '../run-child.node.ts'

const PAGE_BYTES = 4_096
const spawner = await createSpawner()
t.teardown(() => spawner.close())
const LIST = `const list = (spawner) => new Promise((resolve) => { let text = ''; spawner.spawn(
  { file: '/bin/ls', argv: ['ls', '-l', '/proc/self/fd'], environment: [], cwd: '/', stdin: 'pipe', terminal: undefined },
  { spawned() {}, failed(errno) { resolve('failed ' + errno) }, output(source, bytes) { text += Buffer.from(bytes) },
    stdinDrained() {}, exited() { resolve(text) } }) });`

/** The descriptors that `ls -l /proc/self/fd` had, without the one it reads the directory with. */
function descriptors(listing: string): number[] {
  return listing
    .split('\n')
    .filter((line) => line.includes(' -> ') && !/-> \/proc\/\d+\/fd/.test(line))
    .map((line) => Number(/(\d+) -> /.exec(line)?.[1]))
}

function ownDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}

t.test('every exit code from 0 to 255 is told as it is', async (t) => {
  const codes = await Promise.all(
    Array.from({ length: 16 }, async (_, block) => {
      const seen: unknown[] = []
      for (let code = block * 16; code < block * 16 + 16; code++) {
        seen.push((await run(spawner, shell(`exit ${code}`))).status)
      }
      return seen
    }),
  )
  t.same(
    codes.flat(),
    Array.from({ length: 256 }, (_, code) => ({ kind: 'exited', code })),
  )
})

t.test(
  'a death by signal is told with the number of the signal, for every signal that kills (SS-29)',
  async (t) => {
    // SIGCHLD, SIGCONT, SIGURG and SIGWINCH are ignored by default; 19 to 22 stop; 32 and 33 belong to the C library.
    const harmless = [17, 18, 19, 20, 21, 22, 23, 28, 32, 33]
    const numbers = Array.from({ length: 64 }, (_, index) => index + 1).filter(
      (number) => !harmless.includes(number),
    )
    for (const number of numbers) {
      const { outcome } = start(spawner, shell(`ulimit -c 0; kill -${number} $$; exec sleep 5`))
      t.same((await outcome).status, { kind: 'signalled', signal: number }, `signal ${number}`)
    }
  },
)

t.test(
  'signal() reaches the whole process group, with default dispositions in the child (SS-29)',
  async (t) => {
    for (const number of [1, 2, 3, 9, 13, 15]) {
      const running = start(spawner, planFor(['/bin/sleep', '30']))
      t.equal(running.child.signal(number), true, 'also before the launcher has answered')
      t.same((await running.outcome).status, { kind: 'signalled', signal: number })
      t.equal(running.child.signal(number), false, 'nobody is there afterwards')
    }
    const group = start(spawner, shell('sleep 30 & sleep 30 & echo up; wait'))
    await until(() => group.text() === 'up\n')
    group.child.signal(15)
    t.same((await group.outcome).status, { kind: 'signalled', signal: 15 })
    t.throws(() => group.child.signal(0), { code: 'SIGNAL_FAILED' })
    t.throws(() => group.child.signal(65), { code: 'SIGNAL_FAILED' })
  },
)

t.test('SIGPIPE has its default in the child, though Node ignores it', async (t) => {
  const piped = await run(spawner, shell('yes | head -1'))
  t.same(
    [piped.status, piped.stdout.toString(), piped.stderr.toString()],
    [{ kind: 'exited', code: 0 }, 'y\n', ''],
  )
  const status = await run(spawner, planFor(['/bin/grep', '-E', '^Sig(Ign|Blk)', '/proc/self/status']))
  t.equal(status.stdout.toString(), 'SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n')
})

t.test('a child has a session and a group of its own and no terminal of ours (SS-28)', async (t) => {
  const { pid, stdout } = await run(spawner, planFor(['/bin/cat', '/proc/self/stat']))
  const fields = stdout.toString().split(' ')
  t.same(fields.slice(4, 7).map(Number), [pid, pid, 0], 'group, session, terminal')
})

t.test('a child has descriptors 0, 1 and 2 and no other', async (t) => {
  openSync('/', 'r')
  const { stdout } = await run(spawner, planFor(['/bin/ls', '-l', '/proc/self/fd']))
  t.same(descriptors(stdout.toString()), [0, 1, 2])
  t.match(stdout.toString(), /0 -> \/dev\/null/)
})

t.test('a descriptor that the daemon itself was started with does not reach the child', async (t) => {
  const leaked = openSync('/etc', 'r')
  const { code, text } = await runDaemon(
    `${LIST} const open = fs.existsSync('/proc/self/fd/7'); const spawner = await createSpawner();
     console.log('daemon has it: ' + open); console.log(await list(spawner)); await spawner.close()`,
    ['ignore', 'pipe', 2, 'ignore', 'ignore', 'ignore', 'ignore', leaked],
  )
  t.equal(code, 0)
  t.match(text, /daemon has it: true/)
  t.same(descriptors(text), [0, 1, 2])
})

t.test('pipes that would come to lie on descriptors 0 to 2 still arrive where they belong', async (t) => {
  const { code, text } = await runDaemon(
    `${LIST} const spawner = await createSpawner(); fs.closeSync(0); fs.closeSync(2);
     const text = await list(spawner); fs.writeSync(1, text); await spawner.close()`,
    ['ignore', 'pipe', 'ignore'],
  )
  t.equal(code, 0)
  t.same(descriptors(text), [0, 1, 2])
  t.equal(text.match(/pipe:/g)?.length, 3)
})

t.test('a daemon whose last child has ended ends by itself, and not before', async (t) => {
  const { code, text } = await runDaemon(
    `const spawner = await createSpawner(); spawner.spawn(
      { file: '/bin/sleep', argv: ['sleep', '0.2'], environment: [], cwd: '/', stdin: 'none', terminal: undefined },
      { spawned() {}, failed() {}, output() {}, stdinDrained() {}, exited(status) { console.log(JSON.stringify(status)) } })`,
    ['ignore', 'pipe', 2],
  )
  t.same([code, text], [0, '{"kind":"exited","code":0}\n'])
})

t.test('a thousand children in batches of twenty leave no zombie and no descriptor', async (t) => {
  const before = ownDescriptors()
  const pids = new Set<number>()
  for (let batch = 0; batch < 50; batch++) {
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => run(spawner, shell(`echo ${index}; exit ${index}`))),
    )
    for (const [index, outcome] of outcomes.entries()) {
      pids.add(outcome.pid)
      if (outcome.stdout.toString() !== `${index}\n`) t.fail(`output of child ${index} in batch ${batch}`)
      if (outcome.status?.kind !== 'exited' || outcome.status.code !== index)
        t.fail(`status in batch ${batch}`)
    }
  }
  t.equal([...pids].filter((pid) => existsSync(`/proc/${pid}`)).length, 0, 'zombies')
  await until(() => ownDescriptors() === before)
  t.equal(ownDescriptors(), before, 'descriptors')
})

t.test('a storm of SIGCHLD loses no child', async (t) => {
  const plan = planFor(['/bin/true'])
  const storm = Array.from({ length: 200 }, () => run(spawner, plan))
  const statuses = (await Promise.all(storm)).map((outcome) => outcome.status)
  t.equal(statuses.filter((status) => status?.kind === 'exited' && status.code === 0).length, 200)
})

t.test('more starts at once than the launcher has slots for fail with EAGAIN, the others run', async (t) => {
  const outcomes = await Promise.all(Array.from({ length: 300 }, () => run(spawner, planFor(['/bin/true']))))
  const refused = outcomes.filter((outcome) => outcome.errno !== 0)
  t.equal(outcomes.length - refused.length >= 256, true)
  t.same([...new Set(refused.map((outcome) => outcome.errno))], [11])
})

t.test('with no descriptor left a start fails with EMFILE, later ones work', async (t) => {
  const { code, text } = await runDaemon(
    `import { execFileSync } from 'node:child_process'; const spawner = await createSpawner()
     const limit = (files) => execFileSync('prlimit', ['--pid', String(process.pid), '--nofile=' + files + ':'])
     const once = () => new Promise((resolve) => spawner.spawn(
       { file: '/bin/true', argv: ['true'], environment: [], cwd: '/', stdin: 'pipe', terminal: undefined },
       { spawned() {}, failed: (errno) => resolve('errno ' + errno), output() {}, stdinDrained() {}, exited: () => resolve('ran') }))
     limit(200)
     const taken = []
     try { for (;;) taken.push(fs.openSync('/dev/null')) } catch {}
     for (const file of taken.splice(0, 5)) fs.closeSync(file)
     console.log(await once())
     for (const file of taken) fs.closeSync(file)
     console.log(await once()); await spawner.close()`,
  )
  t.same([code, text], [0, 'errno 24\nran\n'])
})

t.test('close kills what still runs, waits for it, and refuses what comes after', async (t) => {
  const own = await createSpawner()
  const running = start(own, shell('sleep 60 & echo up; wait'))
  await until(() => running.text() === 'up\n')
  const starting = start(own, planFor(['/bin/sleep', '60']))
  const closed = own.close()
  t.throws(
    () =>
      own.spawn(planFor(['/bin/true']), {
        spawned() {},
        failed() {},
        output() {},
        stdinDrained() {},
        exited() {},
      }),
    {
      code: 'DAEMON_SHUTTING_DOWN',
    },
  )
  await closed
  t.same((await running.outcome).status, { kind: 'signalled', signal: 9 })
  t.same((await starting.outcome).status, { kind: 'signalled', signal: 9 })
  t.equal(own.close(), closed)
})

t.test(
  'an end is told while its groups are still joined, and its number stays its own until they are',
  async (t) => {
    const syscalls = loadSyscalls()
    const pipe = openPipe(syscalls)
    if (typeof pipe === 'number') throw new Error(`errno ${-pipe}`)
    // A list that takes nothing: whoever writes a number there waits, as for a kernel that is slow to move a process.
    pipeSize(pipe.writeEnd, syscalls).fit(PAGE_BYTES)
    const full = Buffer.alloc(PAGE_BYTES)
    writeSync(pipe.writeEnd, full)
    const directory = openSync(t.testdir({}), 'r')
    const own = await createSpawner({ groups: { homes: [], nursery: directory } })
    t.teardown(async () => {
      await own.close()
      for (const one of [pipe.readEnd, pipe.writeEnd, directory]) closeSync(one)
    })
    const group = {
      ...{ entered: [], directory: -1, processes: -1, joined: pipe.writeEnd },
      ...{ tookMemoryKill: () => false, forbidForks() {}, follow() {} },
    }
    for (const [script, status] of [
      ['exit 7', { kind: 'exited', code: 7 }],
      ['kill -TERM $$', { kind: 'signalled', signal: 15 }],
    ] as const) {
      const { pid, status: told } = await run(own, shell(script, { group }))
      t.strictSame(told, status)
      t.match(readFileSync(`/proc/${pid}/stat`, 'latin1'), /\) Z /, 'nobody has waited for it')
      t.equal(readSync(pipe.readEnd, full), PAGE_BYTES)
      t.ok(await until(() => !existsSync(`/proc/${pid}`)), 'then it is waited for')
      t.equal(readSync(pipe.readEnd, full), String(pid).length, 'by its number it was to join')
      writeSync(pipe.writeEnd, Buffer.alloc(PAGE_BYTES))
    }
    readSync(pipe.readEnd, full)
  },
)
