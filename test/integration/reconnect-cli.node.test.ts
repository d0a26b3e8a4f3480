/**
 * The command line over links that are cut: what it prints and ends with, and that nobody is ever stuck.
 * @module
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createRandom } from '../fuzz/engine.ts'
import { type Lab, startLab } from '../links/lab.node.ts'
import {
  collect,
  type Daemon,
  environment,
  install,
  ON_REAL_FILES,
  PROGRAM,
  type Result,
  startDaemon,
  startNew,
  until,
} from './daemon.node.ts'

const SEED = 27
const daemon = await startNew(t, ON_REAL_FILES)
const random = createRandom(SEED)

/** `sass-edge COMMAND` over a link of its own, and what it has written so far. */
type Running = {
  readonly lab: Lab
  readonly child: ChildProcessWithoutNullStreams
  readonly result: Promise<Result>
  stdout(): string
  stderr(): string
}

async function link(t: Test, to: Daemon = daemon): Promise<Lab> {
  const lab = await startLab({ target: { host: '127.0.0.1', port: to.port }, seed: SEED })
  t.teardown(lab.close)
  return lab
}

function run(
  lab: Lab,
  command: string,
  options: readonly string[],
  rest: readonly string[],
  to = daemon,
): Running {
  const key = join(to.directory, '.sass-edge/keys/agent.key')
  const target = `agent@127.0.0.1:${lab.port}`
  const child = spawn(PROGRAM, [command, '--yes', '--key', key, ...options, target, ...rest], {
    cwd: to.directory,
    env: environment(to.directory),
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => {
    stdout += bytes.toString()
  })
  child.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString()
  })
  return { lab, child, result: collect(child), stdout: () => stdout, stderr: () => stderr }
}

/** Whatever is said about a new device. */
const said = (stderr: string) => stderr.split('\n').filter((line) => line.startsWith('sass-edge: '))
const isOpen = (lab: Lab) => lab.counts().open > 0

t.test(
  'a filter gets and gives every byte once, wherever the link is cut, and its exit code passes',
  async (t) => {
    const lab = await link(t)
    for (let connection = 0; connection < 10; connection++)
      lab.link.cutAfter({
        direction: connection % 2 === 0 ? 'up' : 'down',
        bytes: 4_000 + random.below(400_000),
        connection,
      })
    const bytes = randomBytes(900_000)
    const { child, result } = run(lab, 'exec', [], ['--', 'sh', '-c', 'cat; exit 7'])
    child.stdin.end(bytes)
    const { code, stdout, stderr } = await result
    t.equal(code, 7, stderr)
    t.ok(stdout.equals(bytes), `${stdout.length} bytes`)
    const lines = said(stderr)
    t.ok(lines.length > 0 && lines.length <= lab.counts().connections, stderr)
    for (const line of lines) t.match(line, /^sass-edge: (link was lost for|link lost|back after) [^\n]+$/)
  },
)

t.test('a loss is told once in a pipe, and the return with what has caught up', async (t) => {
  const lab = await link(t)
  const { child, result, stdout, stderr } = run(
    lab,
    'exec',
    [],
    ['--', 'sh', '-c', 'echo a; sleep 2; seq 1 500; sleep 1'],
  )
  child.stdin.end()
  await until('its beginning', () => stdout() === 'a\n')
  lab.link.refuse(1_000)
  lab.link.cut()
  await until('a word', () => said(stderr()).length > 0)
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  t.equal(said(stderr()).length, 1, 'once')
  lab.link.admit()
  t.equal((await result).code, 0)
  t.match(said(stderr()), [
    /^sass-edge: link lost 1\.\d s ago, the command goes on; trying again \(\^C twice leaves it running\)$/,
    /^sass-edge: back after \d+(\.\d)? s, 1\.89 kB caught up$/,
  ])
  t.equal(said(stderr()).length, 2)
})

