import t from 'tap'
import { citationIndex, resolveCitation, selfTest } from '../../../src/intent/proposals/citations.ts'
import { LAW } from './ground.node.ts'

const resolves = (citation: string) => resolveCitation(LAW.index, citation) !== undefined

t.test('a citation names a clause by its id or by a pointer, of this version alone (RX-10)', (t) => {
  for (const rest of [
    '#INV-AUTHORITY-CITED',
    '@/io_policy/allowlist',
    '@/action_space/action_types/0',
    '@/exit_policy/exit_permitted',
    '@/io_policy/network/enabled',
  ])
    t.ok(resolves(`constitution:v0.1.1${rest}`), rest)
  for (const citation of [
    'constitution:v0.1.1#NONEXISTENT-CLAUSE',
    'constitution:v0.1.1@/io_policy/nothing',
    'constitution:v0.1.1@/action_space/action_types/00',
    'constitution:v0.1.1@/action_space/action_types/-1',
    'constitution:v0.1.1@/action_space/action_types/5',
    'constitution:v0.1.1@/invariants/length',
    'constitution:v0.1.1@/constructor',
    'constitution:v0.1.1@io_policy',
    'constitution:v0.1.1@',
    'constitution:v0.1.1#',
    'constitution:v0.1.1',
    'constitution:v0.1.10#INV-AUTHORITY-CITED',
    'constitution:v0.2#INV-AUTHORITY-CITED',
    'Constitution:v0.1.1#INV-AUTHORITY-CITED',
    ' constitution:v0.1.1#INV-AUTHORITY-CITED',
    'INV-AUTHORITY-CITED',
    `constitution:v0.1.1@/${'a/'.repeat(200)}`,
    '',
  ])
    t.notOk(resolves(citation), JSON.stringify(citation.slice(0, 60)))
  t.end()
})

t.test('pointers have the escapes of RFC 6901', (t) => {
  const prefix = 'constitution:v0.1.1'
  const document = { 'a/b': { 'm~n': 1 }, '': { '': 2 }, list: [{ x: 3 }], '~1': 4 }
  const at = (pointer: string) =>
    resolveCitation({ prefix, ids: new Map(), document }, `${prefix}@${pointer}`)
  t.equal(at('/a~1b/m~0n'), 1)
  t.equal(at('//'), 2)
  t.equal(at('/list/0/x'), 3)
  t.equal(at('/~01'), 4)
  for (const pointer of ['/~1', '/~2', '/a/b', '/list/01', '/list/x', '/list/0/x/y', '/~'])
    t.equal(at(pointer), undefined, pointer)
  t.end()
})

t.test('what is relied upon is looked up at the start, and an id that stands twice names nothing', (t) => {
  t.equal(selfTest(LAW.index, LAW.constitution), undefined)
  const without = { ...LAW.index, ids: new Map() }
  t.match(selfTest(without, LAW.constitution), /#INV-/)
  t.match(selfTest({ ...LAW.index, document: {} }, LAW.constitution), /constitution:v0\.1\.1/)
  const twice = { ...LAW.constitution, document: { a: { id: 'X' }, b: [{ id: 'X' }] } }
  t.equal(citationIndex(twice), undefined)
  t.end()
})
