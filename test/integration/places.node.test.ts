/**
 * The life of a place: what two sessions see of each other, how much one may take, and that nothing of it is left after
 * its end, however that came.
 * @module
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Client } from '../../src/client/client.node.ts'
import { attack, attackScript, type Findings, judge } from './attacks.node.ts'
import { type Branched, everyone, inSession, PYTHON, run, startBranched, type Who } from './branched.node.ts'
import { isAlive, until } from './daemon.node.ts'

const MIB = 1_048_576
const MEMORY = 8 * MIB
const SESSIONS = 50

/** Every process beneath the daemon, however deep. */
function beneath(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (state !== 'Z') parents.set(Number(name), Number(parent))
    } catch {
      // It has just ended.
    }
  }
  const found = new Set([pid])
  for (let size = 0; size !== found.size; ) {
    size = found.size
    for (const [one, parent] of parents) if (found.has(parent)) found.add(one)
  }
  found.delete(pid)
  return [...found]
}

/** Waits until nothing runs on behalf of a session; says what does where that never comes. */
async function quiet(daemon: Branched): Promise<void> {
  const left = (): number[] => beneath(daemon.pid())
  await until('the end of everything', () => left().length === 0).catch(() => {
    const { stdout } = spawnSync('ps', ['-o', 'pid,ppid,stat,wchan,args', ...left().map(String)])
    throw new Error(`still there: ${stdout} ${daemon.log()}`)
  })
}

/** Six processes that have left their sessions and groups and are deaf to signals; waits for them, then for `after`. */
const leavers = (seconds: string, after: string): string =>
  `for i in 1 2 3; do setsid sh -c 'trap "" TERM HUP INT; setsid sleep ${seconds} & sleep ${seconds}' </dev/null >/dev/null 2>&1 & done
until [ "$(ps ax | grep -c '[0-9] sleep ${seconds}')" -ge 6 ]; do sleep 0.05; done; echo up; ${after}`

/** Left behind by a command that still runs. */
async function leaveBehind(client: Client, seconds: string): Promise<void> {
  let said = ''
  const running = client.stream('sh', ['-c', leavers(seconds, 'sleep 300')], {
    output: (_source, bytes) => {
      said += Buffer.from(bytes).toString()
    },
  })
  running.exit.catch(() => undefined)
  await until('processes that are left behind', () => said === 'up\n')
}

const count = (seconds: string): number =>
  Number(spawnSync('pgrep', ['-c', '-f', `sleep ${seconds}`]).stdout.toString())

async function twoSessions(t: Test, daemon: Branched): Promise<void> {
  const key = String(0x5a00_0000 + process.pid)
  const argv = (what: string): string =>
    `import sys\nsys.argv[1:] = ["${what}", "${key}"]\n${attackScript('sharing')}`
  daemon.put('make.py', argv('make'))
  daemon.put('look.py', argv('look'))
  const [maker, looker] = [await daemon.open(), await daemon.open()]
  let made = ''
  const running = maker.stream(PYTHON ?? '', ['./make.py'], {
    stdin: true,
    output: (_source, bytes) => {
      made += Buffer.from(bytes).toString()
    },
  })
  await until('what is shared', () => made.endsWith('\n'))
  const findings = JSON.parse(made) as Findings
  t.strictSame([...new Set(Object.values(findings))], ['done'], 'everything is there in its own session')
  const found = JSON.parse(await run(looker, PYTHON ?? '', ['./look.py'])) as Findings
  judge(t, found, { processes: 2 })
  running.end()
  t.equal((await running.exit).exitCode, 0)
  await Promise.all([maker.close(), looker.close()])
  for (const place of ['/tmp', '/dev/shm', '/var/tmp', '/run', daemon.workspace])
    t.notOk(existsSync(join(place, `sass-${key}`)), `${place} of the device`)
}

async function terminals(t: Test, daemon: Branched): Promise<void> {
  // A terminal of somebody else on the device: script(1) makes one, and cat would show what is typed into it.
  const other = spawn('script', ['-qfc', 'tty; exec cat', '/dev/null'], { stdio: ['pipe', 'pipe', 'ignore'] })
  t.teardown(() => other.kill('SIGKILL'))
  let shown = ''
  const hasOther = await new Promise<boolean>((resolve) => {
    other.once('error', () => resolve(false))
    other.stdout.on('data', (bytes: Buffer) => {
      shown += bytes
      if (/\/dev\/pts\/\d+\r?\n/.test(shown)) resolve(true)
    })
  })
  const path = /\/dev\/pts\/\d+/.exec(shown)?.[0] ?? '/dev/pts/1'
  const before = shown
  daemon.put(
    'terminal.py',
    `import sys\nsys.argv[1:] = ["${path}9", "/dev/tty1", "/dev/console"]\n${attackScript('terminal')}`,
  )
  let said = ''
  const client = await daemon.open()
  const running = client.stream(PYTHON ?? '', ['./terminal.py'], {
    terminal: { rows: 24, columns: 80 },
    output: (_source, bytes) => {
      said += Buffer.from(bytes).toString()
    },
  })
  t.equal((await running.exit).exitCode, 0, said)
  await client.close()
  const found = JSON.parse(said.slice(said.lastIndexOf('{'))) as Findings
  judge(t, found, { terminals: ['0', 'ptmx'], name: '/dev/pts/0' })
  if (hasOther) t.equal(shown, before, 'nothing was typed or written')
}

