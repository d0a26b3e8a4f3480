/**
 * Tools and tiers: what a tier gives, what narrows it, and what a command needs.
 * @module
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { publicKeyOf } from '../../src/base/crypto/ed25519.node.ts'
import { ALL_TOOLS, TIER_NAMES, TIERS, TOOLS } from '../../src/base/tool-name.ts'
import { parseConfig } from '../../src/config/config.ts'
import { adjudicate } from '../../src/defense/adjudicator.ts'
import type { Facts } from '../../src/defense/facts.ts'
import { intersectTools, toolOfMethod, toolsNeeded } from '../../src/defense/tools.ts'
import {
  AGENT,
  anyAction,
  anyLedger,
  anyToolList,
  effectiveOf,
  executing,
  FACTS,
  LEDGER,
  policyWith,
} from './staged-facts.ts'

t.test('the tools of two tiers together are those that both have, for all 25 pairs (JF-F14)', (t) => {
  for (const one of TIER_NAMES)
    for (const other of TIER_NAMES) {
      const both = TIERS[one].filter((tool) => TIERS[other].includes(tool))
      t.strictSame([...intersectTools(one, [TIERS[other]])].sort(), [...both].sort(), `${one} and ${other}`)
      t.strictSame(
        [...intersectTools(one, [TIERS[other]])].sort(),
        [...intersectTools(other, [TIERS[one]])].sort(),
        'and the order does not matter',
      )
    }
  t.end()
})

t.test('T1 is in every tier, T4 is T2, and T5 is all tools', (t) => {
  const within = (a: (typeof TIER_NAMES)[number], b: (typeof TIER_NAMES)[number]) =>
    TIERS[a].every((tool) => TIERS[b].includes(tool))
  t.ok(within('T4', 'T2') && within('T3', 'T5') && !within('T5', 'T3') && !within('T3', 'T4'))
  for (const tier of TIER_NAMES) t.ok(within('T1', tier) && within(tier, 'T5'), tier)
  t.ok(within('T2', 'T3') && within('T2', 'T4') && !within('T2', 'T1'))
  t.strictSame([...TIERS.T5].sort(), [...TOOLS].sort())
  t.end()
})

t.test('every list narrows and none widens', (t) => {
  fc.assert(
    fc.property(
      fc.constantFrom(...TIER_NAMES),
      fc.array(anyToolList, { maxLength: 3 }),
      anyToolList,
      (tier, lists, one) => {
        const before = intersectTools(tier, lists)
        const after = intersectTools(tier, [...lists, one])
        return [...after].every((tool) => before.has(tool) && TIERS[tier].includes(tool))
      },
    ),
    { numRuns: 500 },
  )
  t.strictSame([...intersectTools('T1', [])], [...TIERS.T1], 'nothing narrows')
  t.strictSame([...intersectTools('T5', [[]])], [], 'an empty list gives nothing')
  t.strictSame([...intersectTools('T1', [[ALL_TOOLS]])], [...TIERS.T1], 'a star narrows nothing')
  t.end()
})

const needs = (argv: readonly string[], path?: string, change: object = {}) => {
  const action = path === undefined ? { ...executing(argv), executable: null } : executing(argv, path)
  return [...toolsNeeded(effectiveOf({ ...action, ...change }))].sort().join(' ')
}
const shell = (line: string) => ['sh', '-c', line]

t.test('what a command needs', (t) => {
  for (const [argv, expected] of [
    [['cat', 'x'], 'Read'],
    [['head', '-n', '3', 'x'], 'Read'],
    [['git', 'status'], 'Read'],
    [['git', '-C', '/srv/work', 'log', '-c'], 'Read'],
    [['sed', '-n', '1p', 'x'], 'Read'],
    [['hostname'], 'Read'],
    [['date', '+%F'], 'Read'],
    [['ls', '-la'], 'Glob'],
    [['find', '.', '-name', 'x'], 'Glob'],
    [['tree'], 'Glob'],
    [['grep', '-r', 'a', '.'], 'Grep'],
    [['rg', 'a'], 'Grep'],
    [['touch', 'x'], 'Write'],
    [['tee', 'x'], 'Write'],
    [['cp', 'a', 'b'], 'Write'],
    [['mkdir', 'd'], 'Write'],
    [['sed', '-i', 's/a/b/', 'x'], 'Edit'],
    [['patch', '-p1'], 'Edit'],
    [['curl', 'https://example.com/'], 'WebFetch'],
    [['curl', '-o', 'x', 'https://example.com/'], 'WebFetch Write'],
    [['ssh', 'host'], 'WebFetch'],
    [['ssh', 'host', 'rm', 'x'], 'Bash WebFetch'],
    [['nc', '-e', '/bin/sh', 'host', '1'], 'Bash WebFetch'],
    [['make'], 'Bash'],
    [['rm', 'x'], 'Bash'],
    [['python3', '-c', 'print(1)'], 'Bash'],
    [['git', 'commit'], 'Bash'],
    [['something', 'unknown'], 'Bash'],
    [[''], 'Bash'],
    [[], 'Bash'],
    [['nice', '-n', '5', 'cat', 'x'], 'Read'],
    [['env', 'LANG=C', 'sort', 'x'], 'Read'],
    [['timeout', '1', 'touch', 'x'], 'Write'],
    [['busybox', 'cat', 'x'], 'Read'],
    [['find', '.', '-exec', 'cat', '{}', ';'], 'Bash Glob'],
    [shell('cat x'), 'Bash Read'],
    [shell('ls | grep a'), 'Bash Glob Grep'],
  ] as const)
    t.equal(needs(argv), expected, argv.join(' '))
  t.equal(toolOfMethod('FileUpload'), 'Write')
  t.equal(toolOfMethod('RawFileTransfer'), 'Write')
  t.equal(toolOfMethod('FileDownload'), 'Read')
  for (const method of ['Ping', 'Signal', 'Execute', '', 'toString', '__proto__'])
    t.equal(toolOfMethod(method), undefined)
  t.end()
})

const READ_ONLY = TIERS.T1

t.test('T1 can neither write nor start what is not a reader, by whatever option or name', (t) => {
  const beyond = [
    ['sort', '-o', 'out', 'in'],
    ['sort', '--compress-program=sh', 'in'],
    ['uniq', 'in', 'out'],
    ['xxd', '-r', 'in', 'out'],
    ['find', '.', '-delete'],
    ['find', '.', '-fprint', 'x'],
    ['find', '.', '-exec', 'rm', '{}', ';'],
    ['find', '.', '-ok', 'rm', '{}', ';'],
    ['fd', '-x', 'rm'],
    ['tree', '-o', 'x'],
    ['rg', '--pre', 'sh', 'x'],
    ['rg', '--hostname-bin', 'sh', 'x'],
    ['ag', '--pager', 'sh', 'x'],
    ['git', 'diff', '--output=x'],
    ['git', 'grep', '-Osh', 'x'],
    ['git', 'grep', '--open-files-in-pager=sh', 'x'],
    ['git', '-c', 'core.fsmonitor=x', 'status'],
    ['git', '-c', 'alias.status=!sh', 'status'],
    ['git', '--exec-path=.', 'status'],
    ['sed', '-i', 's/a/b/', 'x'],
    ['sed', '-n', 'w out', 'x'],
    ['sed', '1e rm y', 'x'],
    ['sed', 's/a/b/e', 'x'],
    ['ed', 'x'],
    ['ed'],
    ['ex'],
    ['patch', '-p1'],
    ['time', '-o', 'x', 'cat', 'y'],
    ['file', '-C', '-m', 'x'],
    ['date', '-s', '2030-01-01'],
    ['date', '--set=2030-01-01'],
    ['hostname', 'other'],
    ['hostname', '-F', 'x'],
    ['awk', '{print > "x"}', 'y'],
    ['awk', 'BEGIN{system("id")}'],
    ['env', 'LD_PRELOAD=./x.so', 'cat', 'y'],
    ['env', 'PATH=.', 'cat', 'y'],
    ['env', 'LESSOPEN=|sh %s', 'less', 'y'],
    ['./cat', 'x'],
    ['/srv/work/cat', 'x'],
    ['env', './cat', 'x'],
    ['nice', './ls'],
    shell('cat x'),
    ['busybox', 'sh', '-c', 'cat x'],
    ['xargs', 'cat'],
  ]
  for (const argv of beyond) {
    const granted = needs(argv)
      .split(' ')
      .every((tool) => (READ_ONLY as readonly string[]).includes(tool))
    t.notOk(granted, `${argv.join(' ')}: ${needs(argv)}`)
  }
  for (const [argv, path] of [
    [['cat', 'x'], '/srv/work/cat'],
    [['cat', 'x'], '/tmp/cat'],
    [['cat', 'x'], '/usr/bin/dash'],
    [['cat', 'x'], '/usr/bin/python3.13'],
    [['ls'], '/home/agent/bin/ls'],
  ] as const)
    t.equal(needs(argv, path), 'Bash', `${argv.join(' ')}, which is ${path}`)
  for (const path of ['/usr/bin/cat', '/bin/cat', '/usr/bin/busybox', '/usr/local/bin/cat'])
    t.equal(needs(['cat', 'x'], path), 'Read', path)
  t.equal(needs(['less', 'x']), 'Read')
  t.equal(needs(['less', 'x'], undefined, { terminal: true }), 'Bash', 'on a terminal it takes commands')
  t.equal(needs(['git', 'log'], undefined, { terminal: true }), 'Bash')
  t.equal(needs(['cat', 'x'], undefined, { terminal: true }), 'Read')
  t.equal(needs(['cat', 'x'], undefined, { environment: ['LD_PRELOAD=./x.so'] }), 'Bash')
  t.equal(needs(['cat', 'x'], undefined, { environment: ['LANG=C'] }), 'Read')
  t.end()
})

t.test('whatever is run, what writes or what a shell is needs more than T1', (t) => {
  const word = fc.constantFrom(
    ...[
      'cat',
      'ls',
      'sh',
      'bash',
      'env',
      'nice',
      'find',
      'sort',
      'git',
      'grep',
      'tee',
      'xargs',
      'sed',
      'busybox',
    ],
    ...[
      '-c',
      '-o',
      '-exec',
      ';',
      '-i',
      '-n',
      'x',
      'w x',
      'cat y > x',
      'status',
      '{}',
      '-delete',
      '5',
      'A=b',
      '--',
    ],
  )
  const seen = { writes: 0, shells: 0 }
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (argv) => {
      const effective = effectiveOf({ ...executing(argv), executable: null })
      const writes = effective.commands.some(({ paths }) => paths.some(({ use }) => use === 'write'))
      const isShell = effective.commands.some(({ names }) => names.includes('sh') || names.includes('bash'))
      if (writes) seen.writes++
      if (isShell) seen.shells++
      const isReading = [...toolsNeeded(effective)].every((tool) => READ_ONLY.includes(tool))
      return !isReading || !(writes || isShell)
    }),
    { numRuns: 2_000 },
  )
  t.ok(seen.writes > 50 && seen.shells > 50, JSON.stringify(seen))
  t.end()
})

t.test('RESTRICT lets through exactly what T1 may', (t) => {
  for (const argv of [
    ['cat', 'x'],
    ['ls'],
    ['grep', 'a', 'x'],
    ['touch', 'x'],
    ['make'],
    ['curl', 'https://example.com/'],
    shell('ls'),
  ]) {
    const facts = { ...FACTS, action: executing(argv) }
    const outcome = (tier: 'T1' | 'T5', level: 'NORMAL' | 'RESTRICT') => {
      const verdict = adjudicate({ ...facts, identity: { ...AGENT, tier } }, policyWith({}), {
        ...LEDGER,
        level,
      })
      return verdict.kind === 'response' ? verdict.response : verdict.kind
    }
    t.equal(outcome('T5', 'RESTRICT'), outcome('T1', 'NORMAL'), argv.join(' '))
    t.equal(outcome('T5', 'NORMAL'), 'EXECUTE')
  }
  t.end()
})

const keyOf = (seed: number) => Buffer.from(publicKeyOf(new Uint8Array(32).fill(seed))).toString('base64url')

/** What becomes of a caller of that tier and list. */
function outcomeOf(identity: object, change: Partial<Facts>, ledger = LEDGER): string {
  const facts = { ...FACTS, identity: { ...AGENT, ...identity } as Facts['identity'], ...change }
  const verdict = adjudicate(facts, policyWith({}), ledger)
  return `${verdict.kind === 'response' ? verdict.response : verdict.kind} ${verdict.rule}`
}

