/**
 * What a real daemon writes down: who, what was decided and why; never what was in a command or came out of it.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { install, startDaemon } from './daemon.node.ts'

t.test('the audit holds transitions and their reasons and never the text of a command (SS-51)', async (t) => {
  const directory = await install(t)
  const daemon = await startDaemon(t, directory)
  const secret = 'hunter2-Zf8'
  const { stdout } = await daemon.cli(['exec', '--', 'echo', secret])
  t.equal(stdout.toString(), `${secret}\n`)
  await daemon.cli(['exec', '--', 'ls', `/no/such/${secret}`])
  await daemon.cli(['exec', '--', `./${secret}`])
  await daemon.stop()
  const events = daemon.audit()
  const types = new Set(events.map(({ type }) => type))
  t.strictSame([...types].sort(), ['daemon', 'decision', 'epoch', 'execution_ended', 'session'])
  for (const event of events.filter(({ type }) => type === 'decision'))
    t.match(event, { response: /^(R[1-6]|STATUS)$/, layer: String, rule: String, severity: String })
  const written = readFileSync(join(directory, '.sass-edge/state/audit/audit.jsonl'), 'utf8')
  t.notMatch(written, new RegExp(`hunter2|echo|no/such|${directory}`))
})
