/**
 * The journal on real files: a chain over restarts, torn lines, full disks.
 * @module
 */
import { execFileSync } from 'node:child_process'
import { createHash, createPublicKey, verify } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findRecord } from '../../src/audit/find-record.node.ts'
import type { JournalOptions } from '../../src/audit/journal.node.ts'
import { segmentsOf } from '../../src/audit/segments.node.ts'
import { verifyChain } from '../../src/audit/verify-chain.node.ts'
import { publicKeyOf, verifyWith } from '../../src/base/crypto/ed25519.node.ts'
import { canonicalize } from '../../src/base/encoding/canonical-json.ts'
import type { Json } from '../../src/base/encoding/strict-json.ts'
import { openEpochKeys } from '../../src/edge/record/epoch-keys.node.ts'
import { AUDIT_LINE_BYTES, AUDIT_RECORD_CHARS, SIGN_MS } from '../../src/limits.ts'
import { promptKeys, stagedJournal } from './staged-journal.node.ts'

const clock = () => {
  let now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
  return () => now++
}
const open = (directory: string, now = clock(), change: Partial<JournalOptions> = {}) =>
  stagedJournal(directory, { wallMs: now, ...change })
/** Where a chain may be; its keys lie beside it. */
const place = (t: Test) => join(t.testdir(), 'audit')
const fileOf = (directory: string) => join(directory, 'audit.jsonl')

type Line = { chain_hash: string; event: Record<string, Json>; signature: string; timestamp: string }
const linesOf = (directory: string): Line[] =>
  readFileSync(fileOf(directory), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)

const keyOf = (publicKey: Buffer) =>
  createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), publicKey]),
    format: 'der',
    type: 'spki',
  })

/** Verifies the whole file with nothing of the journal: node:crypto, JSON and the rules of the chain and its keys. */
function audit(directory: string): Line[] {
  let previous = 'SASS_GENESIS_BLOCK'
  let [key, epoch] = [keyOf(readFileSync(join(`${directory}.keys`, 'audit.pub'))), -1]
  const lines = linesOf(directory)
  let carried = 0
  for (const [index, { chain_hash, event, signature, timestamp }] of lines.entries()) {
    const hash = createHash('sha256')
      .update(`${previous}${canonicalize(event)}${timestamp}`)
      .digest()
    if (hash.toString('hex') !== chain_hash) throw new Error(`record ${index + 1} does not follow`)
    if (signature === '') carried++
    else if (verify(null, hash, key, Buffer.from(signature, 'hex'))) carried = 0
    else throw new Error(`signature of ${index + 1}`)
    if (carried > 16 || (carried > 0 && event['type'] === 'epoch')) throw new Error(`unsigned ${index + 1}`)
    if (event['seq'] !== index + 1) throw new Error(`sequence of ${index + 1}`)
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(timestamp)) throw new Error(`time of ${index + 1}`)
    if (event['type'] === 'epoch') {
      if (event['epoch'] !== ++epoch) throw new Error(`epoch of ${index + 1}`)
      key = keyOf(Buffer.from(String(event['public_key']), 'base64url'))
    }
    previous = chain_hash
  }
  if (epoch < 0) throw new Error('no key')
  if (carried > 0) throw new Error('the last record is not signed')
  return lines
}

/** Those that are not of the journal's own making. */
const given = (lines: readonly Line[]) => lines.filter(({ event }) => event['type'] !== 'epoch')

