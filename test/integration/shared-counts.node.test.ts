/**
 * What the kernel counts by user, and sessions and device so have in common: a session takes as much as it can get, and
 * a process of the device with the same user still gets its own. And no program of a session has its core dumped, also
 * not by a handler of the device that the kernel would start.
 * @module
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { everyone, PYTHON, startBranched } from './branched.node.ts'
import { collect, until } from './daemon.node.ts'
import { filesBelow } from './living.node.ts'

/** Gives how much it got of each, and holds it until the session ends. */
const TAKES = `import ctypes, json, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
most = int(sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
def times(act, most):
    for count in range(most):
        if act(count) < 0: return count
    return most
got = {
    "signals": times(lambda _: libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), None), most),
    "queues": times(lambda n: libc.mq_open(b"/counted-%d-%d" % (os.getpid(), n), os.O_CREAT | os.O_RDWR, 0o600, None), min(most, 64)),
    "inotify": times(lambda _: libc.inotify_init1(os.O_CLOEXEC), int(sys.argv[2])),
}
for number in range(64): libc.mq_unlink(b"/counted-%d-%d" % (os.getpid(), number))
`
const HOLDS = `
open("got", "w").write(json.dumps(got))
os.rename("got", "told")
time.sleep(300)
`
const LIMITS = `import resource, json, subprocess
core = resource.RLIMIT_CORE
before = resource.getrlimit(core)
resource.setrlimit(core, (0, 0))
resource.prlimit(0, core, (0, 1))
in_shell = subprocess.run(["sh", "-c", "ulimit -c 0 && ulimit -c"], capture_output=True, text=True)
aborted = subprocess.run(["sh", "-c", "kill -ABRT $$"])
print(json.dumps([before, resource.getrlimit(core), in_shell.stdout.strip(), aborted.returncode]))
`
type Got = { readonly signals: number; readonly queues: number; readonly inotify: number }

for (const who of everyone(t))
  t.test(`as ${who.name}`, async (t) => {
    if (PYTHON === undefined) return void t.comment('skipped: no Python here')
    const daemon = await startBranched(t, who)
    t.strictSame(
      JSON.parse(await daemon.python(LIMITS)),
      [[1, 1], [1, 1], in512(1), -6],
      'who sets the limit of core dumps goes on, and it is as before',
    )
    t.notOk(readdirSync(daemon.workspace).some((name) => name.startsWith('core')))

    const own = async (): Promise<Got> => {
      const args = ['-c', `${TAKES}print(json.dumps(got))`, '8', '8']
      const ids = process.geteuid?.() === 0 ? { uid: who.uid, gid: who.uid } : {}
      const ran = await collect(spawn(PYTHON ?? '', args, { ...ids, stdio: ['ignore', 'pipe', 'pipe'] }))
      return JSON.parse(ran.stdout.toString()) as Got
    }
    const before = await own()
    t.strictSame(before.signals, 8)
    daemon.put('take.py', `${TAKES}${HOLDS}`)
    const client = await daemon.open()
    // What root watches is counted together, and whoever else is tested here now would go without.
    const watches = who.name === 'user' ? '900' : '8'
    const taking = client.execute(PYTHON, ['./take.py', '1000000', watches]).catch(() => undefined)
    const said = (): string | undefined =>
      [...filesBelow(join(daemon.state, 'branches'))].find((path) => path.endsWith('/told'))
    await until('a session that has all it can get', () => said() !== undefined)
    const got = JSON.parse(readFileSync(said() ?? '', 'utf8')) as Got
    t.comment(JSON.stringify({ before, got }))
    t.ok(got.signals < 4_100, `${got.signals} signals that wait`)
    const meanwhile = await own()
    t.equal(meanwhile.signals, before.signals, 'a process of the device can still be sent signals')
    t.equal(meanwhile.queues, Math.min(before.queues, meanwhile.queues))
    t.ok(meanwhile.queues > 0, 'it still makes message queues')
    if (who.name === 'user') t.equal(meanwhile.inotify, before.inotify, 'it still watches files')
    else t.comment('skipped: as root sessions and device share one count of inotify instances')
    await client.close()
    await taking
  })

/** The shell tells blocks of 512 bytes, where it tells them. */
function in512(bytes: number): string {
  return String(Math.floor(bytes / 512))
}