t.test('--json tells the loss, the return and what is gone, in the order of the output', async (t) => {
  const lab = await link(t)
  const { child, result, stdout } = run(
    lab,
    'exec',
    ['--json'],
    [
      '--',
      'sh',
      '-c',
      'echo a; until [ -e json-go ]; do sleep 0.05; done; seq 1 400000; touch json-done; until [ -e json-end ]; do sleep 0.05; done; exit 4',
    ],
  )
  child.stdin.end()
  await until('its beginning', () => stdout().includes('"a\\n"'))
  lab.link.refuse(1_000)
  lab.link.cut()
  writeFileSync(join(daemon.workspace, 'json-go'), '')
  await until('its output', () => {
    try {
      return readFileSync(join(daemon.workspace, 'json-done')) !== undefined
    } catch {
      return false
    }
  })
  lab.link.admit()
  writeFileSync(join(daemon.workspace, 'json-end'), '')
  const ended = await result
  t.equal(ended.code, 4)
  const events = ended.stdout
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; from?: number; to?: number; text?: string })
  const order = events.map(({ event }) => event).filter((event, index, all) => event !== all[index - 1])
  t.equal(order[0], 'output')
  t.equal(order[1], 'link_lost')
  t.ok(order.indexOf('gap') > 1)
  t.equal(order.at(-1), 'exit')
  t.match(
    events.find(({ event }) => event === 'link_lost'),
    { reason: String, id: /^[0-9a-f]{32}$/ },
  )
  const back = events.find(({ event }) => event === 'link_back') as { caught_up_bytes?: number } | undefined
  t.ok((back?.caught_up_bytes ?? 0) > 0)
  const lost = events
    .filter(({ event }) => event === 'gap')
    .reduce((sum, { from = 0, to = 0 }) => sum + to - from, 0)
  const came = events
    .filter(({ event }) => event === 'output')
    .reduce((sum, { text = '' }) => sum + text.length, 0)
  const whole = Array.from({ length: 400_000 }, (_, index) => String(index + 1).length + 1).reduce(
    (a, b) => a + b,
    2,
  )
  t.equal(lost + came, whole)
})

t.test(
  '^C before the device has answered reaches the command that was asked for, and the second one leaves',
  async (t) => {
    const lab = await link(t)
    // Each way: the hello, its answer, and all the rest, which is there after three of them.
    lab.link.setDelay(400)
    const script = 'trap "echo int; exit 5" INT; sleep 60 & wait'
    const asked = async (words: readonly string[]) => {
      const { up } = lab.counts()
      const running = run(lab, 'exec', [], ['--', 'sh', '-c', ...words])
      running.child.stdin.end()
      // The hello has some 1,500 bytes, what follows some 500.
      await until('what is asked for', () => lab.counts().up > up + 1_650)
      return running
    }
    const once = await asked([script])
    once.child.kill('SIGINT')
    t.match(await once.result, { code: 5, stdout: Buffer.from('int\n') })
    const twice = await asked(['echo ran > asked-for'])
    twice.child.kill('SIGINT')
    twice.child.kill('SIGTERM')
    t.match(await twice.result, { code: null })
    await until('its file', () => existsSync(join(daemon.workspace, 'asked-for')))
  },
)

