import t from 'tap'
import {
  invisible,
  newInvisible,
  readInvisible,
} from '../../../../src/defense/firewall/injections/invisible.ts'
import { techniqueNames } from '../../../../src/defense/firewall/injections/techniques.ts'

function read(text: string) {
  const into = newInvisible()
  for (const character of text) invisible(into, character.codePointAt(0) ?? 0)
  const techniques = techniqueNames(readInvisible(into))
  return {
    hidden: into.hidden,
    techniques,
    text: Buffer.from(into.secret.subarray(0, into.secretLength)).toString('latin1'),
  }
}

const shifted = (text: string, by: number) =>
  [...text].map((each) => String.fromCodePoint(by + (each.codePointAt(0) ?? 0))).join('')
const bits = (text: string, [zero = '', one = '']: string, width = 8, space = '') =>
  [...text]
    .map((each) =>
      each === ' ' && space !== ''
        ? space
        : (each.codePointAt(0) ?? 0).toString(2).padStart(width, '0').replace(/0/g, zero).replace(/1/g, one),
    )
    .join('')

t.test('tags and selectors say bytes', (t) => {
  t.match(read(shifted('hello', 0xe0000)), { hidden: 5, techniques: ['unicode-tags'], text: 'hello' })
  const selectors = read(shifted('hello', 0xe0100))
  t.equal(selectors.text.split('\n')[0], 'hello')
  t.equal(read(shifted('hello', 0xe0100 - 16)).text.split('\n')[1], 'hello')
  t.end()
})

t.test('two characters without width say bits, in any two of them, and a third may be the space', (t) => {
  for (const pair of ['\u2062\u2064', '\u2064\u2062', '\u200b\u200c', '\u200c\u200d', '\u2060\ufeff'])
    t.match(read(bits('some text', pair)), { techniques: ['zero-width', 'sneaky-bits'], text: 'some text' })
  t.equal(read(bits('some text', '\u2062\u2064', 8, '\u200b')).text, 'some text')
  t.equal(read(bits('seven bits', '\u2062\u2064', 7)).text.trim(), 'seven bits')
  t.end()
})

t.test('flags, joiners, single selectors and noise say nothing', (t) => {
  for (const text of [
    `\u{1f3f4}${shifted('gbsct', 0xe0000)}\u{e007f}`,
    '\u2764\ufe0f\u2764\ufe0f',
    '\u1780\u{e0101}',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '\u200b'.repeat(64),
  ])
    t.match(read(text), { hidden: 0, text: '' }, JSON.stringify(text))
  t.end()
})
