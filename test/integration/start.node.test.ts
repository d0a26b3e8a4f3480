/**
 * How a daemon starts, refuses to start, stops and comes back: as somebody sees it who types the commands.
 * @module
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { connect } from '../../src/client/client.node.ts'
import { isServed } from './connections.node.ts'
import {
  changeConfig,
  configPath,
  install,
  PROGRAM,
  type Result,
  ROOT,
  runProgram,
  sassEdge,
  startDaemon,
  startNew,
  temporary,
  until,
} from './daemon.node.ts'

/** One sentence, one line, exit 125: how everything ends that keeps a daemon from starting. */
const REFUSAL = /^sass-edge: [^\n]+[.]\n$/
const run = (directory: string): Promise<Result> => sassEdge(['run'], { cwd: directory, timeoutMs: 10_000 })

t.test('a configuration with many problems has all of them listed at once', async (t) => {
  const directory = await install(t, {
    listen: { port: 70_000, adress: '127.0.0.1' },
    acl: { allow: ['10.0.0.0/33'] },
    defense: { tarpit: { delay_ms: 'slow' } },
    agents: [{ name: 'agent', public_key: 'short', role: 'agent', capability: 'defualt' }],
  })
  const paths = ['listen.port', 'listen.adress', 'acl.allow', 'defense.tarpit.delay_ms', 'agents']
  const { code, stdout, stderr } = await sassEdge(['check'], { cwd: directory })
  t.equal(code, 125)
  for (const path of paths) t.match(stdout.toString(), path)
  t.match(stdout.toString(), /did you mean|address/, 'with what was meant')
  t.match(stderr, REFUSAL)
  const started = await run(directory)
  t.equal(started.code, 125)
  t.match(started.stderr, /^sass-edge: [^\n]+ it has 6 problems: [^\n]+: correct them and try again\.\n$/)
  for (const path of paths) t.match(started.stderr, path)
  const json = await sassEdge(['run', '--json'], { cwd: directory })
  const { problems } = JSON.parse(json.stdout.toString())
  t.equal(problems.length, 6)
})

t.test('a state directory that is a file, or can be nowhere, is one sentence', async (t) => {
  for (const [place, why] of [
    ['file', 'a file is there already'],
    ['/proc/x', 'nothing can be made in /proc'],
  ] as const) {
    const directory = await install(t, { state_directory: place })
    writeFileSync(join(directory, '.sass-edge/file'), '')
    const { code, stderr } = await run(directory)
    t.equal(code, 125)
    t.match(
      stderr,
      new RegExp(`^sass-edge: state_directory [^\\n]+ cannot be made, since ${why}: [^\\n]+\\n$`, 'm'),
    )
  }
})

t.test('whatever of the state cannot be used is named in one sentence', async (t) => {
  const daemon = await startNew(t)
  await daemon.stop()
  for (const name of ['branches', 'view', 'executions', 'audit/policies']) {
    const path = join(daemon.directory, '.sass-edge/state', name)
    renameSync(path, `${path}.kept`)
    writeFileSync(path, '')
    const { code, stderr } = await run(daemon.directory)
    t.equal(code, 125, name)
    t.match(stderr, REFUSAL)
    t.match(stderr, `${path} cannot be used, since `)
    rmSync(path)
    renameSync(`${path}.kept`, path)
  }
})

t.test('a private key that others may read is refused with the chmod to run', async (t) => {
  const daemon = await startNew(t)
  const key = join(daemon.directory, '.sass-edge/keys/agent.key')
  chmodSync(key, 0o644)
  const { code, stderr } = await daemon.cli(['exec', '--', 'true'])
  t.equal(code, 125)
  t.match(stderr, REFUSAL)
  t.match(stderr, new RegExp(`chmod 0?600 ${key}`))
  await daemon.stop()
  for (const name of ['audit-0.key', 'tls.key']) {
    const path = join(daemon.directory, '.sass-edge/state', name)
    if (!existsSync(path)) continue
    chmodSync(path, 0o644)
    const refused = await run(daemon.directory)
    t.equal(refused.code, 125, name)
    t.match(refused.stderr, new RegExp(`chmod 0?600 ${path}`))
    chmodSync(path, 0o600)
  }
})

t.test('a port that is taken, and a place that cannot be written, are said in one sentence', async (t) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  const taken = await run(await install(t, { listen: { port } }))
  t.equal(taken.code, 125)
  t.match(
    taken.stderr.split('\n').at(-2),
    new RegExp(`^sass-edge: Port ${port} on 127.0.0.1 is already taken.*listen\\.port`),
  )
  const unwritable = await run(await install(t, { state_directory: '/dev/null/state' }))
  t.equal(unwritable.code, 125)
  t.match(unwritable.stderr, REFUSAL)
  t.match(unwritable.stderr, /state_directory/)
})

