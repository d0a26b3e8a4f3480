/**
 * One command through the command line and a real daemon: codes, signals, time, ids, and what is left behind.
 * @module
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  collect,
  environment,
  isAlive,
  ON_REAL_FILES,
  PROGRAM,
  type Result,
  sleep,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'

// As a service file may have it, for the daemon's own files.
const mask = process.umask(0o077)
const daemon = await startNew(t, ON_REAL_FILES)
process.umask(mask)
const { directory, workspace } = daemon

/** `sass-edge exec -- sh -c SCRIPT`. */
const sh = (script: string): Promise<Result> => daemon.cli(['exec', '--', 'sh', '-c', script])

/** Runs until its first output, then hands over the process. */
async function started(
  args: readonly string[],
): Promise<{ kill(name: NodeJS.Signals): void; result: Promise<Result> }> {
  const child = spawn(PROGRAM, args, {
    cwd: directory,
    env: environment(directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const result = collect(child)
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return { kill: (name) => child.kill(name), result }
}

t.test('arguments that no frame holds arrive all the same, and too many are told', async (t) => {
  const count = ['exec', '--', 'sh', '-c', 'echo $#; echo "$1" | wc -c', 'sh']
  for (const [args, said] of [
    [Array.from({ length: 4_000 }, () => 'word'), '4000\n5'],
    [['x'.repeat(120_000)], '1\n120001'],
  ] as const) {
    const { code, stdout, stderr } = await daemon.cli([...count, ...args])
    t.same([code, stdout.toString(), stderr], [0, `${said}\n`, ''])
  }
  const { code, stderr } = await daemon.cli([...count, ...Array.from({ length: 5_000 }, () => 'word')])
  t.equal(code, 125)
  t.match(stderr, /5003 arguments .* nothing was sent/)
})

t.test('a remote exit code passes through, from 0 to 255', async (t) => {
  const codes = [0, 1, 2, 42, 77, 124, 125, 126, 127, 128, 137, 200, 253, 254, 255]
  for (const code of codes) {
    const { code: seen, stdout, stderr } = await sh(`exit ${code}`)
    t.same([seen, stdout.length, stderr], [code, 0, ''])
  }
})

t.test('what a command makes others may read, whatever the daemon keeps to itself', async (t) => {
  const { stdout } = await sh('umask; : >made; stat -c %a made; rm made')
  t.equal(stdout.toString(), '0022\n644\n')
})

t.test('a remote death by signal is 128 and its number, and --json says which', async (t) => {
  for (const [name, number] of [
    ['HUP', 1],
    ['KILL', 9],
    ['USR1', 10],
    ['TERM', 15],
  ] as const) {
    const { code, stdout } = await daemon.cli(['exec', '--json', '--', 'sh', '-c', `kill -${name} $$`])
    t.equal(code, 128 + number)
    t.match(JSON.parse(stdout.toString()), { event: 'exit', exit_code: null, signal: name })
  }
  const { code, stdout } = await daemon.cli([
    'exec',
    '--json',
    '--',
    'sh',
    '-c',
    'echo a; echo b >&2; exit 3',
  ])
  t.equal(code, 3)
  const events = stdout.toString().trim().split('\n')
  t.equal(events.length, 3)
  t.match(JSON.parse(events[2] ?? ''), { exit_code: 3, signal: null, stdout_bytes: 2, stderr_bytes: 2 })
})

t.test('--cwd and -e set where and with what it runs; what is dangerous never passes', async (t) => {
  mkdirSync(join(workspace, 'sub'))
  const { stdout } = await daemon.cli(
    [
      'exec',
      '--cwd',
      'sub',
      '-e',
      'A=1 "2" $3',
      '-e',
      'FROM_HERE',
      '--',
      'sh',
      '-c',
      'pwd; echo "$A"; echo $FROM_HERE',
    ],
    { env: { FROM_HERE: 'here' } },
  )
  t.equal(stdout.toString(), `${workspace}/sub\n1 "2" $3\nhere\n`)
  t.equal((await daemon.cli(['exec', '--', 'pwd'])).stdout.toString(), `${workspace}\n`)
  const { code, stderr } = await daemon.cli(['exec', '-e', 'LD_PRELOAD=/x.so', '--', 'true'])
  t.equal(code, 255)
  t.match(stderr, /^sass-edge: .*LD_PRELOAD never passes.*\n$/)
})

t.test('--timeout ends a command that ignores SIGTERM, two seconds later', async (t) => {
  const begin = performance.now()
  const { code, stdout, stderr } = await daemon.cli([
    'exec',
    '--timeout',
    '1',
    '--',
    'sh',
    '-c',
    'trap "" TERM; echo $$; while :; do sleep 0.1; done',
  ])
  const seconds = (performance.now() - begin) / 1_000
  t.equal(code, 124)
  t.ok(seconds > 2.8 && seconds < 5, `${seconds.toFixed(1)} s`)
  t.match(stderr, /^sass-edge: .*nothing of it runs any more\.\n$/)
  t.notOk(isAlive(Number(stdout.toString())))
})

t.test('--detach leaves it running, jobs shows it, kill ends it (SS-29)', async (t) => {
  const { code, stdout } = await daemon.cli(['exec', '--detach', '--', 'sleep', '60'])
  const id = stdout.toString().trim()
  t.equal(code, 0)
  t.match(id, /^[0-9a-f]{32}$/)
  const job = async (): Promise<Record<string, unknown>> =>
    JSON.parse((await daemon.cli(['jobs', '--all', '--json'])).stdout.toString()).jobs.find(
      (entry: { id: string }) => entry.id === id,
    )
  t.match(await job(), { state: 'running', command: 'sleep', attached: false })
  t.equal((await daemon.cli(['kill', id.slice(0, 8), 'HUP'])).code, 0)
  await until('its end', async () => (await job())['state'] === 'finished')
  t.match(await job(), { signal: 1, exit_code: null })
  const gone = await daemon.cli(['kill', id])
  t.equal(gone.code, 255)
  t.match(gone.stderr, /^sass-edge: The execution has ended/)
  const tree = await started([
    'exec',
    '--',
    'sh',
    '-c',
    'trap "" TERM HUP INT; sleep 60 & echo $!; wait; wait',
  ])
  const running = JSON.parse((await daemon.cli(['jobs', '--json'])).stdout.toString()).jobs
  t.equal(running.length, 1)
  t.equal((await daemon.cli(['kill', running[0].id, 'KILL'])).code, 0)
  const end = await tree.result
  t.equal(end.code, 137)
  t.notOk(isAlive(Number(end.stdout.toString())), 'KILL reaches every process of it')
})

t.test('the same --id runs once, and its exit code is told again', async (t) => {
  const args = [
    'exec',
    '--id',
    randomBytes(16).toString('hex'),
    '--',
    'sh',
    '-c',
    'echo run >> counter; echo said; exit 6',
  ]
  const own = await startNew(t, ON_REAL_FILES)
  const said = { code: 6, stdout: Buffer.from('said\n'), stderr: '' }
  t.match(await own.cli(args), said)
  // As whoever lost the link at its very end asks again.
  t.match(await own.cli(args), said, 'and its output, as long as it may not have arrived')
  const detached = await own.cli(['exec', '--detach', ...args.slice(1)])
  t.match(detached, { code: 0, stdout: Buffer.from(`${args[2]}\n`) })
  await own.stop()
  // The output has ended with the daemon; the end is kept.
  const later = await startDaemon(t, own.directory)
  const again = await later.cli(args)
  t.match(again, {
    code: 6,
    stderr: /^sass-edge: The command was started before, and the first 5 bytes of its stdout [^\n]+\n$/,
  })
  t.equal(again.stdout.length, 0)
  t.equal(readFileSync(join(own.workspace, 'counter'), 'utf8'), 'run\n')
})

t.test('^C and SIGTERM reach the remote command, whose own answer counts (SS-29)', async (t) => {
  for (const [name, code] of [
    ['SIGINT', 21],
    ['SIGTERM', 22],
  ] as const) {
    const running = await started([
      'exec',
      '--',
      'sh',
      '-c',
      'trap "exit 21" INT; trap "exit 22" TERM; echo ready; while :; do sleep 0.05; done',
    ])
    running.kill(name)
    t.equal((await running.result).code, code)
  }
})

t.test('the third ^C leaves a command that is deaf to it: 254, its id, and it goes on', async (t) => {
  const running = await started(['exec', '--', 'sh', '-c', 'trap "" INT; echo ready; exec sleep 30'])
  for (let press = 0; press < 3; press++) {
    running.kill('SIGINT')
    await sleep(50)
  }
  const { code, stderr } = await running.result
  t.equal(code, 254)
  const id =
    /^sass-edge: The command goes on without us\. [^\n]+: sass-edge attach ([0-9a-f]{32})\n$/.exec(
      stderr,
    )?.[1] ?? ''
  t.equal((await daemon.cli(['kill', id, 'KILL'])).code, 0, stderr)
})

t.test('a process left in the background does not keep the command from ending', async (t) => {
  const begin = performance.now()
  const { code, stdout } = await sh('sleep 20 & echo $!; exit 4')
  t.equal(code, 4)
  t.ok(performance.now() - begin < 15_000)
  const pid = Number(stdout.toString())
  t.ok(isAlive(pid), 'and goes on')
  process.kill(pid)
})

t.test('what is not there, not executable or not understood has its own code and one line', async (t) => {
  writeFileSync(join(workspace, 'plain'), 'text')
  for (const [args, code] of [
    [['exec', '--', './no-such-program'], 127],
    [['exec', '--cwd', 'no-such-directory', '--', 'true'], 127],
    [['exec', '--', './plain'], 126],
    [['exec', '--bogus', '--', 'true'], 125],
    [['exec'], 125],
    [['frobnicate'], 125],
    [['exec', '127.0.0.1:1', '--', 'true'], 125],
    [['exec', '--key', join(directory, '.sass-edge/keys/agent.key'), '127.0.0.1:1', '--', 'true'], 255],
  ] as const) {
    const { code: seen, stdout, stderr } = await daemon.cli(args)
    t.equal(seen, code, args.join(' '))
    t.equal(stdout.length, 0)
    t.match(stderr, /^sass-edge: [^\n]+\n$/)
    const json = await daemon.cli(
      args[0] === 'exec' ? ['exec', '--json', ...args.slice(1)] : [...args, '--json'],
    )
    t.match(JSON.parse(json.stdout.toString()), { reason: String, error: String })
  }
})

t.test('the audit holds every execution and never a word of a command (SS-51)', async (t) => {
  const marker = `marker${randomBytes(6).toString('hex')}`
  const count = (): number => daemon.audit().filter(({ type }) => type === 'execution_ended').length
  const before = count()
  await sh(`echo ${marker}; exit 3`)
  await until('the record of its end', () => count() === before + 1)
  t.match(
    daemon.audit().findLast(({ type }) => type === 'execution_ended'),
    { exit_code: 3, agent: 'agent' },
  )
  const chain = readFileSync(join(directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8')
  t.notOk(chain.includes(marker))
  t.notOk(daemon.log().join('\n').includes(marker))
})

t.test('254 where the daemon is lost in the middle, 255 where there is none', async (t) => {
  const lost = await startNew(t, ON_REAL_FILES)
  const child = spawn(PROGRAM, ['exec', '--reconnect', '0', '--json', '--', 'sh', '-c', 'echo up; sleep 3'], {
    cwd: lost.directory,
    env: environment(lost.directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const result = collect(child)
  await new Promise((resolve) => child.stdout.once('data', resolve))
  lost.signal('SIGKILL')
  const { code, stdout, stderr } = await result
  t.equal(code, 254)
  t.match(
    stderr,
    /^sass-edge: The command was started\. The connection was lost [^\n]+: sass-edge attach [0-9a-f]{32}\n$/,
  )
  t.match(JSON.parse(stdout.toString().trim().split('\n').at(-1) ?? ''), {
    error: 'EXECUTION_OUTCOME_UNKNOWN',
    reason: String,
    attach: /^sass-edge attach /,
    id: /^[0-9a-f]{32}$/,
  })
  const none = await lost.cli(['exec', '--', 'true'])
  t.equal(none.code, 255)
  t.match(none.stderr, /^sass-edge: [^\n]+\n$/)
})

t.test('SIGTERM is passed on, and a command that ignores it is left behind with its id', async (t) => {
  const child = spawn(
    PROGRAM,
    ['exec', '--', 'sh', '-c', 'trap "" TERM; echo up; while :; do sleep 0.1; done'],
    {
      cwd: daemon.directory,
      env: environment(daemon.directory),
    },
  )
  const ended = collect(child)
  await new Promise((resolve) => child.stdout.once('data', resolve))
  child.kill('SIGTERM')
  const { code, stderr } = await ended
  t.equal(code, 254)
  const id = /sass-edge attach ([0-9a-f]{32})\n$/.exec(stderr)?.[1] ?? ''
  t.equal((await daemon.cli(['kill', id, 'KILL'])).code, 0, 'it was still there')
})
