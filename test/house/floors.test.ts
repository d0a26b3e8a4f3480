import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

/** From the ground up; a file may import what is below it, and its own room. CONTRIBUTING.md, "The house". */
const FLOORS: readonly (readonly string[])[] = [
  ['limits.ts', 'errors.ts', 'ports.ts'],
  ['base'],
  ['config'],
  ['wire', 'defense', 'audit', 'egress'],
  ['sandbox', 'intent'],
  ['session'],
  ['edge', 'client'],
  ['daemon.node.ts'],
  ['cli'],
  ['main.ts'],
]
/** Both have a file system context of their own, and what they make is for commands. */
const THREADS: readonly string[] = [
  'src/sandbox/launcher/launcher-thread.node.ts',
  'src/sandbox/namespaces/keeper-thread.node.ts',
]
/** Some 300 are enough for one subject; this is where a file has two. */
const LINES_MAX = 450
/** A line that gets through is answered by a list of the sandbox or a row of the table, not by a new reader. */
const POLICY_LINES_MAX = 10_500
const RULE_LINES_MAX = 16_000
/** More than these beside each other are not found by their names any more. */
const FILES_BESIDE_MAX = 25

const root = join(import.meta.dirname, '../..')

interface Source {
  /** From the root, `src/wire/frame.ts`. */
  readonly path: string
  readonly text: string
  /** The text without comments. */
  readonly code: string
  /** What it imports, types included: a path from the root, or the name of a package. */
  readonly imports: readonly string[]
}

const sources: Source[] = globSync('src/**/*.ts', { cwd: root })
  .sort()
  .map((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
    return { path, text, code, imports: importsOf(code).map((name) => resolve(path, name)) }
  })