/** One command for each tool that a command may need. */
const ONE_OF_EACH: Readonly<Partial<Record<(typeof TOOLS)[number], readonly string[]>>> = {
  Read: ['cat', 'x'],
  Glob: ['ls'],
  Grep: ['grep', 'a', 'x'],
  Write: ['touch', 'x'],
  Edit: ['sed', '-i', 's/a/b/', 'x'],
  Bash: ['make'],
  WebFetch: ['curl', 'https://example.com/'],
}

t.test(
  'the list of tools is asked before every call: what it lacks is done by no way, and without a list nothing is (JF-R05)',
  (t) => {
    for (const [tool, argv] of Object.entries(ONE_OF_EACH)) {
      const others = TOOLS.filter((other) => other !== tool)
      const wrapped = ['sh', '-c', `(exec env ${argv.join(' ')}) </dev/null`]
      t.match(outcomeOf({ tools: [tool] }, { action: executing(argv) }), /^EXECUTE/, tool)
      t.match(outcomeOf({ tools: others }, { action: executing(argv) }), /^VI_SWAP tools/, `all but ${tool}`)
      t.match(
        outcomeOf({ tools: others }, { action: executing(wrapped) }),
        /^VI_SWAP tools/,
        'nor inside another',
      )
    }
    for (const [method, tool] of [
      ['FileUpload', 'Write'],
      ['FileDownload', 'Read'],
    ] as const) {
      const request = { ...FACTS.request, method } as Facts['request']
      const others = TOOLS.filter((other) => other !== tool)
      t.match(outcomeOf({ tools: others }, { request, action: { kind: 'read', method } }), /^VI_SWAP tools/)
    }
    let permitted = 0
    fc.assert(
      fc.property(anyToolList, anyAction, anyLedger, fc.boolean(), (tools, action, anyOf, isCalm) => {
        const facts = { ...FACTS, identity: { ...AGENT, tools }, action }
        const verdict = adjudicate(facts, policyWith({}), isCalm ? LEDGER : anyOf)
        if (!('tools' in verdict)) return true
        permitted++
        return verdict.tools.every((tool) => tools.includes(ALL_TOOLS) || tools.includes(tool))
      }),
      { numRuns: 1_000 },
    )
    t.ok(permitted > 50, `${permitted} were permitted`)
    // As a caller is known to the decision it has a list; what comes without one is no caller that may do anything.
    for (const tools of [undefined, null, {}, []])
      for (const argv of Object.values(ONE_OF_EACH))
        t.match(
          outcomeOf({ tools }, { action: executing(argv) }),
          /^(status deny_on_error|VI_SWAP tools\.T5)$/,
        )
    const read = (tools: unknown) =>
      parseConfig({ agents: [{ name: 'a', public_key: keyOf(1), tools }] }, { configDirectory: '/srv' }).ok
    t.strictSame([null, 'Read', {}, ['Reed'], ['Read']].map(read), [false, false, false, false, true])
    t.end()
  },
)

