import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dependencyRows } from '../../build/bundle-checks.ts'

const root = join(import.meta.dirname, '../..')
const rows = dependencyRows(readFileSync(join(root, 'docs/dependencies.md'), 'utf8'))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const lock: Record<string, { version?: string; license?: string }> = JSON.parse(
  readFileSync(join(root, 'package-lock.json'), 'utf8'),
).packages

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

t.test('every version is pinned, and the lock file has it under the licence that is named', (t) => {
  for (const { name, version, licence } of rows) {
    t.match(version, /^\d+\.\d+\.\d+$/, name)
    const locked = Object.entries(lock).filter(
      ([path, entry]) => path.endsWith(`node_modules/${name}`) && entry.version === version,
    )
    t.ok(locked.length > 0, `${name} ${version} is in package-lock.json`)
    // A package for another processor is locked without being installed; npm still records its licence.
    t.equal(locked[0]?.[1].license, licence, `${name} has the licence ${licence}`)
  }
  t.end()
})

t.test('every dependency has its reason', (t) => {
  for (const { name, reason } of rows) t.match(reason, /.{20}/, name)
  t.end()
})
