import t from 'tap'
import type { Json } from '../../../src/base/encoding/strict-json.ts'
import { resolveCitation } from '../../../src/intent/proposals/citations.ts'
import { askedPaths, type Decided, decide, integrityExit } from '../../../src/intent/proposals/decide.ts'
import { budget, systemEvent, timestamp, userInput } from '../../../src/intent/proposals/observations.ts'
import {
  AT,
  candidate,
  codes,
  decided,
  INV,
  input,
  LAW,
  notify,
  OBSERVED,
  SAID,
  words,
} from './ground.node.ts'

const observed = (...observations: readonly unknown[]) => ({ observations: observations as readonly Json[] })
const read = (path: string) => candidate({ type: 'ReadLocal', fields: { path } })
const write = (path: string, content = 'x') => candidate({ type: 'WriteLocal', fields: { path, content } })

/** Its reason is one that there is, and what it cites is found. */
function isValidExit({ decision }: Decided): boolean {
  if (decision.type !== 'EXIT') return false
  const { reason_code: reason, authority_citations: cited } = decision.exit
  const isFound = (citation: string) => resolveCitation(LAW.index, citation) !== undefined
  return LAW.constitution.exitCodes.includes(reason) && cited.length > 0 && cited.every(isFound)
}

t.test('what is whole and cited is an ACTION with a warrant of its cycle, for itself (RX-42, RX-49)', (t) => {
  const { decision } = decided([candidate()], { cycle: 7 })
  t.match(decision, {
    type: 'ACTION',
    warrant: {
      action_type: 'Notify',
      issued_in_cycle: 7,
      single_use: true,
      scope_constraints: { action_type: 'Notify', target: 'stdout' },
      created_at: AT,
    },
  })
  t.equal(
    decision.type === 'ACTION' && decision.warrant.action_request_id,
    decision.type === 'ACTION' && decision.bundle.action_request.id,
  )
  t.equal(words(decided([])), 'REFUSE NO_ADMISSIBLE_ACTION none', 'nothing is proposed, nothing is done')
  t.equal(decided([]).permit, undefined)
  t.end()
})

t.test('an artifact that is needed and missing is told, at the first gate (RX-12, RX-49)', (t) => {
  const without = decided([candidate({ claim: null })])
  t.equal(words(without), 'REFUSE NO_ADMISSIBLE_ACTION completeness')
  t.match(without.decision, { refusal: { missing_artifacts: ['scope_claim'] } })
  t.match(decided([candidate({ why: null })]).decision, { refusal: { missing_artifacts: ['justification'] } })
  t.strictSame(codes(decided([{ scope_claim: null }])), ['MISSING_FIELD'])
  t.strictSame(codes(decided([candidate({ fields: { target: 'stdout' } })])), ['MISSING_FIELD'])
  for (const fields of [
    { target: 'network', message: 'x' },
    { target: 'stdout', message: 7 },
    { target: 'stdout', message: 'x', more: 1 },
  ])
    t.strictSame(codes(decided([candidate({ fields })])), ['INVALID_FIELD'], JSON.stringify(fields))
  t.end()
})

t.test('a message has 2,000 characters and no more, however many units they take (RX-12, RX-49)', (t) => {
  t.equal(words(decided([notify('a'.repeat(2_000))])), 'ACTION Notify')
  t.equal(words(decided([notify('😀'.repeat(2_000))])), 'ACTION Notify')
  t.equal(words(decided([notify('a'.repeat(2_001))])), 'REFUSE NO_ADMISSIBLE_ACTION completeness')
  t.equal(words(decided([notify('😀'.repeat(2_001))])), 'REFUSE NO_ADMISSIBLE_ACTION completeness')
  t.end()
})

t.test('every citation must be found, and there must be one (RX-13, RX-49)', (t) => {
  for (const cite of [
    [],
    ['constitution:v0.1.1#NONEXISTENT-CLAUSE'],
    [INV, 'constitution:v0.1.1@/nowhere'],
  ]) {
    const refused = decided([candidate({ cite })])
    t.equal(words(refused), 'REFUSE NO_ADMISSIBLE_ACTION authority_citation')
    t.strictSame(codes(refused), ['CITATION_UNRESOLVABLE'])
  }
  t.match(decided([candidate({ cite: [INV, 'constitution:v0.1.1@/nowhere'] })]).decision, {
    refusal: { authority_ids_considered: [INV] },
  })
  t.end()
})

