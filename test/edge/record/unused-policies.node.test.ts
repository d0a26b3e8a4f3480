/**
 * Kept policies go when nothing is left that was decided under them, and not before: after each file that is dropped
 * every decision that is left is decided again as it was.
 * @module
 */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Journal } from '../../../src/audit/journal.node.ts'
import { chainPaths, dropOldest } from '../../../src/audit/retention.node.ts'
import { openSealedFacts } from '../../../src/audit/sealed-facts.node.ts'
import { type Config, parseConfig } from '../../../src/config/config.ts'
import { adjudicate } from '../../../src/defense/adjudicator.ts'
import type { Facts } from '../../../src/defense/facts.ts'
import { programVersion } from '../../../src/edge/host/version.node.ts'
import { loadPolicy, makePolicy } from '../../../src/edge/policy/policy.node.ts'
import { checkEvidence, gatherEvidence } from '../../../src/edge/record/evidence.node.ts'
import { freezePolicy, policiesPath } from '../../../src/edge/record/frozen-policy.node.ts'
import { replayChain } from '../../../src/edge/record/replay-chain.node.ts'
import { createUnusedPolicies } from '../../../src/edge/record/unused-policies.node.ts'
import { decisionEvent } from '../../../src/session/standing/decision-event.ts'
import { stagedJournal } from '../../audit/staged-journal.node.ts'
import { executing, FACTS, LEDGER } from '../../defense/staged-facts.ts'

const rule = (id: string) => ({
  id,
  description: 'A staged rule.',
  why: 'It is staged.',
  action: 'deny',
  severity: 'high',
  argv: { program: [id.split('.')[1]] },
  examples: { match: [id.split('.')[1]], pass: ['ls'] },
})

/** Configurations of three policies and two sets of rules: the first and the last have the same rules. */
function configs(directory: string): readonly Config[] {
  return [
    { rules: 'one', max: 1 },
    { rules: 'two', max: 2 },
    { rules: 'one', max: 3 },
  ].map(({ rules, max }) => {
    const path = join(directory, `${rules}.json`)
    writeFileSync(path, JSON.stringify({ sets: {}, rules: [rule(`staged.${rules}`)] }))
    const result = parseConfig(
      {
        state_directory: 'state',
        session: { max_per_agent: max },
        policy: { default_rules: false, rules_file: path },
      },
      { configDirectory: directory },
    )
    if (!result.ok) throw new Error(JSON.stringify(result.problems))
    return result.config
  })
}

type Staged = {
  readonly directory: string
  readonly policies: string
  readonly journal: Journal
  close(): void
}

/** Thirty decisions under each of them, a session of its own for each policy. */
async function staged(t: Test): Promise<Staged> {
  const place = t.testdir()
  const made = configs(place)
  const directory = made[0]?.audit.directory ?? ''
  const policies = join(directory, 'policies')
  const journal = stagedJournal(directory, { segmentBytes: 8_000, epochRecords: 7 })
  const facts = openSealedFacts({
    directory,
    nextSequence: () => journal.head.sequence + 1,
    segmentBytes: 8_000,
  })
  for (const [index, config] of made.entries()) {
    const policy = await loadPolicy(await makePolicy(config, undefined), config)
    const frozen = freezePolicy(policiesPath(config), config, policy)
    journal.append({ type: 'daemon', what: index === 0 ? 'started' : 'reloaded', frozen }, true)
    for (let cycle = 0; cycle < 30; cycle++) {
      const session = { id: `${index}`.repeat(32), state: 'live' as const }
      const given: Facts = { ...FACTS, cycle, session, action: executing([cycle % 2 === 0 ? 'one' : 'two']) }
      const verdict = adjudicate(given, policy, LEDGER)
      const sealed = facts.seal(session.id, { facts: given, ledger: LEDGER })
      journal.append({ ...decisionEvent(given, verdict, policy.digestOf), facts: sealed }, true)
    }
  }
  return {
    directory,
    policies,
    journal,
    close() {
      facts.close()
      journal.close()
    },
  }
}

const totalOf = (directory: string) =>
  readdirSync(directory)
    .filter((name) => /^(audit.*\.jsonl|facts.*\.sealed)$/.test(name))
    .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
