/**
 * The screen of R4, byte by byte and as a terminal would show it.
 * @module
 */
import t from 'tap'
import { viScreen } from '../../src/defense/vi-screen.ts'

const text = Buffer.from(viScreen()).toString('latin1')

/** What 24 rows of 80 columns show after these bytes; knows the five sequences that are in it. */
function show(bytes: string): string[] {
  const rows = Array.from({ length: 24 }, () => '')
  let row = 0
  let column = 0
  let rest = bytes
  while (rest !== '') {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is steered by them
    const sequence = /^\x1b\[(\?\d+[hl]|[\d;]*[HJ])/.exec(rest)?.[1]
    if (sequence !== undefined) {
      rest = rest.slice(sequence.length + 2)
      if (!sequence.endsWith('H')) continue
      const [r = '1', c = '1'] = sequence.slice(0, -1).split(';')
      row = Number(r || 1) - 1
      column = Number(c || 1) - 1
      continue
    }
    const character = rest[0] ?? ''
    rest = rest.slice(1)
    if (character === '\r') column = 0
    else if (character === '\n') row++
    else {
      rows[row] = (rows[row] ?? '').padEnd(column) + character
      column++
    }
  }
  return rows
}

t.test('the screen is an empty buffer: a blank line, tildes, the status line on row 24', (t) => {
  const rows = show(text)
  t.equal(rows.length, 24, 'nothing scrolls')
  t.equal(rows[0], '')
  t.strictSame([...new Set(rows.slice(1, 23))], ['~'])
  t.equal(rows[23], '"[No Name]" 0 lines, 0 bytes')
  t.end()
})

t.test(
  'it begins with the alternate screen, clear, home, a hidden cursor, and leaves the cursor at home',
  (t) => {
    t.ok(text.startsWith('\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l'))
    t.ok(text.endsWith('\x1b[1;1H'))
    t.notOk(text.includes('[?1049l'), 'it does not leave that screen')
    t.end()
  },
)

t.test('nothing in it names this daemon, a refusal or a defence', (t) => {
  t.notMatch(
    text,
    /sass|saki|agent|den(y|ied)|refus|polic|forbid|permission|error|block|security|violat|trap/i,
  )
  t.end()
})

t.test('it is the same every time and holds no state', (t) => {
  t.strictSame(viScreen(), viScreen())
  t.not(viScreen(), viScreen())
  t.ok(viScreen().length < 1_024)
  t.end()
})
