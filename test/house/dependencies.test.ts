import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dependencyRows } from '../../build/bundle-checks.ts'

const root = join(import.meta.dirname, '../..')
const rows = dependencyRows(readFileSync(join(root, 'docs/dependencies.md'), 'utf8'))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const lock: Lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages

function versions(section: string): Record<string, string> {
  return Object.fromEntries(
    rows.filter((row) => row.section === section).map(({ name, version }) => [name, version]),
  )
}

t.test('docs/dependencies.md names exactly the packages of package.json, with their versions', (t) => {
  t.strictSame(versions('Runtime'), manifest.dependencies)
  t.strictSame(versions('Optional'), manifest.optionalDependencies)
  t.strictSame(versions('Development'), manifest.devDependencies)
  t.end()
})

type Lock = Record<string, { version?: string; license?: string }>

/** What is wrong with a package that the page names: its version, its place in the lock file, its licence, its reason. */
function problemsOf(
  { name, version, licence, reason }: (typeof rows)[number],
  lock: Lock,
): readonly string[] {
  const locked = Object.entries(lock).find(
    ([path, entry]) => path.endsWith(`node_modules/${name}`) && entry.version === version,
  )
  return [
    ...(/^\d+\.\d+\.\d+$/.test(version) ? [] : [`${name} ${version} is no single version`]),
    ...(locked === undefined ? [`${name} ${version} is not in package-lock.json`] : []),
    // A package for another processor is locked without being installed; npm still records its licence.
    ...(locked === undefined || locked[1].license === licence ? [] : [`${name} has another licence`]),
    ...(reason.length >= 20 ? [] : [`${name} has no reason`]),
  ]
}

t.test(
  'every dependency is one version, locked, under the licence that is named, and has its reason',
  (t) => {
    t.ok(rows.length > 20)
    for (const row of rows) t.strictSame(problemsOf(row, lock), [], row.name)
    t.end()
  },
)

t.test('one that is not locked, or has no reason, stops the tests (JF-049, JF-R28)', (t) => {
  const [first] = rows
  if (first === undefined) throw new Error('There is none.')
  t.match(problemsOf(first, {}), [/is not in package-lock\.json/])
  t.match(problemsOf({ ...first, version: '^1.0.0' }, lock), [/no single version/, /is not in/])
  t.match(problemsOf({ ...first, licence: 'none' }, lock), [/another licence/])
  t.match(problemsOf({ ...first, reason: 'because' }, lock), [/has no reason/])
  t.end()
})
