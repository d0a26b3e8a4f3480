/**
 * `npm run mutate [-- ROW...]`: makes each mutation of build/mutations.ts in a copy of this directory, runs the test files
 * that name its row there, and says which were found. Those without a daemon come first; those of a whole daemon run, on
 * a bundle of the copy, only where the others found nothing. Without rows it writes docs/mutations.md. Exits with 1 where
 * one was found by nobody, or could not be made.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rowIds } from './conformance-list.ts'
import { MUTATIONS, type Mutation } from './mutations.ts'

const ROOT = join(import.meta.dirname, '..')
/** What a test run may take; one that hangs has found something. */
const RUN_MS = 300_000
const LEFT_OUT = new Set(['node_modules', '.git', '.tap', 'dist'])
const WHOLE_DAEMON = /^test\/(?:integration|effects)\//
/** Its title in the page: in a cell of Markdown as it is. */
const cell = (text: string) =>
  `\`${text.replaceAll('|', '\\|').replaceAll('`', '').replace(/\s+/g, ' ').trim()}\``

type Found = { readonly mutation: Mutation; readonly by: string | undefined; readonly problem?: string }

/** A directory of its own with everything but what is made. */
function copyOfThis(): string {
  const copy = mkdtempSync(join(tmpdir(), 'sass-edge-mutants-'))
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.has(path.slice(ROOT.length + 1)) })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** True where it ends with 0 in its time. */
function runs(copy: string, ...words: readonly string[]): boolean {
  const bin = join(ROOT, 'node_modules/.bin')
  const [program = '', ...args] = words
  const { status } = spawnSync(join(bin, program), args, {
    cwd: copy,
    env: { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` },
    stdio: 'ignore',
    timeout: RUN_MS,
    killSignal: 'SIGKILL',
  })
  return status === 0
}

const builds = (copy: string) => runs(copy, 'node', 'build/bundle.node.ts', '--force')
const passes = (copy: string, file: string) => runs(copy, 'tap', 'run', '--reporter=terse', '--jobs=1', file)

/** Test files by the rows that their tests name, those without a daemon first. */
function testsByRow(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).filter((path) => !path.startsWith('test/build/'))
  const order = (path: string) => `${WHOLE_DAEMON.test(path) ? 1 : 0} ${path}`
  for (const path of files.sort((a, b) => (order(a) < order(b) ? -1 : 1)))
    for (const id of rowIds(readFileSync(join(ROOT, path), 'utf8')))
      found.set(id, [...(found.get(id) ?? []), path])
  return found
}

/** Which file of tests it is that fails with it, and not without. `sound` has those that are known to pass without. */
function tried(copy: string, mutation: Mutation, files: readonly string[], sound: Set<string>): Found {
  const path = join(copy, mutation.file)
  const whole = readFileSync(path, 'utf8')
  const parts = whole.split(mutation.find)
  if (parts.length !== 2) return { mutation, by: undefined, problem: `is there ${parts.length - 1} times` }
  const unsound: string[] = []
  try {
    let isBuilt = false
    for (const file of files) {
      writeFileSync(path, parts.join(mutation.replace))
      if (WHOLE_DAEMON.test(file) && !isBuilt) {
        if (!builds(copy)) return { mutation, by: 'the build' }
        isBuilt = true
      }
      if (passes(copy, file)) continue
      writeFileSync(path, whole)
      if (sound.has(file) || isSound(copy, file)) {
        sound.add(file)
        return { mutation, by: file }
      }
      // A file of tests that fails by itself finds nothing.
      unsound.push(file)
      isBuilt = false
    }
    const problem = `${unsound.join(', ')} fails without it as well`
    return { mutation, by: undefined, ...(unsound.length > 0 && { problem }) }
  } finally {
    writeFileSync(path, whole)
  }
}

/** Whether it passes without a mutation. */
function isSound(copy: string, file: string): boolean {
  return (!WHOLE_DAEMON.test(file) || builds(copy)) && passes(copy, file)
}

function page(results: readonly Found[]): string {
  const found = results.filter(({ by }) => by !== undefined).length
  const rows = results.map(({ mutation: { row, file, find, replace }, by, problem }) => {
    const said = by === undefined ? (problem ?? 'nobody') : `\`${by}\``
    return `| ${row} | \`${file}\` | ${cell(find)} | ${replace === '' ? 'is gone' : cell(replace)} | ${said} |`
  })
  const lines = [
    '# Mutations',
    '',
    'Small wrongs, each made in a file that does what a row of [conformance](conformance.md) says, and the file of tests',
    'naming that row which found it. Made by `npm run mutate`; the list is `build/mutations.ts`.',
    '',
    `${found} of ${results.length} are found: ${Math.round((found / results.length) * 100)} percent.`,
    '',
    '| row | in | instead of | there is | found by |',
    '|---|---|---|---|---|',
    ...rows,
  ]
  return `${lines.join('\n')}\n`
}

const asked = process.argv.slice(2)
const files = testsByRow()
const copy = copyOfThis()
process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
// Sources find the rules that ship where a build has put them.
if (!builds(copy)) throw new Error('The copy of this directory cannot be built, as it is.')
const sound = new Set<string>()
const results: Found[] = []
for (const mutation of MUTATIONS) {
  if (asked.length > 0 && !asked.includes(mutation.row)) continue
  const result = tried(copy, mutation, files.get(mutation.row) ?? [], sound)
  results.push(result)
  console.log(`${mutation.row} ${mutation.file}: ${result.by ?? `NOT FOUND ${result.problem ?? ''}`}`)
}
const missed = results.filter(({ by }) => by === undefined).length
console.log(`${results.length - missed} of ${results.length} found`)
if (asked.length === 0) writeFileSync(join(ROOT, 'docs/mutations.md'), page(results))
process.exitCode = missed === 0 && results.length > 0 ? 0 : 1
