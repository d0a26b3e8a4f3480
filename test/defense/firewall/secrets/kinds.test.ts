/** The data file of secrets: what it may hold, and that the one that ships holds enough. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSecretTables } from '../../../../src/defense/firewall/secrets/kinds.ts'

const NAMES = { password: ['password'], token: ['token'], key: ['_key'], plain: [] }
const problemsOf = (kinds: unknown, names: unknown = NAMES, version: unknown = 1): string[] => {
  const read = readSecretTables({ version, kinds, names })
  return 'problems' in read ? [...read.problems] : []
}

t.test(
  'what ships has more than 200 kinds, each with an id of its own, in tables of half a MiB (JF-R17)',
  (t) => {
    const file = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../../../firewall/secrets.json'), 'utf8'),
    )
    const tables = readSecretTables(file)
    if ('problems' in tables) return void t.fail(tables.problems.join(' '))
    t.ok(tables.kinds >= 200, `${tables.kinds} kinds`)
    t.ok(tables.words.sizeBytes < 600_000, `${tables.words.sizeBytes} bytes`)
    const ids = file.kinds.map(({ id }: { id: string }) => id)
    t.equal(new Set(ids).size, ids.length)
    t.end()
  },
)

t.test('kinds as they are to be', (t) => {
  t.strictSame(
    problemsOf([
      { id: 'a-1', shape: 'ghp_[A]{36}', bits: 3_000 },
      { id: 'b', near: ['adafruit'], shape: '[w]{32}' },
      { id: 'c', behind: '[d]{8,10}', shape: ':AA[W]{33}' },
      { id: 'd', shape: 'AIza[W]{35}', assigned: true, json: false },
    ]),
    [],
  )
  t.end()
})

t.test('everything else is refused, with the place', (t) => {
  const wrong: readonly [unknown, RegExp][] = [
    [{ id: 'a', shape: 'ab', regex: 'x' }, /no field "regex"/],
    [{ id: 'A b', shape: 'ab' }, /id is to be/],
    [{ id: 'a', shape: 7 }, /shape is to be a text/],
    [{ id: 'a', shape: 'ab[Q]{2}' }, /shape: it has no class Q/],
    [{ id: 'a', shape: '[d]{16}' }, /begin with letters/],
    [{ id: 'a', shape: 'a' }, /begin with letters/],
    [{ id: 'a', shape: 'ab', near: [] }, /near is to be/],
    [{ id: 'a', shape: 'ab', near: ['ä'] }, /near is to be/],
    [{ id: 'a', shape: 'ab', bits: -1 }, /bits/],
    [{ id: 'a', shape: 'ab', behind: 'ab' }, /behind/],
    [{ id: 'a', shape: 'ab', assigned: 1 }, /assigned/],
    [{ id: 'a', shape: 'ab', json: 1 }, /json/],
    ['a', /no object/],
  ]
  for (const [kind, problem] of wrong) {
    const [found = ''] = problemsOf([kind])
    t.match(found, problem)
    t.match(found, /^kinds\[0\]: /)
  }
  t.match(problemsOf({}), [/kinds is to be a list/])
  t.match(problemsOf([], {}), [/names.password/, /names.token/, /names.key/, /names.plain/])
  t.match(problemsOf([], NAMES, 2), [/version/])
  t.match(problemsOf(Array.from({ length: 1_001 }, () => ({}))), [/at most 1000/])
  t.end()
})
