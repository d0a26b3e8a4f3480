/**
 * Retention: what is dropped is gone, and the proof is whole all the same, from the pinned key on.
 * @module
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import type { Journal } from '../../src/audit/journal.node.ts'
import {
  chainPaths,
  dropOldest,
  droppedPath,
  linksOf,
  linksPath,
  policyOfDropped,
  readDropped,
  steadily,
} from '../../src/audit/retention.node.ts'
import { openSealedFacts } from '../../src/audit/sealed-facts.node.ts'
import { verifyChain } from '../../src/audit/verify-chain.node.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import type { AuditEvent } from '../../src/ports.ts'
import { keysOf, stagedJournal } from './staged-journal.node.ts'

const small = { segmentBytes: 1_500, epochRecords: 4 }
const open = (directory: string) => stagedJournal(directory, small)

function write(journal: Journal, count: number): void {
  for (let index = 0; index < count; index++) journal.append({ type: 'x', index }, true)
}

function drop(directory: string, journal: Journal, keepBytes: number): number {
  return dropOldest(directory, { bytes: keepBytes, since: undefined }, (event) => journal.append(event, true))
}

const pinned = (directory: string) => {
  const genesis = readFileSync(join(keysOf(directory), 'audit.pub')).toString('hex')
  return (key: Uint8Array) => encodeHex(key) === genesis
}
const verify = (directory: string) =>
  verifyChain(chainPaths(directory), { isGenesis: pinned(directory), directory })

const totalOf = (directory: string) =>
  chainPaths(directory).reduce((sum, path) => sum + statSync(path).size, 0)

/** A chain of which the first files were dropped, twice, with a restart between. */
function dropped(t: Test): string {
  const directory = join(t.testdir(), 'audit')
  const journal = open(directory)
  write(journal, 60)
  t.ok(drop(directory, journal, 8_000) > 3)
  write(journal, 20)
  journal.close()
  const again = open(directory)
  write(again, 30)
  t.ok(drop(directory, again, 6_000) > 3)
  write(again, 3)
  again.close()
  return directory
}

t.test('files are dropped until the rest fits, and the chain verifies from the pinned key on', (t) => {
  const directory = dropped(t)
  const summary = readDropped(directory)
  const verified = verify(directory)
  t.match(verified, { ok: true, dropped: summary?.last })
  t.equal(
    verified.ok && verified.report.sequence - (summary?.last ?? 0),
    verified.ok && verified.report.records,
  )
  t.ok(verified.ok && verified.report.genesis !== undefined && pinned(directory)(verified.report.genesis))
  const bytes = totalOf(directory)
  t.ok(bytes < 16_000, `${bytes}`)
  t.match(summary, { from: /^2026-/, to: /^2026-/ })
  const journal = open(directory)
  t.equal(drop(directory, journal, 1e9), 0, 'what fits stays')
  t.equal(drop(directory, journal, 0) > 0, true, 'what does not goes, but never the file that is written to')
  journal.append({ type: 'after' })
  journal.close()
  t.match(verify(directory), { ok: true })
  t.end()
})

t.test('a kept record that a full disk or a crash has torn does not spoil the next one', (t) => {
  const directory = dropped(t)
  const links = readFileSync(linksPath(directory), 'utf8')
  const first = links.indexOf('\n') + 1
  writeFileSync(linksPath(directory), `${links}${links.slice(0, first / 2)}`)
  const journal = open(directory)
  write(journal, 20)
  t.ok(drop(directory, journal, 0) > 0)
  journal.close()
  t.match(verify(directory), { ok: true })
  t.end()
})

t.test('what is older than it is kept goes, one file at a time (JF-R32)', (t) => {
  const directory = join(t.testdir(), 'audit')
  const journal = open(directory)
  write(journal, 60)
  const append = (event: AuditEvent) => journal.append(event, true)
  const files = () => chainPaths(directory).length
  const before = files()
  t.equal(
    dropOldest(directory, { bytes: null, since: '2026-01-01T00:00:00.000Z' }, append),
    0,
    'nothing is so old',
  )
  t.equal(dropOldest(directory, { bytes: null, since: '2999-01-01T00:00:00.000Z' }, append), 1)
  t.equal(files(), before - 1, 'a clock that leaps takes one file with it')
  t.equal(dropOldest(directory, { bytes: null, since: undefined }, append), 0)
  journal.close()
  t.match(verify(directory), { ok: true })
  t.end()
})