t.test(
  'records are in the file when append returns, chained and numbered, and signed a moment later (SS-50)',
  (t) => {
    const directory = place(t)
    const due: (() => void)[] = []
    const journal = open(directory, undefined, {
      after: (ms, callback) => void (ms === SIGN_MS && due.push(callback)),
    })
    t.equal(journal.head.sequence, 1, 'the record of the first key')
    for (let index = 0; index < 20; index++) {
      journal.append({ type: 'decision', index, text: 'ü"\\\n', nested: { b: true, a: null } })
      const hash = Buffer.from(journal.head.hash).toString('hex')
      t.ok(
        readFileSync(fileOf(directory), 'utf8').endsWith(`"chain_hash":"${hash}"`),
        'all but the signature',
      )
      for (const sign of due.splice(0)) sign()
      const lines = audit(directory)
      t.equal(given(lines).length, index + 1)
      t.equal(journal.head.sequence, index + 2)
      t.equal(hash, lines.at(-1)?.chain_hash)
    }
    const signed = journal.publicKey
    journal.close()
    for (const { chain_hash, signature } of linesOf(directory)) {
      const [hash, bytes] = [Buffer.from(chain_hash, 'hex'), Buffer.from(signature, 'hex')]
      t.ok(verifyWith(signed, hash, bytes))
      bytes[7] = (bytes[7] ?? 0) ^ 1
      t.notOk(verifyWith(signed, hash, bytes))
    }
    t.end()
  },
)

t.test('one signature stands for what was recorded in a row, for 16 records at most', (t) => {
  const directory = place(t)
  const signings: number[] = []
  const keys = promptKeys(`${directory}.keys`)
  const counted: typeof keys = {
    ...keys,
    create(epoch) {
      const key = keys.create(epoch)
      const sign = (hash: Uint8Array) => {
        signings.push(epoch)
        return key.sign(hash)
      }
      return { ...key, sign }
    },
  }
  const journal = open(directory, undefined, { keys: counted })
  for (let index = 0; index < 40; index++) journal.append({ type: 'x', index })
  journal.append({ type: 'daemon', what: 'reloaded', frozen: 'a'.repeat(64) })
  journal.append({ type: 'y' })
  journal.tick()
  const lines = audit(directory)
  t.same(
    lines.flatMap(({ signature }, at) => (signature === '' ? [] : [at + 1])),
    // The first key, each seventeenth, what names a policy and is kept alone, and the last.
    [1, 18, 35, 42, 43],
  )
  t.equal(signings.length, 5)
  journal.close()
  t.equal(signings.length, 5, 'nothing is signed twice')
  t.end()
})

t.test('file and directory are for the daemon alone', (t) => {
  const directory = join(t.testdir(), 'a/b')
  open(directory).close()
  t.equal(statSync(directory).mode & 0o777, 0o700)
  t.equal(statSync(fileOf(directory)).mode & 0o777, 0o600)
  t.end()
})

t.test('the key is named by its fingerprint', (t) => {
  const directory = place(t)
  const journal = open(directory)
  t.same(journal.publicKey, readFileSync(join(`${directory}.keys`, 'audit.pub')))
  t.equal(
    journal.keyFingerprint,
    `sha256:${createHash('sha256').update(journal.publicKey).digest('base64url')}`,
  )
  journal.close()
  t.end()
})

t.test('a restart continues the chain, with another key', (t) => {
  const directory = place(t)
  for (let start = 0; start < 5; start++) {
    const journal = open(directory)
    t.equal(journal.epoch, start)
    journal.append({ type: 'a' })
    journal.append({ type: 'b' })
    journal.close()
    t.same(
      readdirSync(`${directory}.keys`).sort(),
      [`audit-${start}.key`, 'audit.pub'],
      'the keys before are gone',
    )
  }
  t.equal(given(audit(directory)).length, 10)
  t.end()
})

t.test('a file that was begun and never written is a chain that has not begun', (t) => {
  const directory = place(t)
  mkdirSync(directory)
  writeFileSync(fileOf(directory), '')
  open(directory).close()
  t.equal(audit(directory).length, 1)
  t.end()
})

