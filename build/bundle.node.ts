/**
 * Builds what is published and what `bin/sass-edge` runs:
 *   dist/sass-edge.mjs   daemon, client and tools, one file
 *   dist/device.cjs      the commands that do something on a device, once more: a fifth of it, and sooner there
 *   dist/client.mjs      the client library, one file, with its declarations in dist/client/
 *   dist/default-rules.json  the rules of the policy that ship, put together of policy/*.json
 * The threads (launcher, keeper, branches, relay, Model Context Protocol) are bundled first and go into dist/sass-edge.mjs as text: a worker that is
 * started from text needs no second file, also not in the single binary. What the daemon runs has short names: it is three
 * quarters as long then, and V8 keeps the text of a program for as long as it runs. `npm run stack` gives a stack trace its
 * files and lines back.
 * Outputs replace the old ones at once or not at all; a second run with unchanged inputs does nothing.
 * `node build/bundle.node.ts [--force]`
 * @module
 */

import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompressSync } from 'node:zlib'
import type { BuildOptions, BuildResult, Metafile } from 'esbuild'
import { readRules, rulesProblemText } from '../src/defense/13policy/rules/rules-file.ts'
import { readInjectionTables } from '../src/defense/firewall/injections/assess.ts'
import { readSecretTables } from '../src/defense/firewall/secrets/kinds.ts'
import {
  CONTEXTS,
  contextUses,
  EVALUATOR_PROBES,
  evaluators,
  foreignImports,
  hiddenLookups,
  namedPackages,
  oversized,
  unnamedPackages,
} from './bundle-checks.ts'
import { CLASSIC_AGE, DEVICE_COMMANDS, LAZY_MODULES, NO_COMPILER, NO_VALIDATOR } from './bundle-plugins.ts'
import { compiledAtOnce } from './eager-functions.ts'
import { joinRuleSources } from './rules.ts'

/**
 * A board has some hundred MB of flash; parsing 1.5 MB takes 30 ms of a start. These figures are from before names were
 * shortened, which took three tenths of all code; packed texts were not changed by it. The texts of the rules and of the thread
 * that works on branches are packed: they are some 100 KB of it, and cost nothing before they are wanted. Kept results,
 * the way back over links that break and compressed output have added 50 KB; figures for Prometheus, the status that is
 * watched and the log in a file and in the journal 30 KB; what check knows of mistakes in a configuration 50 KB, which
 * nothing but check and a refused file reads; enrolment by a line, and keys that follow one another, 40 KB; the server
 * for AI hosts 95 KB, of which 59 are the packed thread with the SDK of the Model Context Protocol, a text to everybody
 * who does not start it; some 30 rules more, and what of a command line they ask for, 10 KB; modules that are loaded when they are
 * used, 5 KB; rules, which are a packed text until a command asks, and what reads a command for them,
 * 250 KB, of which the words of tools and the documents that tell them what to do are 10; bounds of branches and of the disk, and
 * shares of what is kept, 25; names of hidden files that are no text, 5; networks of sessions, of which the keeper has
 * its own copy, 20, the gate that serves them, 60, of which datagrams
 * are 10, and what it tells people of itself, 15; the output firewall, 155, of which 45 are its packed data;
 * handoffs between agents, 40, what an agent usually does, 25, and work that is handed on, 40; work that arrives signed,
 * 345, of which proposals are 45, plans and tools are 55, envelopes and their spool 60, and age and the schemas of payloads, loaded
 * where there is a vault, 45.
 */
const DAEMON_BUDGET_BYTES = 1_990_000
/** Whoever types a command waits until it is read: 100 ms less than for the whole. The messages of signed work are 15. */
const DEVICE_BUDGET_BYTES = 475_000
/** What a program that only wants the client should carry. */
const CLIENT_BUDGET_BYTES = 500_000
/** A V8 code cache makes a start some 15 percent faster (610 KB: 39 to 32 ms); bin/sass-edge uses it where it exists. */
const COMPILE_CACHE = '.compile-cache'
/** What the last build was made from. */
const RECORD = '.inputs'

/** For measuring what runs: as it was written. */
const UNCHANGED = { minifySyntax: false, minifyWhitespace: false, minifyIdentifiers: false }

