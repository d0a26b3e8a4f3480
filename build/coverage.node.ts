/**
 * `npm run coverage [-- [--more] FILE...]`: runs the tests and tells which share of the lines of src/ they run, by room and
 * as a whole, and the files below the floor with the lines that nothing runs. Exits 0 where the whole is at the floor,
 * else 1. A test that fails is shown and changes nothing of that: some measure time, which there is less of here.
 * Every Node process and thread of the tests reports what it ran (NODE_V8_COVERAGE); each report is merged as it comes
 * and removed. One that is killed reports nothing: what only it ran counts as not run, and so does what runs in threads
 * that a test starts from the sources, as they have no environment.
 * Daemons and commands that tests start run from dist/, which is built with maps to the sources for the time of the run.
 * `--more` adds to the last run (.tap/coverage.json) where a file has not changed since. What counts as a line:
 * build/line-coverage.ts.
 * @module
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, buildMapped, SOURCES } from './bundle.node.ts'
import {
  type CountedLine,
  countedLines,
  lineList,
  linesRun,
  type Origin,
  origins,
  originsRun,
  percent,
  type RunRange,
  shares,
} from './line-coverage.ts'

const { root } = SOURCES
const FLOOR_PERCENT = 95
/** A report is some 1 MB, and a run writes thousands of them. */
const COLLECT_MS = 500
const OUT = join(root, SOURCES.outDirectory)
const LAST_RUN = join(root, '.tap/coverage.json')

type Source = {
  readonly path: string
  readonly lines: readonly CountedLine[]
  /** Those that no process has run yet. */
  missed: readonly CountedLine[]
  readonly sha256: string
}
type Bundle = {
  readonly parts: readonly Origin[]
  /** By their numbers in the map; undefined: a file of a package. */
  readonly sources: readonly (Source | undefined)[]
}
type Report = {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly RunRange[] }[]
  }[]
}
/** By path: what the file was, and the lines that nothing had run. */
type LastRun = Readonly<Record<string, { readonly sha256: string; readonly missed: readonly number[] }>>

/** The sources by their URL, as V8 names them. */
function readSources(): Map<string, Source> {
  const sources = new Map<string, Source>()
  for (const path of globSync('src/**/*.ts', { cwd: root }).sort()) {
    const text = readFileSync(join(root, path), 'utf8')
    const lines = countedLines(stripTypeScriptTypes(text))
    const sha256 = createHash('sha256').update(text).digest('hex')
    sources.set(pathToFileURL(join(root, path)).href, { path, lines, missed: lines, sha256 })
  }
  return sources
}

/** What is built, by its URL, so that what ran of it can be told. */
async function mappedBundles(sources: ReadonlyMap<string, Source>): Promise<Map<string, Bundle>> {
  await buildMapped(SOURCES)
  const bundles = new Map<string, Bundle>()
  for (const name of globSync('*.map', { cwd: OUT })) {
    const map = JSON.parse(readFileSync(join(OUT, name), 'utf8')) as {
      readonly sources: readonly string[]
      readonly mappings: string
    }
    const path = join(OUT, name.replace(/\.map$/, ''))
    bundles.set(pathToFileURL(path).href, {
      parts: origins(readFileSync(path, 'utf8'), map.mappings),
      sources: map.sources.map((source) => sources.get(pathToFileURL(join(OUT, source)).href)),
    })
  }
  return bundles
}

/** Takes over what the last run has found of files that are the same. */
function addLastRun(sources: ReadonlyMap<string, Source>): void {
  const last = JSON.parse(readFileSync(LAST_RUN, 'utf8')) as LastRun
  for (const source of sources.values()) {
    const before = last[source.path]
    if (before?.sha256 !== source.sha256) continue
    source.missed = source.lines.filter(({ line }) => before.missed.includes(line))
  }
}

function keepRun(sources: ReadonlyMap<string, Source>): void {
  const kept: Record<string, LastRun[string]> = {}
  for (const { path, sha256, missed } of sources.values())
    kept[path] = { sha256, missed: missed.map(({ line }) => line) }
  writeFileSync(LAST_RUN, JSON.stringify(kept))
}

