/** Control sequences: out of the way of the text, and back at their places. */
import fc from 'fast-check'
import t from 'tap'
import { type Controls, createControls } from '../../../src/defense/firewall/controls.ts'
import { CONTROL_BYTES, CONTROL_STRING_BYTES, CONTROLS_KEPT } from '../../../src/defense/firewall/limits.ts'

const text = new Uint8Array(4_096)

function given(controls: Controls): string {
  const target = new Uint8Array(CONTROL_STRING_BYTES + 1)
  return Buffer.from(target.subarray(1, 1 + controls.giveUpTo(controls.nextOffset, target, 1))).toString(
    'latin1',
  )
}

/** The text, and the sequences with their places. */
function apart(input: string, cut = input.length): { text: string; at: [number, string][] } {
  const controls = createControls()
  const bytes = Buffer.from(input, 'latin1')
  let out = ''
  for (let at = 0; at < bytes.length; at += controls.takenBytes)
    out += Buffer.from(text.subarray(0, controls.take(bytes.subarray(at, at + cut), text))).toString('latin1')
  out += Buffer.from(text.subarray(0, controls.finish(text))).toString('latin1')
  const at: [number, string][] = []
  while (controls.keptCount > 0) at.push([controls.nextOffset, given(controls)])
  return { text: out, at }
}

t.test('colours, cursors, modes, and character sets', (t) => {
  t.strictSame(apart('a\x1b[1;31mb\x1b[0mc'), {
    text: 'abc',
    at: [
      [1, '\x1b[1;31m'],
      [2, '\x1b[0m'],
    ],
  })
  t.strictSame(apart('\x1b[?25lx\x1b7y\x1b(B'), {
    text: 'xy',
    at: [
      [0, '\x1b[?25l'],
      [1, '\x1b7'],
      [2, '\x1b(B'],
    ],
  })
  t.end()
})

t.test('links and titles, whichever way they end', (t) => {
  for (const string of [
    '\x1b]0;a title\x07',
    '\x1b]8;;file://host/a%20b\x1b\\',
    '\x1b]2;na\xc3\xafve\x07',
    '\x1b]\x07',
  ])
    t.strictSame(apart(`a${string}b\x1b[1m`), {
      text: 'ab',
      at: [
        [1, string],
        [2, '\x1b[1m'],
      ],
    })
  t.strictSame(
    apart('\x1b[1m\x1b[2m\x1b]0;t\x07\x1b]0;u\x07x'),
    {
      text: 'x',
      at: [
        [0, '\x1b[1m\x1b[2m'],
        [0, '\x1b]0;t\x07'],
        [0, '\x1b]0;u\x07'],
      ],
    },
    'a string is given alone',
  )
  for (const none of ['\x1b]0;a line\n', '\x1b]0;nothing follows', '\x1b]0;nothing follows\x1b'])
    t.strictSame(apart(`${none}`), { text: none, at: [] })
  t.strictSame(apart('\x1b]0;x\x1b[1my'), { text: '\x1b]0;xy', at: [[5, '\x1b[1m']] }, 'one that breaks off')
  const most = `\x1b]0;${'x'.repeat(CONTROL_STRING_BYTES - 5)}\x07`
  t.strictSame(apart(most), { text: '', at: [[0, most]] })
  const long = most.replace('x', 'xx')
  t.strictSame(apart(long), { text: long, at: [] })
  t.end()
})

t.test('it stops behind so many sequences, the same wherever they are cut', (t) => {
  const bytes = Buffer.from('\x1b[m'.repeat(3 * CONTROLS_KEPT))
  for (const cut of [1, 2, 7, 4_000, bytes.length]) {
    const controls = createControls()
    const stops: number[] = []
    for (let at = 0; at < bytes.length; at += controls.takenBytes) {
      controls.take(bytes.subarray(at, at + cut), text)
      if (controls.isFull) stops.push(at + controls.takenBytes)
    }
    t.strictSame(stops, [3 * CONTROLS_KEPT, 6 * CONTROLS_KEPT, 9 * CONTROLS_KEPT], `by ${cut}`)
  }
  t.end()
})

t.test('what is within other strings is text, and what is no sequence too', (t) => {
  const setting = '\x1bP$q"p\x1b\\'
  t.strictSame(apart(`${setting}x`), { text: `${setting.slice(0, -2)}x`, at: [[6, '\x1b\\']] })
  t.strictSame(apart('\x1b\x01x'), { text: '\x1b\x01x', at: [] })
  t.strictSame(apart('x\x1b'), { text: 'x\x1b', at: [] }, 'nothing follows')
  const long = `\x1b[${'1'.repeat(CONTROL_BYTES)}m`
  t.strictSame(apart(long), { text: long, at: [] })
  t.strictSame(
    apart('\x1b[1\x1b[2mx'),
    { text: '\x1b[1x', at: [[3, '\x1b[2m']] },
    'one that breaks off, and one that does not',
  )
  t.end()
})

t.test('the same wherever it is cut, and nothing is lost', (t) => {
  const pieces = [
    'a',
    'bc',
    '\x1b',
    '[',
    '\x1b[1m',
    '\x1b]',
    '\\',
    '\n',
    '(',
    '\x07',
    ';',
    '\x1b[',
    '9'.repeat(70),
    'x'.repeat(32),
  ]
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { maxLength: 20 }),
      fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 30, max: 200 })),
      (parts, cut) => {
        const input = parts.join('')
        const found = apart(input)
        let woven = ''
        let from = 0
        for (const [at, sequence] of found.at) {
          woven += found.text.slice(from, at) + sequence
          from = at
        }
        woven += found.text.slice(from)
        return woven === input && JSON.stringify(apart(input, cut)) === JSON.stringify(found)
      },
    ),
  )
  t.end()
})

t.test('given back in order, each once, while others come', (t) => {
  const controls = createControls()
  const next = () => given(controls)
  controls.skip(10)
  controls.take(Buffer.from('a\x1b[1mb\x1b[2mc'), text)
  t.equal(controls.nextOffset, 11)
  t.equal(next(), '\x1b[1m')
  t.equal(controls.keptCount, 1)
  t.notOk(controls.isIdle)
  controls.take(Buffer.from('d\x1b[3m'), text)
  t.strictSame([controls.nextOffset, next(), controls.nextOffset, next()], [12, '\x1b[2m', 14, '\x1b[3m'])
  t.ok(controls.isIdle)
  t.equal(next(), '')
  t.equal(controls.nextOffset, Number.POSITIVE_INFINITY)
  t.end()
})