const namesIn = (policies: string, extension: string) =>
  readdirSync(policies).filter((name) => name.endsWith(extension)).length
const dropOne = ({ directory, journal }: Staged) =>
  dropOldest(directory, { bytes: totalOf(directory) - 1, since: undefined }, (event) =>
    journal.append(event, true),
  )
const replay = (directory: string) => replayChain(directory, programVersion())

function sweep({ directory, policies }: Staged): void {
  const unused = createUnusedPolicies(directory, policies)
  unused.look()
  for (let tick = 0; tick <= chainPaths(directory).length; tick++) unused.tick()
}

t.test('each goes with the last file of the chain that it is needed for', async (t) => {
  const stage = await staged(t)
  const { directory, policies } = stage
  t.same([namesIn(policies, '.json'), namesIn(policies, '.rules')], [3, 2])
  sweep(stage)
  t.equal(namesIn(policies, '.json'), 3, 'nothing is gone of the chain')
  const seen: string[] = []
  while (dropOne(stage) > 0) {
    sweep(stage)
    const { counts } = replay(directory)
    t.match(counts, { no_policy: 0, different: 0, missing: 0 })
    seen.push(`${namesIn(policies, '.json')} ${namesIn(policies, '.rules')}`)
  }
  t.same([...new Set(seen)], ['3 2', '2 2', '1 1'])
  stage.close()
  t.ok(seen.filter((each) => each === '3 2').length > 1, seen.join(', '))
})

t.test('evidence of a session has its policy when the record that named it is gone', async (t) => {
  const stage = await staged(t)
  const { directory } = stage
  const session = '0'.repeat(32)
  t.equal(dropOne(stage), 1)
  sweep(stage)
  stage.close()
  const place = join(t.testdirName, 'laid-out')
  const evidence = gatherEvidence(directory, session)
  t.match(evidence.context?.line, /"frozen"/)
  rmSync(place, { recursive: true, force: true })
  await import('node:fs').then(({ mkdirSync }) => mkdirSync(place))
  const { verified, replay: replayed } = checkEvidence(evidence, place, undefined, programVersion())
  t.match(verified, { ok: true })
  t.match(replayed, { counts: { no_policy: 0, different: 0, missing: 0 } })
  t.ok((replayed?.counts.same ?? 0) > 5)
})

t.test('a crash in between leaves rules alone, which go the next time', async (t) => {
  const stage = await staged(t)
  const { directory, policies } = stage
  while (dropOne(stage) > 0);
  // As after the first step: the documents are gone.
  const before = readdirSync(policies)
  const rules = new Map(
    before
      .filter((name) => name.endsWith('.rules'))
      .map((name) => [name, readFileSync(join(policies, name))] as const),
  )
  sweep(stage)
  t.equal(namesIn(policies, '.rules'), 1)
  for (const [name, bytes] of rules) writeFileSync(join(policies, name), bytes)
  sweep(stage)
  t.same([namesIn(policies, '.json'), namesIn(policies, '.rules')], [1, 1])
  t.match(replay(directory).counts, { no_policy: 0, different: 0 })
  stage.close()
})

t.test(
  'in doubt all of them stay: a document that cannot be read, or a beginning that is not known',
  async (t) => {
    const stage = await staged(t)
    const { directory, policies } = stage
    while (dropOne(stage) > 0);
    const names = readdirSync(policies)
    const documents = new Map(
      names
        .filter((name) => name.endsWith('.json'))
        .map((name) => [name, readFileSync(join(policies, name))]),
    )
    for (const name of documents.keys()) writeFileSync(join(policies, name), '{}')
    t.throws(() => sweep(stage), { code: 'INTEGRITY_RISK' })
    t.same(readdirSync(policies), names)
    for (const [name, bytes] of documents) writeFileSync(join(policies, name), bytes)
    const links = join(directory, 'links.jsonl')
    const kept = readFileSync(links, 'utf8')
    writeFileSync(
      links,
      kept
        .split('\n')
        .filter((line) => !line.includes('frozen'))
        .join('\n'),
    )
    sweep(stage)
    t.same(readdirSync(policies), names)
    writeFileSync(links, kept)
    sweep(stage)
    t.equal(namesIn(policies, '.json'), 1)
    stage.close()
  },
)
