import fc from 'fast-check'
import t from 'tap'
import { encodeCbor, openCbor } from '../../src/base/encoding/cbor.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import {
  bool,
  borrowedBytes,
  bytes,
  countMap,
  defaulted,
  describeProblems,
  listOf,
  message,
  optional,
  readMessage,
  required,
  type Strictness,
  type Type,
  text,
  textMap,
  unsigned,
} from '../../src/wire/schema.ts'
import { BOUNDARIES } from '../base/cbor-values.ts'

/** The problems of one value read as `type`, as `path problem`. */
function problemsOf(type: Type<unknown>, value: unknown, strictness: Strictness = 'strict'): string[] {
  const result = readMessage(type, value, strictness)
  return result.ok ? [] : result.problems.map(({ path, problem }) => `${path} ${problem}`.trim())
}

const inner = message('Inner', { rows: required(1, unsigned(9)), note: optional(2, text(4)) })
const outer = message('Outer', {
  name: required(1, text(8)),
  list: defaulted(2, listOf(text(4), 3), []),
  map: optional(3, textMap(text(4), text(4), 2)),
  flag: defaulted(4, bool, false),
  count: defaulted(5, unsigned(), 0),
  id: optional(6, bytes(4)),
  data: optional(7, borrowedBytes(4)),
  inner: optional(8, inner),
  inners: optional(9, listOf(inner, 2)),
  counts: optional(10, countMap(2)),
  blob: defaulted(11, bytes(0, 4), new Uint8Array(0)),
})

t.test('names every bad path at once, and none of a peer’s own bytes', async (t) => {
  const value = new Map<number | string, unknown>([
    [1, 'too long a name'],
    [2, ['ok', 5, 'a\0b', 'toolong']],
    [3, 'no map'],
    [4, 1],
    [5, -1],
    [6, Uint8Array.of(1)],
    [7, 'no bytes'],
    [8, new Map<number, unknown>([[2, true]])],
    [9, [new Map([[1, 10]]), 7]],
    [10, new Map([['x', 1]])],
    [77, 1],
    ['secret', 1],
  ])
  t.strictSame(problemsOf(outer, value), [
    'name must be at most 8 bytes',
    'list must have at most 3 members',
    'map must be a map',
    'flag must be true or false',
    'count must be an unsigned integer',
    'id must be 4 bytes',
    'data must be a byte string',
    'inner.rows is missing',
    'inner.note must be text',
    'inners[0].rows must be at most 9',
    'inners[1] must be a map',
    'counts must map numbers to numbers',
    'Outer has 2 unknown key(s): 77',
  ])
  t.strictSame(
    problemsOf(
      outer,
      new Map<number, unknown>([
        [1, 'a'],
        [2, ['ok', 5, 'a\0b']],
      ]),
    ),
    ['list[1] must be text', 'list[2] must not contain NUL'],
  )
  t.strictSame(problemsOf(outer, undefined), ['name is missing'], 'no payload is the empty message')
  t.strictSame(problemsOf(outer, 5), ['Outer must be a map'])
  t.strictSame(problemsOf(outer, null), ['Outer must be a map'])
  t.strictSame(problemsOf(outer, new Map<string, unknown>([['a', 1]])), [
    'name is missing',
    'Outer has 1 unknown key(s): not integers',
  ])
})

t.test(
  'a strict reader refuses what a message does not have, at any depth; a lenient one skips it',
  async (t) => {
    const value = new Map<number, unknown>([
      [1, 'a'],
      [
        8,
        new Map<number, unknown>([
          [1, 1],
          [3, 'later'],
        ]),
      ],
      [12, 'later'],
    ])
    t.strictSame(problemsOf(outer, value), [
      'inner has 1 unknown key(s): 3',
      'Outer has 1 unknown key(s): 12',
    ])
    const lenient = readMessage(outer, value, 'lenient')
    t.ok(lenient.ok)
    t.strictSame(lenient.ok && lenient.value.inner, { rows: 1 })
  },
)

t.test('holds sizes in bytes of UTF-8, and lists and maps to their members', async (t) => {
  const four = text(4)
  t.strictSame(problemsOf(four, 'abcd'), [])
  t.strictSame(problemsOf(four, '\u00e9\u00e9'), [])
  t.strictSame(problemsOf(four, '\u00e9\u00e9a'), ['must be at most 4 bytes'])
  t.strictSame(problemsOf(four, '\u{1f600}'), [])
  t.strictSame(problemsOf(bytes(2, 3), new Uint8Array(1)), ['must be 2 to 3 bytes'])
  t.strictSame(problemsOf(bytes(2, 3), new Uint8Array(4)), ['must be 2 to 3 bytes'])
  t.strictSame(problemsOf(borrowedBytes(3), new Uint8Array(4)), ['must be at most 3 bytes'])
  t.strictSame(problemsOf(unsigned(7), 8), ['must be at most 7'])
  t.strictSame(problemsOf(unsigned(), 2n ** 53n), ['must be an unsigned integer'])
  t.strictSame(problemsOf(unsigned(), 2n ** 53n - 1n), [])
  const pairs = textMap(text(4), text(4), 2)
  t.strictSame(
    problemsOf(
      pairs,
      new Map([
        ['a', 'b'],
        ['c', 'd'],
        ['e', 'f'],
      ]),
    ),
    ['must have at most 2 entries'],
  )
  t.strictSame(problemsOf(pairs, new Map<unknown, unknown>([[1, 'toolong']])), [
    '{key 0} must be text',
    '{0} must be at most 4 bytes',
  ])
  t.strictSame(
    problemsOf(
      countMap(1),
      new Map([
        [1, 1],
        [2, 2],
      ]),
    ),
    ['must have at most 1 entries'],
  )
})

