import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import t from 'tap'
import { signWith } from '../../../src/base/crypto/ed25519.node.ts'
import { hostSha256 } from '../../../src/base/crypto/sha256.node.ts'
import { encodeHex } from '../../../src/base/encoding/hex.ts'
import type { Json } from '../../../src/base/encoding/strict-json.ts'
import {
  pythonDefaultLength,
  pythonJson,
  pythonJsonBytes,
  readIntentJson,
} from '../../../src/intent/canonical/python-json.ts'
import { OVER, sha256Hex } from '../ground.ts'
import {
  ENVELOPE_SIGNED_BYTES,
  ENVELOPE_SIGNED_SHA256,
  ENVELOPE_VECTOR,
  IMAGE_TEMPLATE_SHA256,
  IMAGE_TEMPLATE_VECTOR,
  PLAN_SHA256,
  PLAN_SIGNATURE,
  PLAN_VECTOR,
} from '../vectors.ts'

const SIZE = 1_048_576

t.test('writes what Python writes: sorted, without spaces, ASCII alone (SA-07)', (t) => {
  for (const [value, text] of [
    [{ b: 1, a: [true, false, null] }, '{"a":[true,false,null],"b":1}'],
    ['café', '"caf\\u00e9"'],
    ['\u007f', '"\\u007f"'],
    ['\u{1f600}', '"\\ud83d\\ude00"'],
    ['"\\/\b\f\n\r\t\u0000\u001f', '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f"'],
    [{ '\u{1f600}': 1, '\ufb33': 2 }, '{"\\ufb33":2,"\\ud83d\\ude00":1}'],
    [{ '10': 1, '9': 2 }, '{"10":1,"9":2}'],
    [-0, '0'],
    [-7, '-7'],
    [{}, '{}'],
    [[], '[]'],
  ] as [Json, string][])
    t.equal(pythonJson(value), text)
  t.end()
})

t.test('the vectors come out byte for byte: envelope, template, manifest and plan (SA-07, SA-29)', (t) => {
  const { envelope_signature: _, ...signed } = ENVELOPE_VECTOR
  t.equal(pythonJsonBytes(signed).length, ENVELOPE_SIGNED_BYTES)
  t.equal(sha256Hex(signed), ENVELOPE_SIGNED_SHA256)
  t.match(sha256Hex(IMAGE_TEMPLATE_VECTOR), IMAGE_TEMPLATE_SHA256)
  t.equal(sha256Hex(PLAN_VECTOR), PLAN_SHA256)
  t.equal(pythonJsonBytes(PLAN_VECTOR).length, 325)
  t.equal(encodeHex(signWith(OVER, pythonJsonBytes(PLAN_VECTOR))), PLAN_SIGNATURE)
  t.end()
})

t.test('what the canonical form cannot say is refused: fractions, exponents, half pairs, depth', (t) => {
  for (const text of ['1.0', '1e3', '-0.0', '[1.5]', '"\\ud800"', '9007199254740993'])
    t.equal(readIntentJson(text, SIZE).ok, false, text)
  t.equal(readIntentJson(`${'['.repeat(65)}${']'.repeat(65)}`, SIZE).ok, false)
  t.equal(readIntentJson(`${'['.repeat(64)}${']'.repeat(64)}`, SIZE).ok, true)
  t.throws(() => pythonJson(1.5), { code: 'INTERNAL' })
  t.throws(() => pythonJson('\ud800'), { code: 'INTERNAL' })
  t.end()
})

t.test('values in one text are bounded, long texts are not', (t) => {
  t.equal(readIntentJson(`[${'0,'.repeat(32_766)}0]`, SIZE).ok, true)
  t.equal(readIntentJson(`[${'0,'.repeat(32_768)}0]`, SIZE).ok, false)
  t.equal(readIntentJson(JSON.stringify('x'.repeat(900_000)), SIZE).ok, true)
  t.end()
})

t.test('keys are in the order of their code points', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b))
      const isFirst = pythonJson({ [a]: 0, [b]: 1 }).endsWith(':1}')
      return a === b || isFirst === bytes < 0
    }),
  )
  t.end()
})

t.test('Python itself writes the same, and measures payloads the same', (t) => {
  const script = [
    'import json, sys',
    'for line in sys.stdin:',
    '    v = json.loads(line)',
    '    c = json.dumps(v, sort_keys=True, separators=(",", ":"), ensure_ascii=True)',
    '    print(json.dumps([c, len(json.dumps(v))]))',
  ].join('\n')
  const value = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      fc.string({ unit: 'binary' }),
      fc.maxSafeInteger(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('json'), { maxLength: 4 }),
      fc.dictionary(fc.string({ unit: 'binary' }), tie('json'), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).json
  const values = fc.sample(value, 300)
  const run = spawnSync('python3', ['-c', script], {
    input: values.map((one) => `${JSON.stringify(one)}\n`).join(''),
    encoding: 'utf8',
  })
  if (run.error !== undefined) {
    t.comment('skipped: python3 is not here')
    t.end()
    return
  }
  const lines = run.stdout.trim().split('\n')
  t.equal(lines.length, values.length, run.stderr)
  for (const [at, one] of values.entries()) {
    const [text, length] = JSON.parse(lines[at] ?? '[]') as [string, number]
    if (text !== pythonJson(one) || length !== pythonDefaultLength(one)) t.fail(JSON.stringify(one))
  }
  t.equal(encodeHex(hostSha256(pythonJsonBytes({}))).length, 64)
  t.end()
})
