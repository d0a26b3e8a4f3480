/**
 * Confined programs, tried in earnest: what they attempt, and afterwards a look at what has become of it.
 * @module
 */

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import t from 'tap'
import { asSassError } from '../../../src/errors.ts'
import { createConfinedSpawner } from '../../../src/sandbox/launcher/confined-spawner.node.ts'
import { createSpawner } from '../../../src/sandbox/launcher/spawner.node.ts'
import { type Outcome, planFor, run, shell, start, until } from '../run-child.node.ts'

type Confined = Awaited<ReturnType<typeof createConfinedSpawner>>

/** Where everybody may write, so that only the confinement is in the way. */
const place = mkdtempSync('/tmp/sass-confined-')
chmodSync(place, 0o777)
const hiddenDirectory = join(place, 'state')
const hiddenFile = join(place, 'edge.key')
mkdirSync(hiddenDirectory)
writeFileSync(join(hiddenDirectory, 'secret'), 'hidden words')
writeFileSync(hiddenFile, 'hidden words')
writeFileSync(join(place, 'victim'), 'as it was')
writeFileSync(join(place, 'private'), 'hidden words')
for (const name of ['state', 'edge.key', 'victim', 'state/secret']) chmodSync(join(place, name), 0o777)
chmodSync(join(place, 'private'), 0o600)
symlinkSync(hiddenDirectory, join(place, 'link'))

async function make(launcherSource?: string): Promise<Confined | string> {
  try {
    return await createConfinedSpawner({ launcherSource, hidden: [hiddenDirectory, hiddenFile] })
  } catch (error) {
    const code = asSassError(error)?.code
    if (code !== 'SANDBOX_UNAVAILABLE') throw error
    return `skipped: ${error instanceof Error ? error.message : code}`
  }
}

const isRoot = process.getuid?.() === 0
/** Without what other tests mount meanwhile: disks for daemons of theirs, and what is in their temporary directories. */
const mounts = () =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => !line.includes('/sass-edge-it-'))
    .filter((line) => !line.includes(' /tmp/sass-') || line.includes(` ${place}`))
    .join('\n')
const before = existsSync('/proc/self/mountinfo') ? mounts() : ''
const made = await make()
t.teardown(async () => {
  if (typeof made !== 'string') await made.close()
  rmSync(place, { recursive: true, force: true })
})

const failed = ({ status, errno }: Outcome): boolean =>
  errno !== 0 || status?.kind !== 'exited' || status.code !== 0

