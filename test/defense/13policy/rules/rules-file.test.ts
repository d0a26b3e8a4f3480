/**
 * A file of rules: what is read of it, and every problem with its place.
 * @module
 */
import t from 'tap'
import { createMatcher } from '../../../../src/defense/13policy/rules/matcher.ts'
import { joinRules, readRules, rulesProblemText } from '../../../../src/defense/13policy/rules/rules-file.ts'
import { effectiveCommands } from '../../../../src/defense/13policy/unwrap.ts'

const RULE = {
  id: 'files.remove-root',
  argv: { program: ['rm'], options: ['-r|@recursive'], writes: ['/', '@system'] },
  action: 'deny',
  severity: 'critical',
  description: 'Removing the whole device.',
  why: 'Nothing would be left; remove single files.',
  examples: { match: ['rm -rf /'], pass: ['rm -rf ./build'] },
}
const SETS = { recursive: ['-R', '--recursive'], system: ['/etc/**', '/usr/**'] }

const file = (...rules: object[]): string => JSON.stringify({ sets: SETS, rules })

function problems(text: string): readonly string[] {
  const result = readRules(text, 'x.json')
  return result.ok ? [] : result.problems.map(rulesProblemText)
}

function problemsOf(change: object): readonly string[] {
  return problems(file({ ...RULE, ...change }))
}

t.test('a good file is read, with the sets in place of their names', async (t) => {
  const result = readRules(file(RULE), 'x.json')
  t.match(result, {
    ok: true,
    rules: {
      origins: ['x.json'],
      rules: [
        {
          ...RULE,
          argv: [{ options: ['-r|-R|--recursive'], writes: ['/', '/etc/**', '/usr/**'] }],
        },
      ],
    },
  })
  t.match(readRules('{"rules": []}', 'x.json'), { ok: true, rules: { rules: [] } })
})

t.test('equal lists are one list in memory', async (t) => {
  const result = readRules(file(RULE, { ...RULE, id: 'a.b' }), 'x.json')
  if (!result.ok) throw new Error('it was refused')
  const [first, second] = result.rules.rules
  t.ok(first?.argv?.[0]?.writes)
  t.equal(first?.argv?.[0]?.writes, second?.argv?.[0]?.writes)
})

t.test('a rule matches in one way or in any of several', async (t) => {
  const one = { program: ['rm'] }
  const other = { program: ['ls'], options: ['-l'] }
  const argvOf = (argv: unknown) => {
    const result = readRules(file({ ...RULE, argv }), 'x.json')
    return result.ok ? result.rules.rules[0]?.argv : result.problems.map(({ path }) => path)
  }
  t.strictSame(argvOf(one), [one])
  t.strictSame(argvOf([one, other]), [one, other])
  t.strictSame(argvOf([]), ['rules[0].argv'])
  t.strictSame(argvOf([one, { x: 1 }]), ['rules[0].argv[1].x'])
})

t.test('what is not strict JSON is refused with line and column', async (t) => {
  t.match(problems('{"rules": [],\n "rules": []}'), [
    /^the file is not valid JSON at line 2, column 2: the key stands twice/,
  ])
  t.match(problems('{"rules": []} x'), [/something follows/])
  t.match(problems(`"${'x'.repeat(4_194_304)}"`), [/larger than the limit/])
  t.match(problems('[]'), ['the file is not an object (write { })'])
  t.match(problems('{}'), [/^rules is not a list/])
})

t.test('every problem is told at once, with its path and the word that was meant', async (t) => {
  const text = JSON.stringify({
    set: {},
    sets: SETS,
    rules: [
      { ...RULE, action: 'denny', severity: 'hihg', exmples: {} },
      {
        ...RULE,
        argv: { progam: ['rm'], options: ['r'], writes: ['etc', '@sytem'], opaque: ['evil'], terminal: 1 },
      },
      { ...RULE, id: 'Bad', pattern: 'rm *' },
    ],
  })
  t.strictSame(
    problems(text),
    [
      'set is not a known key (did you mean sets?)',
      'rules[0].exmples is not a known key (did you mean examples?)',
      'rules[0].action is "denny", which is not one of deny, ask, challenge, note, allow (did you mean deny?)',
      'rules[0].severity is "hihg", which is not one of critical, high, medium, low (did you mean high?)',
      'rules[1].argv.progam is not a known key (did you mean program?)',
      'rules[1].argv.options[0] has something that is not an option (write -r|--recursive, with dashes and no spaces)',
      'rules[1].argv.writes[1] names the set @sytem, which is not there (did you mean system?)',
      'rules[1].argv.writes[0] is not an absolute path (begin it with / or ~/)',
      'rules[1].argv.opaque[0] is "evil", which is not one of expansion, substitution, program, eval, piped, stdin, syntax, limit, * (did you mean eval?)',
      'rules[1].argv.terminal is not true or false (write true or false)',
      'rules[2].id is not of the form subject.what-it-stops (use small letters, digits, dashes and dots)',
      'rules[2] has both pattern and argv (give exactly one of them)',
    ].toSorted((a, b) => problems(text).indexOf(a) - problems(text).indexOf(b)),
  )
})

t.test('an id is there once in a file, and once in all files', async (t) => {
  t.match(problems(file(RULE, { ...RULE, severity: 'low' })), ['rules[1].id is the id of rules[0] too'])
  const read = (text: string, origin: string) => {
    const result = readRules(text, origin)
    if (!result.ok) throw new Error('it was refused')
    return result.rules
  }
  const first = read(file(RULE), 'first.json')
  t.match(joinRules([first, read(file({ ...RULE, id: 'own.rule' }), 'own.json')]), {
    ok: true,
    rules: { origins: ['first.json', 'own.json'], rules: [{ id: RULE.id }, { id: 'own.rule' }] },
  })
  t.match(joinRules([first, read(file(RULE), 'own.json')]), {
    ok: false,
    problems: [
      { path: 'rules[0].id', problem: 'in own.json is files.remove-root, which first.json has too' },
    ],
  })
  t.match(joinRules([]), { ok: true, rules: { rules: [] } })
})