t.test('gives defaults for what is absent, and leaves optional fields out', async (t) => {
  const result = readMessage(outer, new Map([[1, 'a']]), 'strict')
  t.strictSame(result, {
    ok: true,
    value: { name: 'a', list: [], flag: false, count: 0, blob: new Uint8Array(0) },
  })
})

t.test('writes keys in ascending order, and no defaults', async (t) => {
  const encoded = outer.encode({
    count: 5,
    name: 'n',
    flag: false,
    list: [],
    blob: new Uint8Array(0),
    id: Uint8Array.of(1, 2, 3, 4),
    map: new Map([['k', 'v']]),
  })
  t.strictSame([...encoded.keys()], [1, 3, 5, 6])
  t.strictSame(
    [...outer.encode({ name: '', flag: true, list: ['x'], blob: Uint8Array.of(1) }).keys()],
    [1, 2, 4, 11],
  )
  const zero = message('Zero', { mode: defaulted(1, unsigned(), 7) })
  t.strictSame([...zero.encode({ mode: 0 })], [[1, 0]], 'a value that is not the default is written, be it 0')
  t.strictSame([...zero.encode({ mode: 7 })], [])
})

t.test('byte strings are copied out of the frame; bulk data alone stays where it is', async (t) => {
  const frame = encodeCbor(outer.encode({ name: 'n', id: Uint8Array.of(1, 2, 3, 4), data: Uint8Array.of(5) }))
  const opened = openCbor(frame, { depth: 8, items: 99 })
  const result = readMessage(outer, opened.ok ? opened.value : undefined, 'strict')
  if (!result.ok) throw new Error('it is well-formed')
  frame.fill(0xff)
  t.strictSame([...(result.value.id ?? [])], [1, 2, 3, 4])
  t.strictSame([...(result.value.data ?? [])], [0xff])
})

t.test('what was written is read as it was, through bytes', async (t) => {
  const short = fc.string({ maxLength: 4 }).filter((value) => !value.includes('\0'))
  const inners = fc.record({ rows: fc.nat({ max: 9 }) })
  const values = fc.record(
    {
      name: short,
      list: fc.array(short, { maxLength: 3 }),
      map: fc.uniqueArray(short, { maxLength: 2 }).map((keys) => new Map(keys.map((key) => [key, 'v']))),
      flag: fc.boolean(),
      count: fc.constantFrom(...BOUNDARIES),
      id: fc.uint8Array({ minLength: 4, maxLength: 4 }),
      data: fc.uint8Array({ maxLength: 4 }),
      inner: inners,
      inners: fc.array(inners, { maxLength: 2 }),
      counts: fc.constant(new Map([[1, 2 ** 40]])),
      blob: fc.uint8Array({ maxLength: 4 }),
    },
    { requiredKeys: ['name'] },
  )
  const textOf = (value: unknown) =>
    JSON.stringify(value, (_, item: unknown) =>
      item instanceof Map ? [...item].sort() : item instanceof Uint8Array ? encodeHex(item) : item,
    )
  const defaults = { list: [], flag: false, count: 0, blob: new Uint8Array(0) }
  const order = Object.keys(outer.fields)
  const sorted = (value: object) =>
    Object.fromEntries(Object.entries(value).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b)))
  fc.assert(
    fc.property(values, (value) => {
      const opened = openCbor(encodeCbor(outer.encode(value)), { depth: 8, items: 99 })
      const result = readMessage(outer, opened.ok ? opened.value : undefined, 'strict')
      return result.ok && textOf(sorted(result.value)) === textOf(sorted({ ...defaults, ...value }))
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('a description of problems shows eight and counts the rest', async (t) => {
  const problems = Array.from({ length: 10 }, (_, index) => ({ path: `p${index}`, problem: 'is missing' }))
  t.equal(describeProblems(problems.slice(0, 2)), 'p0 is missing; p1 is missing')
  t.match(describeProblems(problems), /^p0 is missing;.*; p7 is missing; and 2 more$/)
  t.equal(describeProblems([]), '')
})

t.test('unknown keys are shown as at most eight numbers', async (t) => {
  const many = new Map<number, unknown>([
    [1, 'a'],
    ...Array.from({ length: 50 }, (_, i) => [100 + i, 0] as const),
  ])
  t.strictSame(problemsOf(outer, many), [
    'Outer has 50 unknown key(s): 100, 101, 102, 103, 104, 105, 106, 107',
  ])
})
