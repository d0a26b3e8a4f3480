import t from 'tap'
import {
  COMBINING,
  foldStyled,
  foldTable,
  foldWord,
  HIDDEN,
} from '../../../../src/defense/firewall/injections/fold.ts'

const table = foldTable()
const folded = (text: string): string => String.fromCharCode(table[text.charCodeAt(0)] ?? 0)

t.test('every code of the basic plane has its place, and ASCII is itself', (t) => {
  t.equal(table.length, 65_536)
  for (let code = 0x20; code < 0x7f; code += 1) t.equal(table[code], code)
  for (const [text, plain] of ['аa', 'Вb', 'οo', 'ıi', 'ßß', 'éé', 'ᴀa', 'Ａa', '。.', '’'].map((pair) => [
    ...pair,
  ]))
    if (plain !== undefined && text !== undefined && text !== plain && !'é'.includes(text))
      t.equal(folded(text).toLowerCase(), plain, text)
  t.equal(folded('é'), 'e')
  t.equal(folded('忽'), '忽')
  t.equal(folded('→'), ' ')
  t.end()
})

t.test('what shows nothing is hidden, and accents stand on their letter', (t) => {
  for (const code of [0, 0x08, 0x1b, 0x7f, 0xad, 0x200b, 0x2064, 0x202e, 0x3164, 0xfe0f, 0xfeff])
    t.equal(table[code], HIDDEN)
  for (const code of [0x301, 0x336, 0x20dd]) t.equal(table[code], COMBINING)
  t.end()
})

t.test('letters above the basic plane are found by their place in their block', (t) => {
  for (const [text, plain] of [
    ['𝐀', 'A'],
    ['𝐳', 'z'],
    ['𝒜', 'A'],
    ['𝖟', 'z'],
    ['𝟘', '0'],
    ['🄰', 'A'],
    ['🇿', 'Z'],
  ] as const)
    t.equal(String.fromCharCode(foldStyled(text.codePointAt(0) ?? 0)), plain, text)
  t.equal(foldStyled(0x1f600), 0)
  t.end()
})

t.test('words of the data base are folded like the text that they are looked for in', (t) => {
  t.equal(foldWord(table, 'PRÉCÉDENTES'), 'precedentes')
  t.equal(foldWord(table, 'cafe\u0301'), 'cafe')
  t.equal(foldWord(table, 'РАУРАӀ'), foldWord(table, 'раураӏ'))
  t.end()
})
