/**
 * Command lines as effective commands: names, options as sets, pipelines, assignments; and the bounds of the work.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import {
  COMMANDS_MAX,
  countEffective,
  DEPTH_MAX,
  effectiveCommands,
} from '../../../src/defense/13policy/unwrap.ts'
import { DECISION_BYTES, DECISION_STEPS } from '../../../src/limits.ts'
import { commandsOf, lineOf, opaqueOf, SURROUNDINGS, withoutMark } from './unwrap-staged.ts'

const first = (line: string | readonly string[], change = {}) => commandsOf(line, change)[0]

t.test('a program has the names that it is called by, that it resolves to, and of its family', (t) => {
  for (const [program, resolved, names] of [
    ['rm', undefined, ['rm']],
    ['/bin/rm', '/usr/bin/rm', ['rm']],
    ['./x', '/usr/bin/bash', ['bash', 'x']],
    ['rm', '/bin/busybox', ['rm', 'busybox']],
    ['python3.11', undefined, ['python3.11', 'python3', 'python']],
    ['python', '/usr/bin/python3.12', ['python3.12', 'python3', 'python']],
    ['vi', '/usr/bin/vim.basic', ['vim.basic', 'vim', 'vi']],
    ['mawk', undefined, ['mawk', 'awk']],
    ['nc.openbsd', undefined, ['nc.openbsd', 'nc']],
    ['mkfs.ext4', undefined, ['mkfs.ext4', 'mkfs']],
    ['lua5.4', undefined, ['lua5.4', 'lua5', 'lua']],
    ['nodejs', undefined, ['nodejs', 'node']],
    ['ld-linux-x86-64.so.2', undefined, ['ld-linux-x86-64.so.2', 'ld.so']],
    ['reboot', '/usr/bin/systemctl', ['systemctl', 'reboot']],
    ['curl', '/usr/bin/rm', ['rm', 'curl']],
  ] as const) {
    t.strictSame(first([program], { resolved })?.names, names, program)
  }
  t.end()
})

t.test('an applet that is called by its own name is judged as itself', (t) => {
  const lines = commandsOf(['rm', '-rf', '/etc'], { resolved: '/bin/busybox' })
  t.equal(lines.length, 1)
  t.strictSame(
    withoutMark(lines[0]?.paths ?? []).map(({ path, use }) => `${use} ${path}`),
    ['write /etc'],
  )
  t.strictSame(commandsOf(['sh', '-c', 'id'], { resolved: '/bin/busybox' }).map(lineOf), [
    'sh -c id',
    'sh -c: id',
  ])
  t.end()
})

t.test('a link to a program under the name of another is read as what runs', (t) => {
  const [line] = commandsOf(['./curl', '-rf', '/etc'], { resolved: '/usr/bin/rm' })
  t.same(line?.options.slice(0, 3).sort(), ['-f', '-r', '-rf'])
  t.strictSame(
    withoutMark(line?.paths ?? []).map(({ path, use }) => `${use} ${path}`),
    ['write /etc'],
  )
  t.end()
})

t.test('a link to a shell under another name is a shell', (t) => {
  t.strictSame(commandsOf(['./x', '-c', 'id'], { resolved: '/usr/bin/bash' }).map(lineOf), [
    './x -c id',
    'sh -c: id',
  ])
  t.end()
})

t.test('the path of a program is as written, or else as resolved', (t) => {
  t.equal(first(['/usr/../bin/rm'])?.path, '/bin/rm')
  t.equal(first(['./x'])?.path, '/srv/work/x')
  t.equal(first(['rm'], { resolved: '/usr/bin/rm' })?.path, '/usr/bin/rm')
  t.equal(first(['rm'])?.path, undefined)
  t.end()
})

const OPTIONS: readonly (readonly [string, readonly string[], readonly string[], readonly string[]])[] = [
  ['rm -rf x', ['-rf', '-r', '-f'], [], ['x']],
  ['rm -r -f x', ['-r', '-f'], [], ['x']],
  ['rm --recursive --force x', ['--recursive', '--force'], [], ['x']],
  ['rm x -rf', ['-rf', '-r', '-f'], [], ['x']],
  ['rm -- -rf', [], [], ['-rf']],
  ['curl -sSfo x u', ['-sSfo', '-s', '-S', '-f', '-o'], ['-o=x'], ['u']],
  ['curl -ox u', ['-ox', '-o'], ['-o=x'], ['u']],
  ['curl --output x u', ['--output'], ['--output=x'], ['u']],
  ['curl --output=x u', ['--output'], ['--output=x'], ['u']],
  ['find . -name x -delete', ['-name', '-delete'], ['-name=x'], ['.']],
  ['find . -exec rm -f {} \\; -print', ['-exec', '-print'], [], ['.']],
  ['dd if=a of=b', [], [], ['if=a', 'of=b']],
  ['openssl enc -d -in x', ['-d', '-in'], ['-in=x'], ['enc']],
  ['git push --force origin main', ['--force'], [], ['push', 'origin', 'main']],
  ['git -C d commit -am msg', ['-C', '-am', '-a', '-m'], ['-C=d', '-m=msg'], ['commit']],
  [
    'docker run --privileged -v /a:/b image rm -rf x',
    ['--privileged', '-v'],
    ['-v=/a:/b'],
    ['run', 'image', 'rm', '-rf', 'x'],
  ],
  ['docker rm -f x', ['-f'], ['-f=x'], ['rm']],
  ['kubectl apply -f x', ['-f'], ['-f=x'], ['apply']],
  ['kubectl delete pod --all', ['--all'], [], ['delete', 'pod']],
  ['sudo -u root rm -rf x', ['-u'], ['-u=root'], ['rm', '-rf', 'x']],
  ['tar -xzf a', ['-xzf', '-x', '-z', '-f'], ['-f=a'], []],
  ['tar xPf a', ['-x', '-P', '-f'], [], ['xPf', 'a']],
  ['chattr +i x', ['+i'], [], ['x']],
  ['python3 -m http.server 80', ['-m'], ['-m=http.server'], ['80']],
  ["python3 -Bc 'x' -y", ['-Bc', '-B', '-c'], ['-c=x'], ['-y']],
  ['kill -9 1', ['-9'], [], ['1']],
  ['ssh -p 22 h ls -l', ['-p'], ['-p=22'], ['h', 'ls', '-l']],
  ['unknown -abc --d=e -f g', ['-abc', '-a', '-b', '-c', '--d', '-f'], ['--d=e'], ['g']],
  ['java -jar x.jar', ['-jar'], ['-jar=x.jar'], []],
  ['ip -4 route flush all', ['-4'], [], ['route', 'flush', 'all']],
  ['iptables -F', ['-F'], [], []],
]

t.test('options are a set, with their values and operands apart', (t) => {
  for (const [line, options, values, operands] of OPTIONS) {
    const command = first(line)
    t.strictSame(command?.options, options, line)
    t.strictSame(
      command?.optionValues.map(({ option, value }) => `${option}=${value}`),
      values,
      line,
    )
    t.strictSame(command?.operands, operands, line)
  }
  t.end()
})

t.test('of a value with a gap the beginning is known, and what stands around the gap', (t) => {
  for (const line of ['psql -c "a $X b"', 'psql --command="a $X b"', 'psql -c"a $X b"']) {
    const psql = commandsOf(line).find(({ names }) => names[0] === 'psql')
    t.strictSame(
      psql?.optionValues.map(({ value }) => value),
      ['a ', 'a <unknown> b'],
      line,
    )
  }
  t.end()
})

t.test('a pipeline tells its commands who stands before and after them, nearest first', (t) => {
  const commands = commandsOf('curl u | tee x | sudo sh')
  const find = (name: string) => commands.find(({ names, via }) => names[0] === name && via.length > 0)
  t.strictSame(find('tee')?.pipedFrom, ['curl'])
  t.strictSame(find('tee')?.pipedTo, ['sudo', 'sh'])
  t.strictSame(find('sh')?.pipedFrom, ['tee', 'curl'])
  t.strictSame(find('curl')?.pipedTo, ['tee', 'sudo', 'sh'])
  t.end()
})

t.test('what is read from <( ) stands before the command that reads it', (t) => {
  const from = (line: string, name: string) =>
    commandsOf(line).find(({ names, via }) => names[0] === name && via.length > 0)?.pipedFrom
  t.strictSame(from('psql < <(curl u)', 'psql'), ['curl'])
  t.strictSame(from('a | psql < <(curl u | tee x) | b', 'b'), ['psql', 'tee', 'curl', 'a'])
  const both = commandsOf('a < <(rm -rf x) < <(b)')
  t.strictSame(
    both.filter(({ via }) => via.includes('$()')).map(({ names }) => names[0]),
    ['b', 'rm'],
  )
  t.end()
})

t.test('what is set for a command is passed on to what it wraps', (t) => {
  const assigned = (line: string, name: string) =>
    commandsOf(line)
      .find(({ names }) => names[0] === name)
      ?.assignments.map((entry) => `${entry.name}=${entry.value}`)
  t.strictSame(assigned('LD_PRELOAD=x env A=b ls', 'ls'), ['LD_PRELOAD=x', 'A=b'])
  t.strictSame(assigned('LD_PRELOAD=x env A=b ls', 'env'), ['LD_PRELOAD=x'])
  t.strictSame(assigned('sudo A=b ls', 'ls'), ['A=b'])
  t.strictSame(assigned('A=$X ls', 'ls'), ['A=undefined'])
  const set = (line: string) =>
    commandsOf(line).flatMap(({ assignments }) => assignments.map(({ stands }) => stands))
  t.strictSame(set('export A=b:$X'), ['b:<unknown>'])
  t.strictSame(new Set(set('env "A=b:$X" ls')), new Set(['b:<unknown>']))
  t.end()
})

t.test('a command runs where it is changed to', (t) => {
  t.equal(commandsOf('env -C /tmp ls')[1]?.cwd, '/tmp')
  t.equal(commandsOf('sudo -D sub ls')[1]?.cwd, '/srv/work/sub')
  t.equal(commandsOf('cd /etc && ls').find(({ names }) => names[0] === 'ls')?.cwd, '/etc')
  t.end()
})

t.test('an empty argv is no command that could run, and is answered', (t) => {
  t.equal(effectiveCommands([], SURROUNDINGS).commands.length, 1)
  t.strictSame(effectiveCommands([''], SURROUNDINGS).commands[0]?.argv, [''])
  t.end()
})

t.test('what lies too deep is said to', (t) => {
  const deep = [...Array.from({ length: DEPTH_MAX + 2 }, () => 'env'), 'rm', 'x']
  const commands = commandsOf(deep)
  t.equal(commands.length, DEPTH_MAX + 1)
  t.strictSame(commands.at(-1)?.opaque, ['limit'])
  const within = commandsOf([...Array.from({ length: DEPTH_MAX }, () => 'env'), 'rm', 'x'])
  t.strictSame(opaqueOf(within), [])
  t.strictSame(within.at(-1)?.names, ['rm'])
  t.end()
})

t.test('more commands than a rule set should judge are said to be there', (t) => {
  const many = commandsOf([
    'find',
    '.',
    ...Array.from({ length: COMMANDS_MAX + 9 }, () => ['-exec', 'id', ';']).flat(),
  ])
  t.equal(many.length, COMMANDS_MAX)
  t.ok(many.at(-1)?.opaque.includes('limit'))
  t.end()
})

/** Arguments of some length, each of a kind that would show work done again and again. */
const LONG: readonly (readonly [string, (length: number) => readonly string[]])[] = [
  ['a word', (length) => ['echo', 'x'.repeat(length)]],
  ['a cluster', (length) => ['rm', `-${'r'.repeat(length)}`]],
  ['words', (length) => ['rm', ...Array.from({ length: length / 4 }, () => 'a/b')]],
  ['commands of find', (length) => ['find', ...Array.from({ length: length / 6 }, () => '-exec')]],
  ['wrappers', (length) => Array.from({ length: length / 4 }, () => 'env')],
  ['assignments', (length) => ['sudo', ...Array.from({ length: length / 4 }, () => 'A=b'), 'rm']],
  ['files of git', (length) => ['git', 'rm', ...Array.from({ length: length / 4 }, () => 'a/b')]],
  ['a text for a shell', (length) => ['sh', '-c', 'x '.repeat(length / 2)]],
  ['a pipeline', (length) => ['sh', '-c', 'echo x | '.repeat(length / 9)]],
  ['open brackets', (length) => ['python3', '-c', '['.repeat(length)]],
  ['open calls', (length) => ['python3', '-c', 'os.system('.repeat(length / 10)]],
  ['joined strings', (length) => ['python3', '-c', "'a'+".repeat(length / 4)]],
  ['open templates', (length) => ['node', '-e', '`${'.repeat(length / 3)]],
  ['open patterns', (length) => ['node', '-e', '/['.repeat(length / 2)]],
  ['open quotes of perl', (length) => ['perl', '-e', 'q{'.repeat(length / 2)]],
  ['open quotes of lua', (length) => ['lua', '-e', '[='.repeat(length / 2)]],
  ['pipes of awk', (length) => ['awk', '"a" | getline '.repeat(length / 14)]],
  ['parts of sed', (length) => ['sed', 's/[/'.repeat(length / 4)]],
  ['brackets of Tcl', (length) => ['tclsh', '-c', '{['.repeat(length / 2)]],
  ['calls of make', (length) => ['make', `--eval=${'$(shell '.repeat(length / 8)}`]],
  ['lines of an editor', (length) => ['vim', '-c', `${'1,'.repeat(length / 2)}w`]],
  ['words of a database', (length) => ['psql', '-c', 'program '.repeat(length / 8)]],
]