t.test('a chain that is written to while it is read is read again; one that is at rest once', (t) => {
  const directory = join(t.testdir(), 'audit')
  const journal = open(directory)
  write(journal, 60)
  const isGenesis = pinned(directory)
  let passes = 0
  const readWhile = (change: () => void) => {
    passes = 0
    return steadily(
      directory,
      () => {
        const paths = chainPaths(directory)
        if (passes++ === 0) change()
        return verifyChain(paths, { isGenesis, directory })
      },
      ({ ok }) => ok,
    )
  }
  t.match(
    readWhile(() => write(journal, 20)),
    { ok: true },
    'files were closed',
  )
  t.equal(passes, 2)
  t.match(
    readWhile(() => drop(directory, journal, 8_000)),
    { ok: true },
    'files were dropped',
  )
  t.equal(passes, 2)
  journal.close()
  const [path = ''] = chainPaths(directory)
  writeFileSync(path, readFileSync(path, 'utf8').replace('"index":', '"Index":'))
  t.match(
    readWhile(() => {}),
    { ok: false },
  )
  t.equal(passes, 1)
  t.end()
})

t.test('what lies beside the chain cannot be changed, taken away or made up', (t) => {
  const directory = dropped(t)
  const [summary, links] = [
    readFileSync(droppedPath(directory), 'utf8'),
    readFileSync(linksPath(directory), 'utf8'),
  ]
  const put = (a: string, b: string) => {
    writeFileSync(droppedPath(directory), a)
    writeFileSync(linksPath(directory), b)
    return verify(directory)
  }
  t.match(put(summary, links), { ok: true })
  const { last, last_hash, ...rest } = JSON.parse(summary)
  t.match(put(JSON.stringify({ ...rest, last: last - 1, last_hash }), links), { ok: false })
  t.match(put(JSON.stringify({ ...rest, last, last_hash: 'ab'.repeat(32) }), links), { ok: false })
  t.match(put(summary, ''), { ok: false, finding: { why: /No key is kept/ } })
  const lines = links.split('\n').slice(0, -1)
  for (const at of lines.keys()) {
    t.match(put(summary, `${lines.toSpliced(at, 1).join('\n')}\n`), { ok: false }, `without key ${at}`)
    const altered = (lines[at] ?? '').replace(/.("})"}$/, (end) =>
      end.startsWith('0') ? `1${end.slice(1)}` : `0${end.slice(1)}`,
    )
    t.match(put(summary, `${lines.with(at, altered).join('\n')}\n`), { ok: false }, `key ${at} altered`)
  }
  t.match(put(summary, `${links}${lines.at(-1)}\n`), { ok: true }, 'a key that was kept twice is one')
  rmSync(droppedPath(directory))
  t.match(
    verify(directory),
    { ok: false, finding: { sequence: 1 } },
    'without the summary it begins in the middle',
  )
  t.end()
})

t.test('whoever takes files away by hand is found out', (t) => {
  const directory = join(t.testdir(), 'audit')
  const journal = open(directory)
  write(journal, 60)
  drop(directory, journal, 8_000)
  journal.close()
  rmSync(chainPaths(directory)[0] ?? '')
  t.match(verify(directory), { ok: false })
  t.end()
})

t.test('a crash at any step of it leaves a chain that verifies, and the next time ends it', (t) => {
  const directory = join(t.testdir(), 'audit')
  const earlier = open(directory)
  write(earlier, 60)
  earlier.close()
  // From here on the file that is written to stays the same one.
  const journal = stagedJournal(directory)
  const before = new Map(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name))]))
  t.ok(drop(directory, journal, 8_000) > 0)
  journal.close()
  const active = readFileSync(join(directory, 'audit.jsonl'))
  const after = new Map(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name))]))
  /** The files of some step: all of before, with what was written by then. */
  const step = (names: readonly string[]) => {
    for (const name of readdirSync(directory)) rmSync(join(directory, name))
    for (const [name, bytes] of before) writeFileSync(join(directory, name), bytes)
    for (const name of names) writeFileSync(join(directory, name), after.get(name) ?? '')
  }
  for (const names of [
    ['links.jsonl'],
    ['links.jsonl', 'audit.jsonl'],
    ['links.jsonl', 'audit.jsonl', 'dropped.json'],
  ]) {
    step(names)
    t.match(verify(directory), { ok: true }, names.join(' '))
  }
  t.ok(active.length > 0)
  t.end()
})

