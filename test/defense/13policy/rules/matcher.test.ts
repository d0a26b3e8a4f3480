/**
 * Rules against effective commands: each field, the order of strictness, and the cost.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import type { Effective, EffectiveCommand } from '../../../../src/defense/13policy/effective.ts'
import { createMatcher } from '../../../../src/defense/13policy/rules/matcher.ts'
import type { CommandMatch, Rule } from '../../../../src/defense/13policy/rules/rule.ts'
import { command, effective, path, rule, ruleSet } from '../staged-effective.ts'

const HOME = '/home/agent'

function matches(argv: CommandMatch, change: Partial<EffectiveCommand>): boolean {
  return createMatcher(ruleSet(rule({ id: 'a.b', argv })), HOME).strictest(effective(change)) !== undefined
}

function matchesPattern(pattern: string, change: Partial<EffectiveCommand>): boolean {
  return createMatcher(ruleSet(rule({ id: 'a.b', pattern })), HOME).strictest(effective(change)) !== undefined
}

function decides(rules: readonly Rule[], commands: Effective): string | undefined {
  return createMatcher(ruleSet(...rules), HOME).strictest(commands)?.rule.id
}

t.test('a program goes by each of its names', async (t) => {
  const python = { argv: ['python3.11'], names: ['python3.11', 'python3', 'python'] }
  t.ok(matches({ program: ['python'] }, python))
  t.ok(matches({ program: ['perl', 'python3*'] }, python))
  t.notOk(matches({ program: ['perl'] }, python))
  t.notOk(matches({ program: ['r*'] }, { names: [] }), 'a program that is not known has none')
})

t.test('every field must hold', async (t) => {
  const argv: CommandMatch = {
    program: ['rm'],
    options: ['-r|-R|--recursive', '-f|--force'],
    operands: ['/'],
  }
  t.ok(matches(argv, { options: ['-rf', '-r', '-f'], operands: ['/'] }))
  t.notOk(matches(argv, { options: ['-r'], operands: ['/'] }))
  t.notOk(matches(argv, { options: ['-r', '-f'], operands: ['./'] }))
})

t.test('a long option fits its beginnings, an exempting one only as a whole', async (t) => {
  const argv: CommandMatch = { program: ['rm'], options: ['--recursive'] }
  for (const option of ['--recursive', '--recur', '--r']) t.ok(matches(argv, { options: [option] }), option)
  for (const option of ['--', '--recursively', '-recursive', '--x'])
    t.notOk(matches(argv, { options: [option] }), option)
  t.notOk(
    matches({ program: ['rm'], options: ['--force-with*'] }, { options: ['--force'] }),
    'with * it does not',
  )
  const exempt: CommandMatch = { program: ['rm'], not_options: ['-n|--dry-run'] }
  t.notOk(matches(exempt, { options: ['--dry-run'] }))
  t.notOk(matches(exempt, { options: ['-n'] }))
  t.ok(matches(exempt, { options: ['--d'] }))
})

t.test('an option beside those that are named is another one, by itself or in a cluster', async (t) => {
  const argv: CommandMatch = { program: ['rm'], other_options: ['-l|--list', '--get-*'] }
  for (const options of [['-x'], ['-l', '--set-x'], ['-lx', '-l', '-x']]) t.ok(matches(argv, { options }))
  for (const options of [[], ['-l'], ['--get-x', '--list'], ['-ll', '-l'], ['-list']])
    t.notOk(matches(argv, { options }))
})

t.test('values of options, subcommands and operands', async (t) => {
  const proxy: CommandMatch = { program: ['ssh'], option_values: ['-o=ProxyCommand*', '--to-command=*'] }
  const ssh = (option: string, value: string) => ({ names: ['ssh'], optionValues: [{ option, value }] })
  t.ok(matches(proxy, ssh('-o', 'ProxyCommand=sh')))
  t.ok(matches(proxy, ssh('--to-com', 'sh')))
  t.notOk(matches(proxy, ssh('-o', 'User=x')))
  t.notOk(matches(proxy, ssh('-i', 'ProxyCommand')))
  const remote: CommandMatch = { program: ['git'], subcommand: ['remote add', 'push'] }
  const git = (...operands: string[]) => ({ names: ['git'], operands })
  t.ok(matches(remote, git('remote', 'add', 'x')))
  t.ok(matches(remote, git('push')))
  t.notOk(matches(remote, git('remote')))
  t.notOk(matches(remote, git('log', 'push')))
  t.notOk(matches({ program: ['rm'], not_operands: ['a*'] }, { operands: ['b', 'ab'] }))
  const not: CommandMatch = { program: ['git'], not_subcommand: ['remote add', 'stat*'] }
  t.notOk(matches(not, git('remote', 'add', 'x')))
  t.notOk(matches(not, git('status')))
  t.ok(matches(not, git('remote')))
  t.ok(matches(not, git('push', 'status')), 'a word further behind exempts nothing')
  t.ok(matches(not, git()))
  t.ok(matches({ program: ['rm'], has_operands: false }, {}))
  t.notOk(matches({ program: ['rm'], has_operands: true }, {}))
})

t.test('paths by their use', async (t) => {
  const read = { paths: [path('/etc/passwd', 'read')] }
  const write = { paths: [path('/etc/passwd', 'write')] }
  t.ok(matches({ paths: ['/etc/**'] }, read))
  t.ok(matches({ reads: ['/etc/**'] }, read))
  t.notOk(matches({ writes: ['/etc/**'] }, read))
  t.ok(matches({ writes: ['/etc/**'] }, write))
  t.notOk(matches({ reads: ['/etc/**'], writes: ['/srv/**'] }, read))
  t.ok(matches({ paths: ['~/x'] }, { paths: [path('/home/agent/x')] }))
  t.ok(matches({ program: ['rm'], opaque_path: true }, { paths: [path('/a', 'write', { isOpaque: true })] }))
  t.notOk(matches({ program: ['rm'], opaque_path: true }, write))
})

t.test('an exempt path does not count, and does not exempt another one beside it', async (t) => {
  const argv: CommandMatch = { writes: ['/var/**'], not_paths: ['/var/tmp/**'] }
  t.notOk(matches(argv, { paths: [path('/var/tmp/x', 'write')] }))
  t.ok(matches(argv, { paths: [path('/var/tmp/x', 'write'), path('/var/lib/x', 'write')] }))
  t.notOk(matches(argv, { paths: [path('/var/tmp/x', 'write'), path('/var/lib/x', 'read')] }))
  const alone: CommandMatch = { program: ['rm'], not_paths: ['/srv/**'] }
  t.notOk(matches(alone, { paths: [path('/srv/x')] }))
  t.ok(matches(alone, { paths: [path('/srv/x'), path('/etc/x')] }))
  t.ok(matches(alone, { paths: [] }))
})

t.test('a * of a shell that stands for names with a dot is taken so', async (t) => {
  const matcher = createMatcher(ruleSet(rule({ id: 'a.b', argv: { reads: ['~/.ssh/**'] } })), HOME)
  const cat = { argv: ['cat', '*'], names: ['cat'], paths: [path('/home/agent/*', 'read')] }
  t.equal(matcher.strictest(effective(cat)), undefined)
  t.match(matcher.strictest(effective({ argv: ['shopt', '-s', 'dotglob'], names: ['shopt'] }, cat)), {
    commandIndex: 1,
  })
})

t.test('what is around a command', async (t) => {
  t.ok(matches({ assigns: ['LD_*'] }, { assignments: [{ name: 'LD_PRELOAD', value: undefined }] }))
  t.notOk(matches({ assigns: ['LD_*'] }, { assignments: [{ name: 'LANG', value: 'C' }] }))
  t.ok(matches({ piped_from: ['curl'], program: ['sh'] }, { names: ['sh'], pipedFrom: ['tee', 'curl'] }))
  t.ok(matches({ piped_to: ['sh'] }, { pipedTo: ['sh'] }))
  t.ok(matches({ via: ['sudo'] }, { via: ['sh -c', 'sudo'] }))
  t.ok(matches({ opaque: ['eval'] }, { opaque: ['expansion', 'eval'] }))
  t.ok(matches({ opaque: ['*'] }, { opaque: ['limit'] }))
  t.notOk(matches({ opaque: ['*'] }, {}))
  t.ok(matches({ program: ['rm'], terminal: true }, { terminal: true }))
  t.notOk(matches({ terminal: true }, {}))
})

t.test('a pattern is the line of program and arguments, by each name', async (t) => {
  const rm = { argv: ['/bin/rm', '-rf', '/'], names: ['rm'] }
  t.ok(matchesPattern('rm -rf *', rm))
  t.ok(matchesPattern('r*', rm))
  t.ok(matchesPattern('* -rf /', rm))
  t.notOk(matchesPattern('rm -rf', rm))
  t.notOk(matchesPattern('rm', rm))
  t.ok(matchesPattern('reboot', { argv: ['reboot'], names: ['reboot'] }))
  t.ok(matchesPattern('r*/', rm), 'a star may stand for the space too')
  t.ok(matchesPattern('* a', { argv: ['$X', 'a'], names: [] }))
  t.notOk(matchesPattern('$X a', { argv: ['$X', 'a'], names: [] }), 'a program that is not known has no name')
})

