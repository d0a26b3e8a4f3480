/**
 * Verification of real chains: a whole one is whole, and whatever is changed in it is named with its place.
 * @module
 */
import { createHash, sign } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { chainHash, readRecord, recordHead, recordSeal } from '../../src/audit/chain.ts'
import { segmentsOf } from '../../src/audit/segments.node.ts'
import type { KnownHead, VerifierOptions } from '../../src/audit/verify.ts'
import { type Verified, verifyChain } from '../../src/audit/verify-chain.node.ts'
import { privateKeyOf } from '../../src/base/crypto/ed25519.node.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import type { AuditEvent } from '../../src/ports.ts'
import { keysOf, stagedJournal } from './staged-journal.node.ts'

type Chain = {
  readonly directory: string
  readonly genesis: string
  /** The seed of the key that signs now. */
  readonly seed: () => Uint8Array
  readonly heads: readonly KnownHead[]
}

/** A chain of three epochs of real records. */
function made(t: Test, { records = 7, segmentBytes = 1e9 } = {}): Chain {
  const directory = join(t.testdir(), 'audit')
  const wallMs = () => Date.UTC(2026, 10, 20, 9, 8, 7, 6)
  const journal = stagedJournal(directory, { wallMs, epochRecords: 3, segmentBytes })
  const heads: KnownHead[] = []
  for (let index = 0; index < records; index++) {
    journal.append({ type: 'decision', index, text: 'grün "\\' })
    heads.push({ ...journal.head, from: 'a client' })
  }
  const { epoch } = journal
  journal.close()
  return {
    directory,
    genesis: readFileSync(join(keysOf(directory), 'audit.pub')).toString('hex'),
    seed: () => new Uint8Array(readFileSync(join(keysOf(directory), `audit-${epoch}.key`))),
    heads,
  }
}

const pathsOf = ({ directory }: Chain) => segmentsOf(directory).map(({ path }) => path)
const check = (chain: Chain, options: Omit<VerifierOptions, 'hash' | 'verifySignature'> = {}): Verified =>
  verifyChain(pathsOf(chain), { isGenesis: (key) => encodeHex(key) === chain.genesis, ...options })
const placeOf = (verified: Verified): number | 'whole' => (verified.ok ? 'whole' : verified.finding.sequence)
const active = ({ directory }: Chain) => join(directory, 'audit.jsonl')

t.test('a whole chain is whole, with its length, its head and its epochs', (t) => {
  const chain = made(t)
  const verified = check(chain, { heads: chain.heads })
  const head = chain.heads.at(-1)
  t.match(verified, {
    ok: true,
    report: { sequence: head?.sequence, records: head?.sequence, epoch: 2, unfinished: false },
  })
  t.equal(verified.ok && encodeHex(verified.report.hash), encodeHex(head?.hash ?? new Uint8Array()))
  const inPieces = made(t, { records: 40, segmentBytes: 1_000 })
  t.ok(pathsOf(inPieces).length > 10)
  t.equal(placeOf(check(inPieces)), 'whole', 'over many files')
  t.end()
})

t.test('a change of any one byte of any record is named with the number of that record (JF-026)', (t) => {
  const chain = made(t)
  const whole = readFileSync(active(chain))
  let [sequence, wrong] = [1, 0]
  for (const [at, byte] of whole.entries()) {
    for (const flip of [1, 0x20]) {
      const bytes = Buffer.from(whole)
      bytes[at] = byte ^ flip
      writeFileSync(active(chain), bytes)
      const place = placeOf(check(chain))
      if (place !== sequence) {
        wrong++
        t.equal(place, sequence, `byte ${at}, ${byte} ^ ${flip}`)
      }
    }
    if (byte === 0x0a) sequence++
  }
  t.equal(wrong, 0, `${2 * whole.length} changes`)
  t.end()
})

