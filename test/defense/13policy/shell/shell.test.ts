/**
 * Shell texts to the commands that they start: what is found, what is not known, and where it stops.
 * @module
 */
import fc from 'fast-check'
import t from 'tap'
import { parseShell, type ShellCommand } from '../../../../src/defense/13policy/shell/shell.ts'
import { startWork, WorkSpent } from '../../../../src/defense/work.ts'
import { DECISION_STEPS } from '../../../../src/limits.ts'

const CONTEXT = { cwd: '/srv/work', home: '/home/u' }
const parse = (text: string, variables?: ReadonlyMap<string, string>) =>
  parseShell(text, variables === undefined ? CONTEXT : { ...CONTEXT, variables })

/** Words as `text`, with `*` for a glob and `?reason` for what is not known. */
const shown = ({ words }: ShellCommand) =>
  words.map(
    ({ text, isGlob, opaque }) => text + (isGlob ? '*' : '') + (opaque === undefined ? '' : `?${opaque}`),
  )
const commandsOf = (text: string, variables?: ReadonlyMap<string, string>) =>
  parse(text, variables)
    .commands.filter(({ words }) => words.length > 0)
    .map((command) => shown(command).join(' '))
const unique = (lines: readonly string[]) => [...new Set(lines)]

t.test('no spelling of a command hides it', (t) => {
  for (const text of [
    'rm -rf /',
    '\\rm -r"f" \'/\'',
    'r\'\'m -""rf /',
    "$'\\x72\\155' $'-\\u0072f' /",
    'r\\\nm -rf /',
    'X=rm; $X -rf /',
    'X=r Y=m; $X$Y -rf /',
    'a=(rm -rf /); ${a[@]}',
    'rm${IFS}-rf${IFS%??}/',
    'IFS=_; X=rm_-rf_/; $X',
    '$(echo rm) -rf /',
    'r$@m -rf /',
    'r$*m$1 -rf /',
    'f() { $1 -rf /; }; f rm',
    'f() { "$@"; }; f rm -rf /',
    'set -- rm -rf; "$@" /',
    '{rm,-rf,/}',
    '{ rm -rf /; }',
    '((rm -rf /))',
    'for c in rm; do $c -rf /; done',
    'for c in -rf; do for p in /; do rm $c $p; done; done',
    'case x in x) rm -rf /;; esac',
    'if true; then rm -rf /; fi',
    'while rm -rf /; do break; done',
    'time rm -rf /',
    '! rm -rf /',
    'coproc rm -rf /',
    '>x rm -rf /',
    'X=1 rm 2>&1 -rf /',
    'X=xrm; ${X#x} -rf /',
    'X=rxm; ${X/x} -rf /',
    'Y=rm; X=Y; ${!X} -rf /',
    'X=rm\nexport X\n$X -rf /',
    'exit; rm -rf /',
    '[[ a || rm -rf / ]]'.replace(' ]]', ' ]] '),
  ]) {
    const found = commandsOf(text).some((line) => line === 'rm -rf /' || line === 'rm -rf / ]]')
    t.ok(found, `${text} gives ${JSON.stringify(commandsOf(text))}`)
  }
  t.end()
})

t.test('the mere mention of a command is none', (t) => {
  for (const text of [
    'echo rm -rf /',
    'echo "$(echo rm -rf /)"',
    '# rm -rf /',
    'echo a # ; rm -rf /',
    "cat <<'E'\nrm -rf /\n$(rm -rf /)\nE",
    'echo \'; rm -rf /\' "; rm -rf /" \\; rm -rf /',
    'X="rm -rf /"; echo $X',
    'case rm in rm) echo;; esac',
    '[[ rm == rm ]]',
    'rm() { echo "$@"; }; rm -rf /',
  ]) {
    t.notOk(
      parse(text).commands.some(({ words: [program] }) => program?.text === 'rm'),
      text,
    )
  }
  t.end()
})