t.test(
  '^C while the link is away waits for it, and the second one leaves: 254, and the way back',
  async (t) => {
    const script = 'trap "echo int" INT; echo up; until [ -e away-go ]; do sleep 0.05; done; exit 3'
    const lab = await link(t)
    const once = run(lab, 'exec', [], ['--', 'sh', '-c', script])
    once.child.stdin.end()
    await until('its beginning', () => once.stdout() === 'up\n')
    lab.link.refuse(1_000)
    lab.link.cut()
    await until('a word', () => said(once.stderr()).length > 0)
    once.child.kill('SIGINT')
    await until('another', () => said(once.stderr()).length > 1)
    t.match(said(once.stderr()).at(-1), /\^C is delivered when the link is back/)
    lab.link.admit()
    await until('the signal', () => once.stdout() === 'up\nint\n')

    lab.link.refuse(1_000)
    lab.link.cut()
    await until('a word', () => said(once.stderr()).filter((line) => line.includes('link lost')).length > 1)
    once.child.kill('SIGINT')
    await until(
      'a word',
      () => said(once.stderr()).filter((line) => line.includes('is delivered')).length > 1,
    )
    once.child.kill('SIGINT')
    const { code, stderr } = await once.result
    t.equal(code, 254)
    const line = /: sass-edge attach (.+)\n$/.exec(stderr)?.[1]?.split(' ') ?? []
    t.match(
      line.join(' '),
      new RegExp(`^--key .+/agent\\.key agent@127\\.0\\.0\\.1:${lab.port} [0-9a-f]{32}$`),
    )
    lab.link.admit()
    writeFileSync(join(daemon.workspace, 'away-go'), '')
    const attached = await daemon.cli(['attach', '--from-start', ...line])
    t.match(attached, { code: 3, stdout: Buffer.from('up\nint\n') })
  },
)

t.test('a terminal: ~. leaves while the link is away, and attach is the same terminal again', async (t) => {
  const lab = await link(t)
  const script = 'import pty, sys; sys.exit(__import__("os").waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'
  const key = join(daemon.directory, '.sass-edge/keys/agent.key')
  const inTerminal = (args: readonly string[]) => {
    const child = spawn('python3', ['-c', script, PROGRAM, ...args], {
      cwd: daemon.directory,
      env: environment(daemon.directory),
    })
    let screen = ''
    child.stdout.on('data', (bytes: Buffer) => {
      screen += bytes.toString()
    })
    return { child, result: collect(child), screen: () => screen }
  }
  const target = `agent@127.0.0.1:${lab.port}`
  const first = inTerminal([
    'shell',
    '--yes',
    '--key',
    key,
    target,
    '--',
    'sh',
    '-c',
    'stty -echo; echo ready; while read -r x; do echo "<$x>"; done; exit 6',
  ])
  await until('the terminal', () => first.screen().includes('ready'))
  first.child.stdin.write('one\r~~two\r')
  await until('an answer', () => first.screen().includes('<~two>'))
  first.child.stdin.write('~?')
  await until('the keys', () => first.screen().includes('sends a tilde'))
  lab.link.refuse(1_000)
  lab.link.cut()
  await until('a word', () => first.screen().includes('link lost'))
  first.child.stdin.write('typed\r')
  first.child.stdin.write('~.')
  const left = await first.result
  t.equal(left.code, 254)
  const line = /sass-edge attach (.+?)\r?\n/.exec(left.stdout.toString())?.[1]?.split(' ') ?? []
  lab.link.admit()
  const second = inTerminal(['attach', ...line])
  await until('what was there', () => second.screen().includes('<~two>'))
  second.child.stdin.write('three\r')
  await until('an answer', () => second.screen().includes('<three>'))
  second.child.stdin.write(Uint8Array.of(4))
  t.equal((await second.result).code, 6)
  t.notMatch(second.screen(), '<typed>', 'what was typed and never sent goes with who left')
})

t.test('a daemon that was killed meanwhile: 254, the id, and nothing runs twice', async (t) => {
  const directory = await install(t, ON_REAL_FILES)
  const first = await startDaemon(t, directory)
  const lab = await link(t, first)
  const one = run(lab, 'exec', ['--json'], ['--', 'sh', '-c', 'echo run >>runs; echo up; sleep 60'], first)
  one.child.stdin.end()
  await until('its beginning', () => one.stdout().includes('up'))
  first.signal('SIGKILL')
  await first.ended
  const second = await startDaemon(t, directory)
  lab.aim({ host: '127.0.0.1', port: second.port })
  const { code, stdout, stderr } = await one.result
  t.equal(code, 254, stderr)
  t.match(JSON.parse(stdout.toString().trim().split('\n').at(-1) ?? ''), {
    error: 'EXECUTION_OUTCOME_UNKNOWN',
    id: /^[0-9a-f]{32}$/,
  })
  t.equal(readFileSync(join(first.workspace, 'runs'), 'utf8'), 'run\n')
})

