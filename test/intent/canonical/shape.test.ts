import t from 'tap'
import { readIntentJson } from '../../../src/intent/canonical/python-json.ts'
import {
  hexField,
  isSafeName,
  isVersion,
  listField,
  nameField,
  shapeField,
} from '../../../src/intent/canonical/shape.ts'

t.test('what may be part of a file name leads nowhere', (t) => {
  for (const name of [
    '',
    '.',
    '..',
    '../evil',
    '/etc/cron.d/saoe',
    'a.b',
    'a b',
    'a\n',
    'ä',
    'x'.repeat(129),
  ])
    t.equal(isSafeName(name), false, JSON.stringify(name))
  t.ok(isSafeName('00000000-0000-4000-8000-0000000000aa'))
  for (const version of ['', '.', '..', '1_v2', '-1', '1/2', 'x'.repeat(33)])
    t.equal(isVersion(version), false, JSON.stringify(version))
  t.ok(isVersion('1') && isVersion('2.0.1-rc1'))
  t.end()
})

t.test('a shape is closed, and says where what is wrong', (t) => {
  const check = shapeField({ a: nameField }, { b: listField(shapeField({ c: hexField(1) }), 2) })
  const read = (text: string) => {
    const json = readIntentJson(text, 1_000)
    return json.ok ? check(json.value) : undefined
  }
  t.equal(read('{"a":"x"}'), undefined)
  t.equal(read('{"a":"x","b":[{"c":"0f"}]}'), undefined)
  t.match(read('{}'), { field: 'a', problem: 'is missing' })
  t.match(read('{"a":"x","b":[{"c":"0f"},{"c":"0F"}]}'), { field: 'b.1.c' })
  t.match(read('{"a":"x","b":[{"c":"00"},{"c":"00"},{"c":"00"}]}'), { field: 'b' })
  for (const key of ['d', '__proto__', 'constructor', 'toString'])
    t.match(read(`{"a":"x",${JSON.stringify(key)}:1}`), { field: key, problem: /may stand here/ })
  t.match(read('[]'), { field: '', problem: 'must be an object' })
  t.end()
})
