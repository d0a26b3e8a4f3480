/**
 * A variable of the caller's once hid what a link leads to: with any of them set, `./tool` was judged by its own name
 * alone, and not by the program that it is.
 * @module
 */
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeHex } from '../../src/base/hex.ts'
import { known } from '../integration/connections.node.ts'
import { auditEvents, startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE, EXECUTE_STREAM, field, isOver, on } from './streams.node.ts'

const ENVIRONMENTS = [undefined, new Map([['LANG', 'C']]), new Map([['FOO', '1']])]
const last = (directory: string) =>
  auditEvents(directory).findLast(({ type, action }) => type === 'decision' && action === 'execute')

t.test('a link to a denied program is denied whatever variables are set', async (t) => {
  const set = {
    allowed_commands: ['*'],
    denied_commands: ['uname'],
    allowed_paths: ['$WORKSPACE'],
    allowed_env: ['*'],
  }
  const daemon = await startNew(t, {
    capabilities: { default: set },
    defense: { deny_response: 'reason', levels: { automatic: false } },
  })
  const wire = await known(daemon)
  let stream = 3
  for (const name of ['tool', 'a=b']) {
    symlinkSync('/usr/bin/uname', join(daemon.workspace, name))
    for (const env of ENVIRONMENTS) {
      const asked = stream
      stream += 2
      wire.socket.write(
        command(asked, EXECUTE, { command: `./${name}`, ...(env === undefined ? {} : { env }) }),
      )
      await until('an answer', () => isOver(wire, asked))
      t.equal(on(wire, asked).at(-1)?.kind, 'STATUS', `${name} ${[...(env ?? [])]}`)
      t.match(last(daemon.directory), { response: 'R4', rule: 'default.denied_commands' })
    }
  }
  wire.socket.destroy()
})

t.test('a restricted session writes nothing through a link with a reader’s name', async (t) => {
  const daemon = await startNew(t)
  const precious = join(daemon.workspace, 'precious')
  writeFileSync(precious, 'x')
  symlinkSync('/usr/bin/rm', join(daemon.workspace, 'ls'))
  const wire = await known(daemon)
  const session = encodeHex(field(on(wire, 1).at(-1), 2) as Uint8Array)
  t.equal((await daemon.cli(['level', 'set', 'session', session, 'RESTRICT'])).code, 0)
  for (const [index, env] of ENVIRONMENTS.slice(0, 2).entries()) {
    const request = { command: './ls', args: ['precious'], ...(env === undefined ? {} : { env }) }
    wire.socket.write(command(3 + 2 * index, EXECUTE_STREAM, request))
    await until('a screen', () => on(wire, 3 + 2 * index).length > 1)
    t.match(last(daemon.directory), { response: 'R4', rule: 'level.restrict' })
    t.ok(existsSync(precious))
  }
  wire.socket.destroy()
})
