import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { type Json, parseStrictJson } from '../../../src/base/encoding/strict-json.ts'

const VECTORS = join(import.meta.dirname, '../../../../shared/vectors/jsontestsuite')
const SIZE = 1_048_576

const parse = (input: string | Uint8Array) => parseStrictJson(input, { size: SIZE })

/** As JSON.parse sees it: with ordinary objects, so that the two can be compared. */
function ordinary(value: Json): unknown {
  if (Array.isArray(value)) return value.map((each: Json) => ordinary(each))
  if (typeof value !== 'object' || value === null) return value
  const members: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    Object.defineProperty(members, key, {
      value: ordinary(member as Json),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return members
}

t.test(
  'parses what the JSON test suite says must parse, but for keys given twice, and refuses what must fail',
  async (t) => {
    if (!existsSync(VECTORS)) {
      t.comment('skipped: ../shared/vectors/jsontestsuite is not here')
      return
    }
    // The grammar allows these two, RFC 7493 and this parser do not.
    const duplicates = new Set(['y_object_duplicated_key.json', 'y_object_duplicated_key_and_value.json'])
    let checked = 0
    for (const name of readdirSync(join(VECTORS, 'test_parsing'))) {
      const bytes = new Uint8Array(readFileSync(join(VECTORS, 'test_parsing', name)))
      const result = parse(bytes)
      checked += 1
      if (name.startsWith('n_')) t.notOk(result.ok, name)
      else if (duplicates.has(name)) t.notOk(result.ok, name)
      else if (name.startsWith('y_')) {
        if (result.ok) t.same(ordinary(result.value), JSON.parse(Buffer.from(bytes).toString()), name)
        else t.fail(`${name}: ${result.problem}`)
      } else if (result.ok) {
        // Free to choose: what is taken must at least mean what JSON.parse makes of it.
        t.same(ordinary(result.value), JSON.parse(Buffer.from(bytes).toString()), name)
      }
    }
    t.ok(checked > 300, `${checked} files`)
  },
)

t.test(
  'refuses what the test suite leaves open where a value would change: big integers, bad UTF-8, lone halves',
  async (t) => {
    if (!existsSync(VECTORS)) {
      t.comment('skipped: ../shared/vectors/jsontestsuite is not here')
      return
    }
    const open = readdirSync(join(VECTORS, 'test_parsing')).filter((name) => name.startsWith('i_'))
    const taken = open.filter(
      (name) => parse(new Uint8Array(readFileSync(join(VECTORS, 'test_parsing', name)))).ok,
    )
    t.same(taken, ['i_number_double_huge_neg_exp.json', 'i_number_real_underflow.json'])
    for (const name of readdirSync(join(VECTORS, 'test_transform'))) {
      const result = parse(new Uint8Array(readFileSync(join(VECTORS, 'test_transform', name))))
      const mustFail = /same_key|invalid|922337|10000000000000000999/.test(name)
      t.equal(result.ok, !mustFail, name)
    }
  },
)

t.test('refuses a key given twice in one object, at any depth and however it is escaped', async (t) => {
  const refused = [
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"a":1,"\\u0061":2}',
    '[{"x":{"y":[{"k":1,"k":2}]}}]',
    '{"":1,"":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"constructor":1,"constructor":2}',
    '{"\\ud83d\\ude00":1,"😀":2}',
  ]
  for (const text of refused)
    t.match(parse(text), { ok: false, problem: 'the key stands twice in one object' }, text)
  t.match(parse('{"a":1,"a":2}'), { offset: 7 })
  t.ok(parse('{"a":{"a":1},"b":{"a":1}}').ok)
  t.ok(parse('{"\u00e9":1,"e\u0301":2}').ok, 'composed and decomposed are two keys')
})

t.test('treats names of Object.prototype as keys like any other', async (t) => {
  const result = parse('{"__proto__":{"polluted":true},"constructor":1,"toString":2,"hasOwnProperty":3}')
  if (!result.ok) {
    t.fail(result.problem)
    return
  }
  t.same(Object.keys(result.value as object), ['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
  t.equal(Object.getPrototypeOf(result.value), null)
  t.equal('polluted' in {}, false)
})

t.test('holds integers to what a double holds exactly, and all numbers to finite ones', async (t) => {
  for (const text of [
    '9007199254740991',
    '-9007199254740991',
    '0',
    '-0',
    '1e3',
    '1E+2',
    '0.1',
    '123e65',
    '-1.5e-7',
  ]) {
    const result = parse(text)
    t.ok(result.ok && Object.is(result.value, JSON.parse(text)), text)
  }
  for (const text of ['9007199254740992', '-9007199254740992', '10000000000000000999', '9'.repeat(400)]) {
    t.notOk(parse(text).ok, text)
  }
  for (const text of ['1e400', '-1e400', `1${'0'.repeat(400)}.0`]) {
    t.match(parse(text), { ok: false, problem: 'the number is larger than a double can hold' }, text)
  }
  for (const text of [
    '01',
    '+1',
    '.5',
    '1.',
    '1e',
    '1e+',
    '--1',
    '0x10',
    'NaN',
    'Infinity',
    '-',
    '1_000',
    '\u0661',
  ]) {
    t.notOk(parse(text).ok, text)
  }
})

t.test('refuses lone surrogates in every form, and takes pairs in every form', async (t) => {
  for (const text of [
    '"\\ud800"',
    '"\\udc00"',
    '"\\ud83d\\ud83d\\ude00"',
    '"\\ude00\\ud83d"',
    '{"\\ud800":1}',
    '"\\ud83dx"',
  ]) {
    t.notOk(parse(text).ok, text)
  }
  t.notOk(parse('"\ud83d"').ok, 'raw')
  t.notOk(parse('"\\ud83d\ude00"').ok, 'half escaped, half raw')
  for (const text of ['"\\ud83d\\ude00"', '"\\uD83D\\uDE00"', '"😀"']) {
    const result = parse(text)
    t.ok(result.ok && result.value === '😀', text)
  }
})

t.test('refuses a byte order mark, trailing content and input over its size', async (t) => {
  t.match(parse('\ufeff{}'), { ok: false, offset: 0 })
  t.match(parse(Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d)), { ok: false })
  t.match(parse('{} {}'), { ok: false, problem: 'something follows the JSON value', offset: 3 })
  t.match(parse('1\0'), { ok: false, offset: 1 })
  t.match(parse('1\u00a0'), { ok: false })
  t.ok(parseStrictJson('[1]', { size: 3 }).ok)
  t.match(parseStrictJson('[1] ', { size: 3 }), { ok: false, offset: 0 })
  t.match(parseStrictJson(Buffer.from('"é"'), { size: 3 }), { ok: false })
  t.ok(parseStrictJson(Buffer.from('"é"'), { size: 4 }).ok)
})

t.test('counts nesting and values, and no depth overflows the stack', async (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  t.ok(parse(nested(64)).ok)
  t.match(parse(nested(65)), { ok: false, offset: 64 })
  t.ok(parse(`${'{"a":'.repeat(64)}1${'}'.repeat(64)}`).ok)
  t.notOk(parse(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`).ok)
  t.ok(parseStrictJson('[]', { size: 10, depth: 1 }).ok)
  t.notOk(parseStrictJson('[[]]', { size: 10, depth: 1 }).ok)
  t.ok(parseStrictJson('1', { size: 10, depth: 0 }).ok)
  t.notOk(parseStrictJson('[]', { size: 10, depth: 0 }).ok)
  t.notOk(parseStrictJson('['.repeat(SIZE), { size: SIZE, depth: 1_000_000 }).ok)
  t.ok(parseStrictJson('[1,2,3]', { size: 100, items: 4 }).ok)
  t.match(parseStrictJson('[1,2,3]', { size: 100, items: 3 }), { ok: false, offset: 5 })
})

t.test('refuses every beginning of a document, says where, and never throws', async (t) => {
  const text = '{"a":[1,-2.5e3,"x\\n\\u00e9"],"b":{"c":null,"d":[true,false]},"e":""}'
  t.ok(parse(text).ok)
  for (let end = 0; end < text.length; end += 1) {
    const result = parse(text.slice(0, end))
    t.ok(!result.ok && result.offset <= end && result.problem.length > 0, `${end} characters`)
  }
})

t.test(
  'refuses every document with one character replaced wherever JSON.parse does, and never reads it otherwise',
  async (t) => {
    const text = '{"a":[1,-2.5e3,"x\\n\\u00e9"],"b":{"c":null}}'
    const wrong: string[] = []
    for (let at = 0; at < text.length; at += 1) {
      for (const other of '{}[]":,\\0 -+.eEnua\n\0') {
        const changed = text.slice(0, at) + other + text.slice(at + 1)
        let expected: string | undefined
        try {
          expected = JSON.stringify(JSON.parse(changed))
        } catch {
          expected = undefined
        }
        const result = parse(changed)
        if (result.ok ? JSON.stringify(result.value) !== expected : expected !== undefined) {
          // Only a key given twice is refused here and taken there.
          if (result.ok || !/twice/.test(result.problem)) wrong.push(changed)
        }
      }
    }
    t.same(wrong, [])
  },
)

t.test('reads back whatever JSON.stringify wrote, as text and as bytes', async () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify(value)
      const fromText = parse(text)
      const fromBytes = parse(new Uint8Array(Buffer.from(text)))
      // JSON.stringify escapes lone halves, which are then refused.
      if (/\\ud[89a-f]/i.test(text)) return true
      if (/(^|[[:,])-?\d{16,}/.test(text)) return true
      return (
        fromText.ok &&
        fromBytes.ok &&
        JSON.stringify(fromText.value) === text &&
        JSON.stringify(fromBytes.value) === text
      )
    }),
    { numRuns: 400 },
  )
})
