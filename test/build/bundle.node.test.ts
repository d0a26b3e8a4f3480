import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { build, COMPILER, SOURCES, type Sources } from '../../build/bundle.node.ts'

const dependencies = readFileSync(join(SOURCES.root, 'docs/dependencies.md'), 'utf8')

/** A small program of the same shape as ours; `main` is added to its entry. */
function sample(directory: string, main = ''): Sources {
  const write = (path: string, text: string) => {
    mkdirSync(join(directory, path, '..'), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  write('package.json', '{"name":"sample","version":"1.2.3","type":"module"}')
  write('package-lock.json', '{}')
  write('tsconfig.json', '{}')
  write('docs/dependencies.md', dependencies)
  write('policy/a.json', '{"rules": []}')
  for (const name of ['proposals.v0.1.1.json', 'proposals.v0.1.1.json.sha256'])
    write(
      `policy/constitution/${name}`,
      readFileSync(join(SOURCES.root, 'policy/constitution', name), 'utf8'),
    )
  for (const name of ['secrets.json', 'injections.json', 'injection-weights.json'])
    write(`firewall/${name}`, readFileSync(new URL(`../../firewall/${name}`, import.meta.url), 'utf8'))
  write(
    'src/errors.ts',
    "export type Code = 'A' | 'B'\nexport class SampleError extends Error { readonly code: Code = 'A' }\n",
  )
  write(
    'src/main.ts',
    `import { sha256 } from '@noble/hashes/sha2.js'
declare const VERSION: string | undefined
declare const LAUNCHER_SOURCE: string | undefined
const launcher = typeof LAUNCHER_SOURCE === 'string' ? LAUNCHER_SOURCE : undefined
void import('./lazy.node.ts').then(({ run }) => {
  console.log(VERSION, sha256(new Uint8Array(2)).length, typeof launcher)
  if (launcher !== undefined) run(launcher)
})
${main}`,
  )
  write(
    'src/lazy.node.ts',
    `import { Worker } from 'node:worker_threads'
export function run(text: string) { new Worker(text, { eval: true }).on('message', (seen) => console.log(seen)) }`,
  )
  write(
    'src/sandbox/launcher/launcher.node.ts',
    "import { parentPort } from 'node:worker_threads'\nparentPort?.postMessage('launched')\n",
  )
  write(
    'src/client/client.node.ts',
    "import { type Code, SampleError } from '../errors.ts'\nexport function connect(code: Code): SampleError { return new SampleError(code) }\n",
  )
  const thread = 'src/sandbox/launcher/launcher.node.ts'
  return {
    ...SOURCES,
    root: directory,
    launcherEntry: thread,
    keeperEntry: thread,
    branchEntry: thread,
    relayEntry: thread,
    mcpEntry: thread,
    decoderEntry: thread,
  }
}

function digests(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [
        path.slice(directory.length),
        createHash('sha256').update(readFileSync(path)).digest('hex'),
      ]),
  )
}

t.test('the bundle runs alone, with its version and its launcher inside', async (t) => {
  const directory = t.testdir({ tree: {}, alone: {} })
  const root = join(directory, 'tree')
  const built = await build(sample(root))
  t.equal(built.unchanged, false)
  t.ok((built.files['sass-edge.mjs'] ?? 0) > 5_000)
  const alone = join(directory, 'alone/sass-edge.mjs')
  writeFileSync(alone, readFileSync(join(root, 'dist/sass-edge.mjs')))
  t.equal(execFileSync(process.execPath, [alone], { encoding: 'utf8' }), '1.2.3 32 string\nlaunched\n')
})

