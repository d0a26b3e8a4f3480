/**
 * The package as somebody else's dependency: its command through the links that npm makes, the client library from
 * JavaScript and TypeScript, and what it can do with a real daemon.
 * @module
 */
import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { COMPILER } from '../../build/bundle.node.ts'
import { connect } from '../../src/client/client.node.ts'
import { isServed } from './connections.node.ts'
import { ROOT, runProgram, startNew, temporary, until } from './daemon.node.ts'

const MIB = 1_048_576
const NODE_PACKAGE = `node-linux-${process.arch}`
const daemon = await startNew(t, { capabilities: { default: { max_concurrent: 16 } } })
const { port, fingerprint: pin } = daemon
const open = () => connect({ host: '127.0.0.1', port, agent: 'agent', privateKey: daemon.seed(), pin })

/** A project in which the packed package is installed as npm lays it out; undefined where npm is not here. */
async function project(t: Test): Promise<string | undefined> {
  const directory = temporary(t)
  const packed = await runProgram('npm', ['pack', '--silent', '--pack-destination', directory], {
    cwd: ROOT,
    env: { HOME: directory },
  }).catch(() => undefined)
  if (packed === undefined) return undefined
  t.equal(packed.code, 0, packed.stderr)
  const tarball = packed.stdout.toString().trim().split('\n').at(-1) ?? ''
  const modules = join(directory, 'node_modules')
  mkdirSync(join(modules, 'sass-edge'), { recursive: true })
  const unpacked = await runProgram(
    'tar',
    ['x', '-f', tarball, '-C', 'node_modules/sass-edge', '--strip-components=1'],
    {
      cwd: directory,
    },
  )
  t.equal(unpacked.code, 0, unpacked.stderr)
  mkdirSync(join(modules, '.bin'))
  symlinkSync('../sass-edge/bin/sass-edge', join(modules, '.bin/sass-edge'))
  symlinkSync(join(ROOT, 'node_modules', NODE_PACKAGE), join(modules, NODE_PACKAGE))
  mkdirSync(join(modules, '@types'))
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(modules, '@types/node'))
  symlinkSync(join(ROOT, 'node_modules/undici-types'), join(modules, 'undici-types'))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module", "private": true }')
  return directory
}

const CONSUMER = `import { readFileSync } from 'node:fs'
import { connect } from 'sass-edge/client'
const [port, pin, key] = process.argv.slice(2)
const privateKey = new Uint8Array(readFileSync(key))
const device = await connect({ host: '127.0.0.1', port: Number(port), agent: 'agent', privateKey, pin })
const { exitCode, stdout, stderr } = await device.execute('sh', ['-c', 'echo out; echo err >&2; exit 3'])
let streamed = ''
const run = device.stream('cat', [], { stdin: true, output: (source, bytes) => { streamed += source + ' ' + Buffer.from(bytes) } })
run.write(Buffer.from('typed'))
run.end()
const exit = await run.exit
console.log(JSON.stringify({ exitCode, out: String(Buffer.from(stdout)), err: String(Buffer.from(stderr)), streamed, exit: exit.exitCode }))
const code = await connect({ host: '127.0.0.1', port: Number(port), agent: 'agent', privateKey, pin: 'sha256:' + 'A'.repeat(43) }).catch((error) => error.code)
console.log(code)
await device.close()
const packed = await connect({ host: '127.0.0.1', port: Number(port), agent: 'agent', privateKey, pin, compression: 'always' })
const unary = await packed.execute('seq', ['1', '200000'])
const pieces = []
const long = packed.stream('seq', ['1', '700000'], { output: (_, bytes) => { pieces.push(Buffer.from(bytes)) } })
await long.exit
const { session } = await packed.status()
console.log(JSON.stringify({ unary: unary.stdout.length, streamed: Buffer.concat(pieces).toString() === Array.from({ length: 700000 }, (_, index) => index + 1 + '\\n').join(''), sent: session.sent }))
const loud = packed.stream('echo', ['loud'], { output: (_, bytes) => process.stdout.write(bytes) })
await loud.exit
await packed.close()
`

