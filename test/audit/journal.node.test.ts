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
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openJournal } from '../../src/audit/journal.node.ts'
import { canonicalize } from '../../src/base/canonical-json.ts'
import { verifyWith } from '../../src/base/ed25519.node.ts'
import { publicKeyOf } from '../../src/base/sign.ts'
import type { Json } from '../../src/base/strict-json.ts'
import { AUDIT_LINE_BYTES } from '../../src/limits.ts'

const SEED = new Uint8Array(32).fill(4)
const clock = () => {
  let now = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
  return () => now++
}
const open = (directory: string, now = clock()) => openJournal(directory, SEED, now, () => true, setImmediate)
const fileOf = (directory: string) => join(directory, 'audit.jsonl')

type Line = { chain_hash: string; event: Record<string, Json>; signature: string; timestamp: string }
const linesOf = (directory: string): Line[] =>
  readFileSync(fileOf(directory), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)

/** Verifies the whole file with nothing of the journal: node:crypto, JSON and the rule of the chain. */
function audit(directory: string): Line[] {
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), publicKeyOf(SEED)])
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
  let previous = 'SASS_GENESIS_BLOCK'
  const lines = linesOf(directory)
  for (const [index, { chain_hash, event, signature, timestamp }] of lines.entries()) {
    const hash = createHash('sha256')
      .update(`${previous}${canonicalize(event)}${timestamp}`)
      .digest()
    if (hash.toString('hex') !== chain_hash) throw new Error(`record ${index + 1} does not follow`)
    if (!verify(null, hash, key, Buffer.from(signature, 'hex'))) throw new Error(`signature of ${index + 1}`)
    if (event['seq'] !== index + 1) throw new Error(`sequence of ${index + 1}`)
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(timestamp)) throw new Error(`time of ${index + 1}`)
    previous = chain_hash
  }
  return lines
}

t.test(
  'records are in the file when append returns, chained and numbered, and signed in the same turn',
  async (t) => {
    const directory = t.testdir()
    const journal = open(directory)
    t.same(journal.head, { sequence: 0, hash: new Uint8Array(32) })
    for (let index = 0; index < 20; index++) {
      journal.append({ type: 'decision', index, text: 'ü"\\\n', nested: { b: true, a: null } })
      const hash = Buffer.from(journal.head.hash).toString('hex')
      t.ok(
        readFileSync(fileOf(directory), 'utf8').endsWith(`"chain_hash":"${hash}"`),
        'all but the signature',
      )
      await new Promise((resolve) => setImmediate(resolve))
      const lines = audit(directory)
      t.equal(lines.length, index + 1)
      t.equal(journal.head.sequence, index + 1)
      t.equal(hash, lines.at(-1)?.chain_hash)
    }
    journal.close()
    for (const { chain_hash, signature } of linesOf(directory)) {
      const [hash, signed] = [Buffer.from(chain_hash, 'hex'), Buffer.from(signature, 'hex')]
      t.ok(verifyWith(journal.publicKey, hash, signed))
      signed[7] = (signed[7] ?? 0) ^ 1
      t.notOk(verifyWith(journal.publicKey, hash, signed))
      t.notOk(verifyWith(publicKeyOf(new Uint8Array(32).fill(5)), hash, Buffer.from(signature, 'hex')))
    }
  },
)

t.test('file and directory are for the daemon alone', (t) => {
  const directory = join(t.testdir(), 'a/b')
  open(directory).close()
  t.equal(statSync(directory).mode & 0o777, 0o700)
  t.equal(statSync(fileOf(directory)).mode & 0o777, 0o600)
  t.end()
})

t.test('the key is named by its fingerprint', (t) => {
  const journal = open(t.testdir())
  t.same(journal.publicKey, publicKeyOf(SEED))
  t.equal(
    journal.keyFingerprint,
    `sha256:${createHash('sha256').update(publicKeyOf(SEED)).digest('base64url')}`,
  )
  journal.close()
  t.end()
})

t.test('a restart continues the chain', (t) => {
  const directory = t.testdir()
  for (let start = 0; start < 5; start++) {
    const journal = open(directory)
    t.equal(journal.head.sequence, start * 2)
    journal.append({ type: 'a' })
    journal.append({ type: 'b' })
    journal.sync()
    journal.sync()
    journal.close()
  }
  t.equal(audit(directory).length, 10)
  t.end()
})

t.test('a file that was begun and never written is a chain that has not begun', (t) => {
  const directory = t.testdir({ 'audit.jsonl': '' })
  const journal = open(directory)
  journal.append({ type: 'a' })
  journal.close()
  t.equal(audit(directory).length, 1)
  t.end()
})

