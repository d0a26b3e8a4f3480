/**
 * The log: one line an event, whatever is in its fields, and no more lines than a person can use.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { createLog } from '../../../src/edge/host/log.node.ts'
import { LOG_FIELD_CHARS, LOG_LINES_PER_SECOND } from '../../../src/limits.ts'
import type { LogLevel } from '../../../src/ports.ts'
import { stageClock } from '../../session/stage.ts'

function stage(format: 'text' | 'json' = 'text', level: LogLevel = 'debug') {
  const lines: string[] = []
  const clock = stageClock()
  return { log: createLog(format, level, clock, (line) => lines.push(line) > 0), lines, clock }
}

const TIME = '2027-01-15T08:00:01.000Z'

t.test('a line has its time, level, event and fields', (t) => {
  const text = stage()
  text.log.write('info', 'listening', { address: '127.0.0.1:1', running: 3, ok: true })
  text.log.write('warn', 'bare')
  t.strictSame(text.lines, [
    `${TIME} info listening address=127.0.0.1:1 running=3 ok=true\n`,
    `${TIME} warn bare\n`,
  ])
  const json = stage('json')
  json.log.write('info', 'listening', { address: '127.0.0.1:1', running: 3, ok: true })
  t.strictSame(JSON.parse(json.lines[0] ?? ''), {
    time: TIME,
    level: 'info',
    event: 'listening',
    address: '127.0.0.1:1',
    running: 3,
    ok: true,
  })
  t.end()
})

t.test('lines below the level are not written', (t) => {
  const levels: LogLevel[] = ['debug', 'info', 'warn', 'error']
  for (const [index, level] of levels.entries()) {
    const { log, lines } = stage('text', level)
    for (const one of levels) log.write(one, one)
    t.equal(lines.length, levels.length - index, level)
  }
  t.end()
})

const HOSTILE = [
  'two\nlines',
  'carriage\rreturn',
  '\u001b[2J\u001b]0;title\u0007',
  '\u009b2J',
  '\u0085\u2028\u2029',
  '\u007f\u0000\u0008',
  'a b="c"',
  'x=1 level=error',
  '\u202eright to left',
  '\ud800',
  '\\u000a',
  '',
]

t.test('nothing in a field breaks the line, steers a terminal or passes for another field', (t) => {
  for (const format of ['text', 'json'] as const) {
    for (const value of HOSTILE) {
      const { log, lines } = stage(format)
      log.write('warn', 'refused', { first: value, second: 'end' })
      t.equal(lines.length, 1)
      t.match(lines[0], /^[\x20-\x7e]*\n$/)
      if (format === 'json') t.equal(JSON.parse(lines[0] ?? '').first, value)
      else t.match(lines[0], / first=("(\\.|[^"\\])*"|[^\s"\\=]+) second=end\n$/)
    }
  }
  t.end()
})

t.test('a field can be read back from a line of text as what it was', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (value) => {
      const { log, lines } = stage()
      log.write('info', 'x', { value })
      const shown = lines[0]?.slice(`${TIME} info x value=`.length, -1) ?? ''
      return (shown.startsWith('"') ? JSON.parse(shown) : shown) === value
    }),
    { numRuns: 150 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('a long field is cut, in both forms', (t) => {
  for (const format of ['text', 'json'] as const) {
    const { log, lines } = stage(format)
    log.write('info', 'x', { value: 'y'.repeat(100_000) })
    t.equal(lines[0]?.match(/y/g)?.length, LOG_FIELD_CHARS)
  }
  t.end()
})

t.test('more lines than 50 in a second are counted and told once, errors always pass', (t) => {
  const { log, lines, clock } = stage()
  for (let index = 0; index < 1_000; index++) log.write(index % 2 ? 'info' : 'warn', 'scan')
  t.equal(lines.length, LOG_LINES_PER_SECOND)
  log.write('error', 'broken')
  t.equal(lines.length, LOG_LINES_PER_SECOND + 1)
  clock.pass(1_000)
  log.write('info', 'later')
  t.match(lines.at(-2), / warn log_suppressed lines=950\n$/)
  t.match(lines.at(-1), / info later\n$/)
  clock.pass(1_000)
  log.write('info', 'quiet')
  t.equal(lines.filter((line) => line.includes('suppressed')).length, 1)
  t.end()
})

t.test('what was kept back is told a second later, also where nothing follows', (t) => {
  const { log, lines, clock } = stage()
  for (let index = 0; index < 60; index++) log.write('info', 'scan')
  log.tick()
  t.equal(lines.length, LOG_LINES_PER_SECOND)
  clock.pass(1_000)
  log.tick()
  log.tick()
  t.match(lines.slice(LOG_LINES_PER_SECOND), [/ warn log_suppressed lines=10\n$/])
  t.end()
})

t.test('what is below the level does not count', (t) => {
  const { log, lines } = stage('text', 'info')
  for (let index = 0; index < 1_000; index++) log.write('debug', 'noise')
  log.write('info', 'x')
  t.equal(lines.length, 1)
  t.end()
})
