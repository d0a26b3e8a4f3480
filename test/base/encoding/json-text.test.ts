import fc from 'fast-check'
import t from 'tap'
import { formatJson } from '../../../src/base/encoding/json-text.ts'

t.test('writes one member a line and keeps short lists together', async (t) => {
  t.equal(
    formatJson({ a: [1, 'x', null], b: {}, c: [] }),
    '{\n  "a": [1, "x", null],\n  "b": {},\n  "c": []\n}',
  )
  t.equal(formatJson([{ a: 1 }], '  '), '[\n    {\n      "a": 1\n    }\n  ]')
})

t.test('breaks a list that does not fit into 110 columns', async (t) => {
  const fits = ['x'.repeat(96)]
  t.equal(formatJson({ key: fits }).split('\n').length, 3)
  t.equal(formatJson({ key: ['x'.repeat(97)] }).split('\n').length, 5)
})

t.test('says the same as JSON.stringify', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      t.same(JSON.parse(formatJson(value)), JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 200 },
  )
})
