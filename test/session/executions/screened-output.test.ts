/** Output on its way through the firewall: when it goes on, and who is told. */
import t from 'tap'
import { OUTPUT_PAUSES_MS } from '../../../src/defense/firewall/limits.ts'
import { createScreens } from '../../../src/defense/firewall/screen.ts'
import { STDERR, STDOUT } from '../../../src/ports.ts'
import { createScreenedOutput } from '../../../src/session/executions/screened-output.ts'
import { TABLES } from '../../defense/firewall/secrets/screened.ts'
import { stageClock } from '../stage.ts'

const screens = createScreens(TABLES)

function stage() {
  const clock = stageClock()
  const out = ['', '']
  const told: number[] = []
  const output = createScreenedOutput(
    screens.open,
    clock,
    (source, bytes) => {
      out[source] += Buffer.from(bytes).toString()
      return bytes.length
    },
    (source) => told.push(source),
  )
  return {
    clock,
    out,
    told,
    output,
    push: (source: 0 | 1, text: string) => output.push(source, Buffer.from(text)),
  }
}

t.test('lines go on at once, and whoever watches is told once a push', (t) => {
  const { out, told, push } = stage()
  push(STDOUT, 'a\npassword=hunter2\nb\n')
  push(STDERR, 'c\n')
  t.strictSame(out, ['a\npassword=[redacted:password]\nb\n', 'c\n'])
  t.strictSame(told, [STDOUT, STDERR])
  t.end()
})

t.test('a word that has not ended waits a moment, a value a while, whatever the other source does', (t) => {
  const { clock, out, told, push } = stage()
  push(STDOUT, '$ l')
  t.strictSame([out[STDOUT], told.length], ['$ ', 1])
  clock.pass(OUTPUT_PAUSES_MS.moment - 1)
  push(STDERR, 'password=hun')
  clock.pass(1)
  t.equal(out[STDOUT], '$ ', 'something has come')
  clock.pass(OUTPUT_PAUSES_MS.moment)
  t.equal(out[STDOUT], '$ l')
  t.equal(out[STDERR], 'password=')
  clock.pass(OUTPUT_PAUSES_MS.while)
  t.equal(out[STDERR], 'password=hun')
  push(STDOUT, ' ghp_abc')
  clock.pass(OUTPUT_PAUSES_MS.moment + OUTPUT_PAUSES_MS.while)
  t.equal(out[STDOUT], '$ l ')
  clock.pass(OUTPUT_PAUSES_MS.long)
  t.equal(out[STDOUT], '$ l ghp_abc', 'nobody waits for ever')
  t.equal(clock.timers, 0)
  t.end()
})

t.test('at the end everything goes on, and no timer is left', (t) => {
  const { clock, out, output, push } = stage()
  push(STDOUT, 'x password=hunter2')
  output.finish()
  t.equal(out[STDOUT], 'x password=[redacted:password]')
  clock.pass(1_000)
  t.equal(out[STDOUT], 'x password=[redacted:password]')
  t.strictSame(
    output.screens.map(({ findings }) => findings?.count),
    [1],
  )
  t.end()
})

t.test('what says nothing has no screen', (t) => {
  const { output } = stage()
  output.finish()
  t.strictSame(output.screens, [])
  t.end()
})