function importsOf(code: string): string[] {
  const statements = /^(?:import|export)\b[^'"`]*?(?:\bfrom |\bimport )?'([^']+)'/gm
  return [
    ...[...code.matchAll(statements)].filter(([text]) => /^import '|\bfrom '/.test(text)),
    ...code.matchAll(/\bimport\(\s*'([^']+)'/g),
  ].map((match) => match[1] ?? '')
}

function resolve(path: string, name: string): string {
  return name.startsWith('.') ? normalize(join(dirname(path), name)) : name
}

/** The room of a file of src/: its folder, or the file itself. */
function roomOf(path: string): string {
  return path.split('/')[1] ?? ''
}

/** What stands beside each other in a folder: for a file in it, the file or the folder of its that it lies in. */
function besideIn(folder: string, path: string): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined
  return path.slice(folder.length + 1).split('/')[0]
}

/** A circle of a graph as the names on it; undefined: there is none. */
function circleOf(edges: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | undefined {
  const done = new Set<string>()
  const visit = (name: string, way: readonly string[]): readonly string[] | undefined => {
    if (way.includes(name)) return [...way.slice(way.indexOf(name)), name]
    if (done.has(name)) return undefined
    for (const next of edges.get(name) ?? []) {
      const circle = visit(next, [...way, name])
      if (circle !== undefined) return circle
    }
    done.add(name)
    return undefined
  }
  for (const name of edges.keys()) {
    const circle = visit(name, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

/** The imports between what `nodeOf` makes of the files; undefined: not looked at. */
function edgesBy(nodeOf: (path: string) => string | undefined): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>()
  for (const { path, imports } of sources) {
    const from = nodeOf(path)
    if (from === undefined) continue
    const below = edges.get(from) ?? new Set<string>()
    edges.set(from, below)
    for (const target of imports) {
      const to = target.startsWith('src/') ? nodeOf(target) : undefined
      if (to !== undefined && to !== from) below.add(to)
    }
  }
  return edges
}

function floorOf(room: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(room))
}

/** Lines of code that match, as `path:line: text`. */
function occurrences(pattern: RegExp, except: (path: string) => boolean = () => false): string[] {
  return sources
    .filter(({ path }) => !except(path))
    .flatMap(({ path, code }) => [...code.matchAll(pattern)].map((match) => `${path}: ${match[0].trim()}`))
}

t.test('every room has its floor', (t) => {
  t.strictSame(
    [...new Set(sources.map(({ path }) => roomOf(path)))].filter((room) => floorOf(room) < 0),
    [],
  )
  t.end()
})

t.test('imports go down, or stay in their room', (t) => {
  const up = sources.flatMap(({ path, imports }) =>
    imports
      .filter((target) => target.startsWith('src/'))
      .filter((target) => roomOf(target) !== roomOf(path) && floorOf(roomOf(target)) >= floorOf(roomOf(path)))
      // The ground is one floor of single files, and they know each other.
      .filter((target) => floorOf(roomOf(target)) > 0 || floorOf(roomOf(path)) > 0)
      .map((target) => `${path} imports ${target}`),
  )
  t.strictSame(up, [])
  const edges = new Map<string, Set<string>>()
  for (const { path, imports } of sources) {
    const below = edges.get(roomOf(path)) ?? new Set()
    for (const target of imports)
      if (target.startsWith('src/') && roomOf(target) !== roomOf(path)) below.add(roomOf(target))
    edges.set(roomOf(path), below)
  }
  for (const rooms of FLOORS.toReversed()) {
    for (const room of rooms.filter((name) => edges.has(name))) {
      const files = sources.filter(({ path }) => roomOf(path) === room)
      const pure = files.filter(({ path }) => !path.endsWith('.node.ts') && path !== 'src/main.ts').length
      const stands = [...(edges.get(room) ?? [])].filter((below) => floorOf(below) > 0).sort()
      t.comment(
        `${room.padEnd(15)} ${String(files.length).padStart(3)} files, ${pure} pure  -> ${stands.join(', ') || 'the ground'}`,
      )
    }
  }
  t.end()
})

t.test('no file imports what imports it, whatever lies between, types included', (t) => {
  t.strictSame(circleOf(edgesBy((path) => path)), undefined)
  t.end()
})

t.test('the rooms within a room have floors as well', (t) => {
  const folders = new Set(sources.map(({ path }) => dirname(path)))
  for (const folder of folders)
    t.strictSame(circleOf(edgesBy((path) => besideIn(folder, path))), undefined, folder)
  t.end()
})

t.test('a room is small enough to be looked over', (t) => {
  const counts = new Map<string, number>()
  for (const { path } of sources) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  t.strictSame(
    [...counts].filter(([, count]) => count > FILES_BESIDE_MAX),
    [],
  )
  t.end()
})

t.test('the policy reads little, and its rules are read by people', (t) => {
  const lines = (texts: readonly string[]) =>
    texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
  const reader = sources.filter(({ path }) => path.startsWith('src/defense/13policy/'))
  t.ok(lines(reader.map(({ text }) => text)) <= POLICY_LINES_MAX)
  const rules = globSync('policy/*.json', { cwd: root }).map((path) => readFileSync(join(root, path), 'utf8'))
  t.ok(lines(rules) <= RULE_LINES_MAX)
  t.end()
})

t.test('the decision and the protocol do not know each other', (t) => {
  const crossing = sources.flatMap(({ path, imports }) =>
    imports
      .filter(
        (target) =>
          [roomOf(path), roomOf(target)].sort().join() === 'defense,wire' && target.startsWith('src/'),
      )
      .map((target) => `${path} imports ${target}`),
  )
  t.strictSame(crossing, [])
  t.end()
})

t.test('a pure file imports neither Node nor a file that does (RX-04)', (t) => {
  const impure = sources
    .filter(({ path }) => !path.endsWith('.node.ts') && path !== 'src/main.ts')
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => target.startsWith('node:') || target.endsWith('.node.ts'))
        .map((target) => `${path} imports ${target}`),
    )
  t.strictSame(impure, [])
  t.end()
})

t.test('imports name files that exist, with their extension', (t) => {
  const known = new Set(sources.map(({ path }) => path))
  const dangling = sources.flatMap(({ path, imports }) =>
    imports
      .filter((target) => target.startsWith('src/') && !known.has(target))
      .map((target) => `${path} imports ${target}`),
  )
  t.strictSame(dangling, [])
  t.end()
})

t.test('one file calls into the C library, one ends the process, two threads change their umask', (t) => {
  const ffi = sources.filter(({ imports }) => imports.includes('node:ffi')).map(({ path }) => path)
  t.strictSame(
    ffi,
    sources.some(({ path }) => path === 'src/sandbox/kernel/syscalls.node.ts')
      ? ['src/sandbox/kernel/syscalls.node.ts']
      : [],
  )
  t.strictSame(
    occurrences(/.*\bgetBuiltinModule\b.*/g, (path) => path === 'src/sandbox/kernel/syscalls.node.ts'),
    [],
  )
  t.strictSame(
    occurrences(/.*\bprocess\.(exit|abort|reallyExit)\b(?!Code).*/g, (path) => path === 'src/main.ts'),
    [],
  )
  // It is one for all threads but the launcher's, and every command that is started meanwhile keeps what it finds.
  t.strictSame(
    occurrences(/.*\bumask\([^)].*/g, (path) => THREADS.includes(path)),
    [],
  )
  t.end()
})

t.test('directories are made by what ends everywhere: makeDirectories', (t) => {
  // Below /proc Node's own recursion does not. The sandbox makes what lies in directories that are there by then.
  t.strictSame(
    occurrences(/.*\bmkdir(Sync)?\(.*recursive: true.*/g, (path) => path.startsWith('src/sandbox/')),
    [],
  )
  t.end()
})

t.test('no module keeps state, and none has a default export', (t) => {
  t.strictSame(occurrences(/^(export )?(let|var) .*/gm), [])
  t.strictSame(occurrences(/^export default\b.*|\bas default\b.*/gm), [])
  t.end()
})

t.test('CBOR comes from the entry of cbor-x that evaluates nothing, and one file asks it', (t) => {
  const entries = sources.flatMap(({ path, imports }) =>
    imports
      .filter((name) => /cbor-/.test(name) && !name.startsWith('src/'))
      .map((name) => `${path}: ${name}`),
  )
  t.strictSame(entries, ['src/base/encoding/cbor.ts: cbor-x/index-no-eval'])
  t.end()
})

t.test('a file says at its top what it is, and has one subject', (t) => {
  t.strictSame(
    sources.filter(({ text }) => !/^\/\*\*\n \* \S/.test(text)).map(({ path }) => path),
    [],
    'every file opens with a doc comment',
  )
  t.strictSame(
    sources
      .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
      .filter(({ lines }) => lines > LINES_MAX)
      .map(({ path, lines }) => `${path} has ${lines} lines`),
    [],
  )
  t.end()
})
