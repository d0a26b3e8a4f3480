import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { RequirementList } from '../../build/conformance-list.ts'
import { CLASSES, checkList, rowIds, sourcePrefix } from '../../build/conformance-list.ts'

const root = join(import.meta.dirname, '../..')

/** Whether the page of the configuration has the key. */
function isKey(name: string): boolean {
  const page = readFileSync(join(root, 'docs/configuration.md'), 'utf8')
  return page.includes(`| \`${name}\` |`)
}

function shippedList(): RequirementList {
  const check = checkList(JSON.parse(readFileSync(join(root, 'docs/conformance.json'), 'utf8')))
  if (!check.ok) throw new Error(check.problems.join('\n'))
  return check.list
}

t.test('the shipped list is well formed and has every row of the five sources once, in order', async (t) => {
  const list = shippedList()
  const counts: Record<string, number> = {}
  for (const row of list.rows) {
    const prefix = sourcePrefix(row.id)
    counts[prefix] = (counts[prefix] ?? 0) + 1
  }
  t.strictSame(counts, { SS: 53, SA: 62, OS: 17, RX: 49, JF: 168 })
  t.strictSame(Object.keys(counts), Object.keys(list.sources), 'sources come in one block each')
  t.equal(new Set(list.rows.map((row) => row.id)).size, list.rows.length, 'ids are unique')
  const classes: ReadonlySet<string> = new Set(CLASSES)
  t.ok(
    list.rows.every((row) => classes.has(row.class)),
    'classes are of the closed set',
  )
})

t.test(
  'every row of the shipped list is one sentence of its own and names places that are there',
  async (t) => {
    const list = shippedList()
    const said = new Set<string>()
    for (const row of list.rows) {
      if (!row.says.endsWith('.')) t.fail(`${row.id} does not end in a full stop`)
      if (said.has(row.says)) t.fail(`${row.id} repeats another row's sentence`)
      said.add(row.says)
      for (const place of row.where) {
        if (!existsSync(join(root, place))) t.fail(`${row.id} names ${place}, which is not there`)
      }
      for (const key of row.needs ?? [])
        if (!isKey(key)) t.fail(`${row.id} needs ${key}, which is no key of the configuration`)
      if (row.class === '' || row.class === 'note:')
        t.type(row.note, 'string', `${row.id} says what a remark is to us`)
    }
    t.equal(said.size, list.rows.length)
  },
)

t.test('every row that a test under test/ names is in the list', async (t) => {
  const known = new Set(shippedList().rows.map((row) => row.id))
  const sources = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  )
  t.ok(sources.includes('build/conformance-list.test.ts'), 'this file is among those read')
  for (const path of sources) {
    const unknown = rowIds(readFileSync(join(root, 'test', path), 'utf8')).filter((id) => !known.has(id))
    t.strictSame(unknown, [], path)
  }
})

/** What is called at the top of a test file: its name has the rows that it proves. */
const TEST_NAME = /\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs

t.test(
  'every proven row is named by a test, every open one says why, and every file of src/ is where some row leads (JF-N14)',
  async (t) => {
    const { rows } = shippedList()
    const names = globSync('test/**/*.test.ts', { cwd: root }).flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(TEST_NAME)].map(([, , name = '']) => name),
    )
    const named = new Set(names.flatMap(rowIds))
    t.ok(named.size > 200, `${named.size} rows are named by tests`)
    const proven = rows.filter(({ open }) => open === undefined)
    t.strictSame(
      proven.filter(({ id }) => !named.has(id)).map(({ id }) => id),
      [],
      'rows without a test',
    )
    t.strictSame(
      rows.filter(({ open, missing, note }) => open && !(missing ?? note)).map(({ id }) => id),
      [],
      'open rows that do not say what is missing',
    )
    const places = proven.flatMap(({ where }) => where)
    const sources = globSync('src/**/*.ts', { cwd: root })
    t.ok(sources.length > 300, `${sources.length} files`)
    t.strictSame(
      sources.filter((path) => !places.some((place) => path === place || path.startsWith(`${place}/`))),
      [],
      'files that no proven row leads to',
    )
  },
)

