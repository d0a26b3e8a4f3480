/**
 * What a command can do in its first moments: fork away before it is bounded, and stop what is about to start beside it.
 * Tried for real; then the kernel is asked what holds, and other sessions go on.
 * @module
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openControlGroups } from '../../src/sandbox/launcher/control-groups.node.ts'
import {
  type Branched,
  everyone,
  inSession,
  PYTHON,
  recordIsWhole,
  run,
  startBranched,
  type Who,
} from './branched.node.ts'
import { sleep, until } from './daemon.node.ts'

const PROCESSES = 64
const OPEN_FILES = 50
const FILE_BYTES = 1_048_576

/** Forks and ends itself so many times at once, then tries what nobody may. */
const HOP = `
import os, resource, time
for hop in range(int(sys.argv[1])):
    if os.fork():
        if hop == 0:
            while not os.path.exists("/tmp/done"):
                time.sleep(0.02)
        os._exit(0)
    os.setsid()
time.sleep(0.1)
found = {}
found["groups"] = [line.split(":", 2)[2].strip() for line in open("/proc/self/cgroup") if "pids" in line or "memory" in line]
found["files"] = resource.getrlimit(resource.RLIMIT_NOFILE)
found["size"] = resource.getrlimit(resource.RLIMIT_FSIZE)
count = 0
try:
    while count < 400:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        count += 1
except OSError:
    pass
found["forks"] = count
opened = []
try:
    while len(opened) < 400:
        opened.append(os.open("/", os.O_PATH))
except OSError:
    pass
for one in opened:
    os.close(one)
found["opened"] = len(opened)
import json
open("found", "w").write(json.dumps(found))
open("/tmp/done", "w")
`

type Found = {
  readonly groups: readonly string[]
  readonly files: readonly [number, number]
  readonly size: readonly [number, number]
  readonly forks: number
  readonly opened: number
}

async function hops(t: Test, who: Who): Promise<void> {
  const { bounds } = openControlGroups()
  const isCounted = who.name === 'root' && bounds.processes
  if (!isCounted) t.comment('without control groups: limits of each process alone')
  const limits = { processes: PROCESSES, open_files: OPEN_FILES, file_bytes: FILE_BYTES }
  const daemon = await startBranched(t, who, { sandbox: { limits } })
  for (const times of [1, 2, 10, 100, 1_000]) {
    daemon.put('hop.py', `import sys\nsys.argv[1:] = ["${times}"]\n${HOP}`)
    await inSession(daemon, async (client) => {
      // Right before: who starts next is not to be taken for whoever began there then.
      await run(client, 'true', [])
      await run(client, PYTHON ?? '', ['./hop.py'])
      const found = JSON.parse(await run(client, 'cat', ['found'])) as Found
      t.strictSame(found.files, [OPEN_FILES, OPEN_FILES], `${times} forks away: open files`)
      t.strictSame(found.size, [FILE_BYTES, FILE_BYTES], 'size of files')
      t.ok(found.opened < OPEN_FILES, `${found.opened} opened`)
      if (!isCounted) return
      for (const group of found.groups) t.match(group, client.sessionId, 'in its group')
      t.ok(found.forks < PROCESSES, `${found.forks} forked`)
    })
  }
  await recordIsWhole(t, daemon)
}

/** Stops everything that it may, all the time. */
const STOP = `
import os, signal, time
end = time.time() + 10
for one in range(4):
    if os.fork() == 0:
        while time.time() < end:
            try:
                os.kill(-1, signal.SIGSTOP)
            except OSError:
                pass
        os._exit(0)
open("begun", "w").close()
time.sleep(10)`

async function stops(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who)
  daemon.put('stop.py', STOP)
  const [stopper, other] = [await daemon.open(), await daemon.open()]
  await run(other, 'true', [])
  stopper.execute(PYTHON ?? '', ['./stop.py'], { timeoutSeconds: 12 }).catch(() => undefined)
  await sleep(1_500)
  let [done, isOver] = [0, false]
  const starts = (async () => {
    for (let count = 0; count < 300 && !isOver; count++) {
      const started = stopper.execute('true', [], { timeoutSeconds: 1 }).catch(() => undefined)
      await Promise.race([started, sleep(60)])
    }
  })()
  // Another session's commands are started all the same, one after the other.
  const waited: number[] = []
  for (let count = 0; count < 40; count++) {
    const begin = performance.now()
    await run(other, 'true', [])
    waited.push(performance.now() - begin)
    done++
    await sleep(50)
  }
  isOver = true
  await starts
  t.equal(done, 40)
  t.comment(`the longest start beside it took ${Math.round(Math.max(...waited))} ms`)
  await other.close()
  const listed = await daemon.cli(['branch', 'list'])
  t.equal(listed.code, 0)
  const name = stopper.sessionId
  await stopper.close()
  // What is stopped in it ends when its time is over; where nothing was changed the branch has gone by itself.
  await until(
    'a branch that is gone',
    async () => {
      await daemon.cli(['branch', 'drop', name, '--yes'])
      return !existsSync(join(daemon.state, 'branches', name))
    },
    60_000,
  )
  await recordIsWhole(t, daemon)
  t.equal((await daemon.stop()).signal, null, 'and the daemon ends by itself')
  await until('no process of it', () => !processesOf(daemon))
}

/** True where a process of its sessions is left on the device. */
function processesOf(daemon: Branched): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(daemon.workspace.replaceAll(' ', '\\040'))
      )
    } catch {
      return false
    }
  })
}

for (const who of everyone(t)) {
  if (PYTHON === undefined || !existsSync('/proc/self/task')) {
    t.comment('skipped: these attacks need python3')
    break
  }
  await t.test(`${who.name}: nobody forks away from its bounds`, (t) => hops(t, who))
  await t.test(`${who.name}: a start that is stopped holds nobody up`, (t) => stops(t, who))
}
