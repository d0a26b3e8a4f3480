/**
 * Maps in little memory: few entries or many, they answer as a Map does.
 * @module
 */
import t from 'tap'
import {
  createListPool,
  entriesOf,
  findValue,
  sealMap,
} from '../../../../src/defense/13policy/rules/small-map.ts'

t.test('few entries and many are found alike', async (t) => {
  for (const count of [0, 1, 12, 13, 100]) {
    const map = new Map<string, number>(Array.from({ length: count }, (_, index) => [`key${index}`, index]))
    const sealed = sealMap(map)
    for (const [key, value] of map) t.equal(findValue(sealed, key), value)
    t.equal(findValue(sealed, 'none'), undefined)
    t.strictSame([...entriesOf(sealed)], [...map])
    map.set('later', 1)
    t.equal(findValue(sealed, 'later'), undefined, 'what comes later is not in it')
  }
})

t.test('equal lists are one list', async (t) => {
  const pool = createListPool()
  const first = pool([1, 23])
  t.equal(pool([1, 23]), first)
  t.strictSame(pool([12, 3]), [12, 3])
  t.not(pool([12, 3]), first)
  t.strictSame(pool([]), [])
})
