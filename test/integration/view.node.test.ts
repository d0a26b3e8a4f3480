/**
 * What a session sees of the device, attacked for real: by descriptors that outlive it, by programs that the daemon might
 * run for it, by sockets and FIFOs of the host, by second names of the daemon's own files. Afterwards the host is looked
 * at.
 * @module
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { attackPrelude, attackScript, type Findings } from './attacks.node.ts'
import {
  type Branched,
  everyone,
  give,
  homeFor,
  inSession,
  PYTHON,
  recordIsWhole,
  run,
  startBranched,
  type Who,
} from './branched.node.ts'
import { sleep, until } from './daemon.node.ts'

const parse = (text: string): Findings => JSON.parse(text.trim().split('\n').at(-1) ?? '{}') as Findings

/** Files of the daemon that open everything, with the socket that does. */
const ownFiles = (daemon: Branched): string[] => [
  join(daemon.directory, '.sass-edge/keys/operator.key'),
  join(daemon.directory, '.sass-edge/sass.edge.json'),
  join(daemon.state, 'branches'),
  daemon.adminSocket,
]

async function descriptors(t: Test, who: Who): Promise<void> {
  // Sessions of the gate have no socket in common: those of the device's network do.
  const daemon = await startBranched(t, who, {
    sandbox: { network: 'host', trust_network: true },
    security: { opaque: 'allow' },
  })
  const name = `sass-${process.pid}-${who.name}`
  daemon.put('descriptors.py', attackScript('descriptors'))
  for (const path of ownFiles(daemon)) t.ok(existsSync(path), path)
  const [giver, taker] = [await daemon.open(), await daemon.open()]
  const args = (role: string): string[] => ['./descriptors.py', role, name, ...ownFiles(daemon)]
  // Arguments that name secrets would be refused by their words: they are in a file.
  daemon.put(
    'run.sh',
    `exec ${PYTHON} ${args('take')
      .map((one) => `'${one}'`)
      .join(' ')}`,
  )
  daemon.put(
    'give.sh',
    `exec ${PYTHON} ${args('give')
      .map((one) => `'${one}'`)
      .join(' ')}`,
  )
  const taking = run(taker, 'sh', ['./run.sh'])
  taking.catch(() => undefined)
  await until('a listener', async () => (await run(taker, 'ls', [])).includes('listens'))
  await run(giver, 'sh', ['./give.sh'])
  await giver.close()
  await until('no place of the giver', () => readdirSync(join(daemon.state, 'branches')).length <= 1)
  await run(taker, 'touch', ['ended'])
  const found = parse(await taking)
  t.ok(Number(found['taken']) > 4, 'descriptors were handed over')
  // The state directory is beneath a directory that is there and empty, but for the workspace.
  const names = Object.entries(found).filter(([, what]) => what === 'done' || typeof what !== 'string')
  t.strictSame(
    names.filter(([what]) => what !== 'taken'),
    [],
    'and lead to nothing of the daemon',
  )
  await taker.close()
  await recordIsWhole(t, daemon)
}

/** A library that tells the host, or whoever loads it, that it has been loaded. */
const EVIL = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>
#include <fcntl.h>
#include <string.h>
__attribute__((constructor)) static void loaded(void) {
  char line[512], caps[64] = "";
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) if (strncmp(line, "CapEff:", 7) == 0) strcpy(caps, line + 8);
  int log = open(MARK, O_WRONLY | O_CREAT | O_APPEND, 0666);
  dprintf(log, "%s", caps);
  mount("none", "/", 0, MS_REMOUNT | MS_BIND, 0);
  int out = open(VICTIM, O_WRONLY | O_CREAT, 0666);
  if (out >= 0) dprintf(out, "attacked\\n");
}`

async function preloaded(t: Test, who: Who): Promise<void> {
  if (spawnSync('gcc', ['--version']).status !== 0) return void t.comment('skipped: this attack needs gcc')
  const outside = homeFor(t, who)
  // Nobody else may make a branch of what is root's.
  if (who.name !== 'root') return
  const etc = join('/etc', `sass-edge-it-${process.pid}`)
  const daemon = await startBranched(t, who, { sandbox: { branch_roots: ['/etc', '$WORKSPACE'] } })
  const library = join(daemon.workspace, 'evil.so')
  const mark = join(daemon.workspace, 'loaded')
  writeFileSync(join(outside, 'evil.c'), EVIL)
  const built = spawnSync('gcc', [
    ...['-shared', '-fPIC', '-o', library, join(outside, 'evil.c')],
    ...[`-DMARK="${mark}"`, `-DVICTIM="${join(outside, 'victim')}"`],
  ])
  t.equal(built.status, 0, String(built.stderr))
  const client = await daemon.open()
  daemon.put(
    'preload.sh',
    `echo '${library}' > /etc/ld.so.preload && echo x > ${etc} && cat /etc/ld.so.preload`,
  )
  t.equal(await run(client, 'sh', ['./preload.sh']), `${library}\n`)
  const name = client.sessionId
  await client.close()
  // The same branch once more, and everything that the daemon does with it.
  const again = await daemon.open('latest')
  await run(again, 'true', [])
  await again.close()
  for (const args of [
    ['branch', 'diff', name],
    ['branch', 'checkpoint', name, 'one'],
    ['branch', 'drop', name, '--yes'],
  ])
    await daemon.cli(args)
  t.notOk(existsSync(etc), 'nothing of /etc is changed')
  t.notOk(existsSync('/etc/ld.so.preload'))
  t.notOk(existsSync(join(outside, 'victim')), 'nothing was written elsewhere')
  t.notOk(existsSync(mark), 'nothing of the device has loaded it')
  await recordIsWhole(t, daemon)
}

async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.end('host'))
  await new Promise<void>((resolve) => server.listen(path, resolve))
  spawnSync('chmod', ['777', path])
  return server
}

const SOCKETS = `
import socket
for path in sys.argv[1:]:
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM]:
        attempt("%s %s" % (kind.name, path), lambda: socket.socket(socket.AF_UNIX, kind).connect(path))
    def fifo():
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        os.write(descriptor, b"from a session")
    attempt("fifo " + path, fifo)