t.test(
  'how long to try is an option: 254 after it, and 255 at once where there never was a link',
  async (t) => {
    const lab = await link(t)
    for (const seconds of ['0', '1']) {
      const one = run(lab, 'exec', ['--reconnect', seconds], ['--', 'sh', '-c', 'echo up; sleep 5'])
      one.child.stdin.end()
      await until('its beginning', () => one.stdout() === 'up\n')
      lab.link.refuse(1_000)
      lab.link.cut()
      const { code, stderr } = await one.result
      t.equal(code, 254, stderr)
      t.match(
        said(stderr).at(-1),
        /^sass-edge: The command was started\. The connection was lost.+: sass-edge attach /,
      )
      lab.link.admit()
    }
    lab.link.refuse(1)
    const never = run(lab, 'exec', [], ['--', 'true'])
    never.child.stdin.end()
    t.match(await never.result, { code: 255, stderr: /^sass-edge: [^\n]+\n$/ })
    t.notOk(isOpen(lab))
  },
)

t.test(
  'attach: by the beginning of an id, from the end or the start; an id that nobody knows is 254',
  async (t) => {
    // It ends when the connection that started it is gone: its output stays with its session.
    const script = 'sleep 0.5; seq 1 2000; exit 9'
    const started = await daemon.cli(['exec', '--detach', '--json', '--', 'sh', '-c', script])
    const { id } = JSON.parse(started.stdout.toString()) as { id: string }
    const all = Array.from({ length: 2_000 }, (_, index) => `${index + 1}\n`).join('')
    await until('its end', async () =>
      (await daemon.cli(['jobs', '--all', '--json'])).stdout.includes('"finished"'),
    )
    const whole = await daemon.cli(['attach', '--from-start', id.slice(0, 8)])
    t.match(whole, { code: 9, stderr: '' })
    t.equal(whole.stdout.toString(), all)
    const end = await daemon.cli(['attach', id])
    t.match(end, { code: 9, stdout: Buffer.from(all.slice(-4_096)) })
    t.match(await daemon.cli(['attach', '--tail', '5', id]), { code: 9, stdout: Buffer.from('2000\n') })
    t.match(await daemon.cli(['exec', '--id', id, '--tail', '5', '--', 'true']), {
      code: 9,
      stdout: Buffer.from('2000\n'),
    })
    for (const [args, code] of [
      [['attach'], 125],
      [['attach', 'xyz'], 125],
      [['attach', '--tail', '5', '--from-start', id], 125],
      [['attach', 'ab'.repeat(16)], 254],
    ] as const)
      t.match(await daemon.cli(args), { code, stderr: /^sass-edge: [^\n]+\n$/ }, args.join(' '))
  },
)

t.test('cp over a link that is cut many times is whole', async (t) => {
  const lab = await link(t)
  for (let connection = 0; connection < 8; connection++)
    lab.link.cutAfter({ direction: 'up', bytes: 4_000 + random.below(600_000), connection })
  const bytes = randomBytes(3_000_000)
  const local = join(daemon.directory, 'local')
  writeFileSync(local, bytes)
  const key = join(daemon.directory, '.sass-edge/keys/agent.key')
  const result = await daemon.cli([
    'cp',
    '--json',
    '--yes',
    '--key',
    key,
    '--port',
    String(lab.port),
    local,
    'agent@127.0.0.1:copied',
  ])
  t.equal(result.code, 0, result.stderr)
  t.match(JSON.parse(result.stdout.toString()), { sha256: createHash('sha256').update(bytes).digest('hex') })
  t.ok(readFileSync(join(daemon.workspace, 'copied')).equals(bytes))
  t.ok(lab.counts().connections > 3)
})