t.test(
  'no agent calls a tool above its tier, no worker is of tier 5, and one map says which is of which (JF-R06)',
  (t) => {
    for (const tier of TIER_NAMES)
      for (const [tool, argv] of Object.entries(ONE_OF_EACH))
        t.match(
          outcomeOf({ tier, tools: [...TOOLS, ALL_TOOLS] }, { action: executing(argv) }),
          (TIERS[tier] as readonly string[]).includes(tool) ? /^EXECUTE/ : `VI_SWAP tools.${tier}`,
          `${argv.join(' ')} by ${tier}`,
        )
    const problems = (tier: string) => {
      const agents = [
        { name: 'above', public_key: keyOf(1), tier: 'T5' },
        { name: 'worker', public_key: keyOf(2), tier, delegated_by: 'above' },
      ]
      const parsed = parseConfig({ agents }, { configDirectory: '/srv' })
      return parsed.ok ? [] : parsed.problems.map(({ path }) => path)
    }
    for (const tier of TIER_NAMES)
      t.strictSame(problems(tier), tier === 'T5' ? ['agents[1].tier'] : [], `a worker of ${tier}`)
    const root = join(import.meta.dirname, '../..')
    const listing = globSync('src/**/*.ts', { cwd: root }).filter((path) =>
      /'Bash',\s*'WebFetch'/.test(readFileSync(join(root, path), 'utf8')),
    )
    t.strictSame(listing, ['src/base/tool-name.ts'])
    t.end()
  },
)