/** For measuring: a thread, which has no environment, is told where to report too, and has the memory for it. */
const REPORTING_THREADS = `
const threads = process.getBuiltinModule('node:worker_threads')
threads.Worker = class extends threads.Worker {
  constructor(source, { resourceLimits, ...options }) {
    super(source, { ...options, env: { ...options.env, NODE_V8_COVERAGE: process.env.NODE_V8_COVERAGE } })
  }
}`

/** Paths relative to the root. */
export interface Sources {
  readonly root: string
  readonly outDirectory: string
  readonly daemonEntry: string
  /** The command on a device that is typed most. */
  readonly execEntry: string
  readonly launcherEntry: string
  readonly keeperEntry: string
  readonly branchEntry: string
  readonly relayEntry: string
  readonly mcpEntry: string
  readonly clientEntry: string
  /** The thread of the client library that reads compressed output where Node does not. */
  readonly decoderEntry: string
  /** Where the sources of the rules of the policy are; the program finds them, put together, beside itself. */
  readonly rulesDirectory: string
  /** What the output firewall knows secrets by. */
  readonly firewallDirectory: string
}

/** The sources of this repository. */
export const SOURCES: Sources = {
  root: join(import.meta.dirname, '..'),
  outDirectory: 'dist',
  daemonEntry: 'src/main.ts',
  execEntry: 'src/cli/run/exec.node.ts',
  launcherEntry: 'src/sandbox/launcher/launcher-thread.node.ts',
  keeperEntry: 'src/sandbox/namespaces/keeper-thread.node.ts',
  branchEntry: 'src/sandbox/branch/threads/branch-thread.node.ts',
  relayEntry: 'src/egress/relay/relay-thread.node.ts',
  mcpEntry: 'src/cli/mcp/server-thread.node.ts',
  clientEntry: 'src/client/client.node.ts',
  decoderEntry: 'src/client/link/zstd-thread.node.ts',
  rulesDirectory: 'policy',
  firewallDirectory: 'firewall',
}

/** The rules that ship, beside the program. */
const RULES_NAME = 'default-rules.json'
/** In the directory of the rules, and none of them. */
const CONSTITUTION_NAME = 'constitution/proposals.v0.1.1.json'
const FIREWALL_FILES = ['secrets.json', 'injections.json', 'injection-weights.json'] as const

/** Checked. @throws Error where it cannot be read */
function packFirewall({ root, firewallDirectory }: Pick<Sources, 'root' | 'firewallDirectory'>): string {
  const read = (name: string): unknown =>
    JSON.parse(readFileSync(join(root, firewallDirectory, name), 'utf8'))
  const [ofSecrets, ofInjections, weights] = FIREWALL_FILES.map(read)
  const data = { secrets: ofSecrets, injections: ofInjections, weights }
  const secrets = readSecretTables(data.secrets)
  const injections = readInjectionTables(data.injections, data.weights)
  const problems = [
    ...('problems' in secrets ? secrets.problems : []),
    ...(injections.ok ? [] : injections.problems),
  ]
  if (problems.length > 0) throw new Error(`${firewallDirectory}: ${problems.join(' ')}`)
  return packData(data)
}

/** A line of JSON, and the weights as bytes: in Base64 they would take a third more, since nothing packs that. */
function packData(data: { readonly weights: unknown }): string {
  const { weights, ...model } = data.weights as { readonly weights: string }
  const head = `${JSON.stringify({ ...data, weights: model })}\n`
  const bytes = Buffer.concat([Buffer.from(head), Buffer.from(weights, 'base64')])
  return brotliCompressSync(bytes).toString('base64')
}

/**
 * The rules of the sources as one file.
 * @throws Error where there are none, or they do not fit together
 */
export function shippedRules({ root, rulesDirectory }: Pick<Sources, 'root' | 'rulesDirectory'>): string {
  const directory = join(root, rulesDirectory)
  const names = globSync('*.json', { cwd: directory })
  if (names.length === 0) throw new Error(`${directory} has no rules`)
  return joinRuleSources(names.map((name) => ({ name, text: readFileSync(join(directory, name), 'utf8') })))
}

/** The TypeScript compiler itself: `node_modules/.bin/tsc` is a script of Node that starts it. */
export const COMPILER: string = join(
  SOURCES.root,
  `node_modules/@typescript/typescript-${process.platform}-${process.arch}/lib/tsc`,
)