t.test('an epoch is over after so many records, or so long, and its key is erased', async (t) => {
  const directory = place(t)
  let now = 0
  const journal = open(directory, undefined, { epochRecords: 3, epochMs: 1_000, monotonicMs: () => now })
  const synced = () => new Promise((resolve) => setTimeout(resolve, 50))
  const keys = () => readdirSync(`${directory}.keys`).filter((name) => name.endsWith('.key'))
  for (let index = 0; index < 10; index++) journal.append({ type: 'x', index })
  t.equal(journal.epoch, 3)
  journal.tick()
  await synced()
  t.same(keys(), ['audit-3.key'])
  now = 999
  journal.tick()
  t.equal(journal.epoch, 3)
  now = 1_000
  journal.tick()
  t.equal(journal.epoch, 4, 'also where nothing happens any more')
  now = 5_000
  journal.tick()
  t.equal(journal.epoch, 4, 'a key that has signed nothing stays')
  await synced()
  journal.tick()
  await synced()
  t.same(keys(), ['audit-4.key'])
  t.throws(() => journal.append({ type: 'epoch', epoch: 9, public_key: 'x' }), { code: 'INTERNAL' })
  journal.close()
  t.same(
    audit(directory).flatMap(({ event }) => (event['type'] === 'epoch' ? [event['epoch']] : [])),
    [0, 1, 2, 3, 4],
  )
  t.end()
})

t.test('a crash at any step of a change of keys leaves a chain that goes on', (t) => {
  const directory = place(t)
  const keys = `${directory}.keys`
  const journal = open(directory)
  journal.append({ type: 'a' })
  const before = readFileSync(join(keys, 'audit-0.key'))
  journal.close()
  const unchanged = readFileSync(fileOf(directory))
  const changed = open(directory)
  const after = readFileSync(join(keys, 'audit-1.key'))
  changed.close()
  const whole = readFileSync(fileOf(directory))
  /** The files as they are at some step; the end of the chain at every byte of the record that names the key. */
  const set = (chain: Buffer, names: readonly string[]) => {
    rmSync(keys, { recursive: true })
    mkdirSync(keys)
    writeFileSync(join(keys, 'audit.pub'), publicKeyOf(before))
    for (const name of names)
      writeFileSync(join(keys, name), name === 'audit-0.key' ? before : after, { mode: 0o600 })
    writeFileSync(fileOf(directory), chain)
  }
  const both = ['audit-0.key', 'audit-1.key']
  const steps: [string, Buffer, string[]][] = [
    ['the next key is made', unchanged, both],
    ['its record is written', whole, both],
    ['the key before it is erased', whole, ['audit-1.key']],
  ]
  for (let size = unchanged.length; size < whole.length; size++)
    steps.push([`${size - unchanged.length} bytes of the record`, whole.subarray(0, size), both])
  for (const [name, chain, names] of steps) {
    set(chain, names)
    const recovered = open(directory)
    recovered.append({ type: 'b' })
    recovered.close()
    const events = audit(directory).map(({ event }) => event['type'])
    t.equal(events.at(-1), 'b', name)
    t.equal(readdirSync(keys).length, 2, `${name}: one key is left`)
  }
  t.end()
})

t.test('chain and keys that do not belong together are a risk to integrity, and nothing is touched', (t) => {
  const directory = place(t)
  const keys = `${directory}.keys`
  const fresh = () => {
    rmSync(directory, { recursive: true, force: true })
    rmSync(keys, { recursive: true, force: true })
    const journal = open(directory)
    journal.append({ type: 'a' })
    journal.append({ type: 'b' })
    journal.close()
  }
  const lines = () => readFileSync(fileOf(directory), 'utf8').split('\n')
  const damage: Record<string, () => void> = {
    'the chain is gone': () => rmSync(fileOf(directory)),
    'the chain is empty': () => writeFileSync(fileOf(directory), ''),
    'the key is gone': () => rmSync(join(keys, 'audit-0.key')),
    'the key is another one': () => writeFileSync(join(keys, 'audit-0.key'), Buffer.alloc(32, 9)),
    'the last record is dropped': () =>
      writeFileSync(fileOf(directory), `${lines().toSpliced(1, 1).join('\n')}`),
    'the last record is altered': () =>
      writeFileSync(fileOf(directory), lines().join('\n').replace('"type":"b"', '"type":"c"')),
    'the last signature is altered': () => {
      const text = lines().join('\n')
      const at = text.lastIndexOf('"}') - 1
      writeFileSync(
        fileOf(directory),
        `${text.slice(0, at)}${text[at] === '0' ? '1' : '0'}${text.slice(at + 1)}`,
      )
    },
  }
  for (const [name, damaged] of Object.entries(damage)) {
    fresh()
    damaged()
    const before = existsSync(fileOf(directory)) ? readFileSync(fileOf(directory), 'utf8') : ''
    t.throws(() => open(directory), { code: 'INTEGRITY_RISK' }, name)
    t.equal(readFileSync(fileOf(directory), 'utf8'), before, name)
  }
  fresh()
  chmodSync(join(keys, 'audit-0.key'), 0o644)
  t.throws(() => open(directory), { code: 'KEY_FILE_INVALID', message: /chmod 0?600/ })
  t.end()
})