const TYPED = `import { type Client, type ConnectOptions, type ExecuteOptions, connect, type UnaryResult } from 'sass-edge/client'
export async function uname(options: ConnectOptions, more?: ExecuteOptions): Promise<string> {
  const device: Client = await connect(options)
  const result: UnaryResult = await device.execute('uname', ['-a'], more)
  const code: number | undefined = result.exitCode
  const run = device.stream('cat', [], { output: async (source: 'stdout' | 'stderr', bytes: Uint8Array) => { void [source, bytes] } })
  device.stream('echo', ['on'], { output: (_, bytes) => process.stdout.write(bytes) })
  const id: string = run.id
  await device.close()
  return new TextDecoder().decode(result.stdout) + String(code) + id
}
// @ts-expect-error a pin is not optional
void uname({ host: 'device', agent: 'agent', privateKey: new Uint8Array(32) })
`

t.test('the packed package runs in another project: command, library, types', async (t) => {
  const directory = await project(t)
  if (directory === undefined) {
    t.comment('skipped: npm is not here')
    t.pass()
    return
  }
  const command = join(directory, 'node_modules/.bin/sass-edge')
  const version = await runProgram(command, ['version'], { cwd: directory })
  t.same([version.code, version.stderr], [0, ''])
  const config = join(daemon.directory, '.sass-edge/sass.edge.json')
  const { code, stdout } = await runProgram(
    command,
    ['exec', '--config', config, '--', 'echo', 'through links'],
    {
      cwd: directory,
    },
  )
  t.same([code, stdout.toString()], [0, 'through links\n'])

  writeFileSync(join(directory, 'consumer.mjs'), CONSUMER)
  const args = ['consumer.mjs', String(port), pin, join(daemon.directory, '.sass-edge/keys/agent.key')]
  const nodes = new Set(
    [process.execPath, ...(process.env['PATH'] ?? '').split(':').map((path) => join(path, 'node'))]
      .filter((path) => existsSync(path))
      .map((path) => realpathSync(path)),
  )
  for (const node of nodes) {
    const name = (await runProgram(node, ['--version'])).stdout.toString().trim()
    if (Number(/^v(\d+)/.exec(name)?.[1]) < 20) continue
    const result = await runProgram(node, args, { cwd: directory })
    t.same([result.code, result.stderr], [0, ''], name)
    const [seen = '', refused, compressed = '', loud] = result.stdout.toString().split('\n')
    t.same(JSON.parse(seen), { exitCode: 3, out: 'out\n', err: 'err\n', streamed: 'stdout typed', exit: 0 })
    t.equal(refused, 'PIN_MISMATCH')
    t.equal(loud, 'loud', 'a sink may return what it likes')
    const { sent, ...whole } = JSON.parse(compressed)
    // The answer of a unary call has the first MiB of what was written.
    t.strictSame(whole, { unary: MIB, streamed: true }, `${name} reads compressed output`)
    t.ok(sent < 3_000_000, `${sent} bytes of 6.1 MB`)
  }

  writeFileSync(join(directory, 'consumer.ts'), TYPED)
  const flags = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--types',
    'node',
    'consumer.ts',
  ]
  const typed = await runProgram(COMPILER, flags, { cwd: directory })
  t.same([typed.code, typed.stdout.toString()], [0, ''])
  t.ok(existsSync(dirname(COMPILER)))
})

t.test('an execution outlives its connection and is taken up where it was left (SS-26)', async (t) => {
  const first = await open()
  const script = 'for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.1; done; exit 8'
  let seen = ''
  const running = first.stream('sh', ['-c', script], {
    output: (_source, bytes) => {
      seen += Buffer.from(bytes).toString()
    },
  })
  await until('some of it', () => seen.includes('line 2\n'))
  running.detach()
  await first.close()
  const whole = Array.from({ length: 8 }, (_, index) => `line ${index + 1}\n`).join('')
  const rests: string[] = []
  for (let round = 0; round < 2; round++) {
    const again = await open()
    let rest = ''
    const attached = again.attach(running.id, {
      stdoutOffset: seen.length,
      output: (_source, bytes) => {
        rest += Buffer.from(bytes).toString()
      },
    })
    t.equal((await attached.exit).exitCode, 8)
    rests.push(rest)
    if (round === 1) await again.close()
  }
  t.equal(seen + rests[0], whole)
  t.equal(rests[1], rests[0], 'the same question has the same answer')
})

