/**
 * The files of the keys that sign the chain, made and erased at once or beside the work: the same either way.
 * @module
 */
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { EpochKey } from '../../../src/audit/epoch-keys.ts'
import { openEpochKeys } from '../../../src/edge/record/epoch-keys.node.ts'

const soon = (directory: string, epoch: number) =>
  new Promise<EpochKey | undefined>((resolve) => openEpochKeys(directory).createSoon(epoch, resolve))

async function until(condition: () => boolean): Promise<void> {
  for (let round = 0; round < 6_000 && !condition(); round++)
    await new Promise((resolve) => setTimeout(resolve, 10))
}

t.test('a key that is made beside the work is kept when it is told of, for its owner alone', async (t) => {
  const directory = t.testdir()
  const key = await soon(directory, 3)
  t.equal(key?.epoch, 3)
  t.same(readdirSync(directory), ['audit-3.key'], 'and nothing else')
  t.equal(statSync(join(directory, 'audit-3.key')).mode & 0o777, 0o600)
  const [found] = openEpochKeys(directory).found()
  const message = Buffer.from('a')
  t.same(found?.sign(message), key?.sign(message))
})

t.test('one that cannot be kept is none, and an older one stays as it is', async (t) => {
  const directory = t.testdir()
  t.equal(await soon(join(directory, 'nowhere'), 1), undefined)
  await soon(directory, 1)
  const before = readFileSync(join(directory, 'audit-1.key'))
  t.equal(await soon(directory, 1), undefined)
  t.same(readFileSync(join(directory, 'audit-1.key')), before)
  t.same(readdirSync(directory), ['audit-1.key'], 'and nothing is left')
})

t.test('an erased key is gone, and one that was never there is no error', async (t) => {
  const directory = t.testdir()
  const keys = openEpochKeys(directory)
  keys.create(1)
  keys.create(2)
  keys.erase(1)
  keys.erase(1)
  t.same(readdirSync(directory), ['audit-2.key'])
  keys.eraseSoon(2)
  keys.eraseSoon(7)
  await until(() => readdirSync(directory).length === 0)
  t.same(readdirSync(directory), [])
})

t.test('a key that others may read is refused', (t) => {
  const directory = t.testdir()
  writeFileSync(join(directory, 'audit-0.key'), new Uint8Array(32))
  chmodSync(join(directory, 'audit-0.key'), 0o644)
  t.throws(() => openEpochKeys(directory).found(), { message: /chmod/ })
  t.end()
})