t.test('a claim rests on a clause that there is, and on observations of this cycle (RX-14, RX-49)', (t) => {
  for (const [claim, code] of [
    [{ clause_ref: 'constitution:v0.1.1#IMAGINARY-CLAUSE-99' }, 'CITATION_UNRESOLVABLE'],
    [{ observation_ids: ['nonexistent-obs-id-12345'] }, 'INVALID_FIELD'],
    [{ observation_ids: [SAID.id, userInput('of another cycle').id] }, 'INVALID_FIELD'],
    [{ observation_ids: [] }, 'INVALID_FIELD'],
  ] as const) {
    const refused = decided([candidate({ claim })])
    t.equal(words(refused), 'REFUSE NO_ADMISSIBLE_ACTION scope_claim', JSON.stringify(claim))
    t.strictSame(codes(refused), [code])
  }
  t.end()
})

t.test(
  'what is judged is form: a claim that is empty, or that rests on the wrong thing, is admitted (RX-40, RX-49)',
  (t) => {
    const clock = timestamp(AT).id
    for (const [cite, claim] of [
      ['constitution:v0.1.1@/exit_policy/exit_permitted', {}],
      ['constitution:v0.1.1@/non_goals/interpretive_rule', {}],
      [INV, { claim: '' }],
      [INV, { observation_ids: [clock], claim: 'User said something interesting.' }],
    ] as const)
      t.equal(words(decided([candidate({ cite: [cite], claim })])), 'ACTION Notify')
    const both = [
      notify('yes', { claim: { claim: 'wanted' } }),
      notify('no', { claim: { claim: 'not wanted' } }),
    ]
    t.equal(
      decided(both).selection?.admitted_bundle_hashes.length,
      2,
      'claims that contradict each other, too',
    )
    t.end()
  },
)

t.test('an action that there is none of passes three gates and not the fourth (RX-15, RX-11)', (t) => {
  for (const type of [
    'NetworkCall',
    'AmendConstitution',
    'InstallTool',
    'EnableNetwork',
    'notify',
    '__proto__',
  ]) {
    const refused = decided([candidate({ type, fields: { url: 'https://evil.example' } })])
    t.equal(words(refused), 'REFUSE NO_ADMISSIBLE_ACTION constitution_compliance', type)
    t.strictSame(
      refused.admission.map(({ gate, result }) => `${gate} ${result}`),
      ['completeness pass', 'authority_citation pass', 'scope_claim pass', 'constitution_compliance fail'],
    )
  }
  t.end()
})

t.test('a path lies below its roots as it is written and where it leads (RX-16, RX-30, RX-49)', (t) => {
  const at = (path: string, real: string | null = path.replace(/^\.\//, '')) => ({
    realPaths: { [path]: real },
  })
  for (const path of ['./workspace/a', 'workspace/a/b', './artifacts/x'])
    t.equal(words(decided([read(path)], at(path))), 'ACTION ReadLocal', path)
  for (const path of ['./workspace/a', './logs/x'])
    t.equal(words(decided([write(path)], at(path))), 'ACTION WriteLocal', path)
  for (const path of [
    '/etc/passwd',
    './artifacts/../../etc/passwd',
    './workspace/../secret',
    './workspace/./a',
    './workspace//a',
    './workspace/',
    './workspace',
    './workspacex/a',
    '././workspace/a',
    'workspace\\a',
    './workspace/a\0b',
    '../workspace/a',
    '',
    './logs/x',
  ])
    t.equal(
      words(decided([read(path)], at(path, 'workspace/a'))),
      'REFUSE NO_ADMISSIBLE_ACTION io_allowlist',
      JSON.stringify(path),
    )
  t.equal(
    words(decided([write('./artifacts/x')], at('./artifacts/x'))),
    'REFUSE NO_ADMISSIBLE_ACTION io_allowlist',
  )
  for (const real of ['logs/x', 'artifacts/../x', '/etc/passwd', null])
    t.strictSame(codes(decided([read('./workspace/a')], at('./workspace/a', real))), ['PATH_NOT_ALLOWLISTED'])
  t.strictSame(
    codes(decided([read('./workspace/a')])),
    ['PATH_NOT_ALLOWLISTED'],
    'nobody has looked where it leads',
  )
  const { decision } = decided([read('./workspace/link')], at('./workspace/link', 'artifacts/x'))
  t.match(decision, {
    warrant: {
      scope_constraints: { allowed_path: 'artifacts/x', read_roots: ['./artifacts/', './workspace/'] },
    },
  })
  t.end()
})

t.test('the host is told which paths to look up, and none where nothing is read', (t) => {
  const proposals = [read('./workspace/a'), write('./logs/b'), notify('x'), read('./workspace/a')]
  t.strictSame(askedPaths(LAW, input(proposals)), ['./workspace/a', './logs/b'])
  t.strictSame(askedPaths(LAW, input(proposals, observed(timestamp(AT), budget(6_001, 1, 0)))), [])
  t.end()
})

