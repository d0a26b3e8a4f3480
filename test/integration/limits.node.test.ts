/**
 * What a command may take, and what becomes of what it leaves running: bounds of the kernel, tried with programs that go
 * over them, and the word that their caller gets.
 * @module
 */
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { connect } from '../../src/client/client.node.ts'
import {
  auditEvents,
  type Daemon,
  install,
  ON_REAL_FILES,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'
import { sessionGroups } from './session-groups.node.ts'

const MIB = 1_048_576

/** Processes of the host whose command line has `word` in it, with their states. */
function processesNamed(word: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const line = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ')
        return line.includes(word) ? [`${name} ${line}`] : []
      } catch {
        return []
      }
    })
}

/** What of this kind the device lets the daemon bound. */
async function isBounded(daemon: Daemon, name: string): Promise<boolean> {
  const said = await daemon.cli(['doctor', '--json'])
  const { findings } = JSON.parse(said.stdout.toString()) as { findings: { name: string; state: string }[] }
  return findings.find((finding) => finding.name === name)?.state === 'ok'
}

t.test('a session that takes too much memory loses a process, and hears why', async (t) => {
  const daemon = await startNew(t, { sandbox: { limits: { memory_bytes: 192 * MIB } } })
  if (!(await isBounded(daemon, 'memory')))
    return void t.comment('skipped: this machine lets nobody bound memory')
  const script = 'x=$(head -c 900000000 /dev/zero | tr "\\0" x); echo ${#x}'
  writeFileSync(join(daemon.workspace, 'greedy.sh'), script)
  const ran = await daemon.cli(['exec', '--', 'sh', './greedy.sh'])
  t.equal(ran.code, 137)
  t.match(ran.stderr, /memory was over its limit \(sandbox\.limits\.memory_bytes\)/)
  const after = await daemon.cli(['exec', '--', 'echo', 'still here'])
  t.match(after, { code: 0, stdout: Buffer.from('still here\n') })
  const ends = () => auditEvents(daemon.directory).filter(({ type }) => type === 'execution_ended')
  await until('the record of both', () => ends().length === 2)
  const ended = ends()
  t.match(ended[0], { signal: 9, isolation: 'overlay', killed: /memory/ })
  t.match(ended[1], { exit_code: 0, killed: null })
})

t.test(
  'a session cannot have more processes than it may, and what it has ends with the command',
  async (t) => {
    const daemon = await startNew(t, { sandbox: { limits: { processes: 64 } } })
    if (!(await isBounded(daemon, 'processes')))
      return void t.comment('skipped: this machine lets nobody bound processes')
    const word = `bomb-${process.pid}`
    // Written where the branch lies over it, before anything runs there: a rule knows the spelling of a bomb.
    writeFileSync(
      join(daemon.workspace, `${word}.sh`),
      // A shell that cannot fork gives up, and all of them may before anybody has counted: then it begins again.
      `trap 'exec sh "$0"' 0; i=0; while [ $i -lt 300 ]; do sh "$0" >/dev/null 2>&1 & i=$((i+1)); done; sleep 3`,
    )
    const ran = daemon.cli(['exec', '--timeout', '3', '--', 'sh', `./${word}.sh`])
    let most = 0
    const counting = setInterval(() => {
      most = Math.max(most, processesNamed(`${word}.sh`).length)
    }, 50)
    const ended = await ran
    clearInterval(counting)
    // It is ended by the time.
    t.not(ended.code, 0)
    t.ok(most > 3, `it forked: ${most}`)
    // The client is one of those with the word in their line. Of version 2 those of the first moment begin beside them.
    const isOfVersion1 = / - cgroup \S+ \S*\bpids\b/.test(readFileSync('/proc/self/mountinfo', 'utf8'))
    t.ok(most <= 64 + (isOfVersion1 ? 2 : 42), `${most}`)
    await until('the end of all of them', () => processesNamed(`${word}.sh`).length === 0)
  },
)

const FULL = 16

t.test('a session with all the processes that it may have starts nothing until one has ended', async (t) => {
  const daemon = await startNew(t, { sandbox: { limits: { processes: FULL } } })
  if (!(await isBounded(daemon, 'processes')))
    return void t.comment('skipped: this machine lets nobody bound processes')
  const { port, fingerprint: pin } = daemon
  const client = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin })
  const word = `8${process.pid}2`
  // A shell that cannot fork ends; what it has begun by then stays. While one begins, the thread that starts it has a
  // place too, and may keep it for the whole life of the shell: what that leaves the next one takes.
  const script = `i=0; while [ $i -lt 30 ]; do sleep ${word} & i=$((i+1)); done`
  const count = () => processesNamed(`sleep ${word}`).length
  for (let turn = 0; turn < 20 && count() < FULL - 1; turn++)
    await client.execute('sh', ['-c', script], { keepBackground: true }).catch(() => undefined)
  t.equal(count(), FULL - 1, 'the place of the shell alone is free')
  const isOfVersion1 = / - cgroup \S+ \S*\bpids\b/.test(readFileSync('/proc/self/mountinfo', 'utf8'))
  if (isOfVersion1)
    await t.rejects(client.execute('true'), {
      code: 'SPAWN_FAILED',
      message: /end what runs in it, by its id/,
    })
  for (const { execution_id } of await client.executions())
    await client.signal(encodeHex(execution_id ?? new Uint8Array(0)), 9).catch(() => undefined)
  await until('their end', () => count() === 0)
  t.equal((await client.execute('true')).exitCode, 0)
  await client.close()
})

