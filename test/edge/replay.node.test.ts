/**
 * Decisions made again from the record alone, by another process with another clock, time zone and language: all of
 * them come out as they were recorded. REPLAY_CYCLES says how many; the long form is 10,000.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { readRecord } from '../../src/audit/chain.ts'
import { openSealedFacts } from '../../src/audit/sealed-facts.node.ts'
import { encodeHex } from '../../src/base/encoding/hex.ts'
import { type Config, parseConfig } from '../../src/config/config.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import type { Facts } from '../../src/defense/facts.ts'
import type { Policy } from '../../src/defense/layer.ts'
import { programVersion } from '../../src/edge/host/version.node.ts'
import { loadPolicy, makePolicy } from '../../src/edge/policy/policy.node.ts'
import { freezePolicy, policiesPath } from '../../src/edge/record/frozen-policy.node.ts'
import { type ReplayReport, replayChain } from '../../src/edge/record/replay-chain.node.ts'
import { thawPolicy } from '../../src/edge/record/thawed-policy.node.ts'
import { decisionEvent } from '../../src/session/standing/decision-event.ts'
import { stagedJournal } from '../audit/staged-journal.node.ts'
import { anyLedger, mostlyGoodFacts } from '../defense/staged-facts.ts'

const CYCLES = Number(process.env['REPLAY_CYCLES'] ?? 600)
const SESSIONS = Array.from({ length: 9 }, () => encodeHex(randomBytes(16)))

function configOf(directory: string, value: object = {}): Config {
  const result = parseConfig({ state_directory: 'state', ...value }, { configDirectory: directory })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}

async function policyOf(config: Config): Promise<Policy> {
  return loadPolicy(await makePolicy(config, undefined), config)
}

type Written = { readonly directory: string; readonly responses: ReadonlyMap<string, number> }

/** A record of `count` mixed decisions, half of them under another policy. */
async function written(directory: string, count: number): Promise<Written> {
  const first = configOf(directory)
  const second = configOf(directory, {
    security: { allow_shell: false, sensitive_files: 'deny' },
    policy: { disabled_rules: ['files.remove-tree'] },
    session: { max_per_agent: 3 },
  })
  const place = first.audit.directory
  const journal = stagedJournal(place, { segmentBytes: 300_000, epochRecords: 97 })
  const facts = openSealedFacts({
    directory: place,
    nextSequence: () => journal.head.sequence + 1,
    segmentBytes: 200_000,
  })
  const responses = new Map<string, number>()
  let cycle = 0
  for (const [config, what] of [
    [first, 'started'],
    [second, 'reloaded'],
  ] as const) {
    const policy = await policyOf(config)
    journal.append({ type: 'daemon', what, frozen: freezePolicy(policiesPath(config), config, policy) })
    const inputs = fc.sample(fc.tuple(mostlyGoodFacts, anyLedger), { numRuns: Math.ceil(count / 2), seed: 7 })
    for (const [any, ledger] of inputs) {
      const id = SESSIONS[cycle % SESSIONS.length] ?? ''
      const session = any.session === undefined ? undefined : { ...any.session, id }
      const given: Facts = { ...any, session, cycle: cycle++ }
      const verdict = adjudicate(given, policy, ledger)
      const event = decisionEvent(given, verdict, policy.digestOf)
      const sealed = facts.seal(session?.id, { facts: given, ledger })
      journal.append({ ...event, facts: sealed }, true)
      const response = String(event['response'])
      responses.set(response, (responses.get(response) ?? 0) + 1)
    }
  }
  facts.close()
  journal.close()
  return { directory: place, responses }
}

/** Every file beneath, with its bytes and the time of its last change. */
function contentsOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(directory, name)
      const facts = statSync(path)
      const hash = facts.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : ''
      return `${name} ${facts.mtimeMs} ${hash}`
    })
}

/** The replay by another process, as on another machine. */
function elsewhere(directory: string): ReplayReport {
  const shifted = `const now = Date.now; Date.now = () => now() - 4e11;`
  const code = `import { replayChain } from './src/edge/record/replay-chain.node.ts'
    process.stdout.write(JSON.stringify(replayChain(${JSON.stringify(directory)}, '${programVersion()}')))`
  const { stdout, stderr, status } = spawnSync(
    'env',
    [
      // What the runner of tests puts into each process would start more.
      ...['-u', 'NODE_OPTIONS', process.execPath],
      // Nothing may be written, started or connected to: whatever tries is an error there.
      '--permission',
      '--allow-fs-read=*',
      '--import',
      `data:text/javascript,${encodeURIComponent(shifted)}`,
      '--input-type=module',
      '--eval',
      code,
    ],
    {
      cwd: join(import.meta.dirname, '../..'),
      env: {
        PATH: process.env['PATH'],
        TZ: 'Pacific/Kiritimati',
        LANG: 'tr_TR.UTF-8',
        LC_ALL: 'tr_TR.UTF-8',
        HOME: '/nowhere',
      },
      maxBuffer: 1e7,
    },
  )
  if (status !== 0) throw new Error(stderr.toString())
  return JSON.parse(stdout.toString())
}