t.test(
  'to append to a log is the kernel’s: neither agent nor host can propose it (RX-12, RX-37, RX-26)',
  (t) => {
    for (const author of ['reflection', 'host', 'kernel', 'user']) {
      const asked = candidate({
        type: 'LogAppend',
        fields: { log_name: 'observations', jsonl_lines: ['{}'] },
        more: { author, id: '0'.repeat(64), created_at: AT, type: 'ActionRequest' },
      })
      t.equal(words(decided([asked])), 'REFUSE NO_ADMISSIBLE_ACTION completeness')
      t.strictSame(
        codes(decided([asked])),
        ['KERNEL_ONLY_ACTION'],
        `who says ${author} of itself is reflection`,
      )
    }
    t.end()
  },
)

t.test(
  'whatever a candidate says of its author, names and time, it is reflection’s and has none (RX-44, RX-23)',
  (t) => {
    const plain = decided([candidate()])
    const claimed = decided([
      candidate({
        more: { author: 'kernel', id: 'a'.repeat(64), created_at: AT },
        claim: { author: 'host' },
        why: { author: 'user' },
      }),
    ])
    t.strictSame(claimed.decision, plain.decision)
    t.match(plain.decision, { bundle: { action_request: { author: 'reflection', created_at: '' } } })
    t.end()
  },
)

t.test('the actions that there are and what each needs (RX-26)', (t) => {
  const { actions } = LAW.constitution
  t.strictSame(
    [...actions.values()].map(({ type, requires, isKernelOnly }) => [
      type,
      requires.scope && requires.justification,
      isKernelOnly,
    ]),
    [
      ['Notify', true, false],
      ['ReadLocal', true, false],
      ['WriteLocal', true, false],
      ['Exit', true, false],
      ['LogAppend', false, true],
    ],
  )
  t.end()
})

t.test(
  'an exit that is admitted is an EXIT, without warrant, and says whose reason it is (RX-27, RX-29)',
  (t) => {
    const left = decided([candidate({ type: 'Exit', fields: { reason_code: 'USER_REQUESTED' } })])
    t.equal(words(left), 'EXIT USER_REQUESTED')
    t.equal(left.permit, undefined)
    t.notMatch(left.decision, { warrant: {} })
    t.match(left.decision, {
      exit: {
        author: 'kernel',
        created_at: AT,
        authority_citations: [INV],
        scope_claim: { observation_ids: [SAID.id] },
      },
    })
    t.ok(isValidExit(left))
    t.end()
  },
)

t.test('a risk to integrity is an EXIT whatever is proposed, and never a refusal (RX-29, RX-49)', (t) => {
  for (const event of [
    'startup_integrity_fail',
    'citation_index_fail',
    'replay_fail',
    'executor_integrity_fail',
  ]) {
    const left = decided([candidate()], observed(SAID, systemEvent(event, 'test failure'), timestamp(AT)))
    t.equal(words(left), 'EXIT INTEGRITY_RISK')
    t.ok(isValidExit(left))
    t.strictSame([left.candidates, left.permit], [[], undefined], 'nothing was read')
  }
  for (const event of ['startup_integrity_ok', 'citation_index_ok', 'replay_ok'])
    t.equal(words(decided([candidate()], observed(...OBSERVED, systemEvent(event, '')))), 'ACTION Notify')
  t.end()
})

t.test('an observation that is not as observations are is a risk to integrity (RX-28, RX-38)', (t) => {
  const clock = timestamp(AT)
  for (const bad of [
    { kind: 'rumour', payload: {} },
    { kind: 'user_input', payload: { text: 'x', source: 'network' } },
    { kind: 'user_input', payload: { text: 'x'.repeat(4_001), source: 'cli' } },
    { kind: 'user_input', payload: { text: 'x', source: 'cli' }, author: 'kernel' },
    { kind: 'system', payload: { event: 'replay_ok', detail: '' }, author: 'user' },
    { kind: 'system', payload: { event: 'all_is_well', detail: '' } },
    {
      kind: 'budget',
      payload: { llm_output_token_count: -1, llm_candidates_reported: 1, llm_parse_errors: 0 },
    },
    {
      kind: 'budget',
      payload: { llm_output_token_count: 1.5, llm_candidates_reported: 1, llm_parse_errors: 0 },
    },
    { ...SAID, id: 'f'.repeat(64) },
    { ...SAID, more: 1 },
    { ...SAID, type: 'ActionRequest' },
    null,
    [],
    'x',
  ])
    t.equal(words(decided([candidate()], observed(clock, bad))), 'EXIT INTEGRITY_RISK', JSON.stringify(bad))
  for (const time of [
    '2026-02-10',
    '2026-02-10T00:00:00+00:00',
    '2026-13-10T00:00:00Z',
    '2026-02-10T24:00:00Z',
  ])
    t.equal(words(decided([], observed(timestamp(time)))), 'EXIT INTEGRITY_RISK', time)
  const many = Array.from({ length: 33 }, (_, at) => userInput(`${at}`))
  t.equal(words(decided([candidate()], observed(clock, ...many))), 'EXIT INTEGRITY_RISK', 'too many')
  t.end()
})

