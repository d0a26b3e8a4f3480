import { createHash } from 'node:crypto'
import t from 'tap'
import {
  contentDigest,
  deliveredText,
  freeText,
  type Handoff,
  isWhole,
  persistentBlockers,
  readHandoff,
  sealOf,
  taskDigest,
  withTexts,
} from '../../../src/defense/handoffs/message.ts'
import { HANDOFF_BYTES } from '../../../src/limits.ts'

const MESSAGE = {
  to_agent: 'helper',
  task: 'Summarise logs',
  success_criteria: ['report.md exists'],
  artifacts: ['work/in.txt'],
  key_findings: ['a', 'b', 'c'],
  blockers: ['[PERSISTENT] no network', 'slow disk'],
  confidence: 0.8,
  criticality: 'C2',
}

const read = (value: unknown) =>
  readHandoff(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)))

function handoff(change: object = {}): Handoff {
  const found = read({ ...MESSAGE, ...change })
  if (!found.ok) throw new Error(found.problem)
  return found.handoff
}

/** What is wrong with it. */
function problem(value: unknown): string {
  const found = read(value)
  return found.ok ? '' : found.problem
}

const changed = (change: object) => problem({ ...MESSAGE, ...change })

t.test('a message is read field by field, its numbers as integers', async (t) => {
  t.match(handoff(), {
    schemaVersion: '2.0.0',
    claims: undefined,
    to: 'helper',
    task: 'Summarise logs',
    successCriteria: ['report.md exists'],
    artifacts: ['work/in.txt'],
    keyFindings: ['a', 'b', 'c'],
    blockers: MESSAGE.blockers,
    confidence: 800,
    criticality: 2,
    classification: 0,
  })
  const full = handoff({
    ...{ from_agent: 'ci', schema_version: '2.1.0', task_id: 'T-1', classification: 'SENSITIVE' },
    ...{
      constraints: ['by noon'],
      previous: 'a'.repeat(32),
      integrity: { sha256: `sha256:${'b'.repeat(64)}` },
    },
    quality_context: { prior_score: 0.9195, critic_findings: ['thin'] },
    routing_metadata: { routing_depth: 0 },
  })
  t.match(full, { claims: 'ci', schemaVersion: '2.1.0', taskId: 'T-1', classification: 3, priorScore: 920 })
  t.match(full, {
    constraints: ['by noon'],
    criticFindings: ['thin'],
    previous: 'a'.repeat(32),
    declared: 'b'.repeat(64),
  })
  t.equal(handoff({ confidence: undefined }).confidence, undefined, 'whether it may be missing is decided')
  for (const [share, permille] of [
    [0, 0],
    [1, 1_000],
    [0.0004, 0],
    [1e-3, 1],
  ])
    t.equal(handoff({ confidence: share }).confidence, permille)
})

