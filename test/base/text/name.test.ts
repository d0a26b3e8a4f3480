import t from 'tap'
import { isName, NAME_PATTERN } from '../../../src/base/text/name.ts'

t.test('takes 1 to 64 of the characters A-Z a-z 0-9 . _ - and nothing else', async (t) => {
  for (const good of ['a', 'agent-7', 'A.b_c', '-', '..', 'x'.repeat(64)]) t.ok(isName(good), good)
  for (const bad of ['', 'x'.repeat(65), 'a b', 'a/b', 'ä', 'a\n', 'a\0', '"'])
    t.notOk(isName(bad), JSON.stringify(bad))
  t.equal(new RegExp(NAME_PATTERN).test('agent'), true)
})