t.test('files are closed at their size and the chain goes through them', (t) => {
  const directory = place(t)
  const small = { segmentBytes: 1_000, epochRecords: 4 }
  const journal = open(directory, undefined, small)
  for (let index = 0; index < 20; index++) journal.append({ type: 'x', index })
  journal.close()
  const again = open(directory, undefined, small)
  again.append({ type: 'y' })
  again.close()
  const names = readdirSync(directory).sort()
  t.ok(names.length > 5, names.join(' '))
  t.equal(names.at(-1), 'audit.jsonl')
  t.equal(names[0], 'audit-000000000001.jsonl')
  const whole = names.map((name) => readFileSync(join(directory, name), 'utf8')).join('')
  writeFileSync(fileOf(directory), whole)
  t.equal(given(audit(directory)).length, 21)
  t.end()
})

t.test('a crash between two files goes on with the next', (t) => {
  const directory = place(t)
  const journal = open(directory)
  journal.append({ type: 'x' })
  journal.close()
  renameSync(fileOf(directory), join(directory, 'audit-000000000001.jsonl'))
  const paths = segmentsOf(directory).map(({ path }) => path)
  t.match(verifyChain(paths, {}), { ok: true, report: { sequence: 2 } }, 'it verifies as it is')
  t.equal(findRecord(directory, 2).record?.event['type'], 'x')
  const again = open(directory)
  t.equal(again.head.sequence, 3)
  again.close()
  appendFileSync(join(directory, 'audit-000000000001.jsonl'), '{"timestamp')
  writeFileSync(fileOf(directory), '')
  t.throws(() => open(directory), { code: 'INTEGRITY_RISK', message: /not whole at the end/ })
  t.end()
})

t.test(
  'a last record torn at any byte is cut off, or signed where only that is missing, and that is recorded',
  (t) => {
    const directory = place(t)
    const journal = open(directory)
    for (const type of ['a', 'b', 'c']) journal.append({ type })
    journal.close()
    const whole = readFileSync(fileOf(directory))
    const starts = [...whole.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at + 1] : []))
    const last = starts.at(-2) ?? 0
    const sealed = whole.indexOf(',"signature"', last)
    const key = readFileSync(join(`${directory}.keys`, 'audit-0.key'))
    for (let length = last; length < whole.length; length++) {
      for (const name of readdirSync(`${directory}.keys`))
        if (name.endsWith('.key')) rmSync(join(`${directory}.keys`, name))
      writeFileSync(join(`${directory}.keys`, 'audit-0.key'), key, { mode: 0o600 })
      writeFileSync(fileOf(directory), whole.subarray(0, length))
      const recovered = open(directory)
      recovered.append({ type: 'after' })
      recovered.close()
      const events = given(audit(directory)).map(({ event }) => event['type'])
      const kept = length < sealed ? ['a', 'b'] : ['a', 'b', 'c']
      const expected = [...kept, 'recovered', 'after']
      if (events.join() !== expected.join()) t.fail(`torn after ${length - last} bytes: ${events.join()}`)
    }
    t.pass(`${whole.length - last} places`)
    t.end()
  },
)