print(json.dumps(results))`

async function sockets(t: Test, who: Who, network: 'host' | 'none'): Promise<void> {
  const listed = homeFor(t, who)
  const servers: Server[] = []
  t.teardown(() => {
    for (const server of servers) server.close()
  })
  const daemon = await startBranched(t, who, {
    sandbox: { read: ['/usr', '/bin', '/lib', '/lib64', '/etc', listed], network, trust_network: true },
    security: { opaque: 'allow' },
  })
  const places = [listed, daemon.workspace]
  const paths: string[] = []
  const client = await daemon.open()
  await run(client, 'true', [])
  for (const place of places) {
    mkdirSync(join(place, 'in'))
    // Begun after the session, bound by a relative path, and renamed after that.
    servers.push(await listen(join(place, 'in/late.sock')))
    const here = spawn(PYTHON ?? 'python3', ['-c', RELATIVE], { cwd: join(place, 'in') })
    t.teardown(() => here.kill('SIGKILL'))
    await until('a socket', () => existsSync(join(place, 'in/renamed.sock')))
    t.equal(spawnSync('mkfifo', ['-m', '666', join(place, 'in/fifo')]).status, 0)
    paths.push(...['late.sock', 'renamed.sock', 'fifo'].map((name) => join(place, 'in', name)))
  }
  give(listed, who)
  give(daemon.workspace, who)
  const reader = spawn('sh', ['-c', `exec cat < ${join(listed, 'in/fifo')}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let heard = ''
  reader.stdout.on('data', (bytes: Buffer) => {
    heard += String(bytes)
  })
  t.teardown(() => reader.kill('SIGKILL'))
  daemon.put('sockets.py', `${attackPrelude()}\nsys.argv[1:] = ${JSON.stringify(paths)}\n${SOCKETS}`)
  const found = parse(await run(client, PYTHON ?? '', ['./sockets.py']))
  const again = await inSession(daemon, async (one) => parse(await run(one, PYTHON ?? '', ['./sockets.py'])))
  for (const findings of [found, again]) {
    const connected = Object.entries(findings).filter(
      ([name, what]) => !name.startsWith('fifo') && what === 'done',
    )
    t.strictSame(connected, [], 'no socket of the host is reached')
  }
  await sleep(200)
  t.equal(heard, '', 'and no FIFO')
  await client.close()
  await recordIsWhole(t, daemon)
}

const RELATIVE = `
import os, socket, time
one = socket.socket(socket.AF_UNIX)
one.bind("relative.sock")
one.listen()
os.chmod("relative.sock", 0o777)
os.rename("relative.sock", "renamed.sock")
time.sleep(600)`

/** The daemon's own files under another name, mounted before it starts. */
async function secondNames(t: Test, who: Who): Promise<void> {
  if (process.geteuid?.() !== 0) return void t.comment('skipped: only root mounts here')
  const daemon = await startBranched(t, who, (home) => ({
    sandbox: { read: ['/usr', '/bin', '/lib', '/lib64', '/etc', join(home, '../shown')] },
  }))
  await daemon.stop()
  const shown = join(daemon.directory, '../shown')
  const kinds = ['whole', 'state', 'keys']
  for (const kind of kinds) mkdirSync(join(shown, kind), { recursive: true })
  const mount = (...args: string[]): void => {
    t.equal(spawnSync('mount', args).status, 0, args.join(' '))
  }
  const unmount = (): void => {
    for (const kind of [...kinds, 'overlay']) spawnSync('umount', ['-l', join(shown, kind)])
  }
  t.teardown(unmount)
  mount('--bind', daemon.directory, join(shown, 'whole'))
  mount('--bind', daemon.state, join(shown, 'state'))
  mount('--bind', join(daemon.directory, '.sass-edge/keys'), join(shown, 'keys'))
  mkdirSync(join(shown, 'overlay'))
  // The options of an overlay are cut at colons and commas, which these paths have.
  writeFileSync(join(shown, 'plain'), 'for everybody\n')
  await daemon.start()
  const found = await daemon.sh(`
    find ${JSON.stringify(shown)} -name '*.key' -o -name 'sass.edge.json' -o -name branches -o -name '*.sock' -o -name audit.jsonl
    cat ${JSON.stringify(join(shown, 'plain'))} || true`)
  // As a user the kernel lets nobody take these mounts off: the place is refused, and the log says so.
  t.equal(found, who.name === 'root' ? 'for everybody\n' : '', daemon.log())
  t.match(daemon.log(), /view_refused/)
  await daemon.stop()
  unmount()
}

