/**
 * A board whose root is read-only, whose state is in memory, cannot be written, or is full: with real mounts.
 * @module
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changeConfig, type Daemon, install, PROGRAM, sassEdge, startDaemon, until } from './daemon.node.ts'

const stateOf = (directory: string): string => join(directory, '.sass-edge/state')

/** Mounts it there until the end of the test; false, with a line, where that may not be done. */
function mounted(t: Test, directory: string, args: readonly string[]): boolean {
  mkdirSync(directory, { recursive: true })
  const { status, stderr } = spawnSync('mount', [...args, directory], { encoding: 'utf8' })
  if (status === 0) {
    t.teardown(() => spawnSync('umount', ['-l', directory]))
    return true
  }
  t.pass(`nothing may be mounted here (${stderr?.trim() ?? 'no mount'})`, { skip: true })
  return false
}

const memory = (t: Test, directory: string, size: string) =>
  mounted(t, directory, ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs'])

/** Takes all the room that there is; gives it back. */
function fill(directory: string): () => void {
  const path = join(directory, 'ballast')
  spawnSync('dd', ['if=/dev/zero', `of=${path}`, 'bs=4096'], { stdio: 'ignore' })
  return () => rmSync(path)
}

t.test(
  'everything is read-only but the state, which is in memory: it works, and says what goes',
  async (t) => {
    const directory = await install(t)
    const socket = join(directory, 'run/admin.sock')
    mkdirSync(join(directory, 'run'))
    changeConfig(directory, { listen: { admin_socket: socket } })
    const script = `mount --make-rprivate / || exit 77
    mkdir -p "${stateOf(directory)}"
    mount -t tmpfs tmpfs "${stateOf(directory)}" -o mode=700 && mount -t tmpfs tmpfs "${directory}/run" || exit 77
    awk '$6 ~ /^rw/ {print $5}' /proc/self/mountinfo | grep -v "^/proc\\|^/sys\\|^/dev\\|^${directory}" |
      while read -r place; do mount -o remount,bind,ro "$place" 2>/dev/null; done
    if touch "${directory}/no" 2>/dev/null; then echo cannot; exit 77; fi
    "${PROGRAM}" check
    "${PROGRAM}" run >run/out 2>run/log & daemon=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.5; grep -q listening run/log && break; done
    "${PROGRAM}" exec -- sh -c 'echo kept >file && cat file; exit 3'; echo "exec $?"
    "${PROGRAM}" doctor
    "${PROGRAM}" audit verify
    kill $daemon; wait $daemon; echo "end $?"; cat run/log`
    const ran = spawnSync('unshare', ['-m', 'sh', '-c', script], {
      cwd: directory,
      env: { PATH: process.env['PATH'] ?? '', HOME: directory },
      encoding: 'utf8',
      timeout: 60_000,
    })
    if (ran.status === 77 || ran.error !== undefined) {
      t.pass(`no mounts of its own can be made here (${ran.stderr})`, { skip: true })
      return
    }
    t.match(
      ran.stdout,
      /^warning state_directory: \S+ is in memory: the record, the keys of the device, .* go with the power/m,
    )
    t.match(ran.stdout, /^kept\nexec 3$/m, ran.stderr)
    t.match(ran.stdout, /^missing +state +\S+ is in memory/m)
    t.match(ran.stdout, /^The chain is whole/m)
    t.match(ran.stdout, /^end 0$/m)
    t.match(ran.stdout, / warn state_not_kept reason="\S+ is in memory: the record/)
  },
)

t.test('state that cannot be written: one sentence why, and what only reads still works', async (t) => {
  const directory = await install(t)
  const first = await startDaemon(t, directory)
  t.equal((await first.cli(['exec', '--', 'true'])).code, 0)
  await first.stop()
  const state = stateOf(directory)
  if (!mounted(t, state, ['--bind', state])) return
  const become = (how: string) => execFileSync('mount', ['-o', `remount,bind,${how}`, state])
  const refused = async (says: RegExp) => {
    const { code, stderr } = await sassEdge(['run'], { cwd: directory, timeoutMs: 15_000 })
    t.equal(code, 125)
    t.match(stderr, /^sass-edge: [^\n]+\n$/, 'one sentence')
    t.match(stderr, says)
  }
  become('ro')
  await refused(/cannot be written, since the file system is read-only, and nothing runs unrecorded/)
  for (const words of [
    ['audit', 'verify'],
    ['audit', 'tail'],
    ['audit', 'replay'],
    ['why', '1'],
    ['config', 'show'],
  ])
    t.equal((await sassEdge(words, { cwd: directory })).code, 0, words.join(' '))
  const doctor = await sassEdge(['doctor'], { cwd: directory })
  t.match(
    doctor.stdout.toString(),
    /^FAILED +state +\S+ cannot be written, since the file system is read-only: nothing runs/m,
  )
  t.match(
    (await sassEdge(['check'], { cwd: directory })).stdout.toString(),
    /^FAILED +state_directory: .* read-only/m,
  )
  become('rw')
  rmSync(join(state, 'format.json'))
  become('ro')
  await refused(/from format 0 to 1, since the file system is read-only: nothing is lost/)
  become('rw')
  const next = await startDaemon(t, directory)
  t.equal((await next.cli(['exec', '--', 'true'])).code, 0)
})

t.test('a disk that is full at the start: one sentence, whatever was to be written', async (t) => {
  for (const room of ['8k', '16k', '24k', '32k', '40k', '48k']) {
    const directory = await install(t)
    if (!memory(t, stateOf(directory), room)) return
    const { code, stderr } = await sassEdge(['run'], { cwd: directory, timeoutMs: 15_000 })
    t.equal(code, 125, `${room}: ${stderr}`)
    t.match(stderr, /^(\S+ warn [^\n]+\n)*sass-edge: [^\n]*(full|ENOSPC)[^\n]*\n$/, room)
    t.notMatch(stderr, /should not/, room)
  }
})

t.test('a disk that is full when older state is brought forward: it stays what it was', async (t) => {
  // Without a reserve, which a start on a full disk is given.
  const directory = await install(t, { sandbox: { limits: { reserve_bytes: 0 } } })
  const state = stateOf(directory)
  if (!memory(t, state, '8m')) return
  const first = await startDaemon(t, directory)
  t.equal((await first.cli(['exec', '--id', 'e1'.repeat(16), '--', 'sh', '-c', 'exit 6'])).code, 6)
  await first.stop()
  rmSync(join(state, 'format.json'))
  const empty = fill(state)
  const { code, stderr } = await sassEdge(['run'], { cwd: directory, timeoutMs: 15_000 })
  t.equal(code, 125)
  t.match(
    stderr,
    /from format 0 to 1, since the disk is full: nothing is lost, and the next start goes on with it/,
  )
  t.notOk(existsSync(join(state, 'format.json')))
  empty()
  const next = await startDaemon(t, directory)
  t.equal((await next.cli(['attach', 'e1'.repeat(16)])).code, 6)
  t.equal((await next.cli(['audit', 'verify'])).code, 0)
})

t.test(
  'a disk that fills up during a drain: it ends, and the next daemon starts nothing twice',
  async (t) => {
    const directory = await install(t, {
      sandbox: { require: 'none', limits: { reserve_bytes: 0 } },
      execution: { drain_seconds: 10 },
    })
    const state = stateOf(directory)
    const workspace = join(directory, 'work')
    mkdirSync(workspace)
    changeConfig(directory, { security: { workspace_root: workspace } })
    if (!memory(t, state, '8m')) return
    const daemon: Daemon = await startDaemon(t, directory)
    changeConfig(directory, { listen: { port: daemon.port } })
    const id = 'f2'.repeat(16)
    const running = daemon.cli(['exec', '--id', id, '--', 'sh', '-c', 'echo x >>ran; sleep 4; exit 7'])
    await until('it runs', () => existsSync(join(workspace, 'ran')))
    daemon.signal('SIGTERM')
    await until('the drain', () => daemon.audit().some(({ what }) => what === 'draining'))
    const empty = fill(state)
    t.same(await daemon.ended, { code: 0, signal: null })
    const full = await sassEdge(['run'], { cwd: directory, timeoutMs: 15_000 })
    t.equal(full.code, 125)
    t.match(full.stderr, /ENOSPC|the disk is full/)
    empty()
    const next = await startDaemon(t, directory)
    t.equal((await running).code, 7, 'whoever was there has seen its end')
    const again = await next.cli(['exec', '--id', id, '--', 'sh', '-c', 'echo y >>ran; exit 9'])
    t.ok(again.code === 7 || again.code === 254, `the id is known: ${again.code} ${again.stderr}`)
    t.equal(execFileSync('cat', [join(workspace, 'ran')], { encoding: 'utf8' }), 'x\n')
    t.equal((await next.cli(['audit', 'verify'])).code, 0)
    writeFileSync(join(workspace, 'over'), '')
  },
)