t.test(
  'a last record torn at any byte is cut off, or signed where only that is missing, and that is recorded',
  (t) => {
    const directory = t.testdir()
    const journal = open(directory)
    for (const type of ['a', 'b', 'c']) journal.append({ type })
    journal.close()
    const whole = readFileSync(fileOf(directory))
    const starts = [...whole.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at + 1] : []))
    const last = starts.at(-2) ?? 0
    const sealed = whole.indexOf(',"signature"', last)
    for (let length = last; length < whole.length; length++) {
      writeFileSync(fileOf(directory), whole.subarray(0, length))
      const recovered = open(directory)
      recovered.append({ type: 'after' })
      recovered.close()
      const events = audit(directory).map(({ event }) => event['type'])
      const kept = length < sealed ? ['a', 'b'] : ['a', 'b', 'c']
      const expected = length === last ? [...kept, 'after'] : [...kept, 'recovered', 'after']
      if (events.join() !== expected.join()) t.fail(`torn after ${length - last} bytes: ${events.join()}`)
    }
    t.pass(`${whole.length - last} places`)
    writeFileSync(fileOf(directory), whole)
    open(directory).close()
    t.same(readFileSync(fileOf(directory)), whole, 'a whole one is left alone')
    t.end()
  },
)

t.test('a first record that is torn leaves an empty chain', (t) => {
  const directory = t.testdir()
  const journal = open(directory)
  journal.append({ type: 'a' })
  journal.close()
  truncateSync(fileOf(directory), 40)
  open(directory).close()
  t.match(audit(directory), [{ event: { type: 'recovered', what: 'torn_last_line', seq: 1 } }])
  t.end()
})

t.test('a last line that is no record is refused and left as it is', (t) => {
  const directory = t.testdir()
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
      { code: 'STATE_UNWRITABLE', message: /cannot be read.*keep it as evidence/ },
      tail.slice(0, 20),
    )
    t.equal(readFileSync(fileOf(directory), 'utf8'), good + tail)
  }
  writeFileSync(fileOf(directory), good)
  appendFileSync(fileOf(directory), 'x'.repeat(3 * AUDIT_LINE_BYTES))
  t.throws(() => open(directory), { code: 'STATE_UNWRITABLE' }, 'more than a record without an end')
  t.end()
})

t.test('an altered, a missing and a moved record show', (t) => {
  const directory = t.testdir()
  const journal = open(directory)
  for (let index = 0; index < 5; index++) journal.append({ type: 'x', index })
  journal.close()
  const lines = readFileSync(fileOf(directory), 'utf8').split('\n').filter(Boolean)
  const damage: [string, string[]][] = [
    ['altered', lines.map((line, at) => (at === 2 ? line.replace('"index":2', '"index":9') : line))],
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
  const directory = t.testdir()
  const journal = open(directory)
  journal.append({ type: 'a' })
  t.throws(() => journal.append({ type: 'b', text: '\ud800' }), { code: 'INTERNAL' })
  t.throws(() => journal.append({ type: 'b', number: Number.NaN }), { code: 'INTERNAL' })
  journal.append({ type: 'c', seq: 99 })
  journal.close()
  t.same(
    audit(directory).map(({ event }) => event['seq']),
    [1, 2],
    'the number is the journal’s',
  )
  t.end()
})

t.test('a directory that cannot be used is refused in one sentence', (t) => {
  const directory = t.testdir({ file: 'x' })
  t.throws(() => open(join(directory, 'file')), {
    code: 'STATE_UNWRITABLE',
    message: /cannot be written \(E[A-Z]+\), and nothing runs unrecorded/,
  })
  mkdirSync(join(directory, 'audit.jsonl'))
  t.throws(() => open(directory), { code: 'STATE_UNWRITABLE', message: /EISDIR/ })
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

t.test('on a full disk append throws, and so does every later one, until a restart with room', (t) => {
  const directory = join(t.testdir(), 'small')
  const ran = onSmallDisk(directory, (grow) => {
    const journal = open(directory)
    let written = 0
    const fill = () => {
      for (; written < 1_000; written++) journal.append({ type: 'x', text: 'y'.repeat(100) })
    }
    t.throws(fill, { code: 'STATE_UNWRITABLE', message: /ENOSPC|of \d+ bytes/ })
    t.ok(written > 10, `${written} records`)
    t.equal(journal.head.sequence, written, 'the head is the last one that was written')
    const size = statSync(fileOf(directory)).size
    const again = { code: 'STATE_UNWRITABLE', message: /nothing more is done until/ }
    t.throws(() => journal.append({ type: 'small' }), again)
    grow()
    t.throws(() => journal.append({ type: 'small' }), again, 'room alone is not enough')
    t.equal(statSync(fileOf(directory)).size, size, 'nothing is written after a gap')
    journal.close()

    const restarted = open(directory)
    restarted.append({ type: 'after' })
    restarted.close()
    const events = audit(directory).map(({ event }) => event['type'])
    t.same(events.slice(written), events.length === written + 2 ? ['recovered', 'after'] : ['after'])
  })
  if (!ran) t.comment('skipped: a small file system cannot be mounted here')
  t.end()
})

t.test('a record that cannot be made to last breaks the chain for what comes after', (t) => {
  const directory = t.testdir()
  const journal = open(directory)
  journal.append({ type: 'a' })
  journal.close()
  // The descriptor is gone, as on a device that went away: neither sync nor append may pass over it.
  t.doesNotThrow(() => journal.sync())
  t.throws(() => journal.append({ type: 'b' }), { code: 'STATE_UNWRITABLE' })
  t.equal(audit(directory).length, 1)
  t.ok(existsSync(fileOf(directory)))
  t.end()
})