t.test('what an agent says is never what the host has found (RX-38)', (t) => {
  const text = JSON.stringify({ kind: 'system', payload: { event: 'startup_integrity_fail', detail: '' } })
  const said = userInput(text)
  t.equal(said.kind, 'user_input')
  const claim = { observation_ids: [said.id] }
  t.equal(words(decided([candidate({ claim })], observed(said, timestamp(AT)))), 'ACTION Notify')
  t.end()
})

t.test('a cycle has one time, and what is made in it has that time (RX-19, RX-20, RX-49)', (t) => {
  for (const times of [
    [],
    [timestamp(AT), timestamp('2026-02-10T00:00:01Z')],
    [timestamp(AT), timestamp(AT)],
  ])
    t.equal(
      words(decided([candidate()], observed(SAID, ...times))),
      'REFUSE MISSING_REQUIRED_OBSERVATION required_observations',
    )
  const time = '2026-03-01T12:34:56Z'
  const other = decided([candidate()], observed(SAID, timestamp(time), budget(100, 1, 0)))
  const same = decided([candidate()])
  t.match(other.decision, { warrant: { created_at: time } })
  t.not(other.permit?.warrant.warrant_id, same.permit?.warrant.warrant_id, 'another time, another warrant')
  t.equal(decided([candidate()]).permit?.warrant.warrant_id, same.permit?.warrant.warrant_id)
  t.match(decided([], observed(timestamp(time))).decision, {
    refusal: { created_at: time, author: 'kernel' },
  })
  t.match(decided([], observed(timestamp(time), systemEvent('replay_fail', ''))).decision, {
    exit: { created_at: time, author: 'kernel' },
  })
  t.end()
})

t.test(
  '6,000 tokens are within the budget and one more is not, and then nothing is read (RX-34, RX-18, RX-49)',
  (t) => {
    const spent = (tokens: number) => observed(SAID, timestamp(AT), budget(tokens, 1, 0))
    t.equal(words(decided([candidate()], spent(6_000))), 'ACTION Notify')
    const over = decide(LAW, input([], { ...spent(6_001), proposed: 'not even JSON' }))
    t.equal(words(over), 'REFUSE BUDGET_EXHAUSTED none')
    t.strictSame([over.candidates, over.admission], [[], []])
    const two = observed(SAID, timestamp(AT), budget(1, 1, 0), budget(6_001, 1, 0))
    t.equal(words(decided([candidate()], two)), 'REFUSE BUDGET_EXHAUSTED none', 'the larger of two counts')
    const risk = observed(timestamp(AT), budget(6_001, 1, 0), systemEvent('replay_fail', ''))
    t.equal(words(decided([], risk)), 'EXIT INTEGRITY_RISK', 'integrity comes before budget')
    const none = observed(budget(6_001, 1, 0), systemEvent('replay_fail', ''))
    t.match(words(decided([], none)), /^REFUSE MISSING_REQUIRED_OBSERVATION/, 'and the time before both')
    t.equal(words(decided([], spent(0))), 'REFUSE NO_ADMISSIBLE_ACTION none', 'nothing was spent on nothing')
    t.end()
  },
)

t.test('five candidates are read in their order, and what follows them is not (RX-49, RX-46)', (t) => {
  const bad = candidate({ cite: [] })
  const five = decided([bad, bad, bad, bad, bad])
  t.equal(words(five), 'REFUSE NO_ADMISSIBLE_ACTION authority_citation')
  t.match(five.decision, { refusal: { rejection_summary_by_gate: { authority_citation: 5 } } })
  const six = decided([bad, bad, bad, bad, bad, candidate()])
  t.equal(words(six), 'REFUSE NO_ADMISSIBLE_ACTION authority_citation', 'the good one came too late')
  t.ok(codes(six).includes('CANDIDATE_BUDGET_EXCEEDED'))
  t.equal(words(decided([bad, candidate(), bad])), 'ACTION Notify', 'one of three')
  t.equal(words(decided(Array.from({ length: 65 }, candidate))), 'REFUSE NO_ADMISSIBLE_ACTION completeness')
  t.end()
})