if (typeof made === 'string') t.comment(made)
else {
  const confined = made
  const attempt = (...argv: string[]): Promise<Outcome> => run(confined, planFor(argv))

  t.test('an ordinary read works: output, exit code, working directory', async (t) => {
    const { stdout, status } = await attempt('/bin/cat', '/etc/passwd')
    t.equal(stdout.toString(), readFileSync('/etc/passwd', 'utf8'))
    t.same(status, { kind: 'exited', code: 0 })
    t.match((await attempt('/bin/ls', place)).stdout.toString(), /victim/)
    t.same((await run(confined, shell('exit 3'))).status, { kind: 'exited', code: 3 })
    t.equal((await run(confined, planFor(['/bin/pwd', '-P'], { cwd: '/usr' }))).stdout.toString(), '/usr\n')
    const lost = await attempt('/no/such/program')
    t.equal(lost.errno, 2)
  })

  t.test(
    'it runs as a user that nothing else is, with no groups, capabilities or new privileges',
    async (t) => {
      const { stdout } = await attempt('/bin/cat', '/proc/self/status')
      const status = stdout.toString()
      t.match(status, /^NoNewPrivs:\t1$/m)
      t.match(status, /^Seccomp:\t2$/m)
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
        t.match(status, new RegExp(`^${set}:\\t0+$`, 'm'))
      if (!isRoot) return t.comment('skipped: another user needs root')
      t.match(status, /^Uid:\t65529\t65529\t65529\t65529$/m)
      t.match(status, /^Gid:\t65529\t65529\t65529\t65529$/m)
      t.match(status, /^Groups:\t *$/m)
      const others = () =>
        readdirSync('/proc')
          .filter((name) => /^\d+$/.test(name))
          .filter((pid) => {
            try {
              return statSync(`/proc/${pid}`).uid === 65_529
            } catch {
              return false
            }
          })
      // Tests of whole daemons, beside this one, have such programs too, for a moment.
      t.ok(await until(() => others().length === 0), 'nobody else')
    },
  )

  t.test('it can neither make, write, move nor remove a file where everybody may', async (t) => {
    const at = (name: string): string => join(place, name)
    const writes: readonly (readonly string[])[] = [
      ['/usr/bin/touch', at('new')],
      ['/bin/mkdir', at('new')],
      ['/bin/cp', '/etc/passwd', at('new')],
      ['/bin/ln', '-s', '/etc', at('new')],
      ['/bin/ln', at('victim'), at('new')],
      ['/usr/bin/mkfifo', at('new')],
      ['/bin/rm', '-f', at('victim')],
      ['/bin/mv', at('victim'), at('new')],
      ['/usr/bin/truncate', '-s', '0', at('victim')],
      ['/bin/sh', '-c', `echo changed > ${at('victim')}`],
      ['/bin/sh', '-c', `echo changed >> ${at('victim')}`],
      ['/usr/bin/touch', '-t', '200001010000', at('victim')],
      ['/bin/chmod', '600', at('victim')],
      ['/bin/chown', '65529', at('victim')],
      ['/bin/sh', '-c', 'echo x > /dev/shm/sass-confined'],
      ['/bin/sh', '-c', 'echo x > /tmp/sass-confined'],
    ]
    const victim = statSync(at('victim'))
    for (const argv of writes) {
      const outcome = await run(confined, planFor(argv))
      t.ok(failed(outcome), argv.join(' '))
      t.equal(readFileSync(at('victim'), 'utf8'), 'as it was')
      t.notOk(
        existsSync(at('new')) || existsSync('/dev/shm/sass-confined') || existsSync('/tmp/sass-confined'),
      )
    }
    const after = statSync(at('victim'))
    t.same(
      [after.mode, after.uid, after.mtimeMs, after.ino, after.nlink],
      [victim.mode, victim.uid, victim.mtimeMs, victim.ino, victim.nlink],
    )
  })

  t.test('it reaches no port that listens, by TCP or UDP', async (t) => {
    if (!existsSync('/bin/bash')) return t.comment('skipped: bash is not here')
    let connections = 0
    const server = createServer((socket) => {
      connections++
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    execFileSync('/bin/bash', ['-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`])
    t.ok(await until(() => connections === 1), 'unconfined it is reached')
    for (const script of [`exec 3<>/dev/tcp/127.0.0.1/${port}`, 'echo x > /dev/udp/127.0.0.1/9'])
      t.ok(failed(await attempt('/bin/bash', '-c', script)), script)
    t.equal(connections, 1)
    server.close()
  })

  t.test(
    'what is hidden stays unreadable, by its name, through a link, a pattern and the daemon',
    async (t) => {
      const secret = join(hiddenDirectory, 'secret')
      for (const argv of [
        ['/bin/cat', secret],
        ['/bin/ls', hiddenDirectory],
        ['/bin/cat', `--x=${hiddenFile}`],
      ])
        t.throws(() => start(confined, planFor(argv)), { code: 'CAPABILITY_PATH_DENIED' }, argv.join(' '))
      t.throws(() => start(confined, planFor(['/bin/ls'], { cwd: hiddenDirectory })), {
        code: 'CAPABILITY_PATH_DENIED',
      })
      const ways = [
        `exec cat ${place}/link/secret`,
        `exec cat ${place}/stat*/secret`,
        `exec cat ${place}/edge.ke*`,
        `exec ls ${place}/link/`,
        `exec cat /proc/${process.pid}/root${place}/stat*/secret`,
        `exec cat /proc/$PPID/cwd/../../../..${place}/link/secret`,
        `cd ${place}/link && exec ls`,
      ]
      for (const script of ways) {
        const { stdout } = await run(confined, shell(script))
        t.notMatch(stdout.toString(), /hidden words|secret/, script)
      }
      t.notMatch((await attempt('/usr/bin/find', place)).stdout.toString(), /secret/)
      t.equal(readFileSync(secret, 'utf8'), 'hidden words', 'the daemon reads it as before')
      t.equal(mounts(), before, 'and has the mounts it had')
    },
  )

  t.test('a file of mode 0600 stays unreadable', async (t) => {
    if (!isRoot) return t.comment('skipped: only root has files that the confined user has not')
    const { stdout, status } = await attempt('/bin/cat', join(place, 'private'))
    t.same([stdout.length, status], [0, { kind: 'exited', code: 1 }])
    t.ok(failed(await attempt('/bin/cat', '/etc/shadow')))
    for (const name of ['mem', 'environ', 'maps'])
      for (const tid of readdirSync('/proc/self/task'))
        t.ok(
          failed(await attempt('/bin/cat', `/proc/${process.pid}/task/${tid}/${name}`)),
          `${name} of ${tid}`,
        )
  })

  t.test('it cannot signal the daemon, through none of its threads', async (t) => {
    const heard: string[] = []
    const listen = (signal: string): void => void heard.push(signal)
    process.on('SIGUSR2', listen)
    const tids = readdirSync('/proc/self/task')
    t.ok(tids.length > 1)
    for (const target of [...tids, '-1'])
      t.ok(failed(await run(confined, shell(`kill -USR2 ${target}`))), `thread ${target}`)
    process.off('SIGUSR2', listen)
    t.same(heard, [])
  })

  t.test('no process of another user can signal the daemon through the confined thread', async (t) => {
    if (!isRoot) return t.comment('skipped: becoming another user needs root')
    const tids = readdirSync('/proc/self/task').join(' ')
    const script = `for tid in ${tids}; do kill -0 $tid 2>/dev/null && echo reached $tid; done; echo done`
    const options = { uid: 65_534, gid: 65_534 }
    t.equal(execFileSync('/bin/sh', ['-c', script], options).toString(), 'done\n')
  })

  t.test('its limits are its own: it starts nothing else, and the daemon has what it had', async (t) => {
    const own = readFileSync('/proc/self/limits', 'utf8')
    // They come right after the start, so the program has to live a little.
    const script =
      'count=0; while [ $count -lt 50000 ]; do count=$((count+1)); done; exec cat /proc/self/limits'
    const { stdout } = await run(confined, shell(script))
    t.match(stdout.toString(), /^Max processes +0 +0 /m)
    t.match(stdout.toString(), /^Max cpu time +10 +10 /m)
    t.match(stdout.toString(), /^Max file size +0 +0 /m)
    t.match(stdout.toString(), /^Max address space +268435456 +268435456 /m)
    t.match(stdout.toString(), /^Max open files +64 +64 /m)
    t.ok(failed(await run(confined, shell(script.replace('exec cat', '(exit 0); true < ')))))
    t.equal(readFileSync('/proc/self/limits', 'utf8'), own)
  })

  t.test('it makes no namespace, traces nobody, mounts nothing', async (t) => {
    for (const argv of [
      ['/usr/bin/unshare', '-Ur', '/bin/true'],
      ['/usr/bin/unshare', '-m', '/bin/true'],
      ['/usr/bin/nsenter', '-t', '1', '-m', '/bin/true'],
      ['/bin/mount', '-t', 'tmpfs', 'none', '/mnt'],
      ['/usr/bin/renice', '19', String(process.pid)],
      ['/usr/bin/prlimit', '--pid', String(process.pid), '--nofile=10:10'],
    ])
      t.ok(failed(await run(confined, planFor(argv))), argv.join(' '))
    t.equal(mounts(), before)
  })

  t.test('environment, stdin and terminal of a plan are not taken', async (t) => {
    const plan = planFor(['/usr/bin/env'], {
      environment: ['SECRET=1', 'LD_PRELOAD=/tmp/x.so'],
      stdin: 'pipe',
    })
    const { stdout } = await run(confined, plan)
    t.same(
      stdout
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => line.split('=', 1)[0])
        .sort(),
      ['HOME', 'LANG', 'PATH'],
    )
    t.equal(
      (await run(confined, planFor(['/bin/cat'], { stdin: 'pipe' }))).stdout.length,
      0,
      'stdin is empty',
    )
    const terminal = { rows: 24, columns: 80 }
    t.throws(() => start(confined, planFor(['/bin/ls'], { terminal })), { code: 'PTY_UNAVAILABLE' })
  })

  t.test('what runs can be ended, with all its output and within its time', async (t) => {
    const running = start(confined, planFor(['/bin/cat', '/dev/zero']), { output() {} })
    const waiting = start(confined, planFor(['/bin/sleep', '30']))
    running.child.killTree()
    waiting.child.killTree()
    t.same((await running.outcome).status, { kind: 'signalled', signal: 9 })
    t.same((await waiting.outcome).status, { kind: 'signalled', signal: 9 })
  })

  t.test('the spawner beside it is as free as before', async (t) => {
    const free = await createSpawner()
    const path = join(place, 'written')
    const { status } = await run(free, shell(`id -u > ${path}; true & wait`))
    t.same(status, { kind: 'exited', code: 0 })
    t.equal(readFileSync(path, 'utf8').trim(), String(process.getuid?.()))
    await free.close()
  })

  t.test('from its bundled text the thread confines itself as well, and close ends it', async (t) => {
    const bundled = buildSync({
      entryPoints: [`${import.meta.dirname}/../../../src/sandbox/launcher/launcher-thread.node.ts`],
      bundle: true,
      format: 'cjs',
      platform: 'node',
      target: 'node26',
      write: false,
    }).outputFiles[0]?.text
    const threads = readdirSync('/proc/self/task').length
    const other = await make(bundled)
    if (typeof other === 'string') throw new Error(other)
    t.equal((await run(other, planFor(['/bin/echo', 'hello']))).stdout.toString(), 'hello\n')
    t.ok(failed(await run(other, planFor(['/usr/bin/touch', join(place, 'new')]))))
    t.notOk(existsSync(join(place, 'new')))
    await other.close()
    t.ok(await until(() => readdirSync('/proc/self/task').length <= threads))
    t.throws(() => start(other, planFor(['/bin/true'])), { code: 'DAEMON_SHUTTING_DOWN' })
  })
}

/** As a daemon that is not root: confined by Landlock and the filter alone. */
t.test('a daemon that is not root is safe from its own programs too', async (t) => {
  if (typeof made === 'string') return t.comment(made)
  if (!isRoot) return t.comment('skipped: the tests above were this one')
  const home = join(place, 'home')
  mkdirSync(join(home, 'state'), { recursive: true })
  writeFileSync(join(home, 'state/secret'), 'hidden words')
  writeFileSync(join(home, 'own'), 'as it was')
  for (const name of ['', 'state', 'state/secret', 'own']) chownSync(join(home, name), 65_534, 65_534)
  const attempts: readonly (readonly string[])[] = [
    ['/bin/cat', '/etc/passwd'],
    ['/bin/chmod', '600', join(home, 'own')],
    ['/usr/bin/touch', join(home, 'own')],
    ['/bin/rm', '-f', join(home, 'own')],
    ['/bin/sh', '-c', `echo x > ${home}/own`],
    ['/bin/sh', '-c', `exec cat ${home}/stat*/secret`],
    ['/bin/sh', '-c', `exec cat ${home}/*/secret`],
    ['/bin/ls', home],
    ['/bin/sh', '-c', `exec cat /proc/$PPID/root${home}/s*/secret`],
    ['/bin/sh', '-c', 'exec cat /proc/$PPID/maps'],
    ['/bin/sh', '-c', 'exec cat /proc/$PPID/task/*/maps'],
    ['/bin/sh', '-c', 'kill -9 $PPID'],
    ['/bin/sh', '-c', 'cd /proc/$PPID/task; for task in *; do kill -9 $task && exit 0; done; exit 1'],
    ['/bin/ls', '/dev/'],
    ['/usr/bin/unshare', '-Ur', '/bin/true'],
  ]
  const source = new URL('../../../src/sandbox/launcher/confined-spawner.node.ts', import.meta.url).href
  const program = `
    import { createConfinedSpawner } from ${JSON.stringify(source)}
    const spawner = await createConfinedSpawner({ hidden: [${JSON.stringify(join(home, 'state'))}] })
    for (const argv of ${JSON.stringify(attempts)}) await new Promise((resolve) => {
      let text = ''
      const say = (end) => { console.log(JSON.stringify([argv.join(' '), end, text.length, text.includes('hidden')])); resolve() }
      spawner.spawn({ file: argv[0], argv, environment: [], cwd: '/', stdin: 'none', terminal: undefined }, {
        spawned() {}, failed: (errno) => say('errno ' + errno), output: (source, bytes) => { if (source === 0) text += Buffer.from(bytes) },
        stdinDrained() {}, exited: (status) => say(status.kind === 'exited' ? status.code : 'signal') })
    })
    await spawner.close()`
  // Not by setuid, after which nobody may look into a process anyhow.
  const text = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    ...{ uid: 65_534, gid: 65_534, env: {}, cwd: '/', encoding: 'utf8', timeout: 50_000 },
  })
  const told = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as [string, number | string, number, boolean])
  t.equal(told.length, attempts.length)
  t.same(told[0]?.[1], 0, 'what everybody may read is read')
  for (const [what, end, length, isSecret] of told.slice(1))
    t.same([end === 0, length, isSecret], [false, 0, false], `${what}: ${end}`)
  const own = statSync(join(home, 'own'))
  t.same([readFileSync(join(home, 'own'), 'utf8'), own.mode & 0o777], ['as it was', 0o644])
})

