import t from 'tap'
import { commentEnd } from '../../../../src/defense/13policy/code/comments.ts'

t.test('a comment ends with its line or its block', async (t) => {
  t.equal(commentEnd('# a\nb', 0, 'python'), 3)
  t.equal(commentEnd('// a', 0, 'javascript'), 4)
  t.equal(commentEnd('/* a */ b', 0, 'php'), 7)
  t.equal(commentEnd('--[[ a ]] b', 0, 'lua'), 9)
})

t.test('forms of Lisp and C that begin with the same mark are none', async (t) => {
  for (const text of ["#'delete-file", '#p"/x"', '#define R remove("/x")'])
    t.equal(commentEnd(text, 0, 'other'), undefined, text)
  t.equal(commentEnd('# a comment of R', 0, 'other'), 16)
})