t.test(
  'the strictest wins: denials by severity, challenges, low, then allow; of equals the smaller id',
  async (t) => {
    const order = [
      rule({ id: 'z.critical', severity: 'critical' }),
      rule({ id: 'y.high', severity: 'high' }),
      rule({ id: 'x.medium', severity: 'medium' }),
      rule({ id: 'a.challenge', action: 'challenge', severity: 'medium' }),
      rule({ id: 'b.challenge', action: 'challenge', severity: 'critical' }),
      rule({ id: 'a.low', severity: 'low' }),
      rule({ id: 'b.low', action: 'challenge', severity: 'low' }),
      rule({ id: 'a.allow', action: 'allow', severity: 'critical' }),
    ]
    for (let from = 0; from < order.length; from++)
      t.equal(decides(order.slice(from).toReversed(), effective({})), order[from]?.id)
    const every = createMatcher(ruleSet(...order.toReversed()), HOME).everyMatch(effective({}))
    t.strictSame(
      every.map((match) => match.rule.id),
      order.map(({ id }) => id),
    )
    t.equal(decides(order, effective({ names: ['ls'] })), undefined)
  },
)

t.test('of several commands the one with the strictest rule is told, with its place', async (t) => {
  const rules = [rule({ id: 'a.low', severity: 'low', argv: { program: ['ls'] } }), rule({ id: 'b.high' })]
  const matcher = createMatcher(ruleSet(...rules), HOME)
  const commands = effective({ names: ['ls'] }, { names: ['rm'] }, { names: ['ls'] })
  t.match(matcher.strictest(commands), { rule: { id: 'b.high' }, commandIndex: 1 })
  t.strictSame(
    matcher.everyMatch(commands).map(({ rule: { id }, commandIndex }) => [id, commandIndex]),
    [
      ['b.high', 1],
      ['a.low', 0],
      ['a.low', 2],
    ],
  )
})