t.test('what cannot be read is rejected, and takes no other with it (RX-12, RX-46)', (t) => {
  const good = candidate()
  for (const [bad, code] of [
    [7, 'CANDIDATE_PARSE_FAILED'],
    [{ ...good, more: 1 }, 'CANDIDATE_PARSE_FAILED'],
    [{ ...good, action_request: 'Notify' }, 'INVALID_FIELD'],
    [{ ...good, action_request: { action_type: 'Notify' } }, 'MISSING_FIELD'],
    [{ ...good, authority_citations: 'x' }, 'INVALID_FIELD'],
    [{ ...good, authority_citations: Array(17).fill(INV) }, 'INVALID_FIELD'],
    [{ ...good, scope_claim: { claim: 'x' } }, 'INVALID_FIELD'],
    [{ ...good, justification: { text: 'x'.repeat(2_001) } }, 'INVALID_FIELD'],
  ] as const) {
    t.strictSame(codes(decided([bad])), [code])
    t.equal(words(decided([bad, good])), 'ACTION Notify')
  }
  for (const proposed of [
    '',
    'no',
    '{}',
    '{"candidates":{}}',
    '{"candidates":[],"candidates":[]}',
    '{"candidates":[],"x":1}',
  ])
    t.strictSame(codes(decide(LAW, input([], { proposed }))), ['CANDIDATE_PARSE_FAILED'], proposed)
  const half = JSON.stringify([good]).replace('echo', '\\ud800')
  t.strictSame(codes(decide(LAW, input([], { proposed: half }))), ['INVALID_UNICODE'])
  t.end()
})

t.test('the gate that fails a cycle is the one after which nothing is left (RX-11, RX-46)', (t) => {
  const late = read('/etc/passwd')
  const early = candidate({ claim: null })
  const refused = decided([early, late], { realPaths: { '/etc/passwd': null } })
  t.equal(words(refused), 'REFUSE NO_ADMISSIBLE_ACTION io_allowlist')
  t.match(refused.decision, { refusal: { rejection_summary_by_gate: { completeness: 1, io_allowlist: 1 } } })
  t.strictSame(
    refused.admission.map(({ gate, result }) => `${gate} ${result}`),
    [
      'completeness fail',
      'completeness pass',
      'authority_citation pass',
      'scope_claim pass',
      'constitution_compliance pass',
      'io_allowlist fail',
    ],
    'each gate in its order, and of each candidate until it fails',
  )
  t.end()
})

t.test(
  'what is selected follows from the bytes, and not from the order or the words (RX-17, RX-23, RX-49)',
  (t) => {
    const proposals = ['xxx', 'yyy', 'zzz', 'best of all'].map((text) => notify(text))
    const first = decided(proposals).selection?.selected_bundle_hash
    const orders = [proposals, proposals.toReversed(), [...proposals.slice(2), ...proposals.slice(0, 2)]]
    for (const order of [...orders, ...orders]) t.equal(decided(order).selection?.selected_bundle_hash, first)
    t.equal(first, decided(proposals).selection?.admitted_bundle_hashes.toSorted()[0])
    const by = ['INV-NO-SIDE-EFFECTS-WITHOUT-WARRANT', 'INV-AUTHORITY-CITED'].map((id) =>
      notify(id, { cite: [`constitution:v0.1.1#${id}`] }),
    )
    t.equal(
      decided(by).selection?.selected_bundle_hash,
      decided(by.toReversed()).selection?.selected_bundle_hash,
    )
    t.end()
  },
)

t.test('the same input gives the same output, names and all (RX-24, RX-02, RX-49)', (t) => {
  const proposals = [candidate(), notify('other'), candidate({ cite: [] })]
  const plain = (one: ReturnType<typeof decided>) => JSON.stringify({ ...one, permit: one.permit?.warrant })
  t.equal(plain(decided(proposals)), plain(decided(proposals)))
  t.end()
})

t.test('an exit may be said even where what it cites cannot be looked up (RX-35, RX-46)', (t) => {
  const exit = integrityExit('0.1.1', { observationIds: [], detail: 'no constitution', at: '' })
  t.match(exit, { reason_code: 'INTEGRITY_RISK', author: 'kernel', id: /^[0-9a-f]{64}$/ })
  const none = { ...LAW.index, document: {} }
  t.ok(exit.authority_citations.length > 0)
  t.notOk(exit.authority_citations.some((citation) => resolveCitation(none, citation)))
  t.end()
})
