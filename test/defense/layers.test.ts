/**
 * The layers of the decision: every finding of every layer beside the case that passes, and the order of the layers.
 * @module
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { adjudicate, adjudicateBy } from '../../src/defense/adjudicator.ts'
import type { CapabilitySet } from '../../src/defense/capability.ts'
import { LAYERS } from '../../src/defense/layers.ts'
import { LAYER_NAMES, type Verdict } from '../../src/defense/verdict.ts'
import { CALLER_CELLS } from './cells/caller.ts'
import { before } from './cells/cell.ts'
import { COMMAND_CELLS } from './cells/command.ts'
import { FILE_CELLS } from './cells/files.ts'
import { RIGHTS_CELLS } from './cells/rights.ts'
import { AGENT, executing, FACTS, LEDGER, OPEN_SET, POLICY, policyWith, RULES } from './staged-facts.ts'

const CELLS = [...CALLER_CELLS, ...RIGHTS_CELLS, ...COMMAND_CELLS, ...FILE_CELLS]

function shapeOf(verdict: Verdict): readonly (string | undefined)[] {
  return [
    verdict.kind === 'response' ? verdict.response : verdict.kind,
    verdict.code,
    verdict.layer,
    verdict.rule,
    verdict.severity,
    verdict.incident,
    'awaits' in verdict ? verdict.awaits : undefined,
  ]
}

const NOTHING = new Array<undefined>(7).fill(undefined)

for (const { name, facts, policy, ledger, gives } of CELLS) {
  t.test(name, (t) => {
    const verdict = adjudicate({ ...FACTS, ...facts }, policy ?? POLICY, { ...LEDGER, ...ledger })
    t.strictSame(shapeOf(verdict), [...gives, ...NOTHING].slice(0, 7))
    const isExecute = verdict.kind === 'response' && verdict.response === 'EXECUTE'
    t.equal(
      verdict.enhancedAudit,
      isExecute ? verdict.severity === 'warning' : verdict.severity === 'critical',
      'the record says more of what is noted and of what is critical',
    )
    if (verdict.kind === 'status') t.equal(verdict.ends, verdict.code === 'DECOMPRESSION_LIMIT_EXCEEDED')
    t.end()
  })
}

t.test('the table has a cell for every rule that the layers name', (t) => {
  const named = new Set<string>()
  for (const file of ['connection', 'session', 'rights', 'command', 'quota']) {
    const code = readFileSync(join(import.meta.dirname, `../../src/defense/gates/${file}.ts`), 'utf8')
    for (const [, rule = ''] of code.matchAll(
      /'((?:[a-z_]+\.)+[a-z_]+|sensitive_files|internal_addresses|frame|tls|authenticate|crowd|login_grace|before_authenticate)'/g,
    ))
      named.add(rule)
  }
  const tested = new Set(CELLS.map(({ gives }) => gives[3]))
  t.ok(named.size > 35, [...named].join(' '))
  t.strictSame(
    [...named].filter((rule) => !tested.has(rule)),
    [],
  )
  t.end()
})

t.test('exactly the layers that can deny do: each has a cell, and so has each of the six responses', (t) => {
  t.strictSame([...new Set(CELLS.map(({ gives }) => gives[2]))].sort(), [...LAYER_NAMES, 'all'].sort())
  t.strictSame([...new Set(CELLS.map(({ gives }) => gives[0]))].sort(), [
    'CHALLENGE',
    'DROP',
    'EXECUTE',
    'TARPIT',
    'THROTTLE',
    'VI_SWAP',
    'status',
  ])
  t.end()
})

t.test('denied wins over allowed, and what no pattern matches is refused (SS-19)', (t) => {
  const response = (argv: readonly string[], cwd: string, set: Partial<CapabilitySet>) => {
    const action = executing(argv, '/usr/bin/ls', cwd)
    const [outcome, , , rule] = shapeOf(adjudicate({ ...FACTS, action }, policyWith(set), LEDGER))
    return `${outcome} ${rule}`
  }
  t.equal(response(['ls'], '/srv', {}), 'EXECUTE all_passed')
  t.equal(response(['ls'], '/srv', { denied_commands: ['ls'] }), 'status default.denied_commands')
  t.equal(response(['ls'], '/srv', { denied_paths: ['/srv'] }), 'VI_SWAP default.denied_paths')
  t.equal(response(['ls'], '/srv', { allowed_commands: ['y'] }), 'status default.allowed_commands')
  t.equal(response(['ls'], '/srv', { allowed_commands: [] }), 'status default.allowed_commands')
  t.equal(response(['ls'], '/srv', { allowed_paths: ['/etc'] }), 'status default.allowed_paths')
  t.equal(response(['ls'], '/srv', { allowed_paths: [] }), 'status default.allowed_paths')
  t.end()
})

t.test('where a set requires plans, only their calls run (SA-28)', (t) => {
  const plan = { call: 'c', id: 'p', issuer: 'i', sha256: 'aa', tool: 'list' }
  const executable = { path: '/usr/bin/ls', device: '1', inode: '2', sha256: 'aa' }
  const outcome = (require_plan: 'never' | 'restricted' | 'always', argv: string[], isPlanned = false) => {
    const action = { ...executing(argv), executable, ...(isPlanned ? { plan } : {}) }
    const policy = policyWith({ require_plan }, { opaque: 'allow' })
    const [how, , , rule] = shapeOf(adjudicate({ ...FACTS, action }, policy, LEDGER))
    return `${how} ${rule}`
  }
  t.equal(outcome('never', ['ls']), 'EXECUTE all_passed')
  t.equal(outcome('always', ['ls']), 'status default.require_plan')
  t.equal(outcome('always', ['ls'], true), 'EXECUTE all_passed')
  t.equal(outcome('restricted', ['ls']), 'EXECUTE all_passed', 'what is read')
  t.equal(outcome('restricted', ['python3', 'x.py']), 'THROTTLE default.require_plan', 'or a human says so')
  t.equal(outcome('restricted', ['python3', 'x.py'], true), 'EXECUTE opaque.interpreter')
  const download = { kind: 'download', path: '/srv/a', real: '/srv/a', size: 1, offset: 0 } as const
  const transfer = { ...FACTS, action: download }
  t.equal(
    shapeOf(adjudicate(transfer, policyWith({ require_plan: 'always', max_file_size_bytes: 10 }), LEDGER))[3],
    'default.require_plan',
  )
  t.equal(
    shapeOf(
      adjudicate(transfer, policyWith({ require_plan: 'restricted', max_file_size_bytes: 10 }), LEDGER),
    )[3],
    'all_passed',
  )
  t.end()
})

t.test('a shell needs the allow-list as well as the switch (OS-06, OS-07)', (t) => {
  const action = executing(['bash', '-c', 'true'])
  const outcome = (allowShell: boolean, allowed_commands: string[]) =>
    shapeOf(adjudicate({ ...FACTS, action }, policyWith({ allowed_commands }, { allowShell }), LEDGER))[0]
  t.equal(outcome(true, []), 'status')
  t.equal(outcome(true, ['ls']), 'status')
  t.equal(outcome(false, ['bash']), 'status')
  t.equal(outcome(true, ['bash']), 'EXECUTE')
  t.end()
})

t.test('the layers are complete, and in the order of the table of docs/responses.md', (t) => {
  t.strictSame(
    LAYERS.map(({ name }) => name),
    LAYER_NAMES,
  )
  t.ok(Object.isFrozen(LAYERS) && Object.isFrozen(LAYER_NAMES))
  const page = readFileSync(join(import.meta.dirname, '../../docs/responses.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (\d+) \| `([0-9a-z_]+)` \| (.*?) \|/gm)]
  t.strictSame(
    rows.map(([, number, name]) => `${number} ${name}`),
    LAYER_NAMES.map((name, index) => `${index + 1} ${name}`),
  )
  t.notMatch(page, /asks nothing/, 'each of them asks something')
  t.end()
})

t.test('no layer needs another: with any one left out, all others decide as before (JF-N04)', (t) => {
  for (const missing of LAYERS) {
    const others = LAYERS.map((layer) => (layer === missing ? { ...layer, check: () => undefined } : layer))
    let judged = 0
    for (const { name, facts, policy, ledger, gives } of CELLS) {
      if (gives[2] === missing.name) continue
      const verdict = adjudicateBy(others, { ...FACTS, ...facts }, policy ?? POLICY, { ...LEDGER, ...ledger })
      t.strictSame(shapeOf(verdict), [...gives, ...NOTHING].slice(0, 7), `${name}, without ${missing.name}`)
      judged++
    }
    t.ok(judged > CELLS.length / 2, 'most cells are of other layers')
  }
  t.end()
})

t.test('the page names every level, tier and measure, and every rule of single things', (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/responses.md'), 'utf8')
  const named = [
    ...['RESTRICT', 'CHECKPOINT', 'CONTAIN', 'HALT', 'T1', 'T2', 'T3', 'T4', 'T5'],
    ...['`deny`', '`ask`', '`audit`', '`allow`'],
    ...CELLS.filter(({ gives }) => gives[2] === 'specifics').map(({ gives }) => `\`${gives[3]}\``),
  ]
  t.strictSame(
    named.filter((name) => !page.includes(name)),
    [],
  )
  t.end()
})

t.test('a known caller and nobody share no answer to a violation', (t) => {
  const violation = { ...FACTS, action: executing(['deny-high']) }
  t.equal(shapeOf(adjudicate({ ...violation, identity: AGENT }, POLICY, LEDGER))[0], 'VI_SWAP')
  t.equal(shapeOf(adjudicate({ ...violation, ...before }, POLICY, LEDGER))[0], 'TARPIT')
  t.end()
})

t.test('what is permitted says what it adds to what its session has done', (t) => {
  const toxicOf = (argv: readonly string[]) => {
    const verdict = adjudicate(
      { ...FACTS, action: executing(argv) },
      policyWith({}, { sensitiveFiles: 'allow' }),
      LEDGER,
    )
    return 'toxic' in verdict ? verdict.toxic : undefined
  }
  t.strictSame(toxicOf(['ls']), [])
  t.strictSame(toxicOf(['curl', 'https://example.com']), ['untrusted', 'outward'])
  t.strictSame(toxicOf(['cat', '.env']), ['secret'])
  t.strictSame(toxicOf(['rm', 'x']), ['change'])
  t.end()
})

t.test('a rule leads to what its action and severity say, and to nothing else (SS-38, SS-40)', (t) => {
  const responses: Record<string, readonly [string, string, boolean]> = {
    'deny-critical': ['TARPIT', 'TARPIT', true],
    'deny-high': ['VI_SWAP', 'TARPIT', true],
    'deny-medium': ['VI_SWAP', 'TARPIT', true],
    'deny-low': ['EXECUTE', 'TARPIT', true],
    'ask-critical': ['THROTTLE', 'TARPIT', false],
    'ask-high': ['THROTTLE', 'TARPIT', false],
    'ask-medium': ['THROTTLE', 'TARPIT', false],
    'ask-low': ['THROTTLE', 'TARPIT', false],
    'note-critical': ['EXECUTE', 'TARPIT', true],
    'note-high': ['EXECUTE', 'TARPIT', true],
    'note-medium': ['EXECUTE', 'TARPIT', true],
    'note-low': ['EXECUTE', 'TARPIT', true],
    'challenge-critical': ['CHALLENGE', 'TARPIT', false],
    'challenge-high': ['CHALLENGE', 'TARPIT', false],
    'challenge-medium': ['CHALLENGE', 'TARPIT', false],
    'challenge-low': ['EXECUTE', 'TARPIT', true],
    'allow-critical': ['EXECUTE', 'TARPIT', false],
    'allow-high': ['EXECUTE', 'TARPIT', false],
    'allow-medium': ['EXECUTE', 'TARPIT', false],
    'allow-low': ['EXECUTE', 'TARPIT', false],
  }
  t.equal(Object.keys(responses).length, RULES.length)
  for (const [program, [authenticated, stranger, isEnhanced]] of Object.entries(responses)) {
    const facts = { ...FACTS, action: executing([program]) }
    const verdict = adjudicate(facts, policyWith({}), LEDGER)
    t.equal(shapeOf(verdict)[0], authenticated, program)
    t.equal(verdict.enhancedAudit, isEnhanced, program)
    t.equal(shapeOf(adjudicate({ ...facts, ...before }, policyWith({}), LEDGER))[0], stranger, program)
  }
  t.end()
})

t.test('a sensitive file is allowed, denied or put to a human before it is read or written (JF-039)', (t) => {
  const commands = ['.env', 'tls.key', 'credentials.json'].flatMap((file) => [
    ['cat', file],
    ['cp', 'x', file],
    ['sh', '-c', `echo x > ${file}`],
  ])
  for (const [sensitiveFiles, response] of [
    ['allow', 'EXECUTE'],
    ['deny', 'VI_SWAP'],
    ['ask', 'THROTTLE'],
  ] as const) {
    for (const argv of commands) {
      const verdict = adjudicate(
        { ...FACTS, action: executing(argv) },
        policyWith({}, { sensitiveFiles }),
        LEDGER,
      )
      const [outcome, , , rule, , , awaits] = shapeOf(verdict)
      t.equal(outcome, response, `${sensitiveFiles}: ${argv.join(' ')}`)
      if (response !== 'EXECUTE') t.equal(rule, 'sensitive_files')
      t.equal(awaits, sensitiveFiles === 'ask' ? 'operator' : undefined)
    }
  }
  t.end()
})

const above = (name: string, tools: readonly string[], capability = 'default') =>
  ({ name, capability, tools }) as const

t.test('who acts for a delegate is denied, and that is critical (JF-031, JF-F20)', (t) => {
  const outcome = (chain: readonly ReturnType<typeof above>[]) => {
    const identity = { ...AGENT, delegation: { chain, hops: chain.length } } as typeof AGENT
    return shapeOf(adjudicate({ ...FACTS, identity }, POLICY, LEDGER)).slice(0, 5)
  }
  t.strictSame(outcome([above('a', ['*'])]), ['EXECUTE', undefined, 'all', 'all_passed', 'info'])
  const denied = ['VI_SWAP', 'CAPABILITY_DENIED', 'delegation', 'delegation.depth', 'critical']
  t.strictSame(outcome([above('a', ['*']), above('b', ['*'])]), denied)
  t.strictSame(outcome([above('a', []), above('b', []), above('c', [])]), denied, 'and any further')
  t.end()
})

t.test('a delegate may what both it and the one above may, in tools and in commands (JF-032)', (t) => {
  const policy = policyWith(
    { allowed_commands: ['ls', 'touch', 'cat'] },
    {},
    {
      capabilities: {
        default: { ...OPEN_SET, allowed_commands: ['ls', 'touch', 'cat'] },
        above: { ...OPEN_SET, allowed_commands: ['ls', 'touch', 'id'] },
      },
    },
  )
  const isPermitted = (program: string, own: readonly string[], parent: readonly string[]) => {
    const delegation = { chain: [above('a', parent, 'above')], hops: 1 }
    const identity = { ...AGENT, tools: own, delegation } as typeof AGENT
    return (
      shapeOf(adjudicate({ ...FACTS, identity, action: executing([program]) }, policy, LEDGER))[0] ===
      'EXECUTE'
    )
  }
  for (const [program, tool] of [
    ['ls', 'Glob'],
    ['touch', 'Write'],
  ] as const) {
    for (const own of [[tool], ['*'], ['Read']])
      for (const parent of [[tool], ['*'], ['Read']])
        t.equal(
          isPermitted(program, own, parent),
          own[0] !== 'Read' && parent[0] !== 'Read',
          `${program}: ${own} under ${parent}`,
        )
  }
  t.notOk(isPermitted('cat', ['*'], ['*']), 'the one above may not')
  t.notOk(isPermitted('id', ['*'], ['*']), 'the delegate may not')
  t.end()
})