t.test('every field that is missing, of another kind or out of its bounds is named', async (t) => {
  const required = [
    'to_agent',
    'task',
    'success_criteria',
    'artifacts',
    'key_findings',
    'blockers',
    'criticality',
  ]
  for (const name of required) t.match(changed({ [name]: undefined }), new RegExp(`^${name} must be`), name)
  const rows: readonly (readonly [object, string])[] = [
    [{ to_agent: 'a b' }, 'to_agent must be the name of an agent'],
    [{ to_agent: 7 }, 'to_agent must be text that is not empty'],
    [{ task: ' \n' }, 'task must be text that is not empty'],
    [{ task: 'a\0' }, 'task must be text that is not empty'],
    [{ success_criteria: [] }, 'success_criteria must have 1 to 32 members'],
    [{ success_criteria: [''] }, 'success_criteria[0] must be text that is not empty'],
    [{ success_criteria: 'x' }, 'success_criteria must be a list'],
    [{ success_criteria: Array(33).fill('x') }, 'success_criteria must have 1 to 32 members'],
    [{ key_findings: ['a', 'b'] }, 'key_findings must have 3 to 5 members'],
    [{ key_findings: ['a', 'b', 'c', 'd', 'e', 'f'] }, 'key_findings must have 3 to 5 members'],
    [{ artifacts: ['x'.repeat(4_097)] }, 'artifacts[0] must have at most 4096 bytes'],
    [{ blockers: [null] }, 'blockers[0] must be text that is not empty'],
    [{ confidence: 1.1 }, 'confidence must be a number from 0 to 1'],
    [{ confidence: -0.1 }, 'confidence must be a number from 0 to 1'],
    [{ confidence: '0.8' }, 'confidence must be a number from 0 to 1'],
    [{ confidence: null }, 'confidence must be a number from 0 to 1'],
    [{ criticality: 'C5' }, 'criticality must be one of C1, C2, C3, C4'],
    [{ criticality: 2 }, 'criticality must be one of C1, C2, C3, C4'],
    [{ classification: 'SECRET' }, 'classification must be one of PUBLIC, INTERNAL, SENSITIVE'],
    [{ schema_version: '1.0.0' }, 'schema_version must be a version 2 such as 2.0.0'],
    [{ task_id: 'a b' }, 'task_id must be 1 to 64 of the characters A-Z a-z 0-9 . _ -'],
    [{ previous: 'abc' }, 'previous must be the id of a handoff, 32 hexadecimal digits'],
    [{ integrity: { sha256: 'abc' } }, 'integrity.sha256 must be a SHA-256 in 64 hexadecimal digits'],
    [{ integrity: [] }, 'integrity must be an object'],
    [{ quality_context: { prior_score: 2 } }, 'quality_context.prior_score must be a number from 0 to 1'],
    [{ quality_context: { prior: 1 } }, 'quality_context has the key "prior", which it does not know'],
    [{ routing_metadata: { hops: 1 } }, 'routing_metadata has the key "hops", which it does not know'],
    [{ 'urgent!': true }, 'the message has the key "urgent!", which no handoff has'],
    [
      { [`\u001b[31m${'k'.repeat(200)}`]: true },
      `the message has the key ${JSON.stringify(`\\x1b[31m${'k'.repeat(59)}`)}, which no handoff has`,
    ],
    [{ from_agent: '' }, 'from_agent must be text that is not empty'],
  ]
  for (const [change, said] of rows) t.equal(changed(change), said, JSON.stringify(change).slice(0, 60))
  t.equal(changed({ task: '', criticality: 'C0' }).split('; ').length, 2, 'all of them at once')
})

t.test('what is no JSON object, stands twice, is too deep or too long is refused', async (t) => {
  const text = JSON.stringify(MESSAGE)
  t.match(problem(text.replace('{', '{"task":"other",')), /twice/)
  t.match(problem(text.replace('{', '{"\\u0074ask":"other",')), /twice/, 'however the key is written')
  t.match(problem('[]'), /one JSON object/)
  t.match(problem('null'), /one JSON object/)
  t.equal(
    problem('{"task":1,}'),
    'content is no handoff: at line 1, column 10 a comma stands before the closing } (take the comma out)',
  )
  t.match(problem(''), /no handoff/)
  t.match(problem(`${text}x`), /no handoff/)
  t.match(problem(text.replace('"a"', '[[[["a"]]]]')), /no handoff/)
  t.match(problem(text.replace('"a"', '"\\ud800"')), /./, 'half a character')
  t.match(problem(`${text}${' '.repeat(HANDOFF_BYTES)}`), /no handoff/)
  t.notOk(readHandoff(Uint8Array.of(0x7b, 0xff, 0x7d)).ok, 'no UTF-8')
})

t.test('the digests are those of RFC 8785 of what may not change', async (t) => {
  const sha = (text: string) => createHash('sha256').update(text).digest('hex')
  t.equal(
    sealOf(handoff()),
    sha('{"criticality":"C2","success_criteria":["report.md exists"],"task":"Summarise logs"}'),
  )
  t.equal(taskDigest(handoff()), sha('{"success_criteria":["report.md exists"],"task":"Summarise logs"}'))
  t.equal(taskDigest(handoff({ criticality: 'C4' })), taskDigest(handoff()), 'the criticality may rise')
  t.not(sealOf(handoff({ criticality: 'C4' })), sealOf(handoff()))
  t.strictSame(persistentBlockers(handoff()), [sha('[PERSISTENT] no network')])
})

t.test('it is delivered with all nine fields, and with what the daemon sets', async (t) => {
  const routing = { from: 'ci-1', depth: 2, previous: 'c'.repeat(32) }
  const asked = handoff({
    from_agent: 'ci',
    routing_metadata: { routing_depth: 0 },
    quality_context: { prior_score: 0.95 },
  })
  const text = deliveredText(asked, routing)
  const value = JSON.parse(text)
  t.match(value, {
    ...MESSAGE,
    from_agent: 'ci-1',
    schema_version: '2.0.0',
    quality_context: { prior_score: 0.95 },
  })
  t.strictSame(value.routing_metadata, { routing_depth: 2, previous: 'c'.repeat(32) })
  t.strictSame(value.integrity, { sha256: sealOf(asked) })
  t.equal(
    JSON.parse(deliveredText(handoff({ criticality: 'C1', confidence: undefined }), routing)).confidence,
    null,
  )
  t.ok(isWhole(text))
  t.notOk(isWhole(text.replace('C2', 'C1')))
  t.notOk(isWhole(text.replace('Summarise', 'Remove')))
  t.notOk(isWhole('{}'))
  t.notOk(isWhole('no'))
  t.equal(contentDigest(text), createHash('sha256').update(text).digest('hex'))
})

t.test('every free text is looked at, and nothing that the daemon reads as a word', async (t) => {
  const seen: string[] = []
  const full = handoff({ constraints: ['k'], quality_context: { critic_findings: ['q'] }, task_id: 'T-1' })
  const marked = withTexts(full, (text) => {
    seen.push(text)
    return `<${text}>`
  })
  const all = [
    'Summarise logs',
    'report.md exists',
    'a',
    'b',
    'c',
    ...MESSAGE.blockers,
    'k',
    'q',
    'work/in.txt',
  ]
  t.strictSame(seen.toSorted(), all.toSorted())
  t.strictSame(freeText(full).split('\n').toSorted(), all.toSorted())
  t.equal(marked.to, 'helper')
  t.equal(marked.taskId, 'T-1')
})
