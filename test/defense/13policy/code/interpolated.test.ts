/**
 * Code within a text is found, and what only names a value is left alone.
 * @module
 */
import t from 'tap'
import { interpolatedCode, pastInterpolation } from '../../../../src/defense/13policy/code/interpolated.ts'
import { tokensOf } from '../../../../src/defense/13policy/code/lexer.ts'

t.test('code in a text runs', (t) => {
  t.same(interpolatedCode('a {f("x")} b {c}', 'python'), ['f("x")'])
  t.same(interpolatedCode('${f({a: 1})}', 'javascript'), ['f({a: 1})'])
  t.same(interpolatedCode('#{`reboot`} #{name}', 'ruby'), ['`reboot`'])
  t.same(interpolatedCode('@{[system "x"]}', 'perl'), ['[system "x"]'])
  t.same(interpolatedCode('{$o->run()}', 'php'), ['$o->run()'])
  t.end()
})

t.test('where it is not clear whether the language has such texts, both are read', (t) => {
  t.same(interpolatedCode('${"; f(1); x = "}', 'other'), ['"; f(1); x = "', '""; f(1); x = ""'])
  t.same(interpolatedCode('${f(x)', 'javascript'), ['f(x)'])
  t.end()
})

t.test('a value and a language without such texts hold no code', (t) => {
  t.same(interpolatedCode('{x:>10} {y!r}', 'python'), [])
  t.same(interpolatedCode('{f(x)}', 'awk'), [])
  t.end()
})

t.test('a quote within the code does not end the text', (t) => {
  t.equal(pastInterpolation('#{f("x")}', 0, 'ruby'), 8)
  t.equal(pastInterpolation('{{x}}', 0, 'python'), 1)
  t.equal(pastInterpolation('x', 0, 'javascript'), 0)
  const { tokens } = tokensOf('puts "a #{system("reboot")} b"', 'ruby')
  t.ok(tokens.some(({ kind, text }) => kind === 'string' && text === 'reboot'))
  t.end()
})