t.test('what is long is paid for, or not read', (t) => {
  for (const [kind, make] of LONG)
    for (const characters of [60_000, 960_000]) {
      const { work, effective } = countEffective(make(characters), SURROUNDINGS)
      t.ok(work.steps <= DECISION_STEPS && work.bytes <= DECISION_BYTES, `${kind}: ${work.steps}`)
      t.ok(effective.commands.length <= COMMANDS_MAX, kind)
    }
  t.end()
})

t.test('what a decision cannot pay for is its own argv, and opaque', (t) => {
  const line = ['sh', '-c', `${'"$@"; '.repeat(200)}`, 'sh', 'rm', 'x'.repeat(100_000)]
  t.match(effectiveCommands(line, SURROUNDINGS, ['A=b']), {
    commands: [
      {
        names: ['sh'],
        argv: line,
        options: [],
        operands: [],
        opaque: ['limit'],
        cwd: '/srv/work',
        assignments: [{ name: 'A', value: 'b' }],
      },
    ],
  })
  t.equal(effectiveCommands(line, SURROUNDINGS).commands.length, 1)
  t.end()
})

const PIECES = [
  ...[
    'sh',
    '-c',
    'env',
    'sudo',
    'xargs',
    'find',
    '-exec',
    '{}',
    ';',
    '+',
    'rm',
    '-rf',
    '/',
    '~',
    '../x',
    'python3',
    '-e',
  ],
  ...[
    'git',
    'tar',
    '--',
    '-',
    '=',
    'A=b',
    '$x',
    '`',
    '"',
    "'",
    '\\',
    '|',
    '&',
    '(',
    ')',
    '<',
    '>',
    '\n',
    '\0',
    '%',
    '{',
  ],
  ...[
    'import os',
    'os.system(',
    "'rm'",
    'require(',
    'eval',
    'exec',
    'awk',
    'sed',
    's/a/b/e',
    'perl',
    'node',
    'docker',
    'run',
  ],
  ...[
    'ssh',
    'busybox',
    'eval',
    '.',
    '<<E',
    '\ud800',
    '*',
    'base64',
    '-d',
    'su',
    'expect',
    'spawn',
    '[',
    'vim',
    ':!',
    'make',
    'constructor',
    '__proto__',
  ],
]

