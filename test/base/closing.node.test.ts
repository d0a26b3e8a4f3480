import { fstatSync, openSync } from 'node:fs'
import t from 'tap'
import { atEnd, closing } from '../../src/base/closing.node.ts'

const isOpen = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isCharacterDevice()
  } catch {
    return false
  }
}

t.test('descriptors are closed at the end of the block, and not before', (t) => {
  const [first, second] = [openSync('/dev/null', 'r'), openSync('/dev/null', 'r')]
  {
    using _ = closing(first, second)
    t.ok(isOpen(first) && isOpen(second))
  }
  t.notOk(isOpen(first) || isOpen(second))
  t.end()
})

t.test('also where the block throws, and the last that was begun ends first', (t) => {
  const descriptor = openSync('/dev/null', 'r')
  const done: string[] = []
  t.throws(() => {
    using _first = atEnd(() => done.push('first'))
    using _second = atEnd(() => done.push('second'))
    using _third = closing(descriptor)
    throw new Error('no')
  }, /^no$/)
  t.notOk(isOpen(descriptor))
  t.strictSame(done, ['second', 'first'])
  t.end()
})