async function hidden(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who)
  const listing = await daemon.sh(`
    for path in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssl/private /root/.ssh /root/.config ${join(daemon.directory, '.sass-edge/keys')} ${daemon.directory}/.config /boot/* /home/* /mnt/* /srv/*; do
      [ -e "$path" ] && echo "$path"
    done
    cut -d: -f5 /etc/passwd | grep . 
    find / -xdev -maxdepth 1 -type f`)
  t.equal(listing.replace(/\\n/g, ''), '', 'nothing of it is there')
  const users = await daemon.sh('getent passwd root | cut -d: -f1')
  t.equal(users, 'root\n', 'the users of the system are')
  const written = await daemon.sh(
    'for d in / /etc /usr /var /home /dev /proc /sys /opt; do touch $d/x 2>/dev/null && echo $d; done; true',
  )
  t.equal(written, '', 'and nothing else can be written')
}

const COUNTERS = `
import ctypes, errno
opened = []
try:
    while len(opened) < 4000:
        opened.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError:
    pass
context = ctypes.c_ulong(0)
number = 206 if platform.machine() == "x86_64" else 0
answer = libc.syscall(ctypes.c_long(number), ctypes.c_long(4096), ctypes.byref(context))
print(json.dumps({"terminals": len(opened), "aio": "done" if answer == 0 else errno.errorcode[ctypes.get_errno()]}))`

/** What the kernel counts for the whole device, and one session could use up. */
async function counters(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who, { sandbox: { limits: { open_files: 4_096 } } })
  const found = parse(await daemon.python(`${attackPrelude()}\n${COUNTERS}`))
  t.ok(Number(found['terminals']) <= 256, `${found['terminals']} terminals`)
  t.equal(found['aio'], 'EPERM')
}

/** The whole device, with the daemon's own directory mounted a second time in it. */
async function wholeDevice(t: Test, who: Who): Promise<void> {
  if (process.geteuid?.() !== 0 || who.name !== 'root')
    return void t.comment('skipped: only root mounts here')
  const daemon = await startBranched(t, who, { sandbox: { branch_roots: ['/'], read: ['/'] } })
  await daemon.stop()
  const second = homeFor(t, who)
  t.equal(spawnSync('mount', ['--bind', daemon.state, second]).status, 0)
  t.teardown(() => spawnSync('umount', ['-l', second]))
  await daemon.start()
  const client = await daemon.open()
  daemon.put(
    'made.sh',
    `ls -A ${second} ${daemon.directory.replaceAll(/[ :,]/g, '?')}/.sass-edge && touch ${second}/../made-in-a-branch`,
  )
  const found = await run(client, 'sh', ['./made.sh'])
  t.notMatch(found, /keys|state|audit|branches|sass\.edge\.json/, 'nothing of the daemon')
  await client.close()
  const diff = await daemon.cli(['branch', 'diff', '--json'])
  const { changes } = JSON.parse(diff.stdout.toString()) as { changes: { path: string; change: string }[] }
  t.strictSame(
    changes.filter(({ change }) => change !== 'metadata').map(({ path }) => path),
    ['/var/lib/made-in-a-branch'],
    'and one change',
  )
  t.equal((await daemon.cli(['branch', 'drop', client.sessionId, '--yes'])).code, 0)
  t.notOk(existsSync('/var/lib/made-in-a-branch'))
}

for (const who of everyone(t)) {
  if (PYTHON === undefined) {
    t.comment('skipped: these attacks need python3')
    break
  }
  await t.test(`${who.name}: a descriptor that outlives its session`, (t) => descriptors(t, who))
  await t.test(`${who.name}: a library that every program would load`, (t) => preloaded(t, who))
  for (const network of ['host', 'none'] as const)
    await t.test(`${who.name}: sockets and FIFOs of the host, network ${network}`, (t) =>
      sockets(t, who, network),
    )
  await t.test(`${who.name}: the daemon's files under a second name`, (t) => secondNames(t, who))
  await t.test(`${who.name}: what is counted for the whole device`, (t) => counters(t, who))
  await t.test(`${who.name}: a branch of the whole device`, (t) => wholeDevice(t, who))
  await t.test(`${who.name}: what is hidden`, (t) => hidden(t, who))
}