t.test('a record that is dropped, doubled or moved is named, wherever it stands', (t) => {
  const chain = made(t)
  const lines = readFileSync(active(chain), 'utf8').split('\n').slice(0, -1)
  const placeIn = (changed: readonly string[]) => {
    writeFileSync(active(chain), `${changed.join('\n')}\n`)
    return placeOf(check(chain, { heads: chain.heads.slice(-1) }))
  }
  for (const [at, line] of lines.entries()) {
    t.equal(placeIn(lines.toSpliced(at, 1)), at + 1, `without ${at + 1}`)
    t.equal(placeIn(lines.toSpliced(at, 0, line)), at + 2, `${at + 1} twice`)
    for (let other = at + 1; other < lines.length; other++)
      t.equal(
        placeIn(lines.with(at, lines[other] ?? '').with(other, line)),
        at + 1,
        `${at + 1} for ${other + 1}`,
      )
  }
  t.end()
})

t.test('an end that was cut off shows to whoever has kept a later head, at every byte', (t) => {
  const chain = made(t)
  const whole = readFileSync(active(chain))
  const heads = chain.heads.slice(-1)
  let quiet = 0
  for (let size = 0; size < whole.length; size++) {
    writeFileSync(active(chain), whole.subarray(0, size))
    const verified = check(chain, { heads })
    if (verified.ok) quiet++
    if (size % 40 === 0 && size > 0) t.notMatch(check(chain), { ok: false }, 'by itself it cannot be told')
  }
  // Of the last record only the newline, or a part of its seal, is missing: it is the record that was kept.
  t.equal(quiet, 0)
  t.end()
})

t.test('whoever has the key of today cannot write yesterday anew', (t) => {
  const chain = made(t)
  const seed = chain.seed()
  const lines = readFileSync(active(chain), 'utf8').split('\n').slice(0, -1)
  /** Everything from there on with another text, hashes and signatures all made anew. */
  const forged = (from: number) => {
    let previous =
      from === 0
        ? 'SASS_GENESIS_BLOCK'
        : encodeHex(readRecord(lines[from - 1] ?? '')?.hash ?? new Uint8Array())
    return lines.map((line, at) => {
      const record = readRecord(line)
      if (at < from || record === undefined) return line
      const event = record.event.type === 'decision' ? { ...record.event, text: 'forged' } : record.event
      const { hash, json } = chainHash(previous, event, record.timestamp, (bytes) =>
        createHash('sha256').update(bytes).digest(),
      )
      previous = encodeHex(hash)
      return (
        recordHead(json, record.timestamp, hash) + recordSeal(sign(null, hash, privateKeyOf(seed))).trimEnd()
      )
    })
  }
  const epochStart = lines.findLastIndex((line) => readRecord(line)?.event.type === 'epoch') + 1
  for (let from = 0; from < lines.length; from++) {
    writeFileSync(active(chain), `${forged(from).join('\n')}\n`)
    const isOfToday = from >= epochStart
    t.equal(placeOf(check(chain)), isOfToday ? 'whole' : from + 1, `from record ${from + 1}`)
    t.match(
      check(chain, { heads: chain.heads }),
      { ok: false, finding: { sequence: from + 1 } },
      'and what is of today contradicts the heads that were given out',
    )
  }
  t.end()
})

t.test('a chain that was begun anew is not that of the pinned key', (t) => {
  const chain = made(t)
  const other = made(t)
  writeFileSync(active(chain), readFileSync(active(other)))
  t.match(check(chain), {
    ok: false,
    finding: { sequence: 1, why: /another key than the one that was pinned/ },
  })
  t.equal(
    placeOf(check(chain, { isGenesis: undefined })),
    'whole',
    'without a pin it is a chain like any other',
  )
  t.end()
})