/** Files made, by path relative to the output directory, with their size in bytes; `unchanged` where nothing was done. */
export type Built = { readonly unchanged: boolean; readonly files: Readonly<Record<string, number>> }

/** What was built from what, so that the next run can tell that it has nothing to do. */
interface Record_ {
  readonly inputs: string
  readonly packages: readonly string[]
  readonly files: Readonly<Record<string, number>>
}

/**
 * Builds `sources`, unless inputs and outputs are as the last run left them.
 * @throws Error with every problem found, a line each; the output directory is then as it was.
 */
export async function build(sources: Sources, force = false): Promise<Built> {
  const out = join(sources.root, sources.outDirectory)
  const last = force ? undefined : readRecord(out)
  if (last !== undefined && isCurrent(sources, out, last)) return { unchanged: true, files: last.files }

  mkdirSync(out, { recursive: true })
  const staging = mkdtempSync(join(out, '.new-'))
  try {
    const packages = await bundleInto(staging, sources)
    writeFileSync(join(staging, RULES_NAME), shippedRules(sources))
    const names = globSync(['**/*.{mjs,cjs,d.ts}', RULES_NAME], { cwd: staging }).sort()
    const files: Record<string, number> = {}
    for (const name of names) {
      const bytes = readFileSync(join(staging, name))
      files[name] = bytes.length
      // Declarations first, by their names; a reader sees an old file or a new one, never half of one.
      mkdirSync(dirname(join(out, name)), { recursive: true })
      renameSync(join(staging, name), join(out, name))
    }
    removeStale(out, last, files)
    rmSync(join(out, COMPILE_CACHE), { recursive: true, force: true })
    const record: Record_ = { inputs: digestInputs(sources, packages), packages, files }
    writeFileSync(join(staging, 'inputs'), JSON.stringify(record))
    renameSync(join(staging, 'inputs'), join(out, RECORD))
    return { unchanged: false, files }
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

/**
 * Builds `sources` for measuring which of their lines run: every file as it was written with its `.map` beside it, each
 * thread as a `.cjs` too, and no code cache, in which V8 counts nothing. The next build makes everything anew.
 * @throws Error of the bundler; what is in the output directory is then of no use
 */
export async function buildMapped(sources: Sources): Promise<void> {
  const out = join(sources.root, sources.outDirectory)
  mkdirSync(out, { recursive: true })
  for (const name of [RECORD, COMPILE_CACHE]) rmSync(join(out, name), { recursive: true, force: true })
  await bundleInto(out, sources, 'covered')
  writeFileSync(join(out, RULES_NAME), shippedRules(sources))
}

/**
 * Makes what the daemon runs in `directory`, as it is shipped, with the `.map` of each beside it, the threads among them.
 * @throws Error of the bundler
 */
export async function buildTraced(sources: Sources, directory: string): Promise<void> {
  await bundleInto(directory, sources, 'traced')
}

/**
 * Makes all outputs in `staging` and checks them; returns the files of packages that went in, for the record.
 * `form`: `covered` is the daemon as `buildMapped` has it, `traced` as `buildTraced`.
 */
async function bundleInto(
  staging: string,
  sources: Sources,
  form: 'shipped' | 'covered' | 'traced' = 'shipped',
): Promise<string[]> {
  const esbuild = await import('esbuild')
  const mapped = form === 'covered'
  const { version } = JSON.parse(readFileSync(join(sources.root, 'package.json'), 'utf8')) as {
    version: string
  }
  const bundle = async (options: BuildOptions): Promise<BuildResult & { metafile: Metafile }> => {
    const result = await esbuild.build({
      absWorkingDir: sources.root,
      bundle: true,
      platform: 'node',
      minifySyntax: true,
      // V8 keeps the text of a program in memory for as long as it runs.
      minifyWhitespace: true,
      // A Node that is too old has to be able to read the file, or it could not say so.
      supported: { using: false },
      legalComments: 'none',
      metafile: true,
      logLevel: 'silent',
      // A module of ES is strict by itself, and all others begin with that word: not each of their 500 parts anew.
      tsconfigRaw: { compilerOptions: { strict: false } },
      ...(options.format === 'cjs' ? { banner: { js: "'use strict';" } } : {}),
      // Not named in the file: Node would put the whole map into every report of what ran.
      ...(form === 'shipped' ? {} : { sourcemap: 'external' as const }),
      ...options,
      ...(mapped ? UNCHANGED : {}),
    })
    return result as BuildResult & { metafile: Metafile }
  }
  const thread = (entry: string, more: Pick<BuildOptions, 'plugins' | 'define'> = {}) =>
    bundle({
      entryPoints: [entry],
      format: 'cjs',
      target: 'node26',
      minifyIdentifiers: true,
      outfile: join(staging, basename(entry).replace(/\.ts$/, '.cjs')),
      write: false,
      plugins: more.plugins ?? [],
      define: { VERSION: JSON.stringify(version), ...more.define },
    })
  const threads = await Promise.all([
    thread(sources.launcherEntry),
    thread(sources.keeperEntry),
    thread(sources.branchEntry),
    thread(sources.relayEntry),
    thread(sources.mcpEntry, { plugins: [NO_VALIDATOR], define: NO_COMPILER }),
  ])
  const decoder = await bundle({
    entryPoints: [sources.decoderEntry],
    format: 'cjs',
    target: 'node20',
    outfile: join(staging, basename(sources.decoderEntry).replace(/\.ts$/, '.cjs')),
    write: false,
  })
  const decoderText = decoder.outputFiles?.[0]?.text ?? ''
  const texts = threads.map(({ outputFiles }) => {
    if (form === 'shipped') return outputFiles?.[0]?.text ?? ''
    return writtenBeside(outputFiles, mapped)
  })
  const [launcher = '', keeper = '', branch = '', relay = '', mcp = ''] = texts
  const packedRules = packRules(shippedRules(sources))
  const daemonWith = (names: Pick<BuildOptions, 'minifyIdentifiers' | 'write'>) =>
    bundle({
      entryPoints: [sources.daemonEntry],
      format: 'esm',
      target: 'node26',
      outfile: join(staging, 'sass-edge.mjs'),
      plugins: [CLASSIC_AGE, LAZY_MODULES],
      ...(mapped ? { banner: { js: REPORTING_THREADS } } : {}),
      define: {
        VERSION: JSON.stringify(version),
        BUILT_SECONDS: String(builtSeconds()),
        LAUNCHER_SOURCE: JSON.stringify(launcher),
        // Seldom started: packed they take a third, and what they have in common once.
        PACKED_THREADS: JSON.stringify(
          brotliCompressSync(JSON.stringify({ keeper, branch, relay })).toString('base64'),
        ),
        MCP_SOURCE: JSON.stringify(brotliCompressSync(mcp).toString('base64')),
        PACKED_RULES: JSON.stringify(packedRules),
        PACKED_CONSTITUTION: JSON.stringify(packConstitution(sources)),
        PACKED_FIREWALL: JSON.stringify(packFirewall(sources)),
        PACKED_RULES_SHA256: JSON.stringify(createHash('sha256').update(packedRules).digest('hex')),
      },
      ...names,
    })
  const daemon = await daemonWith({ minifyIdentifiers: true })
  if (form === 'traced') return []
  const device = await bundle({
    entryPoints: [sources.daemonEntry],
    format: 'cjs',
    target: 'node26',
    outfile: join(staging, 'device.cjs'),
    plugins: [DEVICE_COMMANDS, LAZY_MODULES],
    ...(mapped ? { banner: { js: REPORTING_THREADS } } : {}),
    define: { VERSION: JSON.stringify(version), BUILT_SECONDS: String(builtSeconds()) },
  })
  // Not the daemon: it would listen 10 ms sooner, and have 3 MB more for as long as it runs.
  if (!mapped)
    compileAtOnce(join(staging, 'device.cjs'), device.metafile, [sources.daemonEntry, sources.execEntry])
  const client = await bundle({
    entryPoints: [sources.clientEntry],
    format: 'esm',
    target: 'node20',
    outfile: join(staging, 'client.mjs'),
    define: { VERSION: JSON.stringify(version), DECODER_SOURCE: JSON.stringify(decoderText) },
  })
  await declarationsInto(staging, sources)
  // The checks read the text of what is published.
  if (mapped) return []

  const probe = async (text: string) =>
    (await esbuild.transform(text, { define: EVALUATOR_PROBES, minifyWhitespace: true })).code
  const named = namedPackages(readFileSync(join(sources.root, 'docs/dependencies.md'), 'utf8'))
  const daemonBytes = readFileSync(join(staging, 'sass-edge.mjs'))
  // What a module of Node is used for is seen by the name that the bundler gives it: once more, with names.
  const { outputFiles: namedFiles } = await daemonWith({ write: false })
  const daemonNamed = namedFiles?.[0]?.text ?? ''
  const deviceBytes = readFileSync(join(staging, 'device.cjs'))
  const clientBytes = readFileSync(join(staging, 'client.mjs'))
  const problems = [
    ...[...threads, daemon, device, decoder, client].flatMap(({ metafile }) =>
      unnamedPackages(metafile, named),
    ),
    ...[...threads, decoder, client].flatMap(({ metafile }) => foreignImports(metafile)),
    ...[daemon, device].flatMap(({ metafile }) => foreignImports(metafile, CONTEXTS)),
    ...[daemonNamed, deviceBytes.toString()].flatMap((text) => [
      ...hiddenLookups(text, CONTEXTS),
      ...contextUses(text),
    ]),
    ...evaluators(await probe(daemonNamed)),
    ...evaluators(await probe(deviceBytes.toString())),
    ...evaluators(await probe(clientBytes.toString())),
    // CommonJS, so that a worker can be started from it: its only calls of require are the imports just checked.
    ...evaluators(await probe([...texts, decoderText].join('\n'))).filter(
      (problem) => !problem.startsWith('The bundle uses require'),
    ),
    ...oversized('sass-edge.mjs', daemonBytes.length, DAEMON_BUDGET_BYTES),
    ...oversized('device.cjs', deviceBytes.length, DEVICE_BUDGET_BYTES),
    ...oversized('client.mjs', clientBytes.length, CLIENT_BUDGET_BYTES),
  ]
  if (problems.length > 0) throw new Error([...new Set(problems)].join('\n'))
  const inputs = new Set(
    [...threads, daemon, device, decoder, client].flatMap(({ metafile }) => Object.keys(metafile.inputs)),
  )
  return [...inputs].filter((path) => path.includes('node_modules/')).sort()
}

/** The text of a thread, which is written beside its map; `isNamed`: V8 reports it by the name of that file. */
function writtenBeside(files: BuildResult['outputFiles'], isNamed: boolean): string {
  const script = files?.find(({ path }) => path.endsWith('.cjs'))
  const name = isNamed && script !== undefined ? `\n//# sourceURL=${pathToFileURL(script.path).href}\n` : ''
  for (const { path, text } of files ?? []) writeFileSync(path, path === script?.path ? text + name : text)
  return `${script?.text ?? ''}${name}`
}

/** What every start from these runs is compiled when the file is read. */
function compileAtOnce(path: string, metafile: Metafile, entries: readonly string[]): void {
  const started = new Set<string>()
  function follow(module: string): void {
    if (started.has(module)) return
    started.add(module)
    for (const each of metafile.inputs[module]?.imports ?? [])
      if (each.kind === 'import-statement') follow(each.path)
  }
  for (const entry of entries) follow(entry)
  writeFileSync(
    path,
    compiledAtOnce(readFileSync(path, 'utf8'), (module) => started.has(module)),
  )
}

/** The declarations of the client library, with `.js` in their imports, as any module resolution takes them. */
async function declarationsInto(staging: string, sources: Sources): Promise<void> {
  const project = join(staging, 'tsconfig.json')
  const sourceRoot = dirname(dirname(join(sources.root, sources.clientEntry)))
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(SOURCES.root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        rootDir: sourceRoot,
        outDir: staging,
        typeRoots: [join(SOURCES.root, 'node_modules/@types')],
      },
      include: [],
      files: [join(sources.root, sources.clientEntry)],
    }),
  )
  await promisify(execFile)(COMPILER, ['-p', project]).catch(
    (error: { stdout?: string; message: string }) => {
      throw new Error(
        `The declarations of the client library cannot be made:\n${error.stdout || error.message}`,
      )
    },
  )
  rmSync(project)
  for (const name of globSync('**/*.d.ts', { cwd: staging })) {
    const path = join(staging, name)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace(/((?:from|import\()\s*['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2'))
  }
}

function readRecord(out: string): Record_ | undefined {
  try {
    return JSON.parse(readFileSync(join(out, RECORD), 'utf8')) as Record_
  } catch {
    // None yet, or one that cannot be read: everything is built.
    return undefined
  }
}

function isCurrent(sources: Sources, out: string, last: Record_): boolean {
  try {
    if (digestInputs(sources, last.packages) !== last.inputs) return false
    return Object.entries(last.files).every(([name, bytes]) => readFileSync(join(out, name)).length === bytes)
  } catch {
    // An input or an output is gone.
    return false
  }
}

/** Where somebody says when it is built; 0: nobody does, and the sources have a date of their own. */
function builtSeconds(): number {
  const text = process.env['SOURCE_DATE_EPOCH'] ?? ''
  return /^\d{1,10}$/.test(text) ? Number(text) : 0
}

/** SHA-256 over all that decides the outputs: sources, the files of packages in them, the lock file, this script, the date that it is given. */
function digestInputs(sources: Sources, packages: readonly string[]): string {
  const { root } = sources
  const own = [
    ...globSync(`${dirname(dirname(sources.clientEntry))}/**/*.ts`, { cwd: root }),
    ...['package.json', 'package-lock.json', 'tsconfig.json', 'docs/dependencies.md'],
    ...FIREWALL_FILES.map((name) => join(sources.firewallDirectory, name)),
    ...globSync(`${sources.rulesDirectory}/{,constitution/}*.{json,sha256}`, { cwd: root }),
    ...['build/bundle.node.ts', 'build/bundle-checks.ts', 'build/rules.ts'].map((name) =>
      relative(root, join(SOURCES.root, name)),
    ),
  ]
  const hash = createHash('sha256').update(String(builtSeconds()))
  for (const path of [...new Set([...own, ...packages])].sort()) {
    hash.update(`${path}\0`).update(
      createHash('sha256')
        .update(readFileSync(join(root, path)))
        .digest(),
    )
  }
  return hash.digest('base64url')
}

/**
 * The rules as the daemon needs them, for the program itself: what their check finds is found here and not on a device,
 * and a program that is copied alone has them all the same.
 */
function packRules(text: string): string {
  const read = readRules(text, RULES_NAME)
  if (!read.ok) throw new Error(`${RULES_NAME}: ${read.problems.map(rulesProblemText).join('; ')}`)
  const rules = read.rules.rules.map((rule) => ({ ...rule, examples: { match: [], pass: [] } }))
  return brotliCompressSync(JSON.stringify(rules)).toString('base64')
}

/** The constitution of proposals and the file of its hash, byte for byte; the program checks both when it uses them. */
function packConstitution({ root, rulesDirectory }: Pick<Sources, 'root' | 'rulesDirectory'>): string {
  const path = join(root, rulesDirectory, CONSTITUTION_NAME)
  const [text, hash] = [path, `${path}.sha256`].map((name) => readFileSync(name, 'utf8'))
  return brotliCompressSync(JSON.stringify({ text, hash })).toString('base64')
}

/** Removes what the last build made and this one did not. */
function removeStale(out: string, last: Record_ | undefined, files: Readonly<Record<string, number>>): void {
  for (const name of Object.keys(last?.files ?? {}))
    if (!(name in files)) rmSync(join(out, name), { force: true })
}

/** Fills the code cache by a short run of each program; what fails here costs milliseconds later and nothing else. */
function warmCompileCache(root: string, out: string): void {
  mkdirSync(join(out, COMPILE_CACHE), { mode: 0o700, recursive: true })
  try {
    for (const words of [['version'], ['exec', '--help']])
      execFileSync(join(root, 'bin/sass-edge'), words, { stdio: 'ignore', timeout: 10_000 })
  } catch {
    rmSync(join(out, COMPILE_CACHE), { recursive: true, force: true })
  }
}

if (import.meta.main) {
  try {
    const built = await build(SOURCES, process.argv.includes('--force'))
    const out = join(SOURCES.root, SOURCES.outDirectory)
    if (!existsSync(join(out, COMPILE_CACHE))) warmCompileCache(SOURCES.root, out)
    for (const [name, bytes] of built.unchanged ? [] : Object.entries(built.files)) {
      if (/\.[cm]js$/.test(name)) console.error(`dist/${name} ${(bytes / 1024).toFixed(1)} KiB`)
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}
