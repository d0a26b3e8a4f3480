import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { inLanes, LONGEST, WAITING } from '../../build/test-order.ts'

t.test('each file has one place: those that sleep beside the others, and the longest of these first', (t) => {
  const [sleeper = '', other = ''] = WAITING
  const [longest = '', second = ''] = LONGEST
  t.strictSame(inLanes(['test/a', second, sleeper, 'test/b', longest, other, 'test/c'], 3), [
    { files: [longest, second, 'test/a', 'test/b', 'test/c'], jobs: 3 },
    { files: [sleeper, other], jobs: 2 },
  ])
  t.strictSame(inLanes(['test/a'], 1)[0], { files: ['test/a'], jobs: 1 })
  t.end()
})

t.test('every file that has a place of its own is there, and has one only', (t) => {
  const named = [...WAITING, ...LONGEST]
  t.strictSame(
    named.filter((file) => !existsSync(join(import.meta.dirname, '../..', file))),
    [],
  )
  t.equal(new Set(named).size, named.length)
  t.end()
})