t.test('a command that says nothing for too long is ended, one that talks is not (SS-33)', async (t) => {
  const daemon = await startNew(t, { sandbox: { limits: { silence_seconds: 2 } } })
  const talking = daemon.cli(['exec', '--', 'sh', '-c', 'for i in 1 2 3 4 5 6; do echo $i; sleep 0.6; done'])
  const silent = await daemon.cli(['exec', '--json', '--', 'sleep', '60'])
  t.equal(silent.code, 137)
  t.match(silent.stderr, /said nothing for 2 seconds \(sandbox\.limits\.silence_seconds\)/)
  t.match(await talking, { code: 0, stdout: Buffer.from('1\n2\n3\n4\n5\n6\n') })
})

t.test('bounds of each process: files, their size, no core', async (t) => {
  const daemon = await startNew(t, { sandbox: { limits: { open_files: 32, file_bytes: 4_096 } } })
  const ran = await daemon.cli([
    'exec',
    '--',
    'sh',
    '-c',
    'sleep 0.2; ulimit -n; ulimit -c; head -c 9000 /dev/zero > f; wc -c < f',
  ])
  t.match(ran.stdout.toString().split('\n'), ['32', '0', '4096'])
})

t.test('what a command leaves running ends with it, unless it asked for it to stay', async (t) => {
  const daemon = await startNew(t)
  const word = `9${process.pid}1`
  const script = `(setsid sleep ${word} >/dev/null 2>&1 &); sleep ${word} & sh -c 'kill -STOP $$' & echo left`
  const gone = await daemon.cli(['exec', '--', 'sh', '-c', script])
  t.match(gone, { code: 0, stdout: Buffer.from('left\n') })
  await until('the end of what was left', () => processesNamed(`sleep ${word}`).length === 0)
  const kept = await daemon.cli(['exec', '--keep-background', '--', 'sh', '-c', script])
  t.equal(kept.code, 0)
  const seen = await daemon.cli(['exec', '--', 'ps', '-e', '-o', 'args='])
  t.equal(
    seen.stdout
      .toString()
      .split('\n')
      .filter((line) => line === `sleep ${word}`).length,
    2,
  )
  t.equal(processesNamed(`sleep ${word}`).length, 2)
  await daemon.stop()
  await until('the end with the daemon', () => processesNamed(`sleep ${word}`).length === 0)
})

t.test('a kill reaches what got away: another session, another parent, stopped', async (t) => {
  const daemon = await startNew(t)
  const word = `9${process.pid}2`
  const client = await connect({
    host: '127.0.0.1',
    port: daemon.port,
    agent: 'agent',
    privateKey: daemon.seed(),
    pin: daemon.fingerprint,
  })
  const script = `(setsid setsid sleep ${word} &); (sh -c 'kill -STOP $$; sleep ${word}' &); sleep ${word}; sleep ${word}`
  const running = client.stream('sh', ['-c', script], { output: () => {} })
  await running.started
  await until('all of them', () => processesNamed(word).length >= 4)
  await client.cancel(running.id)
  t.match(await running.exit, { signal: 9 })
  await until('the end of all of them', () => processesNamed(word).length === 0)
  await client.close()
})

t.test('control groups of sessions that are gone are gone', async (t) => {
  const daemon = await startNew(t)
  for (let count = 0; count < 3; count++) await daemon.cli(['exec', '--branch', 'new', '--', 'true'])
  const { pid, port, fingerprint: pin } = daemon
  const client = await connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin })
  await client.execute('true', [])
  // Where no group can be made there are none to be seen.
  if (await isBounded(daemon, 'processes'))
    t.ok(sessionGroups(pid).length > 0, 'that of one that is there is seen')
  await client.close()
  await daemon.stop()
  // One whose last process was on its way out is removed at the next start.
  if (sessionGroups(pid).length > 0) await startDaemon(t, daemon.directory)
  t.strictSame(sessionGroups(pid), [])
})

t.test('on the real files nothing of this is there, and it is said', async (t) => {
  const daemon = await startNew(t, ON_REAL_FILES)
  await daemon.cli(['exec', '--', 'sh', '-c', 'echo real > file'])
  t.equal(readFileSync(join(daemon.workspace, 'file'), 'utf8'), 'real\n')
  const [decision] = auditEvents(daemon.directory).filter(({ action }) => action === 'execute')
  t.match(decision, { isolation: 'none' })
})

t.test('run_as: who a command is, and that only root can say so', async (t) => {
  const directory = await install(t, {
    capabilities: { default: { run_as: 'nobody', network: 'none' } },
    // Root that lacks CAP_SYS_RESOURCE bounds the processes of other users too.
    sandbox: { limits: { open_files: 32 } },
  })
  const daemon = await startDaemon(t, directory)
  chmodSync(daemon.workspace, 0o777)
  const ran = await daemon.cli([
    'exec',
    '--',
    'sh',
    '-c',
    'id -un; echo $USER; cat /proc/net/dev | wc -l; ulimit -n',
  ])
  if (process.geteuid?.() === 0)
    t.same(ran.stdout.toString().split('\n').slice(0, 4), ['nobody', 'nobody', '3', '32'])
  else t.match(ran, { code: 255, stderr: /not root/ })
  const other = await startNew(t, { capabilities: { default: { run_as: 'nobody-of-that-name' } } })
  t.match(await other.cli(['exec', '--', 'true']), { code: 255, stderr: /no user of this device/ })
})

t.test('on the real files nothing is counted, and nobody stays where programs begin', async (t) => {
  const daemon = await startNew(t, { sandbox: { require: 'none' } })
  const ran = await daemon.cli([
    'exec',
    '--',
    'sh',
    '-c',
    'i=0; while [ $i -lt 100 ]; do sleep 2 & i=$((i+1)); done; cat /proc/self/cgroup',
  ])
  t.equal(ran.code, 0, ran.stderr)
  t.notMatch(ran.stdout.toString(), /sass-edge-\d/)
})