async function ends(t: Test, daemon: Branched): Promise<void> {
  const marker = (number: number): string => `8${process.pid}${daemon.who.uid}${number}`
  await inSession(daemon, async (client) => {
    t.equal(await run(client, 'sh', ['-c', leavers(marker(1), 'true')]), 'up\n')
  })
  await until('the end of what a session left behind', () => count(marker(1)) === 0)
  await quiet(daemon)

  await inSession(daemon, (client) => run(client, 'sh', ['-c', 'echo kept > kept']))
  const client = await daemon.open()
  await leaveBehind(client, marker(3))
  t.ok(count(marker(3)) >= 6)
  t.equal((await daemon.stop()).signal, null)
  await client.closed.catch(() => undefined)
  t.equal(count(marker(3)), 0, 'SIGTERM leaves nothing')

  await daemon.start()
  const again = await daemon.open('latest')
  t.equal(await run(again, 'cat', ['kept']), 'kept\n', 'the branch is found again')
  t.notOk(existsSync(join(daemon.workspace, 'kept')))
  await leaveBehind(again, marker(4))
  const all = beneath(daemon.pid())
  t.ok(all.length >= 6)
  daemon.signal('SIGKILL')
  await daemon.ended()
  await until('the end of everybody after kill -9', () => all.every((pid) => !isAlive(pid)))
  t.equal(count(marker(4)), 0)
  await again.closed.catch(() => undefined)
  await daemon.start()
  const third = await daemon.open('latest')
  t.equal(await run(third, 'cat', ['kept']), 'kept\n', 'and after kill -9')
  await third.close()
}

async function manySessions(t: Test, daemon: Branched): Promise<void> {
  await inSession(daemon, (client) => run(client, 'true', []))
  await quiet(daemon)
  const [before, milliseconds] = [daemon.descriptors(), [] as number[]]
  for (let session = 0; session < SESSIONS; session++) {
    await inSession(daemon, async (client) => {
      const begin = performance.now()
      await run(client, 'true', [])
      const middle = performance.now()
      await run(client, 'true', [])
      milliseconds.push(2 * middle - begin - performance.now())
    })
  }
  milliseconds.sort((a, b) => a - b)
  t.comment(
    `a place takes ${milliseconds[SESSIONS / 2]?.toFixed(1)} ms in the middle, ${milliseconds[SESSIONS * 0.9]?.toFixed(1)} ms for nine of ten`,
  )
  await until('descriptors as before', () => daemon.descriptors() <= before)
  await quiet(daemon)
  const branches = () =>
    readdirSync(join(daemon.state, 'branches')).filter((name) => /^[0-9a-f]{32}$/.test(name))
  // A thread removes what a session that has ended leaves.
  await until('no branches', () => branches().length === 0).catch(() => {})
  t.strictSame(branches(), [])
}

async function alone(t: Test, who: Who): Promise<void> {
  const daemon = await startBranched(t, who, { sandbox: { network: 'none' } })
  const abstract = `sass-edge-alone-${process.pid}-${who.name}`
  const server = createServer((socket) => socket.end())
  const named = createServer((socket) => socket.end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await new Promise<void>((resolve) => named.listen(`\0${abstract}`, resolve))
  const port = String((server.address() as { port: number }).port)
  const found = await attack(daemon, 'sockets', abstract, port)
  judge(t, found, {
    // The kernel's own devices for tunnels may be there as well, in every network.
    interfaces: Array,
    'abstract among themselves': 'done',
    'path of its own': 'done',
  })
  t.notOk((found['interfaces'] as string[]).some((name) => /^(eth|en|wl)/.test(name)))
  server.close()
  named.close()
}

for (const who of everyone(t)) {
  if (PYTHON === undefined) {
    t.comment('skipped: what tries this needs python3')
    break
  }
  await t.test(`a daemon of ${who.name}`, async (t) => {
    const daemon = await startBranched(t, who, {
      sandbox: { memory_directory_bytes: MEMORY },
      execution: { drain_seconds: 0 },
    })
    await t.test('many sessions leave nothing', (t) => manySessions(t, daemon))
    await t.test('two sessions share nothing', (t) => twoSessions(t, daemon))
    await t.test('nothing is typed into a terminal', (t) => terminals(t, daemon))
    await t.test('directories in memory have one bound together', async (t) => {
      const found = await attack(daemon, 'memory')
      const places = ['/tmp', '/var/tmp', '/run', '/dev/shm'].map((name) => Number(found[name]))
      const sum = places.reduce((all, bytes) => all + bytes, 0)
      t.ok(sum <= MEMORY && sum > MEMORY / 2, `${sum} bytes`)
      t.ok(Number(found['names']) <= MEMORY / 4_096, `${found['names']} names`)
    })
    await t.test('nobody outlives the session, SIGTERM or kill -9 of the daemon', (t) => ends(t, daemon))
  })
  await t.test(`a network of its own, daemon of ${who.name}`, (t) => alone(t, who))
}