t.test('what every object inherits is a word like any other, in whatever place', (t) => {
  const inherited = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf']
  const places = (program: string, word: string) => [
    [program, word],
    [program, '-x', word],
    [program, `--${word}`, word],
    [program, word, '-f', word],
    ['sh', '-c', `${program} ${word}`],
    [word, program],
  ]
  for (const program of [
    ...PIECES,
    'git',
    'awk',
    'sed',
    'busybox',
    'tar',
    'ssh',
    'systemctl',
    'apt',
    'docker',
  ])
    for (const word of inherited)
      for (const argv of places(program, word))
        t.ok(effectiveCommands(argv, SURROUNDINGS).commands.length > 0, argv.join(' '))
  t.end()
})

t.test('no argv makes it throw, and the outermost command is always there', (t) => {
  const word = fc.oneof(
    fc.constantFrom(...PIECES),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((parts) => parts.join(' ')),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((parts) => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 30 }),
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (argv) => {
      const { commands } = effectiveCommands(argv, SURROUNDINGS)
      const [outermost] = commands
      if (outermost === undefined || commands.length > COMMANDS_MAX) return false
      return (
        outermost.argv.length === argv.length &&
        commands.every(({ paths }) =>
          paths.every(({ path }) => path.startsWith('/') && !path.includes('/../')),
        )
      )
    }),
    { numRuns: 3_000 },
  )
  t.end()
})

t.test('the same command line gives the same commands', (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }), (argv) => {
      t.strictSame(effectiveCommands(argv, SURROUNDINGS), effectiveCommands(argv, SURROUNDINGS))
    }),
    { numRuns: 100 },
  )
  t.end()
})
