/**
 * Ways out of a branch, each tried for real by a command in it; afterwards the device is looked at, and nothing of it
 * has changed.
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { treeOf } from '../sandbox/branch/made-branch.node.ts'
import { attack, judge } from './attacks.node.ts'
import {
  type Branched,
  everyone,
  give,
  homeFor,
  inSession,
  PYTHON,
  run,
  startBranched,
} from './branched.node.ts'
import { isAlive, sleep } from './daemon.node.ts'

/** The device beside the branch: files that a session could write but for where they are. */
function makeOutside(t: Test, daemon: Branched): string {
  const { who, workspace } = daemon
  const outside = homeFor(t, who)
  writeFileSync(join(outside, 'victim'), 'untouched\n')
  mkdirSync(join(outside, 'empty'))
  for (const number of ['', '-2', '-3']) {
    writeFileSync(join(outside, `other-name${number}`), 'untouched\n')
    linkSync(join(outside, `other-name${number}`), join(workspace, `hard-real${number}`))
  }
  symlinkSync(join(outside, 'victim'), join(workspace, 'link-out'))
  symlinkSync(outside, join(workspace, 'dir-out'))
  mkdirSync(join(workspace, 'tree'))
  for (const name of ['inner', 'other']) writeFileSync(join(workspace, 'tree', name), name)
  copyFileSync('/usr/bin/id', join(workspace, 'own-id'))
  give(outside, who)
  give(workspace, who)
  // Last, because a change of owner takes it away.
  copyFileSync('/usr/bin/id', join(workspace, 'suid-id'))
  chmodSync(join(workspace, 'suid-id'), 0o4755)
  return outside
}

const nullDevice = (): unknown => {
  const { mode, uid, gid, mtimeMs } = statSync('/dev/null')
  return { mode, uid, gid, mtimeMs }
}

async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.end())
  await new Promise<void>((resolve) => server.listen(path, resolve))
  if (!path.startsWith('\0')) chmodSync(path, 0o777)
  return server
}

