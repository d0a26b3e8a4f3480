import t from 'tap'
import type { JsonObject } from '../../../src/intent/canonical/python-json.ts'
import { type ArgvTemplate, argvOf } from '../../../src/intent/tools/argv.ts'

const words = (template: ArgvTemplate, args: JsonObject): readonly string[] | string => {
  const result = argvOf(template, args)
  return result.ok ? result.words : `${result.arg} ${result.problem}`
}

t.test('arguments become words, and no shell sees any', async (t) => {
  const template: ArgvTemplate = [
    '-l',
    { arg: 'width', flag: '--width' },
    { arg: 'all', flag: '-a' },
    '--',
    { arg: 'file' },
  ]
  t.strictSame(words(template, { file: '$(id); rm -rf / #', width: 80, all: true }), [
    ...['-l', '--width', '80', '-a', '--', '$(id); rm -rf / #'],
  ])
  t.strictSame(words(template, { all: false, file: 'a b' }), ['-l', '--', 'a b'])
  t.strictSame(words(template, {}), ['-l', '--'])
  t.strictSame(words([{ arg: 'files' }], { files: ['a', 'b'] }), ['a', 'b'])
  t.strictSame(words([{ arg: 'f', flag: '-f' }], { f: ['a', 'b'] }), ['-f', 'a', '-f', 'b'])
})

t.test('no argument becomes an option', async (t) => {
  t.match(words([{ arg: 'file' }], { file: '-rf' }), /file begins with "-"/)
  t.match(words([{ arg: 'f', flag: '-f' }], { f: '--exec=x' }), /begins with/)
  t.match(words([{ arg: 'n' }], { n: -1 }), /begins with/)
  t.strictSame(words(['--', { arg: 'file' }], { file: '-rf' }), ['--', '-rf'])
  t.strictSame(words([{ arg: 'file' }], { file: '-' }), ['-'], 'which is stdin by custom')
})

t.test('what can be no word is refused, and words are bounded', async (t) => {
  t.match(words([{ arg: 'x' }], { x: { a: 1 } }), /nothing that can be a word/)
  t.match(words([{ arg: 'x' }], { x: null }), /nothing/)
  t.match(words([{ arg: 'x' }], { x: [['a']] }), /nothing/)
  t.match(words([{ arg: 'x' }], { x: 'a\0b' }), /nothing/)
  t.match(words([{ arg: 'x' }], { x: Array.from({ length: 257 }, () => 'a') }), /more than 256/)
  t.strictSame(words([{ arg: 'toString' }], {}), [], 'what every object inherits is no argument')
})
