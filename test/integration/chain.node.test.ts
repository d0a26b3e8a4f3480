/**
 * The audit chain of a real daemon, read from outside: whole after orderly ends, after kills, and after a torn line.
 * @module
 */
import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chainHash, GENESIS, readRecord } from '../../src/audit/chain.ts'
import { publicKeyOf, verifyWith } from '../../src/base/ed25519.node.ts'
import { install, sassEdge, startDaemon } from './daemon.node.ts'

const journal = (directory: string): string => join(directory, '.sass-edge/state/audit/audit.jsonl')
const sha256 = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()

/** What does not follow from what is before it, by line; none where the chain is whole. */
function breaks(directory: string): string[] {
  const seed = readFileSync(join(directory, '.sass-edge/state/audit.key'))
  const publicKey = publicKeyOf(new Uint8Array(seed))
  const found: string[] = []
  let previous: string = GENESIS
  const lines = readFileSync(journal(directory), 'utf8').split('\n').slice(0, -1)
  for (const [index, line] of lines.entries()) {
    const record = readRecord(line)
    if (record === undefined) return [...found, `line ${index + 1} is no record`]
    const { hash } = chainHash(previous, record.event, record.timestamp, sha256)
    if (!Buffer.from(hash).equals(record.hash)) found.push(`line ${index + 1} does not follow`)
    if (!verifyWith(publicKey, record.hash, record.signature)) found.push(`line ${index + 1} is not signed`)
    if (record.event['seq'] !== index + 1)
      found.push(`line ${index + 1} has number ${String(record.event['seq'])}`)
    previous = Buffer.from(record.hash).toString('hex')
  }
  return found
}

t.test('the chain goes on over an orderly end, a kill and a torn last line', async (t) => {
  const directory = await install(t)
  const records = (): number => readFileSync(journal(directory), 'utf8').split('\n').length - 1
  const first = await startDaemon(t, directory)
  await first.cli(['exec', '--', 'true'])
  await first.stop()
  t.same(breaks(directory), [])
  const second = await startDaemon(t, directory)
  await second.cli(['exec', '--', 'true'])
  second.signal('SIGKILL')
  await second.ended
  t.same(breaks(directory), [])
  appendFileSync(journal(directory), '{"chain_hash":"00')
  const before = records()
  const third = await startDaemon(t, directory)
  await third.cli(['exec', '--', 'true'])
  await third.stop()
  t.ok(records() > before)
  t.match(third.audit()[before], { type: 'recovered', what: 'torn_last_line' })
  t.same(breaks(directory), [])
})

t.test('a second daemon that is refused leaves the chain of the first whole', async (t) => {
  const directory = await install(t)
  const first = await startDaemon(t, directory)
  t.equal((await sassEdge(['run'], { cwd: directory })).code, 125)
  await first.cli(['exec', '--', 'true'])
  await first.stop()
  t.same(breaks(directory), [])
})
