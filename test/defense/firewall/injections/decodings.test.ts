import t from 'tap'
import {
  decodeEscapes,
  decodePairs,
  decodeRuns,
  hasEscapes,
  newDecoded,
} from '../../../../src/defense/firewall/injections/decodings.ts'
import { techniqueNames } from '../../../../src/defense/firewall/injections/techniques.ts'
import { base32, base64 } from './disguises.ts'

type Decoder = typeof decodeRuns

function decoded(decode: Decoder, text: string): readonly [string, readonly string[]] {
  const into = newDecoded(4_096)
  const codes = Uint16Array.from(`${text} `, (unit) => unit.charCodeAt(0))
  decode(into, codes, text.length)
  return [Buffer.from(into.bytes.subarray(0, into.length)).toString().trim(), techniqueNames(into.techniques)]
}

const TEXT = 'the quick brown fox jumps'

t.test('runs of an encoding are decoded, wherever they stand', (t) => {
  for (const [text, plain, technique] of [
    [base64(TEXT), TEXT, 'base64'],
    [`key="${base64(TEXT)}";`, TEXT, 'base64'],
    [Buffer.from('¿qué tal, señor zorro?').toString('base64url'), '¿qué tal, señor zorro?', 'base64'],
    [Buffer.from(TEXT, 'utf16le').toString('base64'), TEXT, 'base64'],
    [base64(TEXT).slice(4), TEXT.slice(3).trim(), 'base64'],
    [base32(`${TEXT}     `), TEXT, 'base32'],
    [Buffer.from(TEXT).toString('hex').toUpperCase(), TEXT, 'hex'],
  ] as const)
    t.strictSame(decoded(decodeRuns, text), [plain, [technique]], text)
  for (const [text, plain] of [
    [TEXT.replace(/./g, (each) => `${each.charCodeAt(0).toString(16)} `), TEXT],
    [TEXT.replace(/./g, (each) => `0x${each.charCodeAt(0).toString(16)}, `), TEXT],
    [TEXT.replace(/./g, (each) => `\\x${each.charCodeAt(0).toString(16)}`), TEXT],
  ] as const)
    t.strictSame(decoded(decodePairs, text), [plain, ['hex']], text)
  t.end()
})

t.test('hashes, keys, paths and words are not taken for text', (t) => {
  for (const text of [
    'd41d8cd98f00b204e9800998ecf8427e d41d8cd98f00b204e9800998ecf8427e',
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk1pQ0wT4cX2oFz8m3yq7nYb9vJ5rK6hU1sLdEeWtRo',
    'src/defense/firewall/injections/normalise/characters',
    'averyveryveryverylongidentifierthatnobodycanread',
    'ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOP',
    TEXT,
  ])
    t.strictSame(decoded(decodeRuns, text), ['', []], text)
  for (const text of ['12:34:56 00:1b:21:3c:4d:5e', '10 20 30 40 50 60 70 80 90 11 99 97', TEXT])
    t.strictSame(decoded(decodePairs, text), ['', []], text)
  t.end()
})

t.test('escapes are resolved where letters are written with them', (t) => {
  for (const [text, plain] of [
    ['%74%68%65 fox', 'the fox'],
    ['&#116;&#x68;&#101; &lt;fox&gt;', 'the <fox>'],
    ['\\u0074\\u{68}\\x65\\nfox', 'the\nfox'],
    ['%D0%BB%D0%B8%D1%81%D0%B0', 'лиса'],
    ['\\u043b\\u0438\\u0441\\u0430', 'лиса'],
    ['&#128512;&#97;&#98;', '😀ab'],
  ] as const)
    t.strictSame(decoded(decodeEscapes, text), [plain, ['escapes']], text)
  for (const text of [
    'printf("%d %s\\n")',
    'a && b & c',
    'C:\\new\\temp',
    '100 %',
    '&lt;b&gt; &amp;',
    '%zz \\q &nothing;',
  ])
    t.strictSame(decoded(decodeEscapes, text), ['', []], text)
  const codes = (text: string) => Uint16Array.from(`${text}    `, (unit) => unit.charCodeAt(0))
  t.ok(hasEscapes(codes('%41%42%43'), 9))
  t.notOk(hasEscapes(codes('a && b || c & d % e'), 19))
  t.end()
})

t.test('what does not fit is cut, and nothing is written behind the end', (t) => {
  const into = newDecoded(32)
  const text = base64('many words that do not fit the place that there is for them')
  const codes = Uint16Array.from(`${text} `, (unit) => unit.charCodeAt(0))
  decodeRuns(into, codes, text.length)
  decodeRuns(into, codes, text.length)
  decodeEscapes(
    into,
    Uint16Array.from('%61%62%63 '.repeat(9), (unit) => unit.charCodeAt(0)),
    90,
  )
  t.ok(into.length <= 33)
  t.end()
})