t.test('a command within a substitution is a command of its own, and the word is opaque', (t) => {
  const { commands } = parse('echo "a$(rm x | tee y)b" `z`')
  t.strictSame(commands.map(shown), [
    ['rm', 'x'],
    ['tee', 'y'],
    ['z'],
    ['echo', 'a?substitution', '?substitution'],
  ])
  t.strictSame(
    commands.map(({ isSubstitution }) => isSubstitution),
    [true, true, true, false],
  )
  t.strictSame(commandsOf('bash <(curl x)'), ['curl x', 'bash ?substitution'])
  t.strictSame(commandsOf('cat <<E\n$(rm x)\nE'), ['rm x', 'cat'])
  t.strictSame(commandsOf('echo $(( $(rm x) )) ${Y:-$(rm y)} ${a[$(rm z)]}'), [
    ...['rm x', 'rm y', 'rm z'],
    'echo ?expansion ?expansion ?expansion',
  ])
  t.strictSame(commandsOf("X='a[$(rm x)]'; echo $((X))")[0], 'rm x')
  t.strictSame(commandsOf("test -v 'a[$(rm x)]'")[0], 'rm x')
  t.strictSame(commandsOf('X=$(rm x) >$(rm y)'), ['rm y', 'rm x'])
  t.strictSame(commandsOf('echo ${ rm x; }'), ['rm x', 'echo ?substitution'])
  t.end()
})

t.test('of a word that is not known the beginning is', (t) => {
  t.strictSame(commandsOf('rm -rf /etc/$X/y'), ['rm -rf /etc/?expansion'])
  t.strictSame(commandsOf('$X -rf /'), ['?expansion -rf /'])
  t.strictSame(commandsOf('rm -rf ${X:-/} "a${X}b"'), ['rm -rf /?expansion a?expansion'])
  t.strictSame(commandsOf('D=/etc/$X; cat $D/y'), ['cat /etc/?expansion'])
  t.strictSame(commandsOf('read X; $X'), ['read X', '?expansion'])
  t.strictSame(commandsOf('X=a; eval Y; show $X'), ['eval Y', 'show ?expansion'])
  t.strictSame(commandsOf('X=a; if b; then X=c; fi; show $X'), ['b', 'show ?expansion'])
  t.strictSame(commandsOf('X=a; b && X=c; show $X'), ['b', 'show ?expansion'])
  t.strictSame(commandsOf('X=a; while b; do $X; X=c; done'), ['b', '?expansion'])
  t.strictSame(commandsOf('for i in *; do $X; X=c; done'), ['?expansion'])
  t.strictSame(commandsOf('X=rm; f() { local X=ls; }; f; $X'), ['local X=ls', 'rm'])
  t.strictSame(commandsOf('X=rm; for i in 1; do X=rm; break; X=ls; done; $X'), ['break', '?expansion'])
  t.strictSame(commandsOf('readonly X=a\nX=b\n$X'), ['readonly X=a', '?expansion'])
  t.strictSame(commandsOf('declare -l X; X=RM; $X').slice(1), ['?expansion'])
  t.strictSame(commandsOf('_=ls; echo rm; $_'), ['echo rm', '?expansion'])
  t.strictSame(commandsOf('X=RM; ${X,,} -rf /'), ['?expansion -rf /'])
  t.strictSame(commandsOf('X=a; printf -v X rm; $X').slice(1), ['?expansion'])
  t.strictSame(commandsOf('X=a; printf -vX rm; $X').slice(1), ['?expansion'])
  t.strictSame(commandsOf('$(cat <<< rm) -rf /'), ['cat', '?substitution -rf /'])
  t.strictSame(commandsOf("`printf '\\162m'` -rf /").slice(1), ['?substitution -rf /'])
  t.strictSame(commandsOf('$(echo -e "\\x72m") -rf /').slice(1), ['?substitution -rf /'])
  t.strictSame(commandsOf('set -- a b; rm "${@:2}"').slice(1), ['rm ?expansion'])
  t.strictSame(commandsOf('a[0]=rm; "${a[0]}"; b=(rm *); "${b[0]}"'), ['?expansion', '?expansion'])
  t.end()
})

t.test('globs stay in the text and are marked where they are not quoted', (t) => {
  t.strictSame(commandsOf('/bin/r? a* "b*" c\\* [d] [ -f x ] $X*'), [
    '/bin/r?* a** b* c* [d]* [ -f x ] ?expansion'.replace('?expansion', '*?expansion'),
  ])
  t.strictSame(commandsOf('X=\'*\'; rm $X "$X"'), ['rm ** *'])
  t.strictSame(commandsOf('for f in /etc/*; do rm "$f" $f/x; done'), ['rm /etc/** /etc/*/x*'])
  t.end()
})

