import t from 'tap'
import { foldTable } from '../../../../src/defense/firewall/injections/fold.ts'
import {
  copyPlain,
  newNormalised,
  readScreen,
  readText,
} from '../../../../src/defense/firewall/injections/normalise.ts'
import { techniqueNames } from '../../../../src/defense/firewall/injections/techniques.ts'

const fold = foldTable()

function read(text: string | Uint8Array, gapsAsSpaces = false) {
  const into = newNormalised()
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  if (!copyPlain(into, bytes, 0, bytes.length)) readText(into, fold, bytes, 0, bytes.length, gapsAsSpaces)
  return into
}

const textOf = (codes: Uint16Array, length: number): string =>
  String.fromCharCode(...codes.subarray(0, length))

function screenOf(text: string): string {
  const into = read(text)
  const screen = new Uint16Array(into.codes.length)
  return textOf(screen, readScreen(into, screen))
}

t.test('letters are what a reader takes them for', (t) => {
  for (const [text, plain] of [
    ['plain ASCII\tand\n lines', 'plain ASCII\tand\n lines'],
    ['раураӏ', 'paypal'],
    ['ｆｕｌｌ　ｗｉｄｔｈ！', 'full width!'],
    ['𝒎𝓪𝔱𝕙 𝟎𝟏', 'math 01'],
    ['ⓒⓘⓡⓒⓛⓔ 🅰🅱', 'circle AB'],
    ['ﬁne', 'fne'],
    ['café, cafe\u0301', 'cafe, cafe'],
    ['so\u200bft\u00ad ware', 'soft ware'],
    ['a😀b', 'a b'],
    ['x — “y”', 'x - "y"'],
    ['字 と 글', '字 と 글'],
  ] as const)
    t.equal(textOf(read(text).codes, read(text).length), plain, text)
  t.equal(textOf(read('in\u200bto\u2060it', true).codes, 8), 'in to it')
  t.end()
})

t.test('broken UTF-8 becomes spaces, byte by byte, and nothing else is lost', (t) => {
  for (const [bytes, plain] of [
    [[0x61, 0xff, 0x62], 'a b'],
    [[0xa9, 0x61], ' a'],
    [[0x61, 0xc3], 'a '],
    [[0x61, 0xe2, 0x82], 'a  '],
    [[0xc0, 0xaf, 0x61], '  a'],
    [[0xf5, 0x80, 0x80, 0x80, 0x61], '    a'],
    [[0x61, 0x00, 0x62, 0x00], 'ab'],
  ] as const) {
    const into = read(Uint8Array.from(bytes))
    t.equal(textOf(into.codes, into.length), plain, String(bytes))
  }
  t.end()
})

t.test('what a terminal hides stays in the text, without its sequences', (t) => {
  for (const [text, plain, techniques] of [
    ['\x1b[1mbo\x1b[0mld', 'bold', ['terminal-sequences']],
    ['\x1b[8mhidden\x1b[28m', 'hidden', ['terminal-conceal']],
    ['\x1b[31;41mred\x1b[0m', 'red', ['terminal-conceal']],
    ['\x1b[38;2;9;9;9m\x1b[48;2;9;9;9mgrey', 'grey', ['terminal-conceal']],
    ['\x1b[38;5;9;48;5;9mnine', 'nine', ['terminal-conceal']],
    ['\x1b[31;42mred\x1b[0m', 'red', []],
    ['\x1b[38;5;9;48;5;10mnine', 'nine', []],
    ['old\rnew', 'old\rnew', ['carriage-return-overwrite']],
    ['line\r\nline', 'line\nline', []],
    ['\x1b]0;title\x07text', '\n0;title text', ['terminal-strings']],
    ['\x1b(Btext', 'text', []],
    ['\x9b1m', ' 1m', []],
    ['\u009b1mtext', 'text', []],
    ['text\x1b[', 'text', []],
    ['text\x1b', 'text', []],
  ] as const) {
    const into = read(text === '\x9b1m' ? Uint8Array.of(0x9b, 0x31, 0x6d) : text)
    t.equal(textOf(into.codes, into.length), plain, JSON.stringify(text))
    t.strictSame(techniqueNames(into.techniques), techniques, JSON.stringify(text))
  }
  t.end()
})

t.test('the screen has what stands there in the end', (t) => {
  for (const [text, shown] of [
    ['abc\b\bX', 'aXc'],
    ['hello\rJ', 'Jello'],
    ['abc\x1b[2Kd', '   d'],
    ['abc\b\b\x1b[Kd', 'ad'],
    ['abc\x1b[1Gx\x1b[3Gy', 'xby'],
    ['ab\x1b[3Cc', 'ab   c'],
    ['abcd\x1b[9Dx\nnext\b!', 'xbcd\nnex!'],
    ['a\x1b[9999Cb\n', 'a'],
  ] as const)
    t.equal(screenOf(text).trimEnd(), shown, JSON.stringify(text))
  t.end()
})
