/**
 * What a client remembers of the records of devices, and what it makes of less or of something else.
 * @module
 */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { contradiction, fileHeads } from '../../../src/client/link/heads.node.ts'

const DEVICE = 'sha256:aaaa'
const hash = (byte: string) => byte.repeat(32)

t.test('later is believed, less is cut off, another one is forged', async (t) => {
  const known = { sequence: 10, hash: hash('aa') }
  t.equal(contradiction(undefined, known), undefined)
  t.equal(contradiction(known, known), undefined)
  t.equal(contradiction(known, { sequence: 11, hash: hash('bb') }), undefined)
  t.match(
    contradiction(known, { sequence: 9, hash: hash('aa') }),
    /ends at 9, and record 10 was seen.*--head 10:aa/,
  )
  t.match(contradiction(known, { sequence: 10, hash: hash('bb') }), /written anew.*--head 10:aa/)
})

t.test('heads are kept by device, the later one stays, and a broken file is no memory', async (t) => {
  const directory = t.testdir()
  const store = fileHeads({ XDG_CONFIG_HOME: directory })
  const path = join(directory, 'sass-edge/known_heads.json')
  t.equal(store?.load(DEVICE), undefined)
  store?.save(DEVICE, { sequence: 5, hash: hash('aa') })
  store?.save('sha256:bbbb', { sequence: 7, hash: hash('bb') })
  store?.save(DEVICE, { sequence: 4, hash: hash('cc') })
  t.same(store?.load(DEVICE), { sequence: 5, hash: hash('aa') })
  t.same(store?.load('sha256:bbbb'), { sequence: 7, hash: hash('bb') })
  t.equal(statSync(path).mode & 0o777, 0o600)
  for (const text of ['', '[]', '{"sha256:aaaa": "x"}', '{"sha256:aaaa": 1}', 'garbage']) {
    writeFileSync(path, text)
    t.equal(store?.load(DEVICE), undefined, text)
  }
  store?.save(DEVICE, { sequence: 6, hash: hash('dd') })
  t.match(readFileSync(path, 'utf8'), `"sha256:aaaa": "6:${hash('dd')}"`)
  t.equal(fileHeads({}), undefined)
  if (process.getuid?.() !== 0) {
    chmodSync(join(directory, 'sass-edge'), 0o500)
    t.doesNotThrow(() => store?.save(DEVICE, { sequence: 9, hash: hash('ee') }))
    chmodSync(join(directory, 'sass-edge'), 0o700)
  }
})
