/**
 * The keeper by itself: a place for a plan, in how many milliseconds, what the kernel refuses, and that nothing is left.
 * @module
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { createKeeper } from '../../../src/sandbox/namespaces/keeper.node.ts'
import type { NamespaceDescriptors, NamespacePlan } from '../../../src/sandbox/namespaces/namespace-plan.ts'
import { isAlive } from '../../integration/daemon.node.ts'

const MANY = 60
/** As installed, and some more: ten places. */
const READ = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib64',
  '/etc',
  '/opt',
  '/sys',
  '/var/log',
  '/var/lib/dpkg',
  '/var/lib/apt',
  '/srv',
  '/media',
  '/mnt',
]
const isRoot = process.geteuid?.() === 0

function planFor(directory: string, change: Partial<NamespacePlan> = {}): NamespacePlan {
  for (const name of ['real', 'upper', 'work', 'view']) mkdirSync(join(directory, name), { recursive: true })
  return {
    roots: [
      {
        kind: 'overlay',
        path: join(directory, 'real'),
        upper: join(directory, 'upper'),
        work: join(directory, 'work'),
        options: 'redirect_dir=on,index=on',
      },
    ],
    shown: [],
    scratch: ['/tmp', '/var/tmp', '/run', '/var/run'],
    scratchBytes: 8_388_608,
    kept: [],
    volatile: [],
    stage: join(directory, 'view'),
    read: READ,
    hidden: [],
    hidesSecrets: true,
    own: [],
    sockets: [],
    homes: ['/root'],
    devices: [],
    network: 'host',
    listens: [],
    userId: 0,
    groupId: 0,
    caches: ['.cache/x'],
    ...change,
  }
}

const descriptors = (): number => readdirSync('/proc/self/fd').length

function close({ mount, pid, ipc, network, networkRest, gate, root, lifeline }: NamespaceDescriptors): void {
  const ofGate =
    gate === undefined
      ? []
      : [gate.names, gate.refusals, ...gate.listeners.map(({ descriptor }) => descriptor)]
  for (const descriptor of [lifeline, mount, pid, ipc, network, networkRest, root, ...ofGate])
    if (descriptor >= 0) closeSync(descriptor)
}

t.test('places are made, seen from outside, and end', { skip: !isRoot && 'needs root' }, async (t) => {
  const directory = mkdtempSync('/var/lib/sass-edge-it-')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const keeper = createKeeper(undefined)
  const times: number[] = []
  let before = 0
  for (let turn = 0; turn <= MANY; turn++) {
    const begin = performance.now()
    const { descriptors: made } = await keeper.open(planFor(directory))
    times.push(performance.now() - begin)
    t.ok(isAlive(made.initPid))
    if (turn === 0) {
      const seen = (path: string): string[] => readdirSync(`/proc/self/fd/${made.root}${path}`).sort()
      t.strictSame(seen('/tmp'), ['.cache'])
      t.strictSame(seen('/dev/pts'), ['ptmx'])
      t.strictSame(
        seen('/proc').filter((name) => /^\d+$/.test(name)),
        ['1'],
      )
      t.match(readFileSync(`/proc/${made.initPid}/cmdline`, 'latin1'), /^sass-edge-init/)
    }
    close(made)
    t.equal(await keeper.end(made.initPid), true)
    t.notOk(isAlive(made.initPid))
    if (turn === 0) before = descriptors()
  }
  t.equal(descriptors(), before)
  const sorted = times.slice(1).sort((a, b) => a - b)
  t.comment(`made in ${sorted[0]?.toFixed(1)} ms at best, ${sorted[MANY / 2]?.toFixed(1)} ms in the middle`)
  await keeper.close()
})

t.test(
  'what the kernel refuses is named, and leaves nothing',
  { skip: !isRoot && 'needs root' },
  async (t) => {
    const directory = mkdtempSync('/var/lib/sass-edge-it-')
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    const keeper = createKeeper(undefined)
    const { descriptors: first } = await keeper.open(planFor(directory))
    close(first)
    await keeper.end(first.initPid)
    const before = descriptors()
    const good = planFor(directory)
    const root = good.roots[0]
    if (root?.kind !== 'overlay') throw new Error('no overlay')
    for (const [change, step] of [
      [{ roots: [{ ...root, upper: '/proc' }] }, /overlay/],
      [{ roots: [{ ...root, options: 'no_such_option=1' }] }, /overlay/],
      [{ roots: [{ ...root, path: join(directory, 'nowhere') }] }, /nowhere/],
      [{ roots: [{ kind: 'bind', path: root.path, source: join(directory, 'nowhere') }] }, /nowhere/],
    ] as const) {
      const refused = keeper.open({ ...good, ...change } as NamespacePlan)
      await t.rejects(refused, { code: 'SANDBOX_UNAVAILABLE', message: step })
      t.equal(descriptors(), before)
    }
    const { descriptors: again } = await keeper.open(good)
    t.ok(isAlive(again.initPid), 'the next one is made as ever')
    close(again)
    t.equal(await keeper.end(again.initPid), true)
    await keeper.close()
  },
)