t.test('home directories, the working directory and given variables are known', (t) => {
  t.strictSame(commandsOf('a ~ ~/x ~root/y ~bob "$HOME" $PWD ~nobody/'), [
    'a /home/u /home/u/x /root/y /home/bob /home/u /srv/work /home/nobody/',
  ])
  const given = new Map([
    ['0', 'sh'],
    ['1', 'rm'],
    ['2', 'a b'],
    ['@', 'rm a b'],
    ['Y', 'y'],
  ])
  t.strictSame(commandsOf('"$@" $2 $# $Y $3', given), ['rm a b a b 2 y'])
  t.strictSame(commandsOf('"$@"; $1', new Map()), ['?expansion', '?expansion'])
  t.end()
})

t.test('the working directory follows cd, and both are judged where cd may have failed', (t) => {
  const places = (text: string) =>
    parse(text).commands.map(({ words: [program], cwd }) => `${program?.text} ${cwd}`)
  t.strictSame(places('cd /x && ls'), ['cd /srv/work', 'ls /x'])
  t.strictSame(places('cd /x || exit 1; ls'), ['cd /srv/work', 'exit /srv/work', 'ls /x'])
  t.strictSame(places('cd ../y; ls'), ['cd /srv/work', 'ls /srv/y', 'ls /srv/work'])
  t.strictSame(places('(cd /x && ls); ls'), ['cd /srv/work', 'ls /x', 'ls /srv/work'])
  t.strictSame(places('cd $X && ls'), ['cd /srv/work', 'ls undefined'])
  t.strictSame(places('pushd /x && ls && popd && pwd'), [
    ...['pushd /srv/work', 'ls /x', 'popd /x', 'pwd /srv/work'],
  ])
  t.strictSame(places('cd && cd - && ls'), ['cd /srv/work', 'cd /home/u', 'ls /srv/work'])
  t.strictSame(places('CDPATH=/etc; cd x && ls').slice(-1), ['ls undefined'])
  t.strictSame(places('CDPATH=/etc; cd ./x && ls').slice(-1), ['ls /srv/work/x'])
  t.strictSame(places('HOME=/ cd && ls'), ['cd /srv/work', 'ls /home/u', 'ls undefined'])
  t.strictSame(places('. ./x; ls').slice(-1), ['ls /srv/work'])
  t.strictSame(places('eval "$X"; ls').slice(-1), ['ls undefined'])
  t.strictSame(places('cd */a && ls').slice(-1), ['ls /srv/work/*/a'])
  t.strictSame(places('cd x/$Y && ls').slice(-1), ['ls /srv/work/x/*'])
  t.end()
})

t.test('a pipeline has one number, and what is in it keeps its place', (t) => {
  const places = (text: string) =>
    parse(text).commands.map(
      ({ words: [program], pipeline, place }) => `${program?.text} ${pipeline}.${place}`,
    )
  t.strictSame(places('a | b |& c; d'), ['a 0.0', 'b 0.1', 'c 0.2', 'd 1.0'])
  t.strictSame(places('a | (b | c) | d'), ['a 0.0', 'b 0.1', 'c 0.2', 'd 0.3'])
  t.strictSame(places('a | while read x; do sh; done'), ['a 0.0', 'read 0.1', 'sh 0.1'])
  t.strictSame(places('a | tee >(sh)'), ['a 0.0', 'sh 0.2', 'tee 0.1'])
  t.strictSame(places('a | echo $(sh)'), ['a 0.0', 'sh 0.1', 'echo 0.1'])
  t.end()
})

t.test('redirections have their number, kind and target', (t) => {
  const redirects = (text: string) =>
    parse(text).commands.flatMap((command) =>
      command.redirects.map(({ fd, kind, target }) => `${fd} ${kind} ${target.text}`),
    )
  t.strictSame(redirects('a <b >c >>d >|e <>f 2>g &>h &>>i 3<&4 >&2 >&j 2>&- {k}>l'), [
    ...[
      '0 read b',
      '1 write c',
      '1 write d',
      '1 write e',
      '0 readwrite f',
      '2 write g',
      '1 write h',
      '1 write i',
    ],
    ...['3 dup 4', '1 dup 2', '1 write j', '2 dup -', '10 write l'],
  ])
  t.strictSame(redirects('sh <<E; sh <<< "rm $X"\na $HOME\nE'), ['0 text a /home/u\n', '0 text rm '])
  t.strictSame(redirects('{ sh; } <<E\nrm\nE'), ['0 text rm\n', '0 text rm\n'])
  t.strictSame(redirects('>x'), ['1 write x'])
  t.end()
})

