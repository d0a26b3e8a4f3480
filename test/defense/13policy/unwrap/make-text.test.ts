/**
 * Recipes of a makefile with their variables and functions put in, and what a makefile takes in or sets for them.
 * @module
 */
import t from 'tap'
import { makeText } from '../../../../src/defense/13policy/unwrap/make-text.ts'

const found = (text: string) =>
  makeText({ text, isGlob: false, opaque: undefined }).map((inner) => {
    if (inner.kind === 'shell') return inner.word.text
    return inner.kind === 'argv' ? inner.words.map((word) => word.text).join(' ') : inner.kind
  })

t.test('functions that only make text are worked out', (t) => {
  for (const recipe of [
    '$(if x,rm x,true)',
    '$(or ,rm) x',
    '$(patsubst %,rm %,x)',
    '$(wordlist 2,3,a rm x)',
    '$(word 1,rm a) x',
    '$(join r,m) x',
    '$(call F,x)',
    '$(value R) x',
    '$(eval E := rm x)$(E)',
  ])
    t.same(found(`R = rm\nF = rm $(1)\nall:\n\t${recipe}`), ['rm x'], recipe)
  t.end()
})

t.test('a line goes on behind its mark, and one shell may get all lines', (t) => {
  t.same(found('all:\n\tcd a && \\\n\trm x'), ['cd a &&  rm x'])
  t.ok(found('.ONESHELL:\nall:\n\tcd a\n\trm x').includes('cd a\nrm x'))
  t.end()
})

t.test('what is exported is set for the recipes, and another makefile is one as well', (t) => {
  t.ok(found('export A = b\nall:\n\ttrue').includes("A='b' true"))
  t.ok(found('include /opt/x.mk').includes('make -f /opt/x.mk'))
  t.same(found('include config.mk'), [])
  t.end()
})
