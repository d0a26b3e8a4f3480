/**
 * A variable of the caller's once hid what a link leads to: with any of them set, `./tool` was judged by its own name
 * alone, and not by the program that it is.
 * @module
 */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { known } from '../integration/connections.node.ts'
import { auditEvents, startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE, isOver, on } from './streams.node.ts'

const SET = { allowed_commands: ['*'], allowed_paths: ['$WORKSPACE'], allowed_env: ['*'] }

t.test('what a link leads to is judged whatever variables are set', async (t) => {
  const daemon = await startNew(t, {
    capabilities: { default: SET },
    security: { blocked_commands: ['uname -a'] },
    defense: { deny_response: 'reason', levels: { automatic: false } },
  })
  symlinkSync('/usr/bin/uname', join(daemon.workspace, 'tool'))
  symlinkSync('/usr/bin/uname', join(daemon.workspace, 'a=b'))
  const wire = await known(daemon)
  let stream = 1
  for (const name of ['./tool', './a=b'])
    for (const env of [undefined, new Map([['LANG', 'C']]), new Map([['FOO', '1']])]) {
      stream += 2
      const asked = stream
      wire.socket.write(
        command(asked, EXECUTE, { command: name, args: ['-a'], ...(env === undefined ? {} : { env }) }),
      )
      await until('an answer', () => isOver(wire, asked))
      t.equal(on(wire, asked).at(-1)?.kind, 'STATUS', `${name} ${[...(env ?? [])]}`)
      const decided = auditEvents(daemon.directory).findLast(({ action }) => action === 'execute')
      t.match(decided, { response: 'STATUS', layer: 'capability' })
    }
  wire.socket.destroy()
})