t.test('a match says what it is and keeps no examples', async (t) => {
  const matcher = createMatcher(ruleSet(rule({ id: 'a.b' })), HOME)
  t.strictSame(Object.keys(matcher.strictest(effective({}))?.rule ?? {}).sort(), [
    'action',
    'description',
    'id',
    'severity',
    'why',
  ])
  t.equal(matcher.count, 1)
})

const anyMatch: fc.Arbitrary<CommandMatch> = fc.record(
  {
    program: fc.subarray(['rm', 'ls', 'r*'], { minLength: 1 }),
    options: fc.subarray(['-r|-R', '-f', '--force'], { minLength: 1 }),
    operands: fc.subarray(['a', 'b*'], { minLength: 1 }),
    writes: fc.subarray(['/etc/**', '/a/*'], { minLength: 1 }),
    calls: fc.subarray(['os.system', 'exec*'], { minLength: 1 }),
    opaque: fc.subarray(['eval', '*'] as const, { minLength: 1 }),
    piped_to: fc.constant(['sh']),
  },
  { requiredKeys: [] },
)
const anyRules = fc.uniqueArray(
  fc.record({
    id: fc.stringMatching(/^[a-c]\.[a-d]$/),
    action: fc.constantFrom('deny', 'challenge', 'allow'),
    severity: fc.constantFrom('critical', 'high', 'medium', 'low'),
    argv: anyMatch,
  }),
  { selector: ({ id }) => id, maxLength: 8 },
)
const anyCommand = fc.record({
  names: fc.subarray(['rm', 'ls', 'rsync']),
  options: fc.subarray(['-r', '-f', '--for']),
  operands: fc.subarray(['a', 'bc', 'd']),
  paths: fc.subarray([path('/etc/x', 'write'), path('/a/?', 'write'), path('/etc', 'read')]),
  calls: fc.subarray(['os.system', 'execv']),
  opaque: fc.subarray(['eval', 'limit'] as const),
  pipedTo: fc.subarray(['sh']),
})

