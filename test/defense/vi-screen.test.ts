/**
 * The screen of R4, byte by byte, and as an xterm shows it beside the editor that it looks like.
 * @module
 */
import t from 'tap'
import { SCREEN_MAX_CELLS, SCREEN_MIN_CELLS, viScreen } from '../../src/defense/deception/vi-screen.ts'
import { recorded, shown } from './terminal.ts'

const text = Buffer.from(viScreen()).toString('latin1')

/** Sizes that people have, the smallest, one that cuts the status line, and the largest. */
const SIZES = [
  [24, 80],
  [50, 200],
  [25, 132],
  [5, 10],
  [2, 2],
  [3, 18],
  [500, 500],
] as const

/** As BusyBox 1.35 wrote it on a terminal of that size, TERM=xterm. */
function busyboxBytes(rows: number, columns: number): Uint8Array {
  const tildes = Array.from({ length: rows - 2 }, (_, index) => `\x1b[${index + 2};1H~`).join('')
  const status = '- No file 1/1 100%'.slice(0, columns)
  return Buffer.from(`\x1b[?1049h\x1b[H\x1b[J${tildes}\x1b[1;1H\x1b[${rows};1H\x1b[K${status}\x1b[1;1H`)
}

t.test('an xterm shows an empty buffer: a blank line, tildes, a status line on row 24', async (t) => {
  const state = await shown(24, 80, viScreen())
  t.equal(state.rows[0], '')
  t.strictSame([...new Set(state.rows.slice(1, 23))], ['~'])
  t.equal(state.rows[23], '- No file 1/1 100%')
  t.equal(state.isAlternateScreen, true)
  t.strictSame(state.cursor, { row: 1, column: 1 })
  t.equal(state.isCursorShown, true, 'it was hidden only while the screen was drawn')
  t.equal(state.answers, '', 'the terminal is asked nothing')
})

t.test(
  'at every size the terminal is in the state in which BusyBox vi leaves it: text, cursor, modes, colours',
  async (t) => {
    for (const [rows, columns] of SIZES) {
      t.strictSame(
        await shown(rows, columns, viScreen(rows, columns)),
        await shown(rows, columns, busyboxBytes(rows, columns)),
        `${rows}x${columns}`,
      )
    }
  },
)

t.test('a real vi of BusyBox, where there is one, cannot be told from it', async (t) => {
  const directory = t.testdir()
  for (const [rows, columns] of SIZES.slice(0, 5)) {
    const real = await recorded(rows, columns, 'busybox vi', directory)
    if (real === undefined) return t.comment('skipped: busybox or script is not here')
    t.strictSame(
      await shown(rows, columns, viScreen(rows, columns)),
      await shown(rows, columns, real),
      `${rows}x${columns}`,
    )
  }
})

t.test('any other vi that is here starts with the same shape: blank, tildes, one last line', async (t) => {
  const directory = t.testdir()
  const ours = await shown(24, 80, viScreen())
  // vim shows a splash without a file.
  for (const command of ['nvi', 'vim.tiny -n new', 'vim -u NONE -n new']) {
    const real = await recorded(24, 80, command, directory)
    if (real === undefined) {
      t.comment(`skipped: ${command} or script is not here`)
      continue
    }
    const theirs = await shown(24, 80, real)
    t.strictSame(
      theirs.rows.slice(0, 23).map((row) => row.trimEnd()),
      ours.rows.slice(0, 23),
      command,
    )
    t.not(theirs.rows[23], '', command)
    t.strictSame(
      [theirs.isAlternateScreen, theirs.cursor, theirs.isCursorShown],
      [ours.isAlternateScreen, ours.cursor, ours.isCursorShown],
      command,
    )
  }
})

t.test('what a person had on the screen before comes back when the editor is left', async (t) => {
  const before = Buffer.from('$ rm -rf /srv\r\n')
  const left = Buffer.from('\x1b[?1049l')
  const state = await shown(24, 80, Buffer.concat([before, viScreen(), left]))
  t.equal(state.rows[0], '$ rm -rf /srv')
  t.equal(state.isAlternateScreen, false)
})

t.test('the bytes come in the order that the draft has', (t) => {
  for (const [rows, columns] of SIZES) {
    const bytes = Buffer.from(viScreen(rows, columns)).toString('latin1')
    t.ok(bytes.startsWith('\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l'))
    t.ok(bytes.includes(`\x1b[${rows};1H-`), 'then the status line in the last row')
    t.notOk(bytes.includes('[?1049l'), 'it does not leave that screen')
  }
  t.ok(text.includes('\x1b[24;1H'))
  t.end()
})

t.test('a size that is none counts as 24 rows and 80 columns, one too large as the bound', (t) => {
  for (const none of [0, 1, -5, Number.NaN, 2.5, Number.POSITIVE_INFINITY]) {
    t.strictSame(viScreen(none, none), viScreen(24, 80), `${none}`)
  }
  t.strictSame(viScreen(65_535, 65_535), viScreen(SCREEN_MAX_CELLS, SCREEN_MAX_CELLS))
  t.not(viScreen(SCREEN_MAX_CELLS - 1).length, viScreen(SCREEN_MAX_CELLS).length)
  t.ok(viScreen(SCREEN_MIN_CELLS, SCREEN_MIN_CELLS).length < 64)
  t.end()
})

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
  t.end()
})
