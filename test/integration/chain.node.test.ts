/**
 * The audit chain of a real daemon, read from outside: whole after orderly ends, after kills, and after a torn line.
 * @module
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { install, sassEdge, startDaemon, until } from './daemon.node.ts'

const journal = (directory: string): string => join(directory, '.sass-edge/state/audit/audit.jsonl')

/** What `sass-edge audit verify` says is wrong; nothing where the chain is whole. */
async function breaks(directory: string): Promise<string> {
  const { code, stdout } = await sassEdge(['audit', 'verify', '--json'], { cwd: directory })
  const { ok, reason, pinned } = JSON.parse(stdout.toString())
  return code === 0 && ok === true && pinned === true ? '' : (reason ?? `ended with ${code}`)
}

t.test('the chain goes on over an orderly end, a kill and a torn last line', async (t) => {
  const directory = await install(t)
  const records = (): number => readFileSync(journal(directory), 'utf8').split('\n').length - 1
  const first = await startDaemon(t, directory)
  await first.cli(['exec', '--', 'true'])
  await first.stop()
  t.equal(await breaks(directory), '')
  const second = await startDaemon(t, directory)
  await second.cli(['exec', '--', 'true'])
  await until('a signature', () => readFileSync(journal(directory), 'utf8').endsWith('\n'))
  second.signal('SIGKILL')
  await second.ended
  t.equal(await breaks(directory), '')
  appendFileSync(journal(directory), '{"chain_hash":"00')
  const before = records()
  const third = await startDaemon(t, directory)
  await third.cli(['exec', '--', 'true'])
  await third.stop()
  t.ok(records() > before)
  t.match(third.audit()[before], { type: 'recovered', what: 'torn_last_line' })
  t.equal(await breaks(directory), '')
})

t.test('a second daemon that is refused leaves the chain of the first whole', async (t) => {
  const directory = await install(t)
  const first = await startDaemon(t, directory)
  t.equal((await sassEdge(['run'], { cwd: directory })).code, 125)
  await first.cli(['exec', '--', 'true'])
  await first.stop()
  t.equal(await breaks(directory), '')
})