t.test('assignments are reported with their values, before a command and alone', (t) => {
  const found = parse('LD_PRELOAD=/x A=$B cmd; C=~/d').commands
  t.strictSame(
    found.map(({ assignments }) => assignments.map(({ name, value }) => `${name}=${value.text}`)),
    [['LD_PRELOAD=/x', 'A='], ['C=/home/u/d']],
  )
  t.equal(parse('PATH=/x:~/y:~').commands[0]?.assignments[0]?.value.text, '/x:/home/u/y:/home/u')
  t.equal(found[0]?.assignments[1]?.value.opaque, 'expansion')
  t.end()
})

t.test(
  'functions run where they are called, and once with anything where nobody is seen to call them',
  (t) => {
    t.strictSame(commandsOf('f() { rm "$1"; }; f a; f b'), ['rm a', 'rm b'])
    t.strictSame(commandsOf('f() { rm "$1"; }'), ['rm ?expansion'])
    t.strictSame(unique(commandsOf('if a; then ls() { rm; }; fi; ls')), ['a', 'ls', 'rm'])
    t.strictSame(commandsOf('\\rm() { a; }; rm'), ['rm', 'a'])
    t.strictSame(commandsOf('/bin/rm() { a; }; /bin/rm'), ['/bin/rm', 'a'])
    t.strictSame(commandsOf('f() { rm $X; }; X=a; f; X=b'), ['rm a'])
    t.strictSame(parse(':(){ :|:& };:').opaque, ['limit'])
    t.strictSame(parse('f() { f; }; f').opaque, [])
    t.end()
  },
)

t.test('what gives names and values another meaning is not followed, and the text says so', (t) => {
  for (const text of [
    "alias x='rm -rf'\nx /",
    'alias x rm -rf\nx /',
    'command alias x=rm',
    'BASH_ALIASES[x]="rm -rf"\nx /',
    'aliases[x]=rm; galiases[x]=rm; x',
    'BASH_CMDS[x]=/bin/rm; x /',
    'hash -p /bin/rm x; x /',
    'X=a; declare -n Y=X; Y=b; $X',
    'typeset -gn Y=X',
    'X=a; command export X=b; $X',
    'X=a; builtin declare X=b; $X',
    "trap 'X=b' DEBUG",
    "trap -- 'rm $X' EXIT",
    'trap f EXIT',
    'f() { rm $X; }; eval f',
    "X=a; command eval 'rm $X'",
    'shopt -s cdable_vars; cd x',
  ])
    t.strictSame(parse(text).opaque, ['eval'], text)
  for (const text of [
    'alias',
    'alias -p',
    'unalias x',
    'trap',
    'trap -p',
    "trap '' HUP",
    'trap - INT TERM',
    "trap 'exit 1' INT TERM",
    'trap : TERM',
    'eval "rm $X"',
    'export X=b',
    'declare -x X=b',
    'hash -r',
    'shopt -s nullglob',
    'x=aliases',
  ])
    t.strictSame(parse(text).opaque, [], text)
  t.end()
})

t.test('a text that no shell would read says so, with what was found before', (t) => {
  for (const text of [
    'a; "',
    "a; '",
    'a; )',
    'a; (b',
    'a; if b',
    'a; $(',
    'a; `',
    'a; ${',
    'a && ',
    'a | ;',
    'a; }',
  ]) {
    const { commands, opaque } = parse(text)
    t.strictSame(opaque, ['syntax'], text)
    t.equal(commands[0]?.words[0]?.text, 'a', text)
  }
  t.strictSame(parse('').opaque, [])
  t.strictSame(parse('').commands, [])
  t.end()
})

t.test('beyond a limit nothing more is looked at, and that is said', (t) => {
  for (const [name, text] of [
    ['depth', `${'('.repeat(40)}a${')'.repeat(40)}`],
    ['depth of substitutions', `${'$('.repeat(40)}a${')'.repeat(40)}`],
    ['depth of parameters', `echo ${'${a:-'.repeat(5_000)}`],
    ['commands', 'a;'.repeat(600)],
    ['commands of loops', `${'for i in 1 2 3 4 5 6 7 8 9; do '.repeat(5)}a${'; done'.repeat(5)}`],
    ['braces', 'echo {1..999}'],
    ['braces multiplied', 'echo {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'],
    ['braces within braces', `echo ${'{a,'.repeat(3_000)}${'}'.repeat(3_000)}`],
  ] as const) {
    const { opaque, commands } = parse(text)
    t.strictSame(opaque, ['limit'], name)
    t.ok(commands.length <= 512)
  }
  for (const [name, text] of [
    ['values that double', `X=aaaaaaaa;${'X=$X$X;'.repeat(60)}`],
    ['text', `#${'a'.repeat(1_048_576)}`],
  ] as const)
    t.throws(() => parse(text), WorkSpent, name)
  t.end()
})

