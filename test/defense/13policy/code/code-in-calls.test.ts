/**
 * Texts that calls take for code are read as code; other texts are not.
 * @module
 */
import t from 'tap'
import { readCode } from '../../../../src/defense/13policy/code/words.ts'
import type { Language } from '../../../../src/defense/13policy/unwrap/inner.ts'

function codeIn(text: string, language: Language): readonly string[] {
  return readCode(text, language, 'test').inner.flatMap((inner) =>
    inner.kind === 'code' ? inner.word.text : [],
  )
}

t.test('a text that is code by the name of the call', (t) => {
  const lines: readonly (readonly [Language, string])[] = [
    ['python', "cProfile.runctx('f(1)', {}, {})"],
    ['python', "trace.Trace().run('f(1)')"],
    ['python', "sympy.sympify('f(1)')"],
    ['javascript', "_.template('f(1)')()"],
    ['javascript', "[].filter.constructor('f(1)')()"],
    ['javascript', "new (require('worker_threads').Worker)('f(1)', { eval: true })"],
    ['perl', "timethis(1, 'f(1)')"],
    ['ruby', "ERB.new('f(1)').result"],
  ]
  for (const [language, text] of lines) t.same(codeIn(text, language), ['f(1)'], text)
  t.end()
})

t.test('a text that runs nothing, or is given to another call', (t) => {
  t.same(codeIn("app.run('0.0.0.0')", 'python'), [])
  t.same(codeIn("df.query('a > 3')", 'python'), [])
  t.same(codeIn("log.info('f(1)')", 'python'), [])
  t.end()
})