t.test(
  'a second daemon of the same installation is refused, and the first one notices nothing',
  async (t) => {
    const daemon = await startNew(t)
    const second = await run(daemon.directory)
    t.equal(second.code, 125)
    t.match(second.stderr.split('\n').at(-2), /^sass-edge: Another daemon already /)
    await isServed(t, daemon)
    t.equal((await daemon.cli(['status'])).code, 0)
    const listen = { port: 0, admin_socket: 'other.sock' }
    changeConfig(daemon.directory, { listen, audit: { directory: 'other' } })
    const elsewhere = await run(daemon.directory)
    t.match(elsewhere.stderr.split('\n').at(-2), /^sass-edge: Another daemon already uses the state/)
    t.notOk(
      existsSync(join(daemon.directory, '.sass-edge/state/levels.json')),
      'a record that lies elsewhere is none that is gone',
    )
    t.match(await daemon.stop(), { code: 0 })
  },
)

t.test('a Node that lacks something says so in one sentence', async (t) => {
  const directory = await install(t)
  const bundle = join(ROOT, 'dist/sass-edge.mjs')
  const without = await runProgram(process.execPath, ['--no-experimental-ffi', bundle, 'run'], {
    cwd: directory,
  })
  t.equal(without.code, 125)
  t.match(without.stderr, /^sass-edge: Node v[^\n]* has no node:ffi[^\n]*\n$/m)
  const old = (process.env['PATH'] ?? '')
    .split(':')
    .map((path) => join(path, 'node'))
    .filter(existsSync)
  for (const node of new Set(old)) {
    const version = (await runProgram(node, ['--version'])).stdout.toString()
    if (/^v(2[6-9]|[3-9]\d)/.test(version)) continue
    const { code, stderr } = await runProgram(node, [bundle, 'version'])
    t.equal(code, 125, version.trim())
    t.match(stderr, /^sass-edge: This Node is [0-9.]+ and sass-edge needs [^\n]+\n$/)
  }
})

t.test('the bundle alone, in an empty directory, is daemon and client', async (t) => {
  const directory = temporary(t)
  const bundle = join(directory, 'sass-edge.mjs')
  copyFileSync(join(ROOT, 'dist/sass-edge.mjs'), bundle)
  const alone = (args: string[]) =>
    runProgram(process.execPath, ['--disable-warning=ExperimentalWarning', bundle, ...args], {
      cwd: directory,
    })
  t.equal((await alone(['init', '--port', '0'])).code, 0)
  const daemon = alone(['run', '--json'])
  const note = join(directory, '.sass-edge/state/running.json')
  await until('a daemon', () => existsSync(note))
  const { code, stdout } = await alone(['exec', '--', 'echo', 'alone'])
  t.same([code, stdout.toString()], [0, 'alone\n'])
  process.kill(JSON.parse(readFileSync(note, 'utf8')).pid)
  t.equal((await daemon).code, 0)
})

t.test('where a configuration is named, so it is in the lines to paste', async (t) => {
  const directory = temporary(t)
  t.equal((await sassEdge(['init', 'my edge', '--port', '0'], { cwd: directory })).code, 0)
  const script = `"$SASS_EDGE" run --config 'my edge/sass.edge.json' > out 2> log & daemon=$!
  for i in $(seq 60); do sleep 0.3; grep -q stops out && break; done
  npx() { shift; "$SASS_EDGE" "$@"; }
  eval "$(grep -m1 -o 'npx sass-edge exec.*' out)"; echo rc=$?
  kill $daemon; wait $daemon; echo end=$?`
  const { stdout } = await runProgram('sh', ['-c', script], { cwd: directory, env: { SASS_EDGE: PROGRAM } })
  t.match(stdout.toString(), /^Linux [^\n]+\nrc=0\nend=0\n$/)
  t.match(readFileSync(join(directory, 'out'), 'utf8'), / shell --config 'my edge\/sass\.edge\.json'\n/)
})

t.test(
  'without a configuration it makes one, on the port of the protocol, and prints lines that work (SS-09)',
  async (t) => {
    // The port is the one of the protocol: a network of its own keeps it from meeting another daemon's.
    const isolated = await runProgram('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up']).catch(
      (error: Error) => ({ code: -1, stderr: error.message }),
    )
    if (isolated.code !== 0) {
      t.comment(`skipped: no network of its own can be made here (${isolated.stderr.trim()})`)
      t.pass()
      return
    }
    const directory = temporary(t)
    const tools = mkdtempSync(join(process.geteuid?.() === 0 ? '/var/lib' : homedir(), 'sass-edge-it-start-'))
    t.teardown(() => rmSync(tools, { recursive: true, force: true }))
    mkdirSync(join(tools, 'tool/bin'), { recursive: true })
    const script = `ip link set lo up; "$SASS_EDGE" run > out 2> log & daemon=$!
    for i in $(seq 60); do sleep 0.3; grep -q stops out && break; done
    npx() { shift; "$SASS_EDGE" "$@"; }
    eval "$(grep -m1 -o 'npx sass-edge exec.*' out)"; echo rc=$?
    kill $daemon; wait $daemon; echo end=$?`
    const options = {
      cwd: directory,
      env: { SASS_EDGE: PROGRAM, PATH: `${process.env['PATH']}:${tools}/tool/bin` },
    }
    const { stdout, stderr } = await runProgram('unshare', ['-rn', 'sh', '-c', script], options)
    t.equal(stderr, '')
    t.match(stdout.toString(), /^Linux [^\n]+\nrc=0\nend=0\n$/)
    const said = readFileSync(join(directory, 'out'), 'utf8')
    t.match(said, /^No configuration was found, so one was made: [^\n]+\.sass-edge\/sass\.edge\.json/)
    t.match(said, `(sandbox.read):\n`)
    t.match(said, `\n  ${tools}/tool\n`, 'and what of the PATH commands can read, as init has it')
    const { sandbox } = JSON.parse(readFileSync(configPath(directory), 'utf8'))
    t.ok(sandbox.read.includes(join(tools, 'tool')))
    t.match(said, /listens on 127\.0\.0\.1:19284, device key sha256:/)
  },
)

