/**
 * What the record costs: an append with its signature, what of that comes before the action, the sealed facts of a
 * command, and the verification of what was written. Real files in a temporary directory; fsync(2), which depends on
 * the disk alone, is in none of the times.
 * @module
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../src/audit/journal.node.ts'
import { chainPaths } from '../src/audit/retention.node.ts'
import { openSealedFacts } from '../src/audit/sealed-facts.node.ts'
import { verifyChain } from '../src/audit/verify-chain.node.ts'
import { hostTextDigest } from '../src/base/crypto/sha256.node.ts'
import { adjudicate } from '../src/defense/adjudicator.ts'
import { openEpochKeys } from '../src/edge/record/epoch-keys.node.ts'
import { AUDIT_EPOCH_RECORDS, AUDIT_EPOCH_SECONDS, AUDIT_SEGMENT_BYTES } from '../src/limits.ts'
import { decisionEvent } from '../src/session/standing/decision-event.ts'
import { executing, FACTS, LEDGER, POLICY } from '../test/defense/staged-facts.ts'

/** Microseconds of single calls. */
export type Times = { readonly median: number; readonly p99: number }

export type RecordCost = {
  readonly append: Times
  /** The part of it that an action waits for. */
  readonly beforeAction: Times
  readonly seal: Times
  /** By a second of the processor's time, whoever else has work for it. */
  readonly verifiedPerSecond: number
  readonly records: number
  readonly mebibytes: number
}

/** `after` is not in the times. */
function timed(rounds: number, deed: (round: number) => void, after = () => {}): Times {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const began = process.hrtime.bigint()
    deed(round)
    times.push(Number(process.hrtime.bigint() - began) / 1_000)
    after()
  }
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.floor(times.length * part)] ?? Number.NaN
  return { median: at(0.5), p99: at(0.99) }
}

const SESSION = 'ab'.repeat(16)
const WARM_UP = 2_000

function measureIn(directory: string, count: number): RecordCost {
  const audit = join(directory, 'audit')
  mkdirSync(join(directory, 'keys'))
  const waiting: (() => void)[] = []
  const journal = openJournal({
    directory: audit,
    keys: openEpochKeys(join(directory, 'keys')),
    wallMs: Date.now,
    monotonicMs: () => performance.now(),
    lock: () => true,
    after: (_ms, work) => void waiting.push(work),
    epochRecords: AUDIT_EPOCH_RECORDS,
    epochMs: AUDIT_EPOCH_SECONDS * 1_000,
    segmentBytes: AUDIT_SEGMENT_BYTES,
    durability: 'never',
  })
  const facts = openSealedFacts({
    directory: audit,
    nextSequence: () => journal.head.sequence + 1,
    segmentBytes: AUDIT_SEGMENT_BYTES,
  })
  const given = (cycle: number) => ({
    ...FACTS,
    cycle,
    session: { id: SESSION, state: 'live' as const },
    action: executing(['true'], '/usr/bin/true'),
  })
  const verdict = adjudicate(given(1), { ...POLICY, digestOf: hostTextDigest }, LEDGER)
  const event = decisionEvent(given(1), verdict, hostTextDigest)
  const sealFacts = (round: number) => facts.seal(SESSION, { facts: given(round), ledger: LEDGER })
  const sign = () => {
    for (let work = waiting.shift(); work !== undefined; work = waiting.shift()) work()
  }

  for (let round = 0; round < WARM_UP; round++) {
    journal.append({ ...event, facts: sealFacts(round) })
    sign()
  }
  const append = timed(count, () => {
    journal.append(event)
    sign()
  })
  // The signature comes while the action is under way: nobody waits for it.
  const beforeAction = timed(count, () => journal.append(event), sign)
  const seal = timed(count, sealFacts)
  facts.close()
  journal.close()

  const paths = chainPaths(audit)
  const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  const began = process.cpuUsage()
  const verified = verifyChain(paths, { directory: audit })
  const { user, system } = process.cpuUsage(began)
  const seconds = (user + system) / 1_000_000
  if (!verified.ok) throw new Error(verified.finding.why)
  const { records } = verified.report
  return {
    append,
    beforeAction,
    seal,
    records,
    verifiedPerSecond: records / seconds,
    mebibytes: bytes / 1_048_576,
  }
}

export function measureRecord(count: number): RecordCost {
  const directory = mkdtempSync(join(tmpdir(), 'sass-edge-bench-audit-'))
  try {
    return measureIn(directory, count)
  } finally {
    rmSync(directory, { recursive: true })
  }
}
