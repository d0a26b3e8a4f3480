import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bytesAt, fieldsOf, isCount, jsonAt } from '../../src/base/small-file.node.ts'

t.test('a file of the size that it may have, and nothing of any other', (t) => {
  const directory = t.testdir({ small: '12345678', json: '{"a":[1,{"b":null}]}', twice: '{"a":1,"a":2}' })
  const at = (name: string) => join(directory, name)
  t.equal(bytesAt(at('small'), 8)?.toString(), '12345678')
  t.equal(bytesAt(at('small'), 7), undefined, 'larger than it may be')
  t.equal(bytesAt(at('absent'), 8), undefined)
  mkdirSync(at('directory'))
  t.equal(bytesAt(at('directory'), 8), undefined)
  symlinkSync('small', at('link'))
  t.equal(bytesAt(at('link'), 8)?.toString(), '12345678')
  t.equal(bytesAt(at('link'), 8, true), undefined, 'no link where none is followed')
  // Whoever opened it to read would wait for a writer.
  execFileSync('mkfifo', [at('fifo')])
  t.equal(bytesAt(at('fifo'), 8), undefined)
  t.same(jsonAt(at('json'), 64), { a: [1, { b: null }] })
  t.equal(jsonAt(at('json'), 8), undefined)
  t.equal(jsonAt(at('twice'), 64), undefined, 'a name twice says nothing')
  writeFileSync(at('json'), '{"a":1} and more')
  t.equal(jsonAt(at('json'), 64), undefined)
  t.end()
})

t.test('fields of what is an object, and numbers that count', (t) => {
  t.strictSame(fieldsOf({ a: 1 }), { a: 1 })
  for (const other of [null, undefined, 'text', 7, true]) t.strictSame(fieldsOf(other), {})
  for (const count of [0, 1, Number.MAX_SAFE_INTEGER]) t.ok(isCount(count), String(count))
  for (const other of [-1, 0.5, Number.MAX_SAFE_INTEGER + 1, Number.NaN, '1', null])
    t.notOk(isCount(other), String(other))
  t.end()
})
