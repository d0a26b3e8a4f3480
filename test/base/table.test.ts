import t from 'tap'
import { tableOf } from '../../src/base/table.ts'

t.test('a table has what was put into it, and nothing by inheritance', async (t) => {
  const table = tableOf({ git: 1, constructor: 2 })
  t.strictSame([table['git'], table['constructor']], [1, 2])
  for (const name of ['__proto__', 'toString', 'valueOf', 'hasOwnProperty'])
    t.equal(table[name], undefined, name)
  t.ok(Object.isFrozen(table))
})