t.test('records that a crash left unsigned are signed, and whoever changed them meanwhile is found', (t) => {
  const directory = place(t)
  const keys = `${directory}.keys`
  const journal = open(directory)
  for (let index = 0; index < 12; index++) journal.append({ type: 'x', index })
  // As kill -9 leaves it: the last one has neither signature nor end.
  const left = readFileSync(fileOf(directory))
  const key = readFileSync(join(keys, 'audit-0.key'))
  journal.close()
  const reset = (bytes: Buffer) => {
    for (const name of readdirSync(keys)) if (name.endsWith('.key')) rmSync(join(keys, name))
    writeFileSync(join(keys, 'audit-0.key'), key, { mode: 0o600 })
    writeFileSync(fileOf(directory), bytes)
  }
  const starts = [...left.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at + 1] : []))
  for (const [at, end] of [...starts, left.length].entries()) {
    reset(left.subarray(0, end))
    t.equal(verifyChain([fileOf(directory)], {}).ok, true, 'it verifies as it is, and is not finished')
    const recovered = open(directory)
    recovered.close()
    const types = given(audit(directory)).map(({ event }) => event['type'])
    t.same(types, [...new Array(at).fill('x'), ...(at === 0 ? [] : ['recovered'])], `${at} records`)
  }
  for (const start of starts.slice(1)) {
    const changed = Buffer.from(left)
    const digit = changed.lastIndexOf('"index":', start) + '"index":'.length
    changed[digit] = (changed[digit] ?? 0) ^ 1
    reset(changed)
    t.notOk(verifyChain([fileOf(directory)], {}).ok)
    t.throws(() => open(directory), { code: 'INTEGRITY_RISK', message: /keep it as evidence/ })
    t.same(readFileSync(fileOf(directory)), changed, 'nothing is touched')
  }
  t.end()
})

t.test('a first record that is torn leaves an empty chain', (t) => {
  const directory = place(t)
  open(directory).close()
  truncateSync(fileOf(directory), 40)
  // The key is pinned only when the record is there for good.
  rmSync(join(`${directory}.keys`, 'audit.pub'))
  open(directory).close()
  t.match(audit(directory), [{ event: { type: 'epoch', epoch: 0, seq: 1 } }])
  t.end()
})

t.test('a last line that is no record is refused and left as it is', (t) => {
  const directory = place(t)
  const journal = open(directory)
  journal.append({ type: 'a' })
  journal.close()
  const good = readFileSync(fileOf(directory), 'utf8')
  for (const tail of [
    '\n',
    'garbage\n',
    '{}\n',
    '{"event":{}}\n',
    `${good.trim().slice(0, -1)}\n`,
    `${good.replace('"seq":1', '"seq":"1"')}`,
  ]) {
    writeFileSync(fileOf(directory), good + tail)
    t.throws(
      () => open(directory),
      { code: 'INTEGRITY_RISK', message: /keep it as evidence/ },
      tail.slice(0, 20),
    )
    t.equal(readFileSync(fileOf(directory), 'utf8'), good + tail)
  }
  writeFileSync(fileOf(directory), good)
  appendFileSync(fileOf(directory), 'x'.repeat(3 * AUDIT_LINE_BYTES))
  t.throws(() => open(directory), { code: 'INTEGRITY_RISK' }, 'more than a record without an end')
  t.end()
})