t.test('SIGTERM lets what runs finish, and takes nothing new', async (t) => {
  const daemon = await startNew(t, { execution: { drain_seconds: 4 } })
  const { port, fingerprint: pin } = daemon
  const options = { host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin }
  const client = await connect(options)
  let said = ''
  const running = client.stream('sh', ['-c', 'sleep 1; echo finished; exit 4'], {
    output: (_source, bytes) => {
      said += Buffer.from(bytes).toString()
    },
  })
  await running.started
  daemon.signal('SIGTERM')
  await until('the drain', () => daemon.log().some((line) => line.includes(' stopping ')))
  await t.rejects(client.execute('true'), { code: 'DAEMON_SHUTTING_DOWN' })
  await t.rejects(connect(options), { code: 'CONNECT_FAILED' })
  t.match(await running.exit, { exitCode: 4 })
  t.equal(said, 'finished\n')
  t.same(await daemon.ended, { code: 0, signal: null })
  t.notOk(existsSync(join(daemon.directory, '.sass-edge/state/running.json')))
})

t.test('what does not end within drain_seconds is ended', async (t) => {
  const daemon = await startNew(t, { execution: { drain_seconds: 1 } })
  const result = daemon.cli(['exec', '--', 'sleep', '60'])
  await until('the command', async () => {
    const { stdout } = await daemon.cli(['jobs', '--json'])
    return JSON.parse(stdout.toString()).jobs.length === 1
  })
  const begin = performance.now()
  t.match(await daemon.stop(), { code: 0 })
  const seconds = (performance.now() - begin) / 1_000
  t.ok(seconds > 0.9 && seconds < 2.5, `${seconds.toFixed(1)} s`)
  t.equal((await result).code, 143)
})

t.test(
  'init, check, keygen, agent add, trust: a second machine gets in, and only with the right key',
  async (t) => {
    const directory = await install(t)
    const here = (...args: string[]): Promise<Result> => sassEdge(args, { cwd: directory })
    t.equal((await here('check')).code, 0)
    t.equal((await here('init')).code, 125, 'never over what is there')
    const home = temporary(t)
    const keys = join(home, '.config/sass-edge')
    mkdirSync(keys, { recursive: true })
    t.equal((await sassEdge(['keygen', join(keys, 'laptop')], { cwd: home })).code, 0)
    t.equal((await here('agent', 'add', 'laptop', '--key', join(keys, 'laptop.pub'))).code, 0)
    t.match((await here('agent', 'list')).stdout.toString(), /^laptop +agent /m)
    const daemon = await startDaemon(t, directory)
    const target = `laptop@127.0.0.1:${daemon.port}`
    const there = (...args: string[]): Promise<Result> => sassEdge(args, { cwd: home })

    const unknown = await there('exec', target, '--', 'id', '-un')
    t.equal(unknown.code, 255)
    t.match(unknown.stderr, daemon.fingerprint)
    t.match(unknown.stderr, /not pinned[^\n]*sass-edge trust 127\.0\.0\.1:/)
    t.equal((await there('trust', target, daemon.fingerprint)).code, 0)
    const known = await there('exec', target, '--', 'echo', 'in')
    t.same([known.code, known.stdout.toString()], [0, 'in\n'])

    const other = `sha256:${'A'.repeat(43)}`
    t.equal((await there('trust', target, other)).code, 255, 'a pin is not replaced by accident')
    t.equal((await there('trust', '--replace', target, other)).code, 0)
    const changed = await there('exec', target, '--', 'true')
    t.equal(changed.code, 255)
    t.match(changed.stderr, daemon.fingerprint)
    t.match(changed.stderr, other)
    t.equal((await there('trust', '--replace', target, daemon.fingerprint)).code, 0)

    t.equal((await here('agent', 'remove', 'laptop')).code, 0)
    await daemon.stop()
    changeConfig(directory, { listen: { port: daemon.port } })
    await startDaemon(t, directory)
    const begin = performance.now()
    const shut = await there('exec', target, '--', 'true')
    t.equal(shut.code, 255, 'shut out after a restart')
    t.match(shut.stderr, /^sass-edge: The device did not let this key in[^\n]+\n$/)
    t.ok(performance.now() - begin < 12_000, 'and need not sit through the noise to learn it')
  },
)
