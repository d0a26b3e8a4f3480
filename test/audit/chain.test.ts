/**
 * The form of a record: how its hash follows from the one before, and what is read back.
 * @module
 */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import {
  chainHash,
  GENESIS,
  readRecord,
  readUnsealed,
  recordHead,
  recordSeal,
} from '../../src/audit/chain.ts'
import { sha256 } from '../../src/base/crypto/hash.ts'
import { AUDIT_LINE_BYTES } from '../../src/limits.ts'
import type { AuditEvent } from '../../src/ports.ts'

const TIME = '2026-01-02T03:04:05.678Z'
const HEX = 'ab'.repeat(32)
const SIGNATURE = new Uint8Array(64).fill(1)

t.test('the hash is SHA-256 over the hash before as hex, the canonical event and the time', (t) => {
  const event = { type: 'x', b: 1, a: { z: null, y: 'ü\u0001' } }
  const json = '{"a":{"y":"ü\\u0001","z":null},"b":1,"type":"x"}'
  for (const previous of [GENESIS, HEX]) {
    const { hash, json: written } = chainHash(previous, event, TIME, sha256)
    t.equal(written, json)
    t.equal(
      Buffer.from(hash).toString('hex'),
      createHash('sha256').update(`${previous}${json}${TIME}`, 'utf8').digest('hex'),
    )
  }
  t.equal(GENESIS, 'SASS_GENESIS_BLOCK')
  t.end()
})

t.test('a line is one JSON object with its newline, and reads back as what it was', (t) => {
  const text = fc.string().filter((value) => value.isWellFormed())
  const value: fc.Arbitrary<string | number | boolean | null> = fc.oneof(
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), value), text, (fields, type) => {
      const event: AuditEvent = { ...fields, type }
      const { hash, json } = chainHash(GENESIS, event, TIME, sha256)
      const line = `${recordHead(json, TIME, hash)}${recordSeal(SIGNATURE)}`
      const record = readRecord(line.slice(0, -1))
      const again = record === undefined ? '' : chainHash(GENESIS, record.event, TIME, sha256).json
      return (
        line.indexOf('\n') === line.length - 1 &&
        record?.timestamp === TIME &&
        again === json &&
        Buffer.from(record.hash).equals(Buffer.from(hash)) &&
        Buffer.from(record.signature ?? '').equals(SIGNATURE) &&
        JSON.stringify(Object.keys(JSON.parse(line))) === '["timestamp","event","chain_hash","signature"]'
      )
    }),
    { numRuns: 300 },
  )
  t.pass('for every one of them')
  t.end()
})

t.test('what is no record is none', (t) => {
  const good = { chain_hash: HEX, event: { type: 'x' }, signature: 'cd'.repeat(64), timestamp: TIME }
  t.ok(readRecord(JSON.stringify(good)))
  const bad: unknown[] = [
    null,
    [],
    'x',
    {},
    { ...good, chain_hash: HEX.slice(2) },
    { ...good, chain_hash: HEX.toUpperCase().slice(1) },
    { ...good, chain_hash: 7 },
    { ...good, signature: 'cd'.repeat(63) },
    { ...good, signature: 'zz'.repeat(64) },
    { ...good, event: null },
    { ...good, event: [] },
    { ...good, event: 'x' },
    { ...good, timestamp: 7 },
  ]
  for (const value of bad)
    t.equal(readRecord(JSON.stringify(value)), undefined, JSON.stringify(value).slice(0, 60))
  const line = JSON.stringify(good)
  for (const text of [
    '',
    '{',
    line.slice(0, -1),
    `${line}x`,
    `${line}${line}`,
    `${line.slice(0, -1)},"timestamp":"y"}`,
  ])
    t.equal(readRecord(text), undefined, text.slice(-40))
  t.equal(
    readRecord(`{"pad":"${'x'.repeat(AUDIT_LINE_BYTES)}",${line.slice(1)}`),
    undefined,
    'longer than a record',
  )
  t.equal(readRecord(`${'['.repeat(40)}${']'.repeat(40)}`), undefined, 'deeper than a record')
  t.end()
})

t.test('a line cut in its seal is a whole record, one cut before is none', (t) => {
  const event: AuditEvent = { type: 'x', text: '"chain_hash":"' }
  const { hash, json } = chainHash(GENESIS, event, TIME, sha256)
  const head = recordHead(json, TIME, hash)
  const line = `${head}${recordSeal(SIGNATURE)}`
  for (let length = 0; length < line.length; length++) {
    const found = readUnsealed(line.slice(0, length), GENESIS, sha256)
    if ((found !== undefined) !== length >= head.length) t.fail(`cut after ${length} characters`)
    if (found !== undefined) t.equal(found.headLength, head.length)
  }
  t.equal(readUnsealed(head, 'f'.repeat(64), sha256), undefined, 'after another record it is none')
  t.equal(readUnsealed(head.replace('"x"', '"y"'), GENESIS, sha256), undefined, 'nor with another event')
  t.end()
})