t.test('rowIds finds ids of all five sources and nothing that only looks like one', async (t) => {
  t.strictSame(rowIds('refuses it (SS-04, SA-62, OS-01, RX-49, JF-001, JF-N15, SS-04)'), [
    'SS-04',
    'SA-62',
    'OS-01',
    'RX-49',
    'JF-001',
    'JF-N15',
  ])
  t.strictSame(rowIds('RSA-0 and XSS-04 and SHA-256 and ss-04 and OS-X'), [])
})

t.test('a list is refused with every problem and its place', async (t) => {
  const sources = { SS: 'a document' }
  const good = { id: 'SS-04', class: 'D', says: 'It does.', where: ['src/edge'] }
  const problemsOf = (row: unknown) => {
    const check = checkList({ sources, rows: [row] })
    return check.ok ? [] : check.problems
  }
  t.strictSame(problemsOf(good), [])
  t.strictSame(problemsOf(7), ['rows[0] must be an object'])
  t.strictSame(problemsOf({ ...good, id: 'SS-04 ' }), ['rows[0].id must be an id such as SS-01'])
  t.strictSame(problemsOf({ ...good, id: 'JF-001' }), [
    'rows[0].id JF-001 has a prefix that sources does not name',
  ])
  t.match(
    problemsOf({ ...good, class: 'E' }),
    ['rows[0].class must be one of "D" "D+"'].map((text) => new RegExp(text.replace(/[[\]+.]/g, '\\$&'))),
  )
  t.strictSame(problemsOf({ ...good, says: ' ', where: [] }), [
    'rows[0].says must be a sentence',
    'rows[0].where must name at least one folder or file',
  ])
  const surrogate = 'rows[0].surrogate must be a sentence exactly where the class has H→'
  t.strictSame(problemsOf({ ...good, class: 'H→' }), [surrogate])
  t.strictSame(problemsOf({ ...good, surrogate: 'Something else.' }), [surrogate])
  t.strictSame(problemsOf({ ...good, class: 'D/H→', surrogate: 'Something else.' }), [])
  t.strictSame(problemsOf({ ...good, note: '' }), ['rows[0].note must be a sentence or absent'])
  const missing = 'rows[0].missing must be a sentence exactly where the row is open in part'
  t.match(problemsOf({ ...good, open: 'later' }), [/^rows\[0\]\.open must be one of not built, in part/])
  t.strictSame(problemsOf({ ...good, open: 'in part' }), [missing])
  t.strictSame(problemsOf({ ...good, open: 'not built', missing: 'It.' }), [missing])
  t.strictSame(problemsOf({ ...good, missing: 'It.' }), [missing])
  t.strictSame(problemsOf({ ...good, open: 'in part', missing: 'It.' }), [])
  t.strictSame(problemsOf({ ...good, open: 'not applicable' }), [
    'rows[0].note must say why it is not applicable',
  ])
  t.strictSame(problemsOf({ ...good, needs: [] }), ['rows[0].needs must name at least one key, or be absent'])
  t.match(problemsOf({ ...good, pure: 'so' }), [/^rows\[0\]\.pure must be one of function, cases/])
  t.strictSame(problemsOf({ ...good, pure: 'cases', open: 'not built' }), [
    'rows[0].pure is for rows that are proven',
  ])
  t.strictSame(problemsOf({ ...good, whre: [] }), ['rows[0].whre is not a key of a row'])
  t.strictSame(checkList({ sources, rows: [good, good] }), {
    ok: false,
    problems: ['rows[1].id SS-04 is there twice'],
  })
  t.strictSame(checkList({ sources: { SS: 1 }, rows: [] }), {
    ok: false,
    problems: ['sources.SS must be the name of a document'],
  })
  for (const value of [undefined, null, [], 'x', {}, { sources, rows: {} }])
    t.equal(checkList(value).ok, false)
})