t.test('an altered, a missing and a moved record show', (t) => {
  const directory = place(t)
  const journal = open(directory)
  for (let index = 0; index < 5; index++) journal.append({ type: 'x', index })
  journal.close()
  const lines = readFileSync(fileOf(directory), 'utf8').split('\n').filter(Boolean)
  const damage: [string, string[]][] = [
    ['altered', lines.map((line, at) => (at === 3 ? line.replace('"index":2', '"index":9') : line))],
    ['missing', lines.toSpliced(1, 1)],
    ['moved', lines.with(1, lines[2] ?? '').with(2, lines[1] ?? '')],
    ['repeated', lines.toSpliced(2, 0, lines[1] ?? '')],
    ['redated', lines.map((line, at) => (at === 4 ? line.replace('2026', '2025') : line))],
  ]
  audit(directory)
  for (const [which, changed] of damage) {
    writeFileSync(fileOf(directory), `${changed.join('\n')}\n`)
    t.throws(() => audit(directory), { message: /^record \d does not follow$/ }, which)
  }
  t.end()
})

t.test('an event that has no canonical form is not written, and the chain goes on', (t) => {
  const directory = place(t)
  const journal = open(directory)
  journal.append({ type: 'a' })
  t.throws(() => journal.append({ type: 'b', text: '\ud800' }), { code: 'INTERNAL' })
  t.throws(() => journal.append({ type: 'b', number: Number.NaN }), { code: 'INTERNAL' })
  journal.append({ type: 'c', seq: 99 })
  journal.close()
  t.same(
    audit(directory).map(({ event }) => event['seq']),
    [1, 2, 3],
    'the number is the journal’s',
  )
  t.end()
})

t.test('a directory that cannot be used is refused in one sentence', (t) => {
  const directory = t.testdir({ file: 'x' })
  t.throws(() => open(join(directory, 'file')), {
    code: 'STATE_UNWRITABLE',
    message: /cannot be written, since [a-z ]+, and nothing runs unrecorded/,
  })
  mkdirSync(join(directory, 'audit.jsonl'))
  t.throws(() => open(directory), {
    code: 'STATE_UNWRITABLE',
    message: /cannot be written, since it is a directory/,
  })
  if (process.getuid?.() !== 0) {
    mkdirSync(join(directory, 'closed'))
    chmodSync(join(directory, 'closed'), 0o500)
    t.throws(() => open(join(directory, 'closed')), { code: 'STATE_UNWRITABLE', message: /EACCES/ })
  }
  t.end()
})

/** A file system of 16 KiB at `directory` while `use` runs; false where none can be mounted. */
function onSmallDisk(directory: string, use: (grow: () => void) => void): boolean {
  mkdirSync(directory)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', directory], { stdio: 'ignore' })
  } catch {
    return false
  }
  try {
    use(() => execFileSync('mount', ['-o', 'remount,size=64k', directory]))
  } finally {
    // Lazily: where a test has failed, its file may still be open.
    execFileSync('umount', ['-l', directory])
  }
  return true
}

t.test('on a full disk nothing is recorded by halves, and with room the chain goes on', (t) => {
  const directory = join(t.testdir(), 'small')
  const ran = onSmallDisk(directory, (grow) => {
    const journal = open(directory)
    let written = 0
    const fill = () => {
      for (; written < 1_000; written++) journal.append({ type: 'x', text: 'y'.repeat(100) })
    }
    const full = {
      code: 'STATE_UNWRITABLE',
      message: /cannot be written, since the disk is full, so nothing was done; make room/,
    }
    t.throws(fill, full)
    t.ok(written > 10, `${written} records`)
    t.equal(journal.head.sequence, written + 1, 'the head is the last one that was written')
    t.throws(() => journal.append({ type: 'x', text: 'y'.repeat(100) }), full)
    journal.tick()
    // There may be no room for the signature of the last one: all else is there and follows.
    const said = verifyChain([fileOf(directory)], {})
    t.ok(said.ok && said.report.sequence >= written + 1 - 17, 'what was written in part is taken back')
    grow()
    journal.tick()
    t.equal(given(audit(directory)).length, written, 'and nothing of it is missing')
    journal.append({ type: 'small' })
    journal.close()
    t.same(
      given(audit(directory)).map(({ event }) => event['type']),
      [...new Array(written).fill('x'), 'small'],
    )
  })
  if (!ran) t.comment('skipped: a small file system cannot be mounted here')
  t.end()
})

