/**
 * One part of a path that a shell expands: what it could be, and what it always is.
 * @module
 */
import t from 'tap'
import {
  alwaysFits,
  compileGlob,
  couldFit,
  hasWild,
} from '../../../../src/defense/13policy/rules/glob-part.ts'

const could = (pattern: string, part: string, hidden = false): boolean =>
  couldFit(pattern, compileGlob(part), hidden)

t.test('both sides may be wild', async (t) => {
  t.ok(could('a*c', 'ab*') && could('*a', 'b*') && could('*', '?') && could('a*b*c', '*?*'))
  t.notOk(could('a*', 'b*') || could('*a', '*b') || could('ab', 'a') || could('a', 'a?'))
  t.ok(could('*.key', 'id_[a-z]*') && could('sd*', 's[d]a'))
})

t.test('a bracket holds what POSIX says, and what is not plain is any character', async (t) => {
  t.ok(
    could('e', '[]e]') &&
      could(']', '[]e]') &&
      could('-', '[a-]') &&
      could('b', '[!a]') &&
      could('b', '[^a]'),
  )
  t.notOk(could('f', '[]e]') || could('a', '[!a]') || could('d', '[a-c]') || could('ab', '[ab]'))
  t.ok(could('ex', '[[:alpha:]]x') && could('1x', '[[:alpha:]]x'))
  t.ok(could('[a', '[a') && !could('a', '[a'), 'one that is not closed is a character')
})

t.test(
  'a dot at the beginning is not what a wild character stands for, unless the shell is told so',
  async (t) => {
    t.notOk(could('.ssh', '*') || could('.ssh', '?ssh') || could('.*', '[.]ssh'))
    t.ok(could('.ssh', '.*') && could('.ssh', '*', true) && could('*', '.ssh'))
  },
)

t.test('only what every expansion fits is always fitted', async (t) => {
  t.ok(
    alwaysFits('*', '?') &&
      alwaysFits('a*', 'ab*') &&
      alwaysFits('*.log', 'x*.log') &&
      alwaysFits('ab', 'ab'),
  )
  t.notOk(
    alwaysFits('a*', '*') || alwaysFits('ab', 'a?') || alwaysFits('a?', 'a?') || alwaysFits('*.log', '*'),
  )
  t.ok(hasWild('a*') && hasWild('[a') && hasWild('?') && !hasWild('ab'))
})