t.test('the groups of a daemon that is root do not pass on', async (t) => {
  if (typeof made === 'string') return t.comment(made)
  if (!isRoot) return t.comment('skipped: groups need root')
  const source = new URL('../../../src/sandbox/launcher/confined-spawner.node.ts', import.meta.url).href
  const program = `
    import { createConfinedSpawner } from ${JSON.stringify(source)}
    process.setgroups([4, 6])
    const spawner = await createConfinedSpawner({ hidden: [] })
    let text = ''
    const argv = ['id', '-G']
    spawner.spawn({ file: '/usr/bin/id', argv, environment: [], cwd: '/', stdin: 'none', terminal: undefined }, {
      spawned() {}, failed() {}, output: (source, bytes) => { text += Buffer.from(bytes) },
      stdinDrained() {}, exited() { console.log(text); spawner.close() } })`
  const text = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    ...{ env: {}, cwd: '/', encoding: 'utf8', timeout: 50_000 },
  })
  t.equal(text.trim(), '65529')
})

t.test('where a part of it cannot be had there is no confined spawner', async (t) => {
  if (typeof made === 'string') return t.comment(made)
  await t.rejects(createConfinedSpawner({ hidden: ['/'] }), { code: 'SANDBOX_UNAVAILABLE' })
  const launcherSource = `require('node:worker_threads').parentPort.postMessage(
    { kind: 'refused', step: 'landlock_restrict_self', errno: 38 })`
  await t.rejects(createConfinedSpawner({ launcherSource, hidden: [] }), {
    code: 'SANDBOX_UNAVAILABLE',
    message: /landlock_restrict_self/,
  })
})