t.test('the order of rules never matters, and the decision is the first of all matches', async () => {
  fc.assert(
    fc.property(
      anyRules,
      fc.array(anyCommand, { maxLength: 3 }),
      fc.infiniteStream(fc.nat()),
      (given, changes, dice) => {
        const rules = given.map((fields) => rule(fields as Partial<Rule> & { id: string }))
        const commands = effective(...changes)
        const shuffled = rules
          .map((one) => ({ one, at: dice.next().value ?? 0 }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ one }) => one)
        const matcher = createMatcher(ruleSet(...rules), HOME)
        const other = createMatcher(ruleSet(...shuffled), HOME)
        const told = JSON.stringify(matcher.strictest(commands))
        return (
          told === JSON.stringify(other.strictest(commands)) &&
          told === JSON.stringify(matcher.everyMatch(commands)[0]) &&
          JSON.stringify(matcher.everyMatch(commands)) === JSON.stringify(other.everyMatch(commands))
        )
      },
    ),
    { numRuns: 500 },
  )
})

t.test('the index finds what a look at each rule alone finds', async () => {
  fc.assert(
    fc.property(anyRules, anyCommand, (given, change) => {
      const rules = given.map((fields) => rule(fields as Partial<Rule> & { id: string }))
      const commands = effective(change)
      const together = createMatcher(ruleSet(...rules), HOME).everyMatch(commands)
      const alone = rules.filter((one) => decides([one], commands) !== undefined)
      return (
        together.length === alone.length &&
        alone.every(({ id }) => together.some((match) => match.rule.id === id))
      )
    }),
    { numRuns: 500 },
  )
})

/** Characters that searches in strings go over while `work` runs. */
function charactersSearched(work: () => void): number {
  const { indexOf } = String.prototype
  let count = 0
  String.prototype.indexOf = function (piece: string, from = 0): number {
    const found: number = Reflect.apply(indexOf, this, [piece, from])
    count += (found === -1 ? this.length : found + piece.length) - from
    return found
  }
  try {
    work()
  } finally {
    String.prototype.indexOf = indexOf
  }
  return count
}

t.test(
  'the work for a thousand rules and an argument of 1 MB grows with the argument and no faster',
  async (t) => {
    const RULES = 1_000
    const hard = Array.from({ length: RULES }, (_, index) => {
      const operands = [index % 10 === 0 ? `*a*aa*aaab${index}*` : `*x${index}*`]
      return rule({ id: `a.r${index}`, argv: { program: ['rm'], operands } })
    })
    const matcher = createMatcher(ruleSet(...hard), HOME)
    const searched = (length: number): number => {
      const commands = effective(command({ operands: ['a'.repeat(length)] }))
      return charactersSearched(() => t.equal(matcher.strictest(commands), undefined))
    }
    const small = searched(2 ** 14)
    const large = searched(2 ** 20)
    t.ok(large <= small * 2 ** 6 * 1.1, `${small} and ${large} characters`)
    t.ok(large <= RULES * 2 ** 20, 'no rule goes over the argument more than once a pattern')
  },
)

t.test('rules of other programs cost nothing', async (t) => {
  const rules = Array.from({ length: 1_000 }, (_, index) =>
    rule({ id: `a.r${index}`, argv: { program: [`program${index}`], operands: ['*b*'] } }),
  )
  const matcher = createMatcher(ruleSet(...rules), HOME)
  const commands = effective({ names: ['rm'], operands: ['a'.repeat(1_000)] })
  t.equal(
    charactersSearched(() => matcher.strictest(commands)),
    0,
  )
})

t.test('a rule of several ways is told once, whichever of them fits', async (t) => {
  const either = rule({ id: 'a.b', argv: [{ program: ['rm'] }, { program: ['ls'], options: ['-l'] }] })
  const matcher = createMatcher(ruleSet(either), '/home/agent')
  const told = (change: Partial<EffectiveCommand>) =>
    matcher.everyMatch(effective(change)).map(({ rule: { id } }) => id)
  t.strictSame(told({ names: ['rm'] }), ['a.b'])
  t.strictSame(told({ names: ['ls'], options: ['-l'] }), ['a.b'])
  t.strictSame(told({ names: ['ls'] }), [])
  t.strictSame(told({ names: ['rm', 'ls'], options: ['-l'] }), ['a.b'])
  t.equal(matcher.count, 1)
})