function merge(
  { result }: Report,
  sources: ReadonlyMap<string, Source>,
  bundles: ReadonlyMap<string, Bundle>,
): void {
  for (const { url, functions } of result) {
    const ranges = functions.flatMap((each) => each.ranges)
    const source = sources.get(url)
    const bundle = bundles.get(url)
    if (bundle !== undefined) mergeBundle(bundle, ranges)
    else if (source !== undefined && source.missed.length > 0) {
      const run = new Set(linesRun(source.missed, ranges))
      source.missed = source.missed.filter((line) => !run.has(line))
    }
  }
}

function mergeBundle({ parts, sources }: Bundle, ranges: readonly RunRange[]): void {
  const run = new Map<Source, Set<number>>()
  for (const { source: number, line } of originsRun(parts, ranges)) {
    const source = sources[number]
    if (source === undefined || source.missed.length === 0) continue
    const lines = run.get(source) ?? new Set()
    run.set(source, lines.add(line))
  }
  for (const [source, lines] of run) source.missed = source.missed.filter(({ line }) => !lines.has(line))
}

/** Merges and removes the reports that are whole; the number of them. One that is still written is left for later. */
function collect(directory: string, take: (report: Report) => void): number {
  let merged = 0
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    try {
      take(JSON.parse(readFileSync(path, 'utf8')) as Report)
    } catch {
      continue
    }
    rmSync(path)
    merged++
  }
  return merged
}

/** Runs the tests to their end; their reports are taken as they come. */
async function runTests(files: readonly string[], take: (report: Report) => void): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-coverage-'))
  // Daemons that tests start as another user report too.
  chmodSync(directory, 0o1777)
  const child = spawn(process.execPath, [join(root, 'build/test.node.ts'), ...files], {
    cwd: root,
    env: { ...process.env, NODE_V8_COVERAGE: directory },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  let merged = 0
  const timer = setInterval(() => {
    merged += collect(directory, take)
  }, COLLECT_MS)
  await once(child, 'exit')
  clearInterval(timer)
  merged += collect(directory, take)
  const broken = readdirSync(directory).length
  rmSync(directory, { recursive: true, force: true })
  console.log(`${merged} reports merged${broken === 0 ? '' : `, ${broken} that are not whole left out`}`)
}

/** Whether the whole is at the floor. */
function tell(sources: ReadonlyMap<string, Source>): boolean {
  const files = [...sources.values()].map(({ path, lines, missed }) => ({
    ...{ path, lines: lines.length, missed: missed.map(({ line }) => line) },
    counted: lines.map(({ line }) => line),
  }))
  const { rooms, all } = shares(files)
  for (const share of [...rooms, all])
    console.log(
      `${percent(share).toFixed(1).padStart(6)} %  ${share.name} (${share.ran} of ${share.lines} lines)`,
    )
  const low = files
    .map((file) => ({ ...file, share: percent({ lines: file.lines, ran: file.lines - file.missed.length }) }))
    .filter(({ share }) => share < FLOOR_PERCENT)
    .sort((a, b) => b.missed.length - a.missed.length)
  if (low.length > 0) console.log(`\nbelow ${FLOOR_PERCENT} %, most lines first:`)
  for (const { path, share, missed, counted } of low)
    console.log(`${share.toFixed(1).padStart(6)} %  ${path}: ${lineList(missed, counted)}`)
  return percent(all) >= FLOOR_PERCENT
}

const words = process.argv.slice(2)
const given = words.filter((word) => word !== '--more')
const tests = given.length > 0 ? given : globSync('test/**/*.test.ts', { cwd: root }).sort()
mkdirSync(join(root, '.tap'), { recursive: true })
const sources = readSources()
if (words.includes('--more')) addLastRun(sources)
const bundles = await mappedBundles(sources)
await runTests(tests, (report) => merge(report, sources, bundles))
keepRun(sources)
const isEnough = tell(sources)
for (const name of globSync('*.{map,cjs}', { cwd: OUT })) rmSync(join(OUT, name))
await build(SOURCES, true)
process.exitCode = isEnough ? 0 : 1