t.test(
  'what happened while the disk was full is written first when it is not, and what is gone is counted',
  (t) => {
    const directory = join(t.testdir(), 'small')
    const ran = onSmallDisk(directory, (grow) => {
      const journal = open(directory)
      const happened = (index: number) => ({ type: 'execution_ended', index, text: 'y'.repeat(4_000) })
      const full = { code: 'STATE_UNWRITABLE' }
      t.throws(() => {
        for (;;) journal.append({ type: 'x', text: 'y'.repeat(4_000) })
      }, full)
      for (let index = 0; index < 3; index++) t.throws(() => journal.past(happened(index)), full)
      const long = { type: 'execution_ended', text: 'y'.repeat(AUDIT_RECORD_CHARS) }
      t.throws(() => journal.past(long), full, 'what no disk could take')
      t.throws(() => journal.append({ type: 'x', text: 'y'.repeat(4_000) }), full)
      grow()
      journal.append({ type: 'x', index: 'next' })
      journal.past(happened(9))
      journal.close()
      t.same(
        given(audit(directory))
          .slice(-6)
          .map(({ event }) => [event['type'], event['index'] ?? event['count']]),
        [
          ...[0, 1, 2].map((index) => ['execution_ended', index]),
          ['recovered', 1],
          ['x', 'next'],
          ['execution_ended', 9],
        ],
      )
    })
    if (!ran) t.comment('skipped: a small file system cannot be mounted here')
    t.end()
  },
)

t.test('with fsync always it is told when records are kept: those of one turn together', async (t) => {
  const directory = place(t)
  const journal = open(directory, undefined, { durability: 'always' })
  t.equal(open(`${directory}-other`).whenKept, undefined, 'under interval actions do not wait')
  const told: string[] = []
  const kept = (name: string) =>
    new Promise<void>((resolve) =>
      journal.whenKept?.((problem) => {
        told.push(`${name} ${problem === undefined}`)
        resolve()
      }),
    )
  journal.append({ type: 'a' })
  const first = kept('a')
  journal.append({ type: 'b' })
  const second = kept('b')
  t.same(told, [], 'never before it returns')
  t.equal(given(audit(directory)).length, 2, 'signed, too')
  await Promise.resolve()
  t.ok(journal.disk.isSyncing, 'one call for both')
  journal.append({ type: 'c' })
  const third = kept('c')
  await first
  await second
  t.same(told, ['a true', 'b true'], 'who came later waits for the next')
  await third
  await kept('nothing new')
  t.same(told, ['a true', 'b true', 'c true', 'nothing new true'])
  journal.close()
  await kept('closed')
  t.equal(told.at(-1), 'closed false')
  t.throws(() => journal.append({ type: 'd' }), { code: 'STATE_UNWRITABLE' })
  t.equal(given(audit(directory)).length, 3)
})

t.test('a key goes when its successor is kept, and not with what was kept before that', async (t) => {
  const directory = place(t)
  const erased: number[] = []
  const keys = { ...promptKeys(`${directory}.keys`), eraseSoon: (epoch: number) => void erased.push(epoch) }
  const journal = open(directory, undefined, { durability: 'always', epochRecords: 4, keys })
  const kept = () => new Promise<void>((resolve) => journal.whenKept?.(() => resolve()))
  for (let index = 0; index < 3; index++) journal.append({ type: 'a' })
  const before = kept()
  await Promise.resolve()
  t.ok(journal.disk.isSyncing)
  while (journal.epoch === 0) journal.append({ type: 'while the disk works' })
  await before
  t.same(erased, [], 'its successor may still be lost')
  await kept()
  t.same(erased, [0])
  journal.close()
})