t.test('a rule says what it matches, in exactly one way', async (t) => {
  const { argv: _, ...rest } = RULE
  t.match(problems(file(rest)), ['rules[0] has neither pattern nor argv'])
  t.match(problemsOf({ argv: {} }), ['rules[0].argv asks for nothing'])
  t.match(problemsOf({ argv: { program: [] } }), ['rules[0].argv.program is empty'])
  t.strictSame(problems(file({ ...rest, pattern: 'rm *' })), [])
  t.match(problems(file({ ...rest, pattern: 'x'.repeat(257) })), ['rules[0].pattern is longer'])
})

t.test('a rule has an example that matches and one that passes, and says what it is for', async (t) => {
  t.match(problemsOf({ examples: { match: ['rm x'] } }), ['rules[0].examples.pass is missing'])
  t.match(problemsOf({ examples: { match: [], pass: ['x'] } }), ['rules[0].examples.match is empty'])
  t.match(problemsOf({ examples: { match: [1], pass: [''] } }), [
    /match\[0\] is not a text/,
    /pass\[0\] is empty/,
  ])
  t.match(problemsOf({ examples: undefined }), ['rules[0].examples is missing'])
  t.match(problemsOf({ why: ' ', description: 7 }), [/description is not a text/, /why is empty/])
})

t.test('patterns that can never fit are refused', async (t) => {
  t.match(problemsOf({ argv: { program: ['/bin/rm'] } }), [/program\[0\] has a directory/])
  t.match(problemsOf({ argv: { option_values: ['-o'] } }), [/option_values\[0\] is not option=value/])
  t.match(problemsOf({ argv: { paths: ['@recursive'] } }), [
    /paths\[0\] stands for -R, which is not an absolute path/,
  ])
  t.strictSame(problemsOf({ argv: { operands: ['@*', '@Name'] } }), [], 'a word may begin with @')
})

t.test('sets have names and entries, and name no other set', async (t) => {
  const withSets = (sets: unknown): readonly string[] => problems(JSON.stringify({ sets, rules: [] }))
  t.match(withSets([]), ['sets is not an object'])
  t.match(withSets({ 'A b': ['x'] }), [/^sets\.A b is not a name for a set/])
  t.match(withSets({ a: [] }), ['sets.a is empty'])
  t.match(withSets({ a: ['@b'], b: ['x'] }), ['sets.a[0] names another set'])
  t.match(withSets({ ['__proto__']: ['x'] }), [])
})

t.test('there are bounds on rules, patterns, sets and what they stand for together', async (t) => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `w${index}`)
  t.match(problemsOf({ argv: { operands: many(513) } }), [/has more than 512 entries/])
  t.strictSame(problemsOf({ argv: { operands: many(512) } }), [])
  t.match(
    problems(
      JSON.stringify({
        sets: { a: many(300), b: many(300).map((word) => `${word}x`) },
        rules: [{ ...RULE, argv: { operands: ['@a', '@b'] } }],
      }),
    ),
    [/operands stands for more than 512 patterns/],
  )
  const short = { ...RULE, argv: { program: ['rm'] } }
  t.match(problems(JSON.stringify({ rules: Array.from({ length: 4_097 }, () => short) })), [
    /^rules has more than 4096 rules/,
  ])
  const all = Array.from({ length: 140 }, (_, index) => ({
    ...RULE,
    id: `a.r${index}`,
    argv: { operands: ['@a', `own${index}`] },
  }))
  t.match(problems(JSON.stringify({ sets: { a: many(500) }, rules: all })), [
    /is one pattern too many in the file/,
  ])
  const bad = Array.from({ length: 300 }, () => ({}))
  t.equal(problems(JSON.stringify({ rules: bad })).length, 100)
})

t.test(
  'a rule has a glob over command and arguments, one of three actions, one of four severities and a description (SS-37)',
  async (t) => {
    const { argv: _, ...rest } = RULE
    const globbed = { ...rest, pattern: 'rm -rf *' }
    for (const action of ['deny', 'challenge', 'allow'])
      for (const severity of ['critical', 'high', 'medium', 'low'])
        t.strictSame(problems(file({ ...globbed, action, severity })), [])
    for (const change of [
      { action: 'audit' },
      { severity: 'none' },
      { description: '' },
      { description: undefined },
    ])
      t.equal(problems(file({ ...globbed, ...change })).length, 1, JSON.stringify(change))
    const read = readRules(file(globbed), 'x.json')
    if (!read.ok) throw new Error('it was refused')
    const matcher = createMatcher(read.rules, '/home/agent')
    const matched = (argv: readonly string[]) =>
      matcher.strictest(
        effectiveCommands(argv, {
          ...{ cwd: '/', home: '/home/agent', resolved: undefined, terminal: false, stdin: false },
        }),
      )?.rule
    t.match(matched(['rm', '-rf', '/srv']), { id: RULE.id, description: RULE.description })
    t.match(matched(['/bin/rm', '-rf', 'a', 'b']), { id: RULE.id })
    t.equal(matched(['rm', '-f', '/srv']), undefined)
    t.equal(matched(['echo', 'rm -rf /srv']), undefined)
  },
)
