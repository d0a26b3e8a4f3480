import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { LOADERS } from '../../src/cli/device-commands.node.ts'
import { SUMMARIES } from '../../src/cli/words/summaries.ts'

const root = join(import.meta.dirname, '../..')
const script = join(root, 'bin/sass-edge')
const ownNode = realpathSync(process.execPath)
const nodePackage = `node-linux-${process.arch}`

/** Says what it was started with; the test runner's own options are not in the way, for the script drops them. */
const program = `import { dlopen } from 'node:ffi'
import { Worker } from 'node:worker_threads'
const worker = new Worker("require('node:ffi'); require('node:worker_threads').parentPort.postMessage(1)", { eval: true })
worker.once('message', () => {
  console.log(JSON.stringify({ node: process.execPath, flags: process.execArgv, args: process.argv.slice(2), cwd: process.cwd(),
    ffi: typeof dlopen, options: process.env.NODE_OPTIONS ?? null, cache: process.env.NODE_COMPILE_CACHE ?? null }))
})
process.on('exit', () => { process.exitCode = Number(process.env.EXIT ?? 0) })
`

/** Outside of the repository, whose own node_modules would be found from within. */
function temporary(test: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-bin-'))
  test.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** An installed package in `directory`: the script, a bundle, and no Node. */
function install(directory: string): string {
  mkdirSync(join(directory, 'bin'), { recursive: true })
  mkdirSync(join(directory, 'dist'), { recursive: true })
  copyFileSync(script, join(directory, 'bin/sass-edge'))
  writeFileSync(join(directory, 'dist/sass-edge.mjs'), program)
  return join(directory, 'bin/sass-edge')
}

/** The package that carries Node, in `modules`. */
function installNode(modules: string): string {
  const path = join(modules, nodePackage, 'bin/node')
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(ownNode, path)
  return path
}

function run(
  command: string,
  args: string[] = [],
  environment: NodeJS.ProcessEnv = {},
): SpawnSyncReturns<string> {
  return spawnSync(command, args, {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', ...environment },
    cwd: environment['CWD'] ?? '/',
    timeout: 20_000,
  })
}

t.test('runs the bundle on the Node of its own node_modules, without a word of its own', (t) => {
  const directory = temporary(t)
  const command = install(directory)
  installNode(join(directory, 'node_modules'))
  const result = run(command, ['exec', '--', 'a b', '', '$x', '*'], { EXIT: '42' })
  t.equal(result.stderr, '', 'no warning of node:ffi, neither from the main thread nor from a worker')
  t.equal(result.status, 42, 'the exit code passes')
  const seen = JSON.parse(result.stdout)
  t.equal(seen.node, ownNode)
  t.strictSame(seen.args, ['exec', '--', 'a b', '', '$x', '*'], 'the arguments pass as they are')
  t.equal(seen.cwd, '/', 'the working directory stays')
  t.equal(seen.ffi, 'function')
  t.equal(seen.cache, null)
  t.end()
})

t.test('what does something on a device is a program of its own, by the names that this one has', (t) => {
  const directory = temporary(t)
  const command = install(directory)
  installNode(join(directory, 'node_modules'))
  const words = [...Object.keys(SUMMARIES), '--help', '']
  const seen = () => words.filter((word) => run(command, word === '' ? [] : [word]).stdout === 'device\n')
  t.strictSame(seen(), [], 'none where it is not there')
  writeFileSync(join(directory, 'dist/device.cjs'), "console.log('device')\n")
  t.strictSame(seen().sort(), Object.keys(LOADERS).sort())
  t.end()
})

t.test('finds the Node that npm has put above it, through the links that npm makes', (t) => {
  const directory = temporary(t)
  const modules = join(directory, 'project/node_modules')
  install(join(modules, '@scope/sass-edge'))
  installNode(modules)
  mkdirSync(join(modules, '.bin'))
  symlinkSync('../@scope/sass-edge/bin/sass-edge', join(modules, '.bin/sass-edge'))
  symlinkSync(join(modules, '.bin/sass-edge'), join(directory, 'sass-edge'))
  for (const command of [join(modules, '.bin/sass-edge'), join(directory, 'sass-edge')]) {
    const result = run(command)
    t.equal(result.stderr, '')
    t.equal(JSON.parse(result.stdout).node, ownNode)
  }
  const relative = run('./sass-edge', [], { CWD: directory })
  t.equal(relative.status, 0)
  const fromPath = run('sass-edge', [], { PATH: `${join(modules, '.bin')}:/usr/bin:/bin` })
  t.equal(fromPath.status, 0)
  const asArgument = run('/bin/sh', ['sass-edge'], { CWD: join(modules, '@scope/sass-edge/bin') })
  t.equal(asArgument.status, 0)
  t.end()
})

t.test('falls back to a Node of the PATH that is new enough, and to no other', (t) => {
  const directory = temporary(t)
  mkdirSync(join(directory, 'path'))
  const command = install(join(directory, 'package'))
  symlinkSync(ownNode, join(directory, 'path/node'))
  const found = run(command, [], { PATH: `${join(directory, 'path')}:/usr/bin:/bin` })
  t.equal(found.stderr, '')
  t.equal(found.status, 0)

  rmSync(join(directory, 'path/node'))
  writeFileSync(
    join(directory, 'path/node'),
    '#!/bin/sh\n# Older than what is wanted: it fails the question.\nexit 1\n',
    { mode: 0o755 },
  )
  for (const PATH of [`${join(directory, 'path')}:/bin`, join(directory, 'nowhere')]) {
    const result = run('/bin/sh', [command], { PATH })
    t.equal(result.status, 125)
    t.match(result.stderr, /^sass-edge: no Node\.js 26\.10 with node:ffi .* run npm install in .*\.\n$/)
    t.equal(result.stdout, '')
  }
  t.end()
})

t.test('without a bundle, says what to run', (t) => {
  const directory = temporary(t)
  const command = install(directory)
  installNode(join(directory, 'node_modules'))
  rmSync(join(directory, 'dist'), { recursive: true })
  const result = run(command)
  t.equal(result.status, 125)
  t.equal(
    result.stderr,
    `sass-edge: ${directory}/dist/sass-edge.mjs is missing, so there is nothing to run: run npm run build in ${directory}.\n`,
  )
  t.end()
})

t.test('options meant for other programs of Node do not reach it', (t) => {
  const directory = temporary(t)
  const command = install(directory)
  installNode(join(directory, 'node_modules'))
  const result = run(command, [], { NODE_OPTIONS: '--require=/not/there.cjs' })
  t.equal(result.status, 0)
  t.equal(JSON.parse(result.stdout).options, null)
  t.end()
})

t.test('uses the code cache that a build has made, and makes none itself', (t) => {
  const directory = temporary(t)
  const command = install(directory)
  installNode(join(directory, 'node_modules'))
  mkdirSync(join(directory, 'dist/.compile-cache'), { mode: 0o700 })
  t.equal(JSON.parse(run(command).stdout).cache, join(directory, 'dist/.compile-cache'))
  t.end()
})