t.test(
  'words that begin with U+FEFF arrive as they are, and other texts that do are refused unsent',
  async (t) => {
    const device = await open()
    const words = ['\ufeff', '\ufeffa', 'b\ufeff']
    const { stdout } = await device.execute('printf', ['%s|', ...words])
    t.equal(String(Buffer.from(stdout)), words.map((word) => `${word}|`).join(''))
    const unsent = { code: 'USAGE', message: /begins with U\+FEFF .* nothing was sent/ }
    await t.rejects(device.execute('pwd', [], { cwd: '\ufeffdirectory' }), unsent)
    const { stdout: made } = await device.execute('sh', [
      '-c',
      'mkdir ./\ufeffdirectory && cd ./\ufeffdirectory && pwd',
    ])
    t.match(String(Buffer.from(made)), /\/\ufeffdirectory\n$/)
    const inside = await device.execute('pwd', [], { cwd: './\ufeffdirectory' })
    t.equal(String(Buffer.from(inside.stdout)), String(Buffer.from(made)))
    await device.close()
  },
)

t.test(
  'output that is no longer held is code 105 with the oldest offset, for each stream (SS-24, SS-26)',
  async (t) => {
    const device = await open()
    const both = `head -c ${3 * MIB} /dev/zero; head -c ${2 * MIB} /dev/zero >&2`
    const running = device.stream('sh', ['-c', both], { output() {} })
    await running.started
    running.detach()
    await until('its end', async () =>
      (await device.executions()).some(
        ({ execution_id, state }) => Buffer.from(execution_id).toString('hex') === running.id && state === 2,
      ),
    )
    // A MiB of each is held: the oldest byte of it is given, and the one before it is gone.
    const from = async (stdoutOffset: number, stderrOffset: number) => {
      let bytes = 0
      const rest = device.attach(running.id, {
        stdoutOffset,
        stderrOffset,
        output: (_source, data) => {
          bytes += data.length
        },
      })
      const ended = await rest.exit.catch((reason) => reason)
      return ended.exitCode === 0 ? bytes : ended
    }
    const lost = { code: 'RING_BUFFER_DATA_LOSS', details: { details: { 1: 2 * MIB, 2: MIB } } }
    for (const [stdout, stderr] of [
      [0, 0],
      [2 * MIB - 1, MIB],
      [2 * MIB, MIB - 1],
    ] as const)
      t.match(await from(stdout, stderr), lost, `${stdout} and ${stderr}`)
    t.equal(await from(2 * MIB, MIB), 2 * MIB)
    t.equal(await from(3 * MIB - 1, 2 * MIB), 1)
    await device.close()
  },
)

t.test('sixteen at once on one connection, and a cancelled one is killed (SS-29)', async (t) => {
  const device = await open()
  const results = await Promise.all(
    Array.from({ length: 15 }, (_, index) => device.execute('sh', ['-c', `echo ${index}; exit ${index}`])),
  )
  t.ok(
    results.every(
      ({ exitCode, stdout }, index) => exitCode === index && Buffer.from(stdout).toString() === `${index}\n`,
    ),
  )
  const running = device.stream('sh', ['-c', 'trap "" TERM INT; echo up; while :; do sleep 0.1; done'], {
    output() {},
  })
  await running.started
  await device.cancel(running.id)
  t.match(await running.exit, { signal: 9, exitCode: undefined })
  await t.rejects(device.cancel(running.id), { code: 'PROCESS_NOT_FOUND' })
  t.equal((await device.execute('head', ['-c', String(2 * MIB), '/dev/zero'])).truncated, true)
  await device.close()
  await t.rejects(device.ping(), { code: 'CONNECT_FAILED' })
  await isServed(t, daemon)
})