t.test('that something was recorded is no record: each epoch sums up what it has signed (RX-32)', (t) => {
  const directory = place(t)
  const journal = open(directory, undefined, { epochRecords: 10 })
  for (let index = 0; index < 31; index++)
    journal.append(index % 3 === 0 ? { type: 'recovered', what: 'x' } : { type: 'execution_ended' })
  journal.close()
  const lines = audit(directory)
  t.equal(given(lines).length, 31, 'as many as were given')
  let [sums, counted]: [object[], Record<string, number>] = [[], {}]
  for (const { event } of lines) {
    const { type, stream, records } = event
    if (type === 'epoch' && event['epoch'] !== 0) {
      t.equal(stream, 'execution')
      t.same(records, counted)
      sums = [...sums, records as object]
      counted = {}
    } else if (type !== 'epoch') counted[String(stream)] = (counted[String(stream)] ?? 0) + 1
  }
  t.same(sums, [
    { observations: 4, execution: 6 },
    { observations: 3, execution: 7 },
    { observations: 3, execution: 7 },
  ])
  open(directory).close()
  const restarted = audit(directory).findLast(({ event }) => event['type'] === 'epoch')
  t.notOk('records' in (restarted?.event ?? {}), 'a start does not know what the run before it has signed')
  t.end()
})

t.test('the disk is measured, and asked when nothing is written', async (t) => {
  let now = 0
  const journal = open(place(t), undefined, { monotonicMs: () => now })
  const { disk } = journal
  t.match(disk, { syncMs: 0, isSyncing: false, failure: undefined })
  disk.probe()
  t.ok(disk.isSyncing)
  now = 7_000
  t.equal(disk.syncMs, 7_000, 'so far')
  while (disk.isSyncing) await new Promise((resolve) => setImmediate(resolve))
  t.equal(disk.syncMs, 7_000)
  disk.probe()
  t.equal(disk.syncMs, 7_000, 'what it was the last time, until it is known to be less')
  while (disk.isSyncing) await new Promise((resolve) => setImmediate(resolve))
  t.equal(disk.syncMs, 0)
  journal.close()
})

t.test('where the next key cannot be written nothing starts, and the sentence says so', (t) => {
  const directory = place(t)
  open(directory).close()
  const keys = {
    found: () => openEpochKeys(`${directory}.keys`).found(),
    genesis: () => openEpochKeys(`${directory}.keys`).genesis(),
    create(): never {
      throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' })
    },
    createSoon() {},
    erase() {},
    eraseSoon() {},
    keepGenesis() {},
  }
  const before = readFileSync(fileOf(directory), 'utf8')
  t.throws(() => open(directory, undefined, { keys }), {
    code: 'STATE_UNWRITABLE',
    message: /next key of the audit chain cannot be written, since .*make room/,
  })
  t.equal(readFileSync(fileOf(directory), 'utf8'), before)
  open(directory).close()
  audit(directory)
  t.end()
})

t.test('a record of more than 10,000 characters is not written (RX-31)', (t) => {
  const directory = place(t)
  const journal = open(directory)
  journal.append({ type: 'a', text: '' })
  // All of a line but its signature; its number has a digit more from the tenth record on.
  const around = (readFileSync(fileOf(directory), 'utf8').split('\n').at(-1) ?? '').length
  t.ok(around > 100 && journal.head.sequence < 8)
  const longest = 10_000 - around
  t.doesNotThrow(() => journal.append({ type: 'b', text: 'x'.repeat(longest) }), '10,000 to the character')
  const lines = readFileSync(fileOf(directory), 'utf8').split('\n')
  t.equal((lines.at(-1) ?? '').length, 10_000)
  t.throws(() => journal.append({ type: 'd', text: 'x'.repeat(longest + 1) }), {
    code: 'INTERNAL',
    message: /too long/,
  })
  journal.append({ type: 'c' })
  journal.close()
  t.same(
    given(audit(directory)).map(({ event }) => event['type']),
    ['a', 'b', 'c'],
  )
  t.end()
})
