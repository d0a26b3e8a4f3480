import t from 'tap'
import { isWellFormed } from '../../../src/base/encoding/utf8.ts'
import { commandName } from '../../../src/session/executions/command-name.ts'

t.test('a command is listed by its base name, no longer than a name is', (t) => {
  t.equal(commandName('/usr/bin/tar'), 'tar')
  t.equal(commandName('tar'), 'tar')
  t.equal(commandName(''), '')
  t.equal(commandName('/usr/bin/'), '')
  t.equal(commandName(`/a/${'b'.repeat(500)}`), 'b'.repeat(64))
  t.end()
})

t.test('a cut within a character leaves that out', (t) => {
  const name = commandName(`${'x'.repeat(63)}\u{1f600}`)
  t.equal(name, 'x'.repeat(63))
  t.ok(isWellFormed(name))
  t.equal(commandName(`${'x'.repeat(62)}\u{1f600}`), `${'x'.repeat(62)}\u{1f600}`)
  t.end()
})