t.test('a text costs what it is paid for: a few steps a character, or it is not read to its end', (t) => {
  for (const [unit, start, end] of [
    ['a', '', ''],
    ['a ', '', ''],
    [' "a"', 'x', ''],
    [' ${X%?}', 'X=abc; x', ''],
    ['{', 'x ', ''],
    ['{a', 'x ', ''],
    ['[', 'X=a; x ${X#', '}'],
    ['$((', 'x ', ''],
    ['((', '', ''],
    ['`', 'x ', ''],
    ["'", 'x ', ''],
    ['#\n', '', ''],
    ['\\\n', 'x', ''],
    [' <<E', 'x', '\nE\n'],
    [' $(( 1 ) )', 'x', ''],
    ['[[ a ]];', '', ''],
    [' a=b', 'x', ''],
    ['\\`', 'x `', '`'],
    [' ', 'IFS=; X="', '"; $X $X'],
  ] as const) {
    for (const characters of [1_024, 65_536]) {
      const text =
        start + unit.repeat(Math.floor((characters - start.length - end.length) / unit.length)) + end
      const work = startWork()
      try {
        parseShell(text, CONTEXT, work)
      } catch (cause) {
        t.ok(cause instanceof WorkSpent, String(cause))
      }
      const name = `${work.steps} steps for ${characters} of ${JSON.stringify(unit)}`
      t.ok(work.steps <= Math.min(DECISION_STEPS, 150 * characters), name)
    }
  }
  t.end()
})

const FRAGMENTS = [
  ...[
    'rm',
    'X=',
    '$X',
    '${X',
    '}',
    '{',
    '(',
    ')',
    '((',
    '))',
    '$(',
    '$((',
    '`',
    '"',
    "'",
    "$'",
    '\\',
    '\n',
    ' ',
  ],
  ...[
    ';',
    ';;',
    '&',
    '&&',
    '|',
    '||',
    '<',
    '>',
    '<<E',
    '<<-E',
    '<<<',
    '\nE\n',
    '<(',
    '>&',
    '&>',
    '2>',
    '{a,b}',
    '{1..3}',
  ],
  ...[
    'if ',
    'then ',
    'else ',
    'elif ',
    'fi ',
    'for ',
    'in ',
    'do ',
    'done ',
    'while ',
    'until ',
    'case ',
    'esac ',
  ],
  ...[
    'select ',
    'function ',
    'f() ',
    'f ',
    'coproc ',
    'time ',
    '! ',
    '[[ ',
    ' ]]',
    '=~',
    '==',
    '*',
    '?',
    '[',
    ']',
    '~',
    '#',
  ],
  ...[
    ':-',
    ':=',
    '%',
    '##',
    '/',
    '//',
    '@',
    '!',
    '$@',
    '"$@"',
    '$*',
    '$#',
    '$1',
    'a=(',
    'a[0]=',
    '+=',
    '${a[@]}',
    '${!X}',
  ],
  ...[
    'cd /x',
    'set -- ',
    'shift',
    'eval ',
    'export ',
    'local ',
    'alias x=',
    'trap ',
    'read X',
    'break',
    'return',
    'exit',
  ],
  ...['echo ', 'printf ', '%s', '\\x', '\\0', 'é', '\u{1f600}', '\0', '\r', '9'],
]

t.test('whatever the text: it ends, throws nothing, and gives the same again', (t) => {
  const text = fc.oneof(
    fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 40 }).map((pieces) => pieces.join('')),
    fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 25 }).map((pieces) => pieces.join(' ')),
    fc.string({ unit: 'grapheme', maxLength: 60 }),
  )
  fc.assert(
    fc.property(text, (text) => {
      const first = parse(text)
      t.ok(first.commands.length <= 512)
      t.strictSame(parse(text), first)
    }),
    { numRuns: 1_500 },
  )
  t.end()
})
