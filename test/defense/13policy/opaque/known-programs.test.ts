import t from 'tap'
import { createMatcher } from '../../../../src/defense/13policy/rules/matcher.ts'
import { readRules } from '../../../../src/defense/13policy/rules/rules-file.ts'
import { effectiveCommands } from '../../../../src/defense/13policy/unwrap.ts'
import { SHIPPED_RULES } from '../../../shipped-rules.ts'

const SURROUNDINGS = {
  cwd: '/srv/work',
  home: '/home/agent',
  resolved: undefined,
  terminal: false,
  stdin: false,
}

const SHIPPED = readRules(SHIPPED_RULES, 'default-rules.json')
if (!SHIPPED.ok) throw new Error('The rules that ship cannot be read.')
const { rules: RULES } = SHIPPED.rules
const MATCHER = createMatcher(SHIPPED.rules, '/home/agent')

/** The names of programs in `argv` that nothing is known of. */
function unknown(...argv: readonly string[]): readonly string[] {
  const { commands } = effectiveCommands(argv, SURROUNDINGS)
  return commands.filter((command) => !MATCHER.knows(command)).map(({ names }) => names[0] ?? '')
}

t.test('a program is known by a table, a version in its name, a question, or its container', (t) => {
  for (const argv of [
    ['ls', '/'],
    ['python3.11', 'x.py'],
    ['clang-format-15', '-i', 'x.c'],
    ['arm-none-eabi-objcopy', 'a', 'b'],
    ['plantctl', '--version'],
    ['docker', 'run', '--rm', 'image', 'plantctl', 'x'],
    ['pwsh', '-c', 'Get-ChildItem .'],
    ['sh', '-c', 'plantctl() { ls; }; plantctl'],
  ])
    t.strictSame(unknown(...argv), [], argv.join(' '))
  t.end()
})

t.test('whatever it is reached through and given, any other program is not', (t) => {
  for (const argv of [
    ['plantctl'],
    ['plantctl', 'stop', '--version'],
    ['sudo', 'env', 'A=b', 'plantctl', 'x'],
    ['sh', '-c', 'ls | xargs plantctl'],
    ['find', '.', '-exec', 'plantctl', '{}', ';'],
    ['/opt/plant/bin/plantctl'],
    // Anybody may have put it there.
    ['/tmp/ls', '-la'],
    ['aarch64-linux-gnu-gcc', 'x.c'],
  ])
    t.equal(unknown(...argv).length, 1, argv.join(' '))
  t.end()
})

const programsOf = ({ argv }: (typeof RULES)[number]) => (argv ?? []).flatMap(({ program }) => program ?? [])

t.test('no name is listed twice, and none that a rule refuses whatever it is given', (t) => {
  const names = RULES.filter(({ action }) => action === 'allow').flatMap(programsOf)
  t.ok(names.length > 3_000, 'there are many')
  t.strictSame(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
  const refused = new Set(
    RULES.filter(({ action }) => action !== 'allow').flatMap(({ argv }) =>
      (argv ?? []).flatMap((match) => (Object.keys(match).join() === 'program' ? (match.program ?? []) : [])),
    ),
  )
  t.ok(refused.size > 100, 'there are such rules')
  t.strictSame(
    names.filter((name) => refused.has(name)),
    [],
  )
  t.end()
})

t.test('a program that a rule allows is known, and none that another rule names', (t) => {
  const listed = (program: string, id: string, action: string) => ({
    ...{ id, action, severity: 'low', description: 'It is expected.', why: 'It is of this device.' },
    ...{ argv: { program: [program] }, examples: { match: [program.replace('*', 'x')], pass: ['ls'] } },
  })
  const rules = [
    listed('plantctl', 'plant.control', 'allow'),
    listed('valve*', 'plant.valves', 'deny'),
    listed('lamp*', 'plant.lamps', 'allow'),
    listed('pumpctl', 'plant.pumps', 'deny'),
  ]
  const read = readRules(JSON.stringify({ sets: {}, rules }), 'own')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  const matcher = createMatcher(read.rules, '/home/agent')
  const knows = (...argv: readonly string[]) =>
    effectiveCommands(argv, SURROUNDINGS).commands.every((command) => matcher.knows(command))
  t.ok(knows('plantctl', 'stop'))
  t.notOk(knows('valved', 'status'), 'a pattern of what is denied is about none of them')
  t.ok(knows('lampctl', 'off'), 'a pattern of what is allowed is about all of them')
  t.ok(knows('pumpctl', '--version'), 'a question is about any of them')
  for (const order of [[], ['list'], ['--status'], ['stop']])
    t.notOk(knows('pumpctl', ...order), order.join(' '))
  t.end()
})
