/**
 * What the record costs: an append with its signature, the sealed facts of a command, and the verification and replay of
 * what was written. Real files in a temporary directory, no fsync(2) in what is timed.
 *
 *     node bench/audit.node.ts [RECORDS]
 * @module
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../src/audit/journal.node.ts'
import { openSealedFacts } from '../src/audit/sealed-facts.node.ts'
import { verifyChain } from '../src/audit/verify-chain.node.ts'
import { hostSha256 } from '../src/base/sha256.node.ts'
import { adjudicate } from '../src/defense/adjudicator.ts'
import { openEpochKeys } from '../src/edge/epoch-keys.node.ts'
import { decisionEvent } from '../src/session/decision-event.ts'
import { executing, FACTS, LEDGER, POLICY } from '../test/defense/staged-facts.ts'

const count = Number(process.argv[2] ?? 20_000)
const directory = mkdtempSync(join(tmpdir(), 'sass-edge-bench-audit-'))

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}

function told(name: string, microseconds: number[]): void {
  const sorted = microseconds.sort((a, b) => a - b)
  const [median, high] = [percentile(sorted, 0.5), percentile(sorted, 0.99)]
  console.log(`${name.padEnd(34)} median ${median.toFixed(0)} us, p99 ${high.toFixed(0)} us`)
}

/** Every call timed by itself. */
function timed(rounds: number, deed: (round: number) => void): number[] {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const begin = process.hrtime.bigint()
    deed(round)
    times.push(Number(process.hrtime.bigint() - begin) / 1_000)
  }
  return times
}

try {
  mkdirSync(join(directory, 'keys'))
  const waiting: (() => void)[] = []
  const journal = openJournal({
    directory: join(directory, 'audit'),
    keys: openEpochKeys(join(directory, 'keys')),
    wallMs: Date.now,
    monotonicMs: () => performance.now(),
    lock: () => true,
    later: (work) => void waiting.push(work),
    after: () => {},
    epochRecords: 1_000,
    epochMs: 3_600_000,
    segmentBytes: 8_388_608,
    durability: 'never',
  })
  const facts = openSealedFacts({
    directory: join(directory, 'audit'),
    nextSequence: () => journal.head.sequence + 1,
    segmentBytes: 8_388_608,
  })
  const session = 'ab'.repeat(16)
  const policy = { ...POLICY, hash: hostSha256 }
  const given = (cycle: number) => ({
    ...FACTS,
    cycle,
    session: { id: session, state: 'live' as const },
    action: executing(['true'], '/usr/bin/true'),
  })
  const verdict = adjudicate(given(1), policy, LEDGER)
  const event = decisionEvent(given(1), verdict, hostSha256)
  const seal = () => {
    for (let work = waiting.shift(); work !== undefined; work = waiting.shift()) work()
  }

  for (let round = 0; round < 2_000; round++) {
    journal.append({ ...event, facts: facts.seal(session, { facts: given(round), ledger: LEDGER }) })
    seal()
  }
  told(
    'append with signature',
    timed(count, () => {
      journal.append(event)
      seal()
    }),
  )
  told(
    'append before the action',
    timed(count, () => journal.append(event)),
  )
  seal()
  told(
    'seal the facts of a command',
    timed(count, (round) => facts.seal(session, { facts: given(round), ledger: LEDGER })),
  )
  const before = journal.head.sequence
  journal.append({ ...event, facts: facts.seal(session, { facts: given(1), ledger: LEDGER }) }, true)
  facts.close()
  journal.close()

  const paths = (await import('../src/audit/retention.node.ts')).chainPaths(join(directory, 'audit'))
  const last =
    readFileSync(paths.at(-1) ?? '', 'utf8')
      .trimEnd()
      .split('\n')
      .at(-1) ?? ''
  console.log(`${'a record of exec true'.padEnd(34)} ${last.length} bytes (record ${before + 1})`)
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  const begin = performance.now()
  const verified = verifyChain(paths, { directory: join(directory, 'audit') })
  const seconds = (performance.now() - begin) / 1_000
  if (!verified.ok) throw new Error(verified.finding.why)
  const { records, epoch } = verified.report
  console.log(
    `${'verify'.padEnd(34)} ${Math.round(records / seconds)} records a second (${records} in ${epoch + 1} epochs, ${(bytes / 1_048_576).toFixed(1)} MiB)`,
  )
} finally {
  rmSync(directory, { recursive: true })
}
