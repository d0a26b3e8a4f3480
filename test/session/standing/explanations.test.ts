/**
 * Decisions in words: the last ones, each of a bounded length, and the same words however long they were kept.
 * @module
 */
import t from 'tap'
import type { Facts } from '../../../src/defense/facts.ts'
import type { Verdict } from '../../../src/defense/verdict.ts'
import { EXPLAINED_CHARS, EXPLAINED_DECISIONS } from '../../../src/limits.ts'
import { createExplanations } from '../../../src/session/standing/explanations.ts'
import { enter, run, stagePolicy, stageRooms } from '../stage.ts'

const VERDICT: Verdict = {
  kind: 'response',
  response: 'VI_SWAP',
  code: 'CAPABILITY_CMD_DENIED',
  layer: 'capability',
  rule: 'default.denied_commands',
  reason: 'The command is denied.',
  severity: 'critical',
  incident: 'violation',
  enhancedAudit: true,
}

function factsOf(argv: readonly string[], environment: readonly string[] = []): Facts {
  return {
    cycle: 1,
    source: {
      transport: 'tls',
      address: '192.0.2.1',
      isLoopback: false,
      isAllowed: true,
      isPenalised: false,
      isSuspect: false,
      crowd: undefined,
    },
    transport: undefined,
    identity: {
      kind: 'known',
      name: 'bot',
      role: 'agent',
      capability: 'default',
      tier: 'T3',
      tools: ['*'],
      delegation: undefined,
      instance: undefined,
    },
    session: undefined,
    request: undefined,
    action: {
      kind: 'execute',
      executionId: '00',
      argv,
      executable: null,
      cwd: '/srv/work',
      environment,
      terminal: false,
      stdin: false,
      timeoutSeconds: null,
      outputBytes: null,
    },
    realPaths: [],
  }
}

function stage() {
  let asked = 0
  const policy = stagePolicy()
  const effective: typeof policy.effective = (action) => {
    asked++
    return policy.effective(action)
  }
  const explanations = createExplanations(
    () => ({ ...policy, effective }),
    () => 7_000,
  )
  return { explanations, asked: () => asked }
}

t.test('a decision is told in words, with what would really have run', (t) => {
  const { explanations, asked } = stage()
  explanations.keep(12, factsOf(['env', 'rm', '-rf', 'x y']), VERDICT)
  t.equal(asked(), 0, 'words are made when somebody asks')
  t.match(explanations.find(12), {
    sequence: 12,
    atMs: 7_000,
    asked: "env rm -rf 'x y'",
    response: 'R4 VI_SWAP',
    layer: 'capability',
    rule: 'default.denied_commands',
    reason: 'The command is denied.',
    advice: /capability set/,
    agent: 'bot',
    source: '192.0.2.1',
  })
  t.ok(explanations.find(12)?.effective.includes("rm -rf 'x y'"))
  t.equal(explanations.find(11), undefined)
  t.end()
})

t.test('so many are kept, the oldest goes first', (t) => {
  const { explanations } = stage()
  for (let sequence = 1; sequence <= EXPLAINED_DECISIONS + 3; sequence++)
    explanations.keep(sequence, factsOf(['ls']), VERDICT)
  t.equal(explanations.find(3), undefined)
  t.ok(explanations.find(4))
  t.ok(explanations.find(EXPLAINED_DECISIONS + 3))
  t.end()
})

t.test('of a large command only words of a bounded length are kept, whatever is large about it', (t) => {
  const long = 'x'.repeat(100_000)
  for (const [which, facts] of [
    ['an argument', factsOf(['echo', long])],
    ['the program', factsOf([long])],
    ['many arguments', factsOf(['echo', ...Array.from({ length: 4_000 }, (_, index) => `${index}`)])],
    ['a variable', factsOf(['ls'], [`A=${long}`])],
    ['where a link leads', { ...factsOf(['ls', 'a']), realPaths: [{ path: '/a', real: `/${long}` }] }],
  ] as const) {
    const { explanations, asked } = stage()
    explanations.keep(1, facts, VERDICT)
    const once = asked()
    t.ok(once > 0, `${which}: put into words at once`)
    const found = explanations.find(1)
    t.equal(asked(), once)
    t.ok((found?.asked.length ?? 0) <= EXPLAINED_CHARS && found !== undefined, which)
    t.ok(JSON.stringify(found).length < 16_384, `${JSON.stringify(found).length} characters`)
  }
  t.end()
})

t.test('the words are the same whether they were made at once or later', (t) => {
  const { explanations } = stage()
  const words = Array.from({ length: 300 }, (_, index) => `w${index}`)
  explanations.keep(1, factsOf(['echo', ...words.slice(0, 100)]), VERDICT)
  explanations.keep(2, factsOf(['echo', ...words]), VERDICT)
  const [small, large] = [explanations.find(1), explanations.find(2)]
  t.equal(small?.asked.slice(0, 200), large?.asked.slice(0, 200))
  t.match(large, { response: 'R4 VI_SWAP', agent: 'bot', layer: 'capability' })
  t.end()
})

t.test(
  'every recorded decision can be explained under the number of its record, what is not recorded cannot',
  (t) => {
    const stage = stageRooms()
    const client = enter(stage)
    run(client, 'rm', { args: ['x'] })
    const at = stage.audit.events.findIndex(({ response }) => response === 'STATUS') + 1
    t.match(stage.rooms.explanations.find(at), { asked: 'rm x', response: 'STATUS' })
    t.match(stage.logged.findLast(({ event }) => event === 'refused')?.fields, { seq: at })
    client.open('Ping', new Map())
    t.equal(stage.rooms.explanations.find(at + 1), undefined)
    t.end()
  },
)
