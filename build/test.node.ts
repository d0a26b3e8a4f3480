/**
 * `npm test [-- PATH...]`: builds the bundle, checks types, style, the configuration and the rules that ship and what is
 * known against the packages that ship, runs the tests, and ends with the line `N passed, N failed`. Without paths each
 * check counts as one test of that sum; with files or directories, only the tests there run.
 * The TAP of all tests is left in .tap/results.tap. Exits 0 where nothing failed, else 1.
 * What counts as one test: build/tap-summary.ts.
 * @module
 */

import { spawn } from 'node:child_process'
import { createWriteStream, existsSync, globSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { SOURCES } from './bundle.node.ts'
import { runFiles } from './run-files.node.ts'
import { createTapSummary, type TapCounts } from './tap-summary.ts'
import { inLanes } from './test-order.ts'
import { askVulnerabilities } from './vulnerabilities.node.ts'

const { root } = SOURCES
/** A file that runs whole daemons waits for more than half of its time: for disks, held answers, time that passes. */
const PARALLEL_FILES = Math.ceil(1.5 * availableParallelism())
/** Far more than the longest takes on a loaded machine. */
const FILE_SECONDS = 600
const KILL_SECONDS = FILE_SECONDS + 30
const NOTHING: TapCounts = { passed: 0, failed: 0, skipped: 0, skips: [] }

const bin = (name: string) => join(root, 'node_modules/.bin', name)
/** The runner's own scripts find their Node on the PATH: it has to be this one. */
const environment = {
  ...process.env,
  PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
  // Every file is a process of its own, and what most of them compute is how to read the same modules.
  NODE_COMPILE_CACHE: join(root, '.tap/compile-cache'),
}

/** Runs a program of node_modules/.bin or a path, its output on the terminal; true where it exits 0. */
async function passes(label: string, command: string, args: readonly string[]): Promise<boolean> {
  const startMs = performance.now()
  const child = spawn(command, args, {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const code = await new Promise<number>((resolve) => {
    child.once('error', () => resolve(127))
    child.once('exit', (exitCode) => resolve(exitCode ?? 1))
  })
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  console.log(code === 0 ? `ok   ${label} (${seconds} s)` : `FAIL ${label} (exit code ${code}, ${seconds} s)`)
  return code === 0
}

/** What is known against the packages that ship: true where nothing is, the reason where nobody could say. */
async function vulnerabilities(): Promise<boolean | string> {
  const label = 'known vulnerabilities of the packages that ship'
  const found = await askVulnerabilities(root)
  if (found.kind === 'unknown') return `${label}: ${found.why}`
  const said =
    found.kind === 'critical' ? `critical: ${found.packages.join(', ')}` : `${found.lesser}, none critical`
  console.log(`${found.kind === 'none' ? 'ok  ' : 'FAIL'} ${label}: ${said}`)
  return found.kind === 'none'
}

/** What needs no test: the number that passed and failed, and what could not be said. */
async function checks(): Promise<TapCounts> {
  const built = existsSync(join(root, SOURCES.daemonEntry))
    ? [await passes('build', process.execPath, ['build/bundle.node.ts'])]
    : []
  const shipped = ['check', '--config', 'sass.edge.json', '--files', '.']
  const [types, pureTypes, style, ships, known] = await Promise.all([
    passes('types', bin('tsc'), ['-p', 'tsconfig.json']),
    passes('types of the pure files, without Node', bin('tsc'), ['-p', 'tsconfig.pure.json']),
    passes('style', bin('biome'), ['check', '--log-level=error', '.']),
    passes('what ships, as a repository', join(root, 'bin/sass-edge'), shipped),
    vulnerabilities(),
  ])
  const results = [...built, types && pureTypes, style, ships]
  const skips = typeof known === 'string' ? [known] : []
  if (typeof known === 'boolean') results.push(known)
  const passed = results.filter(Boolean).length
  return { passed, failed: results.length - passed, skipped: skips.length, skips }
}

/**
 * Makes the runner leave out the plugins that .taprc turns off. It is generated code in node_modules, as the package
 * brings it until then; it would rebuild itself in its first run, and spoil that run.
 */
async function prepareRunner(): Promise<boolean> {
  const generated = readFileSync(join(root, 'node_modules/@tapjs/test/test-built/dist/esm/index.js'), 'utf8')
  const plugins = /signature = `([^`]*)`/.exec(generated)?.[1]?.split('\n') ?? []
  const off = [...readFileSync(join(root, '.taprc'), 'utf8').matchAll(/"!([^"]+)"/g)].map(
    (match) => match[1] ?? '',
  )
  if (!off.some((name) => plugins.includes(name))) return true
  return passes('test runner, generated', bin('tap'), ['build'])
}

/** Runs test files, shows what matters as it comes, and keeps the whole TAP. */
async function runTests(files: readonly string[]): Promise<TapCounts> {
  mkdirSync(join(root, '.tap'), { recursive: true })
  const results = createWriteStream(join(root, '.tap/results.tap'))
  const summary = createTapSummary()
  const options = { cwd: root, env: environment, seconds: FILE_SECONDS, killSeconds: KILL_SECONDS }
  await runFiles(inLanes(files, PARALLEL_FILES), options, (line) => {
    results.write(`${line}\n`)
    for (const shown of summary.line(line)) console.log(shown)
  })
  await new Promise<void>((resolve) => results.end(resolve))
  return summary.counts()
}

const asked = process.argv.slice(2)
const missing = asked.filter((path) => !existsSync(path))
if (missing.length > 0) {
  console.error(`There is no test ${missing.join(', ')}: give paths from ${process.cwd()}.`)
  console.log(`0 passed, ${missing.length} failed`)
  process.exit(1)
}
const files = (asked.length > 0 ? asked : [join(root, 'test')])
  .flatMap((path) => (statSync(path).isDirectory() ? globSync(join(path, '**/*.test.ts')).sort() : [path]))
  .map((path) => relative(root, path))
const checked = asked.length > 0 ? NOTHING : await checks()
const tested = (await prepareRunner()) ? await runTests(files) : { ...NOTHING, failed: files.length }
const skips = [...checked.skips, ...tested.skips]
if (skips.length > 0) {
  console.log(`\nnot run here, ${skips.length}:`)
  for (const skip of skips) console.log(`  ${skip}`)
}
const failed = checked.failed + tested.failed
console.log(`\n${checked.passed + tested.passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
