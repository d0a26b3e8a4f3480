import fc from 'fast-check'
import t from 'tap'
import { setMember } from '../../../src/cli/words/config-edit.ts'

t.test('replaces one member and leaves every other byte as it is', async (t) => {
  const text = '{ "a" :1,\n\t"agents": [ {"name":"}]\\""} ] ,\n "z": "agents" }\n'
  t.equal(setMember(text, 'agents', []), '{ "a" :1,\n\t"agents": [] ,\n "z": "agents" }\n')
})

t.test('finds a key that is written with escapes, and no key of the same name deeper down', async (t) => {
  t.equal(setMember('{"\\u0061gents": null}', 'agents', [1]), '{"\\u0061gents": [1]}')
  t.equal(setMember('{"x": {"agents": 1}}', 'agents', 2), '{"x": {"agents": 1},\n  "agents": 2}')
})

t.test('adds a member that is not there, to an empty object too', async (t) => {
  t.equal(setMember('{}', 'agents', []), '{\n  "agents": []\n}')
  t.equal(setMember('{ }\n', 'agents', []), '{\n  "agents": []\n}\n')
  t.equal(setMember('{\n  "a": 1\n}\n', 'b', { c: 1 }), '{\n  "a": 1,\n  "b": {\n    "c": 1\n  }\n}\n')
})

t.test('means the same as setting the member of the value, for any object and layout', async (t) => {
  const layouts = fc.constantFrom(undefined, 1, 2, '\t')
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.string(),
      fc.jsonValue(),
      layouts,
      (object, key, value, layout) => {
        if (key === '__proto__' || Object.hasOwn(object, '__proto__')) return
        const edited: unknown = JSON.parse(setMember(JSON.stringify(object, null, layout), key, value))
        t.same(edited, JSON.parse(JSON.stringify({ ...object, [key]: value })))
      },
    ),
    { numRuns: 300 },
  )
})