t.test('a file that is missing, doubled or has something at its end is named', (t) => {
  const chain = made(t, { records: 40, segmentBytes: 1_000 })
  const paths = pathsOf(chain)
  const pinned = { isGenesis: (key: Uint8Array) => encodeHex(key) === chain.genesis }
  for (const at of [0, 1, 5]) {
    const missing = verifyChain(paths.toSpliced(at, 1), pinned)
    t.match(missing, { ok: false, finding: { line: 1, path: paths[at + 1] } })
    t.match(verifyChain(paths.toSpliced(at, 0, paths[at] ?? ''), pinned), { ok: false, finding: { line: 1 } })
  }
  const [first = ''] = paths
  writeFileSync(first, `${readFileSync(first, 'utf8')}{"timest`)
  t.match(verifyChain(paths, pinned), { ok: false, finding: { line: 1, path: paths[1] } })
  t.end()
})

t.test('what is no chain is said in one finding', (t) => {
  const directory = t.testdir({ audit: {} })
  const path = join(directory, 'audit', 'audit.jsonl')
  mkdirSync(join(directory, 'x'))
  for (const text of ['x\n', '\n', '{}\n', `${'y'.repeat(300_000)}\n`, '\xff\n', 'garbage', '\0\0\0']) {
    writeFileSync(path, text, 'latin1')
    const finding = { sequence: 1, line: 1 }
    t.match(verifyChain([path], {}), { ok: false, finding }, JSON.stringify(text.slice(0, 10)))
  }
  writeFileSync(path, '')
  t.match(verifyChain([path], {}), { ok: true, report: { records: 0, sequence: 0 } })
  t.end()
})

t.test('a signature stands for 16 records at most, and what none stands for is not believed', (t) => {
  const directory = join(t.testdir(), 'audit')
  const journal = stagedJournal(directory, {})
  for (let index = 0; index < 5; index++) journal.append({ type: 'x', index })
  const head = journal.head
  journal.close()
  const path = join(directory, 'audit.jsonl')
  const whole = readFileSync(path, 'utf8')
  const seed = new Uint8Array(readFileSync(join(keysOf(directory), 'audit-0.key')))
  /** The chain with more behind it; the last one is signed with the key of its time, or not. */
  const grown = (events: readonly AuditEvent[], isSigned: boolean) => {
    let previous = encodeHex(head.hash)
    const lines = events.map((event, index) => {
      const timestamp = '2026-11-20T09:08:07.006Z'
      const numbered = { ...event, seq: head.sequence + 1 + index }
      const { hash, json } = chainHash(previous, numbered, timestamp, (bytes) =>
        createHash('sha256').update(bytes).digest(),
      )
      previous = encodeHex(hash)
      const isLast = index === events.length - 1
      const signature = isLast && isSigned ? sign(null, hash, privateKeyOf(seed)) : undefined
      return `${recordHead(json, timestamp, hash)}${recordSeal(signature)}`
    })
    writeFileSync(path, `${whole}${lines.join('')}`)
    return verifyChain([path], {})
  }
  const many = (count: number): AuditEvent[] => Array.from({ length: count }, () => ({ type: 'y' }))
  t.match(grown(many(17), true), { ok: true, report: { records: 23, unfinished: false } })
  t.match(grown(many(18), true), { ok: false, finding: { sequence: 23, why: /must have one of its own/ } })
  t.match(grown(many(3), false), { ok: true, report: { records: 6, sequence: 6, unfinished: true } })
  const unsigned = readFileSync(path)
  for (let cut = 1; cut < 40; cut++) {
    writeFileSync(path, unsigned.subarray(0, -cut))
    t.match(verifyChain([path], {}), { ok: true, report: { unfinished: true } }, `without the last ${cut}`)
  }
  for (const event of [
    { type: 'epoch', epoch: 1, public_key: 'A'.repeat(43) },
    { type: 'dropped', last: 1, last_hash: 'a'.repeat(64) },
    { type: 'daemon', frozen: 'a'.repeat(64) },
  ])
    t.match(grown([event, { type: 'y' }], true), { ok: false, finding: { sequence: 7 } }, event.type)
  t.end()
})