t.test('children that end meanwhile interrupt nothing', { skip: !isRoot && 'needs root' }, async (t) => {
  const directory = mkdtempSync('/var/lib/sass-edge-it-')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const keeper = createKeeper(undefined)
  const spawning = setInterval(() => void spawn('true').on('error', () => undefined), 1)
  for (let turn = 0; turn < MANY; turn++) {
    const { descriptors: made } = await keeper.open(planFor(directory))
    t.ok(isAlive(made.initPid))
    close(made)
    await keeper.end(made.initPid)
  }
  clearInterval(spawning)
  await keeper.close()
})

t.test('an init ends with the pipe that it reads', { skip: !isRoot && 'needs root' }, async (t) => {
  const directory = mkdtempSync('/var/lib/sass-edge-it-')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const keeper = createKeeper(undefined)
  const { descriptors: made } = await keeper.open(planFor(directory, { network: 'none' }))
  t.ok(made.network >= 0)
  closeSync(made.lifeline)
  for (let waited = 0; waited < 200 && isAlive(made.initPid); waited++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  t.notOk(isAlive(made.initPid))
  close({ ...made, lifeline: -1 })
  await keeper.end(made.initPid)
  await keeper.close()
})

t.test('what is mounted at a hidden path is hidden too', { skip: !isRoot && 'needs root' }, async (t) => {
  const directory = mkdtempSync('/var/lib/sass-edge-it-')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const listed = join(directory, 'listed')
  for (const name of ['vault', 'way/deep', 'shown']) {
    mkdirSync(join(listed, name), { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(listed, name)])
    t.teardown(() => execFileSync('umount', [join(listed, name)]))
    writeFileSync(join(listed, name, 'file'), 'of a disk')
  }
  const keeper = createKeeper(undefined)
  const hidden = [join(listed, 'vault'), join(listed, 'way'), '/opt']
  const plan = planFor(directory, { read: ['/usr', '/opt', listed], hidden })
  const { descriptors: made } = await keeper.open(plan)
  const seen = (path: string): string[] => readdirSync(`/proc/self/fd/${made.root}${path}`)
  t.strictSame(seen(listed), ['shown'])
  t.strictSame(seen(join(listed, 'shown')), ['file'])
  t.strictSame(seen('/opt'), [], 'a listed place that is hidden itself')
  close(made)
  await keeper.end(made.initPid)
  await keeper.close()
})

t.test(
  "the daemon's own socket is not shown, though it is listed",
  { skip: !isRoot && 'needs root' },
  async (t) => {
    const directory = mkdtempSync('/var/lib/sass-edge-it-')
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    const sockets = ['own/admin.sock', 'other.sock'].map((name) => join(directory, name))
    mkdirSync(join(directory, 'own'))
    for (const path of sockets) {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(path, resolve))
      t.teardown(() => server.close())
    }
    symlinkSync(join(directory, 'own'), join(directory, 'link'))
    const keeper = createKeeper(undefined)
    const listed = [...sockets, join(directory, 'link/admin.sock')]
    const { descriptors: made, gaps } = await keeper.open(
      planFor(directory, { sockets: listed, own: [join(directory, 'own')] }),
    )
    t.strictSame(gaps.refused, [sockets[0], listed[2]])
    t.ok(existsSync(`/proc/self/fd/${made.root}${sockets[1]}`))
    for (const path of gaps.refused) t.notOk(existsSync(`/proc/self/fd/${made.root}${path}`), path)
    close(made)
    await keeper.end(made.initPid)
    await keeper.close()
  },
)

/** A control group whose processes do not even end by SIGKILL until they are let; undefined: this kernel has none. */
function openFreezer(): { readonly path: string; say(file: string, text: string): void } | undefined {
  const path = `/sys/fs/cgroup/freezer/sass-edge-it-${process.pid}`
  try {
    mkdirSync(path)
    if (existsSync(join(path, 'freezer.state')))
      return { path, say: (file, text) => writeFileSync(join(path, file), text) }
    rmdirSync(path)
  } catch {
    // Such control groups are not mounted here.
  }
  return undefined
}

t.test('a session that cannot end holds up no other', { skip: !isRoot && 'needs root' }, async (t) => {
  const freezer = openFreezer()
  if (freezer === undefined) return void t.comment('skipped: no freezer of control groups is here')
  t.teardown(() => rmdirSync(freezer.path))
  const directory = mkdtempSync('/var/lib/sass-edge-it-')
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const keeper = createKeeper(undefined)
  const { descriptors: stuck } = await keeper.open(planFor(directory))
  freezer.say('cgroup.procs', String(stuck.initPid))
  freezer.say('freezer.state', 'FROZEN')
  let hasEnded = false
  const ending = keeper.end(stuck.initPid).finally(() => {
    hasEnded = true
  })
  const other = mkdtempSync('/var/lib/sass-edge-it-')
  t.teardown(() => rmSync(other, { recursive: true, force: true }))
  const { descriptors: made } = await keeper.open(planFor(other))
  t.ok(isAlive(made.initPid) && isAlive(stuck.initPid))
  t.notOk(hasEnded)
  freezer.say('freezer.state', 'THAWED')
  t.equal(await ending, true)
  t.notOk(isAlive(stuck.initPid))
  close(stuck)
  close(made)
  await keeper.end(made.initPid)
  await keeper.close()
})