async function escapes(t: Test, daemon: Branched): Promise<void> {
  const { who, workspace, state } = daemon
  const isRoot = process.geteuid?.() === 0
  const outside = makeOutside(t, daemon)
  const canary: ChildProcess = spawn('sleep', ['300'], { uid: who.uid, gid: who.uid })
  t.teardown(() => canary.kill('SIGKILL'))
  const look = (): Record<string, unknown> => {
    const workspaceTree = treeOf(workspace)
    // What runs has its script there, put by the test.
    for (const name of Object.keys(workspaceTree))
      if (/^script\d+\.(py|sh)$/.test(name) || name === '.') delete workspaceTree[name]
    return {
      outside: treeOf(outside),
      workspace: workspaceTree,
      null: nullDevice(),
      hostname: readFileSync('/proc/sys/kernel/hostname', 'utf8'),
      core: readFileSync('/proc/sys/kernel/core_pattern', 'utf8'),
      installation: readdirSync(join(workspace, '..')).sort(),
      alive: [canary.pid, daemon.pid()].map((pid) => isAlive(pid ?? 0)),
    }
  }
  /** Looks at the device now; gives the test that it is still like that. */
  const watch = (): ((t: Test) => void) => {
    const before = look()
    return (t) => t.strictSame(look(), before, 'the device is as it was')
  }

  await t.test('files: by every name that leads outside', async (t) => {
    const unchanged = watch()
    const found = await attack(daemon, 'files', outside, state, String(daemon.pid()))
    judge(t, found, {
      'own write': 'done',
      'hard link of a real file': 'done',
      'hard link of a hard link': 'done',
      'hard link by chmod': 'done',
      'hard link by truncate': 'done',
      descriptors: [0, 1, 2],
      'descriptor 0': '/dev/null',
      'listing of /proc/1/fd': Array,
      'through other processes': [],
      processes: [/python/, 'sass-edge-init'],
      'state listed': 0,
      'installation listed': ['workspace'],
      'upper directory': [],
      // To a program these are attributes like others; they mean nothing to what lies beneath.
      'user.overlay.opaque': 'done',
      'user.overlay.whiteout': 'done',
      'user.overlay.redirect': 'done',
      'user.overlay.metacopy': 'done',
      'user.overlay.origin': 'done',
      'tree still there': ['inner', 'other'],
    })
    unchanged(t)
  })

  await t.test(
    'marks of an overlay, set through it, mean nothing when the branch is mounted anew',
    async (t) => {
      const unchanged = watch()
      const found = await inSession(daemon, async (client) => {
        await run(client, PYTHON ?? '', [
          '-c',
          'import os\nfor m in ["opaque", "whiteout", "redirect"]: os.setxattr("tree", "user.overlay." + m, b"y")',
        ])
        return client.sessionId
      })
      const again = await daemon.open('latest')
      t.equal(await run(again, 'ls', ['tree']), 'inner\nother\n', found)
      await again.close()
      unchanged(t)
    },
  )

  await t.test('mounts, roots and namespaces', async (t) => {
    const unchanged = watch()
    judge(t, await attack(daemon, 'mounts', outside, state), { 'state afterwards': 0 })
    unchanged(t)
  })

  await t.test('the kernel: settings, devices, other processes, rights, dangerous calls', async (t) => {
    const devices: string[] = []
    // The third is the null device under another name; on the real system it opens for everybody.
    for (const [name, place, args] of [
      ['block', outside, ['b', '254', '0']],
      ['memory', outside, ['c', '1', '1']],
      ['null', outside, ['c', '1', '3']],
      ['null', workspace, ['c', '1', '3']],
    ] as const) {
      const made = isRoot && spawnSync('mknod', [join(place, name), ...args]).status === 0
      if (!made) continue
      chmodSync(join(place, name), 0o666)
      devices.push(join(place, name))
    }
    if (devices.length === 0) t.comment('skipped: no device can be made here')
    const disk = String(statSync(workspace).dev)
    const unchanged = watch()
    const found = await attack(daemon, 'kernel', String(daemon.pid()), disk, String(canary.pid), ...devices)
    unchanged(t)
    for (const path of devices) spawnSync('rm', [path])
    const user = String(who.uid)
    judge(t, found, {
      'writable in /proc': Array,
      'writable in /sys': [],
      'writable in /dev': Array,
      'cgroup made': found['cgroup made'],
      'everybody in reach': [1],
      'kill -1': 'done',
      'init is there': true,
      ...(who.uid === 0 ? { setuid: 'done' } : {}),
      'effective user of a setuid program': user,
      'setuid program made': user,
      sudo: found['sudo'],
      su: found['su'],
      pkexec: found['pkexec'],
      newuidmap: found['newuidmap'],
      'other instruction sets': found['other instruction sets'],
    })
    t.notMatch(found['cgroup made'], 'done')
    for (const name of ['sudo', 'su', 'pkexec', 'newuidmap']) t.not(found[name], 0, name)
    // A kernel without the older instruction set ends who asks for it.
    if (process.arch === 'x64' && found['other instruction sets'] !== 'died')
      t.strictSame(found['other instruction sets'], [-1, 'ENOSYS'])
    // What is hidden is the null device there.
    const hidden = ['keys', 'kallsyms', 'timer_list', 'kcore', 'latency_stats', 'sched_debug']
    const writable = (found['writable in /proc'] as string[]).filter(
      (path) => !hidden.some((name) => path === `/proc/${name}`),
    )
    t.strictSame(writable, [])
    const usual = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`)
    t.strictSame(
      (found['writable in /dev'] as string[]).filter((path) => !usual.includes(path)),
      [],
    )
  })

  await t.test('what the kernel tells root alone, of the whole device', async (t) => {
    const names = [
      'key-users',
      'kpagecount',
      'kpageflags',
      'kpagecgroup',
      'slabinfo',
      'vmallocinfo',
      'pagetypeinfo',
    ]
    const places = [
      'kernel/slab',
      'firmware/acpi',
      'firmware/dmi',
      'firmware/efi',
      'devices/virtual/powercap',
    ]
    const here = names.filter((name) => existsSync(`/proc/${name}`))
    t.ok(here.length > 0, `${here.length} files of /proc`)
    const told = await daemon.python(`import json, os
def read(path):
    try:
        with open(path, "rb", buffering=0) as file: return len(file.read(64))
    except OSError: return 0
def names(path):
    try: return len(os.listdir(path))
    except OSError: return 0
nvmem = "/sys/bus/nvmem/devices"
print(json.dumps([
    [read("/proc/" + name) for name in ${JSON.stringify(names)}],
    [names("/sys/" + name) for name in ${JSON.stringify(places)}],
    [read(os.path.join(nvmem, one, "nvmem")) for one in (os.listdir(nvmem) if os.path.isdir(nvmem) else [])],
]))
`)
    const [files, directories, memories] = JSON.parse(told) as number[][]
    // To a user's daemon the kernel says no by itself, but for who uses keys and for names of what is public.
    if (who.uid === 0)
      t.strictSame(
        files,
        names.map(() => 0),
      )
    else
      t.strictSame(
        files?.slice(1),
        names.slice(1).map(() => 0),
      )
    if (who.uid === 0)
      t.strictSame(
        directories,
        places.map(() => 0),
      )
    t.ok(memories?.every((bytes) => bytes === 0))
  })

  await t.test('sockets of the device, by path and by name', async (t) => {
    const abstract = `sass-edge-it-${process.pid}-${who.name}`
    const paths = [
      join(outside, 's.sock'),
      join(workspace, 's.sock'),
      ...(isRoot ? [`/run/${abstract}`] : []),
      `/tmp/${abstract}`,
    ]
    const servers = await Promise.all([...paths, `\0${abstract}`].map(listen))
    const tcp = createServer((socket) => socket.end())
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
    const port = String((tcp.address() as { port: number }).port)
    const docker = ['/var/run/docker.sock', '/run/dbus/system_bus_socket', '/run/systemd/private']
    const unchanged = watch()
    const found = await attack(daemon, 'sockets', abstract, port, ...paths, daemon.adminSocket, ...docker)
    unchanged(t)
    for (const server of [...servers, tcp]) server.close()
    judge(t, found, {
      // A port of the device that no list has.
      port: 'ECONNREFUSED',
      interfaces: Array,
      'abstract among themselves': 'done',
      'path of its own': 'done',
    })
  })

  await t.test('what is left behind in sessions and groups of its own ends with the session', async (t) => {
    const unchanged = watch()
    const marker = `7${process.pid}${who.uid}`
    const said = await daemon.python(
      `import os, subprocess, sys, time
for depth in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setpgid(0, 0) if os.getpid() != os.getsid(0) else None
            os.execvp("sleep", ["sleep", sys.argv[1]])
        os._exit(0)
time.sleep(0.3)
print(sum(b"sleep" in open("/proc/%s/cmdline" % pid, "rb").read() for pid in os.listdir("/proc") if pid.isdigit()))`,
      marker,
    )
    t.equal(said, '3\n')
    const left = (): number => Number(spawnSync('pgrep', ['-c', '-f', `^sleep ${marker}`]).stdout.toString())
    for (let waited = 0; left() > 0 && waited < 100; waited++) await sleep(50)
    t.equal(left(), 0)
    unchanged(t)
  })
}

for (const who of everyone(t)) {
  if (PYTHON === undefined) {
    t.comment('skipped: these attacks need python3')
    break
  }
  await t.test(`a daemon of ${who.name}`, async (t) => escapes(t, await startBranched(t, who)))
}
