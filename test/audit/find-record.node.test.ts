import { execFileSync } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { chainHash, GENESIS, recordHead, recordSeal } from '../../src/audit/chain.ts'
import { findRecord } from '../../src/audit/find-record.node.ts'
import { hostSha256 } from '../../src/base/crypto/sha256.node.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { AUDIT_LINE_BYTES } from '../../src/limits.ts'

const TIMESTAMP = '2026-01-02T03:04:05.678Z'

/** A chain of `count` records, of which each names `more`. */
function chain(count: number, more = ''): string {
  let previous = GENESIS
  let text = ''
  for (let seq = 1; seq <= count; seq++) {
    const { hash, json } = chainHash(previous, { type: 'test', seq, more }, TIMESTAMP, hostSha256)
    text += recordHead(json, TIMESTAMP, hash) + recordSeal(new Uint8Array(64))
    previous = encodeHex(hash)
  }
  return text
}

t.test('finds a record by its number wherever it stands, also over the pieces that are read', async (t) => {
  const path = join(t.testdir({}), 'audit.jsonl')
  writeFileSync(path, chain(2_000, 'x'.repeat(500)))
  for (const sequence of [1, 2, 10, 100, 511, 512, 1_999, 2_000]) {
    const { record } = findRecord(dirname(path), sequence)
    t.equal(record?.event['seq'], sequence)
    t.equal(record?.timestamp, TIMESTAMP)
  }
  t.strictSame(findRecord(dirname(path), 2_001), { record: undefined, lastSequence: 2_000 })
})

t.test('a number within a text of another record is not taken for it', async (t) => {
  const path = join(t.testdir({}), 'audit.jsonl')
  writeFileSync(path, chain(20, '"seq":7,'))
  t.equal(findRecord(dirname(path), 7).record?.event['seq'], 7)
  t.equal(findRecord(dirname(path), 21).record, undefined)
})

t.test('what is no record is passed over, however long it is, and a torn end too', async (t) => {
  const path = join(t.testdir({}), 'audit.jsonl')
  const lines = chain(4).split('\n')
  const long = `{"seq":3,${'x'.repeat(5 * AUDIT_LINE_BYTES)}`
  writeFileSync(path, [lines[0], 'no record "seq":3', long, '', lines[1], lines[2]].join('\n'))
  t.equal(findRecord(dirname(path), 2).record?.event['seq'], 2)
  t.strictSame(
    findRecord(dirname(path), 3),
    { record: undefined, lastSequence: 2 },
    'its line has no end yet',
  )
  appendFileSync(path, '\n')
  t.equal(findRecord(dirname(path), 3).record?.event['seq'], 3)
})

t.test('the file is chosen by the numbers in the names', async (t) => {
  const directory = t.testdir({})
  const lines = chain(9).split('\n').slice(0, -1)
  const put = (name: string, from: number, to: number) =>
    writeFileSync(join(directory, name), `${lines.slice(from - 1, to).join('\n')}\n`)
  put('audit-000000000001.jsonl', 1, 3)
  put('audit-000000000004.jsonl', 4, 6)
  put('audit.jsonl', 7, 9)
  for (let sequence = 1; sequence <= 9; sequence++)
    t.equal(findRecord(directory, sequence).record?.event['seq'], sequence)
  t.strictSame(findRecord(directory, 10), { record: undefined, lastSequence: 9 })
})

t.test('an empty chain has no record, and one that cannot be read is one sentence', async (t) => {
  const directory = t.testdir({
    empty: { 'audit.jsonl': '' },
    none: {},
    pipe: {},
    folder: { 'audit.jsonl': {} },
  })
  t.strictSame(findRecord(join(directory, 'empty'), 1), { record: undefined, lastSequence: 0 })
  for (const name of ['none', 'nowhere'])
    t.throws(() => findRecord(join(directory, name), 1), {
      code: 'FILE_NOT_FOUND',
      message: /cannot be read, since it does not exist/,
    })
  execFileSync('mkfifo', [join(directory, 'pipe/audit.jsonl')])
  for (const name of ['pipe', 'folder'])
    t.throws(() => findRecord(join(directory, name), 1), { code: 'FILE_IO', message: /not a regular file/ })
})