t.test('what a crash has kept of files that are still there says nothing, and twice is once', (t) => {
  const directory = dropped(t)
  const links = readFileSync(linksPath(directory), 'utf8')
  const lines = links.split('\n').slice(0, -1)
  t.ok(lines.length > 4)
  writeFileSync(linksPath(directory), `${links}${lines.slice(-4).join('\n')}\n`)
  t.match(verify(directory), { ok: true }, 'several keys of one file, twice')
  writeFileSync(linksPath(directory), links)
  // The next file is dropped, and the power goes before the summary says so.
  const summary = readFileSync(droppedPath(directory))
  const [next = ''] = chainPaths(directory)
  const kept = readFileSync(next)
  const journal = stagedJournal(directory)
  const bytes = totalOf(directory)
  t.equal(drop(directory, journal, bytes - 1), 1)
  journal.close()
  t.ok(readFileSync(linksPath(directory), 'utf8').length > links.length, 'it had keys')
  writeFileSync(droppedPath(directory), summary)
  writeFileSync(next, kept)
  t.match(verify(directory), { ok: true })
  const again = stagedJournal(directory)
  t.equal(drop(directory, again, bytes - 1), 1, 'and then once more')
  again.close()
  t.match(verify(directory), { ok: true })
  t.end()
})

t.test('which policy held is known when the record that says so is gone, and is signed', (t) => {
  const directory = join(t.testdir(), 'audit')
  const journal = open(directory)
  for (const name of ['a', 'b', 'c']) {
    journal.append({ type: 'daemon', what: 'reloaded', frozen: name.repeat(64) }, true)
    write(journal, 12)
  }
  t.equal(policyOfDropped(directory), undefined)
  const seen = new Set<string>()
  while (drop(directory, journal, totalOf(directory) - 1) > 0) {
    const last = readDropped(directory)?.last ?? 0
    const held = policyOfDropped(directory)
    // Epochs come in between: the records of one policy are not twelve numbers.
    t.equal(
      held,
      linksOf(directory).findLast(({ sequence, event }) => sequence <= last && 'frozen' in event)?.event[
        'frozen'
      ],
    )
    seen.add(held?.[0] ?? '')
    t.match(verify(directory), { ok: true })
  }
  t.same([...seen], ['a', 'b', 'c'])
  journal.close()
  const links = readFileSync(linksPath(directory), 'utf8')
  writeFileSync(linksPath(directory), links.replace('c'.repeat(64), 'a'.repeat(64)))
  t.match(verify(directory), { ok: false, finding: { why: /does not follow/ } })
  t.end()
})

t.test('sealed facts go with the records that they belong to', (t) => {
  const directory = join(t.testdir(), 'audit')
  const journal = open(directory)
  const facts = openSealedFacts({
    directory,
    nextSequence: () => journal.head.sequence + 1,
    segmentBytes: 600,
  })
  for (let index = 0; index < 60; index++)
    journal.append({ type: 'decision', facts: facts.seal('ab'.repeat(16), { index }) }, true)
  const pairs = () => readdirSync(directory).filter((name) => name.endsWith('.sealed'))
  const before = pairs().length
  drop(directory, journal, 20_000)
  const last = readDropped(directory)?.last ?? 0
  const left = pairs()
  t.ok(left.length < before && left.length > 1, `${left.length} of ${before}`)
  const firsts = left.map((name) => Number(/\d+/.exec(name)?.[0]))
  t.ok((firsts[1] ?? 0) > last, 'all but the one that the first kept record may need')
  t.equal(readdirSync(directory).filter((name) => name.endsWith('.keys')).length, left.length)
  facts.close()
  journal.close()
  t.end()
})

t.test('files that were copied elsewhere verify there, with what lies beside them', (t) => {
  const directory = dropped(t)
  const copy = join(dirname(directory), 'copy')
  mkdirSync(copy)
  for (const name of readdirSync(directory)) copyFileSync(join(directory, name), join(copy, name))
  t.match(verifyChain(chainPaths(copy), { isGenesis: pinned(directory), directory: copy }), { ok: true })
  t.notOk(existsSync(join(copy, 'audit-000000000001.jsonl')))
  t.end()
})