t.test('modules of Node are loaded by the file that needs them, not at the start', async (t) => {
  const root = t.testdir()
  const main =
    "if (process.argv[2] === 'tls') void import('./late.node.ts').then(({ connect }) => console.log(typeof connect))\n"
  const sources = sample(root, main)
  writeFileSync(join(root, 'src/late.node.ts'), "import { connect } from 'node:tls'\nexport { connect }\n")
  await build(sources)
  const bundle = join(root, 'dist/sass-edge.mjs')
  t.notMatch(readFileSync(bundle, 'utf8'), /from ?"node:/)
  t.match(execFileSync(process.execPath, [bundle, 'tls'], { encoding: 'utf8' }), 'function')
})

t.test('two builds of the same sources are the same bytes', async (t) => {
  const root = t.testdir({ a: {}, b: {} })
  await build(sample(join(root, 'a')))
  await build(sample(join(root, 'b')))
  const first = digests(join(root, 'a/dist'))
  delete first['/.inputs']
  const second = digests(join(root, 'b/dist'))
  delete second['/.inputs']
  t.strictSame(first, second)
})

t.test('an unchanged tree is not built again, a changed or damaged one is', async (t) => {
  const root = t.testdir()
  const sources = sample(root)
  const bundle = join(root, 'dist/sass-edge.mjs')
  await build(sources)
  const before = statSync(bundle).mtimeMs
  t.equal((await build(sources)).unchanged, true)
  t.equal(statSync(bundle).mtimeMs, before)
  t.equal((await build(sources, true)).unchanged, false, 'unless it is forced')

  writeFileSync(
    join(root, 'src/lazy.node.ts'),
    'export function run(text: string) { console.log(text.length > 0) }',
  )
  t.equal((await build(sources)).unchanged, false)
  t.equal(execFileSync(process.execPath, [bundle], { encoding: 'utf8' }), '1.2.3 32 string\ntrue\n')

  writeFileSync(bundle, 'half')
  t.equal((await build(sources)).unchanged, false)
  rmSync(join(root, 'dist/client.mjs'))
  t.equal((await build(sources)).unchanged, false)
  writeFileSync(join(root, 'dist/.inputs'), 'not JSON')
  t.equal((await build(sources)).unchanged, false)
})

t.test(
  'the rules that ship are beside the bundle, and a change of them is a change of the build',
  async (t) => {
    const root = t.testdir()
    const sources = sample(root)
    await build(sources)
    const shipped = join(root, 'dist/default-rules.json')
    const rules = () => JSON.parse(readFileSync(shipped, 'utf8'))
    t.strictSame(rules(), { sets: {}, rules: [] })
    writeFileSync(join(root, 'policy/b.json'), '{"rules": [], "sets": {"x": ["y"]}}')
    t.equal((await build(sources)).unchanged, false)
    t.strictSame(rules(), { sets: { x: ['y'] }, rules: [] })
    rmSync(join(root, 'policy'), { recursive: true })
    await t.rejects(build(sources), /has no rules/)
  },
)

t.test('a build that fails leaves the last one as it was', async (t) => {
  const root = t.testdir()
  const cases: [string, RegExp][] = [
    ['export const f = new Function("return 1")', /uses Function as a value/],
    ['export const e = (0, eval)("1")', /uses eval/],
    ["import { createRequire } from 'node:module'\ncreateRequire(import.meta.url)('fs')", /node:module/],
    ["import vm from 'node:vm'\nvm.runInThisContext('1')", /node:vm/],
    ["process.getBuiltinModule('node:' + 'vm')", /looks up the builtin module/],
    ["import * as fc from 'fast-check'\nconsole.log(fc)", /package fast-check/],
    ["import fs from 'fs'\nconsole.log(fs)", /imports fs at run time/],
    ["import './not-there.ts'", /not-there/],
    [`export const huge = '${'x'.repeat(3_000_000)}'`, /more than its budget/],
  ]
  await build(sample(root))
  const before = digests(join(root, 'dist'))
  for (const [main, expected] of cases) {
    await t.rejects(build(sample(root, main)), { message: expected })
    t.strictSame(digests(join(root, 'dist')), before)
  }
  t.equal((await build(sample(root))).unchanged, true, 'and what it recorded still holds')
})

t.test('text that only looks like evaluation is no problem', async (t) => {
  const root = t.testdir()
  const main = `// eval(1) new Function(1) createRequire require(2)
console.log('eval(1)', /new Function\\(/, { eval: 1, require: 2 }.require, (() => {}) instanceof Function)`
  await build(sample(root, main))
  t.match(readFileSync(join(root, 'dist/sass-edge.mjs'), 'utf8'), 'eval(1)')
})

t.test(
  'programs of other people type-check against the declarations, strictly and without the types of Node',
  async (t) => {
    const root = t.testdir({ user: { node_modules: {} } })
    await build(sample(join(root, 'package')))
    writeFileSync(
      join(root, 'package/package.json'),
      JSON.stringify({
        name: 'sass-edge',
        version: '1.0.0',
        type: 'module',
        exports: JSON.parse(readFileSync(join(SOURCES.root, 'package.json'), 'utf8')).exports,
      }),
    )
    t.same(
      typeErrors(
        join(root, 'user'),
        join(root, 'package'),
        "import { connect } from 'sass-edge/client'\nconnect('A').code satisfies 'A' | 'B'\n",
      ),
      '',
    )
    t.match(
      typeErrors(
        join(root, 'user'),
        join(root, 'package'),
        "import { connect } from 'sass-edge/client'\nconnect('C')\n",
      ),
      'TS2345',
    )
  },
)

t.test(
  'the client library of this repository type-checks in a program of its own',
  { skip: missingSources() },
  async (t) => {
    const root = t.testdir({ user: { node_modules: {} } })
    await build(SOURCES)
    t.same(
      typeErrors(
        join(root, 'user'),
        SOURCES.root,
        "import { connect } from 'sass-edge/client'\nexport const open = connect\n",
      ),
      '',
    )
  },
)

function missingSources(): string | false {
  const missing = [SOURCES.daemonEntry, SOURCES.clientEntry].filter(
    (path) => !existsSync(join(SOURCES.root, path)),
  )
  return missing.length > 0 ? `${missing.join(', ')} is not here` : false
}

/** What the compiler says to a program beside the package: nothing, where all is well. */
function typeErrors(user: string, packageRoot: string, program: string): string {
  rmSync(join(user, 'node_modules'), { recursive: true, force: true })
  mkdirSync(join(user, 'node_modules'))
  symlinkSync(packageRoot, join(user, 'node_modules/sass-edge'))
  writeFileSync(join(user, 'program.ts'), program)
  writeFileSync(join(user, 'package.json'), '{"type":"module"}')
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    types: [],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  }
  writeFileSync(join(user, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  try {
    return execFileSync(COMPILER, ['-p', user], { encoding: 'utf8' })
  } catch (error) {
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)
  }
}
