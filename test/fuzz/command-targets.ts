/**
 * What is fuzzed of the judgement of commands: shell text, command lines with the rules that match them, and files of
 * rules, each with what must hold whatever it is given.
 * @module
 */
import type { Effective } from '../../src/defense/13policy/effective.ts'
import { readRules } from '../../src/defense/13policy/rules/rules-file.ts'
import { SHELL_COMMANDS } from '../../src/defense/13policy/shell/scan.ts'
import { parseShell } from '../../src/defense/13policy/shell/shell.ts'
import { COMMANDS_MAX, effectiveCommands } from '../../src/defense/13policy/unwrap.ts'
import { compileRules, HOME, RULES, ruleText } from '../defense/staged-facts.ts'
import type { FuzzTarget } from './engine.ts'
import { latin, must, text } from './inputs.ts'

const SURROUNDINGS = { cwd: '/srv/work', home: HOME, resolved: undefined, terminal: false, stdin: false }
const SHELL_SEEDS = [
  'cd /; rm -rf *',
  'a=rm; $a -rf "$HOME"/x && echo `id` || { sudo sh -c \'reboot\'; }',
  'for f in a b; do cat <<E | sh\nrm $f\nE\ndone',
  'f() { case $1 in a*) eval "$1";; *) return;; esac; }; f ls',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a shell's.
  'exec 3<>/dev/tcp/10.0.0.1/80; while read -r x; do echo ${x##*/} $((1 + 2)); done <&3',
  'trap "rm x" EXIT; alias l=rm; set -- {a,b}{1..3}; l ~/"$@" >&2 2>>log',
]
const SHELL_PIECES = [
  ...['$(', ')', '`', '"', "'", '\\', '\n', ';', '&&', '||', '|', '&', '{', '}', '((', '))', '<<', "<<'E'\n"],
  ...['E\n', '${', '${x:-', '${x//a/', '$((', 'if ', 'then ', 'fi', 'for x in ', 'do ', 'done', 'case x in '],
  ...[
    'esac',
    'f() ',
    'eval ',
    'cd ',
    'rm ',
    "$'\\x72'",
    '>',
    '<(',
    'x=',
    'unset x;',
    'shift;',
    '{1..9}',
    '*',
  ],
]

const shell: FuzzTarget = {
  name: 'shell',
  seeds: SHELL_SEEDS.map(text),
  pieces: SHELL_PIECES.map(text),
  run(input) {
    const line = latin(input)
    const context = { cwd: '/srv/work', home: HOME }
    const script = parseShell(line, context)
    must(script.commands.length <= SHELL_COMMANDS, 'more commands than are looked at')
    must(
      JSON.stringify(parseShell(line, context)) === JSON.stringify(script),
      'the same text gives something else',
    )
    return `${Math.min(script.commands.length, 9)} ${[...script.opaque].sort().join()}`
  },
}

const matcher = compileRules([...RULES, ruleText('deny', 'critical', 'rm')].map(distinct))

function distinct(rule: object, index: number): object {
  return { ...rule, id: `fuzz.rule-${index}` }
}

function mustBeEffective({ commands }: Effective, argv: readonly string[]): void {
  const [outermost] = commands
  must(outermost !== undefined, 'the command itself is missing')
  must(outermost?.argv.length === argv.length, 'the command itself is another one')
  must(commands.length <= COMMANDS_MAX, 'more commands than are judged')
  for (const { paths } of commands) {
    for (const { path } of paths)
      must(path.startsWith('/') && !path.includes('/../'), `a path that is none: ${path}`)
  }
}

const argvPieces = [
  ...[
    '\0',
    'env\0',
    'sh\0-c\0',
    'sudo\0',
    'xargs\0',
    'find\0.\0-exec\0',
    'timeout\x005\0',
    'rm\0-rf\0',
    '--\0',
  ],
  ...[
    'python3\0-c\0',
    'awk\0',
    'git\0-c\0',
    'busybox\0',
    'ssh\0h\0',
    'tar\0--to-command=',
    '-o',
    '=',
    '/',
    '..',
  ],
  ...[
    'vim\0-c\0',
    '\\;',
    '{}',
    "os.system('",
    "')",
    'BEGIN{system("',
    '")}',
    '$(',
    ')',
    '*',
    '~/',
    'LD_PRELOAD=x\0',
  ],
]

const effective: FuzzTarget = {
  name: 'effective',
  seeds: [
    ...['ls\0-l', 'env\0A=b\0sh\0-c\0cd /; rm -rf *', 'find\0.\0-name\0x\0-exec\0rm\0-rf\0{}\0+'],
    ...[
      "python3\0-c\0import os; os.system('rm -rf /')",
      'xargs\0-0\0sh\0-c\0rm "$@"',
      'awk\0BEGIN{system("id")}',
    ],
    ...[
      'git\0-c\0core.pager=rm x\0log',
      'tar\0xf\0a.tar\0--to-command=sh',
      'sudo\0-u\0root\0timeout\x005\0dd\0of=/x',
    ],
  ].map(text),
  pieces: argvPieces.map(text),
  run(input, random) {
    const argv = latin(input).split('\0')
    const surroundings = {
      ...SURROUNDINGS,
      resolved: random.below(2) === 0 ? undefined : '/usr/bin/busybox',
      terminal: random.below(2) === 0,
      stdin: random.below(2) === 0,
    }
    const taken = effectiveCommands(argv, surroundings)
    mustBeEffective(taken, argv)
    const strictest = matcher.strictest(taken)
    const [first] = matcher.everyMatch(taken)
    must(strictest?.rule.id === first?.rule.id, 'the strictest is not the first of all matches')
    const opaque = new Set(taken.commands.flatMap((command) => command.opaque))
    return `${Math.min(taken.commands.length, 9)} ${strictest?.rule.severity ?? ''} ${[...opaque].sort().join()}`
  },
}

const RULES_SEEDS = [
  { rules: [ruleText('deny', 'high')] },
  {
    sets: { recursive: ['-r', '-R'] },
    rules: [
      {
        ...ruleText('challenge', 'low'),
        argv: {
          program: ['rm'],
          options: ['@recursive', '-f|--force'],
          not_options: ['-i'],
          writes: ['/srv/**', '~/.ssh'],
          opaque: ['*'],
          opaque_path: true,
          via: ['sh -c'],
        },
      },
    ],
  },
  { rules: [{ ...ruleText('allow', 'medium'), argv: undefined, pattern: 'rm -rf *' }] },
]

const rulesFile: FuzzTarget = {
  name: 'rules-file',
  seeds: RULES_SEEDS.map((value) => text(JSON.stringify(value))),
  pieces: [
    '"argv":{',
    '"paths":["/**"]',
    '"@recursive"',
    '"*"',
    '"pattern":"*"',
    'true',
    '[]',
    '"sets":{',
  ].map(text),
  run(input) {
    const read = readRules(latin(input), 'fuzz.json')
    if (read.ok) {
      must(
        read.rules.rules.every(({ id }) => id.includes('.')),
        'a rule without a name',
      )
      return `${Math.min(read.rules.rules.length, 9)} rules`
    }
    must(read.problems.length > 0, 'a refusal without a problem')
    must(
      read.problems.every(({ problem, hint }) => problem !== '' && hint !== ''),
      'a problem without words',
    )
    return (read.problems[0]?.problem ?? '').replace(/[^a-z ]+\S*/gi, '').slice(0, 40)
  },
}

export const COMMAND_TARGETS: readonly FuzzTarget[] = Object.freeze([shell, effective, rulesFile])
