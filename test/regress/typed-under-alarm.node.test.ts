/**
 * A session that might only read once went on telling a shell what to do that it had started before.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { stdinChunk } from '../../src/wire/messages.ts'
import { known } from '../integration/connections.node.ts'
import { auditEvents, ON_REAL_FILES, sleep, startNew, until } from '../integration/daemon.node.ts'
import { command, EXECUTE_STREAM, field, on } from './streams.node.ts'

t.test(
  'what is typed while a level of alarm stands arrives when it is lowered, and not before',
  async (t) => {
    const daemon = await startNew(t, ON_REAL_FILES)
    const wire = await known(daemon)
    const session = encodeHex(field(on(wire, 1).at(-1), 2) as Uint8Array)
    const set = async (level: string) =>
      t.equal((await daemon.cli(['level', 'set', 'session', session, level])).code, 0, level)
    const type = (text: string) =>
      wire.socket.write(encodeFrame(3, 'MSG', stdinChunk.encode({ data: Buffer.from(text) })))
    const out = join(daemon.workspace, 'out')
    const written = () => (existsSync(out) ? readFileSync(out, 'utf8') : '')
    const execution_id = new Uint8Array(16).fill(9)
    wire.socket.write(
      command(3, EXECUTE_STREAM, { command: 'tee', args: ['out'], stdin: true, execution_id }),
    )
    await until('the start', () => on(wire, 3).length > 0)
    type('before ')
    await until('the first words', () => written() === 'before ')
    for (const level of ['RESTRICT', 'CHECKPOINT']) {
      await set(level)
      type(`${level} `)
      await sleep(300)
      t.notMatch(written(), level)
      await set('NORMAL')
      await until('what was kept', () => written().endsWith(`${level} `))
    }
    await set('RESTRICT')
    const again = { command: 'tee', stdin: true, is_reattach: true, execution_id }
    wire.socket.write(command(5, EXECUTE_STREAM, again))
    await until('a screen', () => on(wire, 5).length > 1)
    t.match(auditEvents(daemon.directory).at(-1), {
      action: 'attach',
      response: 'R4',
      rule: 'level.restrict',
    })
    wire.socket.destroy()
  },
)