t.test(
  'every decision comes out as it was recorded, with another clock, zone and language (RX-05, RX-24, RX-39)',
  async (t) => {
    const { directory, responses } = await written(t.testdir(), CYCLES)
    for (const response of ['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'STATUS'])
      t.ok((responses.get(response) ?? 0) > 0, `${response}: ${responses.get(response)}`)
    const before = contentsOf(directory)
    const report = elsewhere(directory)
    t.same(contentsOf(directory), before, 'the record is as it was, and nothing lies beside it')
    t.same(report, {
      decisions: CYCLES,
      counts: { same: CYCLES, purged: 0, missing: 0, no_policy: 0, different: 0 },
      different: [],
      missing: [],
      // What was drawn by lot follows from nothing.
      state: { followed: 0, untold: CYCLES, broken: [] },
      notes: [],
    })
  },
)

t.test('a decision that was recorded otherwise than it comes out is named with its fields', async (t) => {
  const { directory } = await written(t.testdir(), 40)
  const path = join(directory, 'audit.jsonl')
  const lines = readFileSync(path, 'utf8').split('\n')
  const at = lines.findIndex((line) => readRecord(line)?.event['response'] === 'STATUS')
  const record = readRecord(lines[at] ?? '')
  writeFileSync(
    path,
    lines.with(at, (lines[at] ?? '').replace('"response":"STATUS"', '"response":"R1"')).join('\n'),
  )
  const { counts, different } = replayChain(directory, programVersion())
  t.match(counts, { same: 39, different: 1 })
  t.same(different, [{ sequence: record?.event['seq'], fields: ['response'] }])
})

t.test('facts that were altered, cut off, taken away or moved are missing, and no others', async (t) => {
  const { directory } = await written(t.testdir(), 40)
  const count = () => replayChain(directory, programVersion()).counts
  const name = readdirSync(directory).find((entry) => entry.endsWith('.sealed')) ?? ''
  const path = join(directory, name)
  const whole = readFileSync(path)
  const altered = Buffer.from(whole)
  altered[100] = (altered[100] ?? 0) ^ 1
  writeFileSync(path, altered)
  t.match(count(), { same: 39, missing: 1 })
  writeFileSync(path, whole.subarray(0, whole.length - 1))
  t.match(count(), { same: 39, missing: 1 })
  writeFileSync(path, whole)
  const keys = path.replace('.sealed', '.keys')
  renameSync(keys, `${keys}.old`)
  t.match(count(), { same: 0, missing: 40 })
  writeFileSync(keys, '')
  t.match(count(), { same: 0, missing: 40 })
  renameSync(`${keys}.old`, keys)
  t.match(count(), { same: 40 })
  rmSync(path)
  t.match(count(), { same: 0, missing: 40 })
})

t.test('a purged session is said to be purged; the facts of all others are there', async (t) => {
  const { directory } = await written(t.testdir(), 90)
  const before = replayChain(directory, programVersion()).counts
  const facts = openSealedFacts({ directory, nextSequence: () => 1, segmentBytes: 1e9 })
  t.equal(facts.purge(SESSIONS[0] ?? ''), 1)
  t.equal(facts.purge('ab'.repeat(16)), 0, 'nobody’s')
  t.equal(facts.purge('no id'), 0)
  facts.close()
  const { counts } = replayChain(directory, programVersion())
  t.ok(counts.purged > 3, `${counts.purged}`)
  t.equal(counts.same + counts.purged, before.same)
  t.equal(counts.missing, 0)
})

t.test('a policy is kept once, by its hash, and one that was changed is a risk to integrity', async (t) => {
  const directory = t.testdir()
  const config = configOf(directory)
  const policy = await policyOf(config)
  const place = policiesPath(config)
  const name = freezePolicy(place, config, policy)
  t.equal(freezePolicy(place, config, policy), name)
  t.equal(readdirSync(place).length, 2, 'the document and the rules')
  const other = configOf(directory, { security: { allow_shell: false } })
  t.not(freezePolicy(place, other, await policyOf(other)), name)
  t.equal(readdirSync(place).length, 3, 'the rules are the same')
  t.equal(thawPolicy(place, name).policy.security.allowShell, true)
  for (const file of readdirSync(place)) {
    const path = join(place, file)
    const bytes = readFileSync(path)
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    writeFileSync(path, bytes)
  }
  t.throws(() => freezePolicy(place, config, policy), { code: 'INTEGRITY_RISK', message: /was changed/ })
  t.throws(() => thawPolicy(place, name), { code: 'INTEGRITY_RISK' })
  mkdirSync(join(directory, 'empty'))
  t.throws(() => thawPolicy(join(directory, 'empty'), name), { code: 'ENOENT' })
})
