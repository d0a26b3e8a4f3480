/**
 * The single binary of another machine, under an emulator, as far as that carries it: an installation, a daemon,
 * commands, the end. Branches need mounts, which the emulator of a user's programs does not have: without them nothing
 * runs, unless the configuration says so.
 * Needs qemu-user-static and the libraries of Debian's packages for cross compiling (.ci/run names them), or another
 * root with them in SASS_EDGE_ARM64_ROOT. Without those it says so and does nothing.
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SOURCES } from '../../build/bundle.node.ts'
import { loadTarget, makeBinary } from '../../build/sea.node.ts'
import { connect } from '../../src/client/client.node.ts'
import { changeConfig, collect, environment, ON_REAL_FILES, temporary, until } from './daemon.node.ts'

const EMULATOR = 'qemu-aarch64-static'
const LIBRARIES = ['libc.so.6', 'libstdc++.so.6', 'libatomic.so.1', 'libgcc_s.so.1']
const START_MS = 120_000
const LIBRARY_ROOT = process.env['SASS_EDGE_ARM64_ROOT'] ?? '/usr/aarch64-linux-gnu'

function missing(): string | undefined {
  if (process.arch === 'arm64') return 'this machine runs it without an emulator'
  if (spawnSync(EMULATOR, ['--version']).error !== undefined) return `${EMULATOR} is not installed here`
  const places = ['lib', 'lib/aarch64-linux-gnu', 'usr/lib/aarch64-linux-gnu'].map((place) =>
    join(LIBRARY_ROOT, place),
  )
  const absent = LIBRARIES.filter((name) => !places.some((place) => existsSync(join(place, name))))
  return absent.length === 0 ? undefined : `${absent.join(', ')} of arm64 are not in ${LIBRARY_ROOT}`
}

const skip = missing() ?? false

t.setTimeout(600_000)

t.test('the binary for arm64: init, run, exec', { skip, timeout: 600_000 }, async (t) => {
  const directory = temporary(t)
  const program = join(directory, 'sass-edge')
  makeBinary(SOURCES.root, loadTarget(SOURCES.root, 'linux-arm64'), program)
  const start = (...args: string[]): ChildProcess =>
    spawn(EMULATOR, ['-L', LIBRARY_ROOT, program, ...args], {
      cwd: directory,
      env: environment(directory),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const run = (...args: string[]) => collect(start(...args))

  const version = await run('version', '--json')
  t.match(JSON.parse(version.stdout.toString()), { platform: 'linux-arm64', node: process.versions.node })
  t.equal(version.stderr, '', 'its Node takes the code cache that the one of this machine has made')
  const init = await run('init', '--port', '0')
  t.equal(init.code, 0, init.stderr)

  changeConfig(directory, ON_REAL_FILES)
  const daemon = start('run', '--json')
  t.teardown(() => daemon.kill('SIGKILL'))
  const ended = new Promise((resolve) => daemon.once('exit', resolve))
  let said = ''
  let log = ''
  daemon.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  daemon.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  await until('a daemon that listens', () => said.endsWith('\n') || daemon.exitCode !== null, START_MS)
  t.equal(daemon.exitCode, null, log)
  const { address, fingerprint } = JSON.parse(said)

  const own = await run('exec', '--', 'echo', 'from its own client')
  t.equal(own.stdout.toString(), 'from its own client\n', own.stderr)
  t.equal((await run('exec', '--', 'sh', '-c', 'exit 7')).code, 7)

  const client = await connect({
    host: '127.0.0.1',
    port: Number(address.split(':').at(-1)),
    agent: 'agent',
    privateKey: new Uint8Array(readFileSync(join(directory, '.sass-edge/keys/agent.key'))),
    pin: fingerprint,
    timeoutMs: START_MS,
  })
  const { stdout, exitCode } = await client.execute('echo', ['from another machine'])
  t.equal(exitCode, 0)
  t.equal(Buffer.from(stdout).toString(), 'from another machine\n')
  await client.close()

  daemon.kill('SIGTERM')
  t.equal(await ended, 0, log)
})
