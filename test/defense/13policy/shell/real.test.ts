/**
 * The analysis of shell texts against the shells of this machine: what they really start, word by word.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseShell, type ShellWord } from '../../../../src/defense/13policy/shell/shell.ts'

/** Started in place of programs; writes down its name and arguments. */
const RECORDER = `#!/bin/sh
r=\${0##*/}
for a; do r="$r\u001f$a"; done
printf '%s\u001e' "$r" >> "$RECORD"
`
const NAMES = ['erase', 'show', 'one', 'two', 'three', 'pass']

/** Read alike by every shell. */
const COMMON = [
  'erase -rf x',
  `e'ra's"e" -r"f" 'x y'`,
  '\\erase \\-rf \\x',
  'er\\\nase -r\\\nf x',
  'X=erase; $X -rf x',
  'X=er; Y=ase; $X$Y x',
  'X="erase -rf x"; $X',
  'X="erase -rf x"; show "$X"',
  'X=erase\nexport Y=$X\n$Y x',
  'X=one; X=two $X show; one "$X"',
  'erase${IFS}-rf${IFS}x',
  'erase$IFS-rf',
  'IFS=,; X=erase,-rf,x; $X',
  'IFS=,; X=show,,x,; $X',
  'X=" show  a "; $X b',
  '$(echo erase) -rf x',
  '`echo erase` -rf x',
  '$(printf erase) -rf x',
  `$(printf '%s%s' er ase) x`,
  'echo `echo \\`one\\``',
  'show $(echo "a  b") "$(echo "a  b")"',
  'one; two & three\nwait',
  'one | two | three',
  '! one; { two; }; (three)',
  'for i in a b "c d"; do show $i "$i"; done',
  'for i in a b; do for j in 1 2; do show $i$j; done; done',
  'f() { erase "$@"; }; f -rf x; f "a b"',
  'f() { show $1 $#; shift; show "$*"; }; f a b c',
  'f() { local X=a; show $X; }; X=b; f; show $X',
  'set -- erase -rf x; "$@"',
  'set -- a "b c"; show "$@"; show $*; show "$*"; show "x$@y"',
  'unset X; show ${X:-a b} "${X:-a b}" ${X-"c d"} end',
  'X=a; show ${X:-b} ${X:+c} ${#X} ${X+d}',
  'unset X; show ${X:+c} ${X:=d} $X',
  'X=a.b.c; show ${X%.*} ${X%%.*} ${X#*.} ${X##*.}',
  `X='a*b'; show "\${X%'*'b}" "\${X%\\**}" "\${X%[*]b}"`,
  'X=/a/b; show ${X%/*} ${X##*/}',
  'show $((1+2*3)) "$(( (4) - 1 ))"',
  'X=2; show $((X+1)) $(($X*2))',
  'cat 2>/dev/null <<E\nx $X\nE\nshow a',
  'show <<E >/dev/null 2>&1 a\nE\none',
  'one <<-E; two\n\tx\n\tE\nthree',
  "one <<'E' && two\n$(erase)\nE\nthree",
  'one <<A; two <<B\n1\nA\n2\nB\nthree',
  'show # comment; erase\none #x',
  'show a#b "#c" \\#d #e',
  'show "a\\"b\\$c\\d" \'a\\b\' "`echo x`"',
  '>out show a; 2>&1 show b; show c >out d',
  'X=; show "" \'\' $X "$X"',
  'show ~ ~/x "~" x~ "$HOME"/y',
  'X=~/a; show $X "$X"',
  'X=a; (X=b; show $X); show $X',
  'X=a; { X=b; show $X; }; show $X',
  'while one; do two; break; done; three',
  'X=1; while one; do X=2; break; done; three',
  'show "$(echo ")")" "$( (echo y) )" 1>&2',
  'show a;:; show b;',
  'command show a; exec show b',
  '"show" a; sho"w" b; \'sho\'w c',
  'X=show; Y=$X; Z="$Y"; ${Z} ok',
  'readonly X=erase; $X y',
  'X=1 Y=2 show z',
  'show {a b} {a,b',
  'show a\tb   c',
  'f() (show sub); f',
  'f() { one; } >out; f; two',
  '(one; (two)); { { three; }; }',
  'eval "X=1"; show done',
  'show "a\\\nb" a\\\nb \'a\\\nb\'',
  'X=$(echo a b); show $X "$X"',
  'X="a   b"; Y=$X; show "$Y" $Y',
  'X=; show "${X:-"a  b"}" ; unset X; show "${X:-"a  b"}"',
  "unset X; show \"${X:-'q'}\" ${X:-'r  s'}",
]

/** What bash adds. */
const BASH = [
  "$'era\\x73e' $'-r\\146' $'\\u0061\\n'",
  'show {a,b}{1,2} {1..3} x{y,}z {a,b{c,d}}',
  'show {a..e..2} {01..03} {3..1} {,} "{a,b}"',
  'X=erase; show ${X:0:2} ${X:2} ${X: -2} ${X:1:-1}',
  'X=aXbXc; show ${X/X/-} ${X//X/-} ${X/#a/z} ${X/%c/z} ${X//X}',
  'X=erase; Y=X; ${!Y} x',
  'a=(erase -rf "x y"); "${a[@]}"; show ${#a[@]} ${a[1]} "${a[*]}"',
  'X=er; X+=ase; $X y',
  'cat <<< "x"; show y <<< z',
  'one |& two',
  'one &> out; two &>> out',
  'function f { show "$@"; }; f a; function g() { one; }; g',
  '[[ a == a && b != c ]] && one',
  '[[ ab =~ ^(a|b)+$ ]]; [[ a == @(a|b) ]]; two',
  '((1 + 1)) && one; for ((i=0;i<1;i++)); do two; done',
  'show <(one) | two >(three); sleep 0.1',
  'time one; ! time three',
  'declare X=erase; $X y; typeset -r Z=show; $Z',
  'show $"hello" a$"b"',
  'echo x {fd}>out; show {fd}>out y',
  'coproc one; two; wait',
]

/** More is found than runs: other branches, other directories. */
const PARTLY = [
  'one && two || three x',
  'if one; then two; else three; fi',
  'if one\nthen two\nelif three; then erase; fi',
  'case x in a) one;; esac; two',
  'f() { return; one; }; f; two',
  'until pass; do two; done; three',
  'cd / && show a; cd /nowhere-at-all || one; show b',
  'true && one; false && erase; false || two',
  'case b in a) erase;; b) show b;; esac',
  'if false; then erase; else one; fi',
  'X=one; if false; then X=erase; fi; show',
  'for i in 1 2 3; do [ $i = 2 ] && break; show $i; done',
  'f() { show x; }; false && f; one',
  'three; time -p two',
  'three\n((one a)) 2>/dev/null',
  'three\n[[ a || two b ]] 2>/dev/null',
  'one; exit 0; erase',
  'one() { two; }; one; command one x',
]

/** Not followed: what is not found is said not to be known, as the text or the word where it stands. */
const UNKNOWN = [
  `$(printf '\\145rase') x`,
  '$(echo $(echo erase)) x',
  'show "$(echo a; echo b)" `echo c d`',
  'show $(\n:\necho x 2>/dev/null\n) # y',
  'show $(cat <<E\nE\n) x',
  'alias q=one; two',
  'alias q="show -a"\nq b\none',
  'alias one=two\none',
  'command alias one=two\none',
  'X="one=two"; alias $X\none',
  "X=a; trap 'show $X' EXIT; X=b",
  "X=a; trap 'X=b' USR1; kill -USR1 $$; show $X",
  "trap 'cd /' USR1; kill -USR1 $$; show $PWD",
  'f() { show "$X"; }; trap f EXIT; X=a; f; X=b',
  'f() { show "$X"; }; X=a; f; X=b; eval f; X=c',
  'f() { show "$X"; }; X=a; f; X=b; command eval f; X=c',
  "X=a; command eval 'show $X'",
  "HOME=/a; command eval 'show ~/x'",
  'X=a; command export X=b; show $X',
  'X=a; command readonly X=b; show $X',
  'X=a; read X <<E\nb\nE\nshow $X',
  'X=a; command read X <<E\nb\nE\nshow $X',
  'f() { X=b; }; X=a; f; show $X; eval f; show $X',
  'X=a; eval "X=b"; show $X',
  "X=a; Y='X=b'; eval $Y; show $X",
  'X=a; command unset X; show x$X',
  'set -- a b; command shift; show $1',
  'set -- a b; command set -- c; show $1',
  'X=a; export X; Y=X=b; export $Y; show $X',
  'CDPATH=/usr; cd bin >/dev/null && show $PWD',
  'X=a; getopts b X -b; show $X',
  'X=a; : $((X = 2)); show $X',
  'X=a; : ${X:+b} ${Y:=$X}; show $Y',
  'IFS=:; X=a:b; show $X; unset IFS; show $X',
  'X=a; while one; do X=b; break; done; show $X',
  'one() { show $1; }; PATH=$PATH command one; one a',
  'X=a; X=b . /dev/null; show $X',
  'X=a; X=b :; show $X; X=c eval ":"; show $X',
  'X=a; f() { :; }; X=b f; show x$X',
  'umask 022; X=`umask`; show $X',
  'X=$-; show "$X"; show "$?" "$!"; show $$',
  'for X in a b; do :; done; show $X',
  'case a in a) X=b;; esac; show $X',
  'show ${X=a} $X; (exit 3) || show $?',
  'X=a; (X=b); show $X; { X=c; }; show $X; X=d | :; show $X',
  'set a; show $1; set -x b; show $1; set +x; show $1',
  'X=one; unset X; $X two',
  'PWD=/a; show $PWD; cd /; show $PWD $OLDPWD',
  'readonly X=a; show $X; X=b show $X; show $X',
  'OLDPWD=/; cd - >/dev/null; show $PWD',
]

/** What bash adds. */
const UNKNOWN_OF_BASH = [
  'a=(show); a+=(b c); "${a[@]}"; "${a[@]:0:2}"',
  'set -- a b c; show "${@:2}" "${@:1:1}"',
  '$(echo -e "\\x65rase") y',
  'a[0]=show; a[1]=q; "${a[@]}"',
  'X=ERASE; ${X,,} a; show ${X,} ; X=ab; show ${X^} ${X^^}',
  'printf -v X erase; $X y',
  'X=a; printf -v "X" %s b; show $X',
  'X=a; builtin printf -v X b; show $X',
  'X=a; printf -vX b; show $X',
  'read X <<< erase; $X',
  'X=a; declare -n Y=X; Y=b; show $X',
  'X=a; typeset -n Y=X; Y=b; show $X',
  'f() { local -n Y=$1; Y=b; }; X=a; f X; show $X',
  'X=a; declare -n Y; Y=X; Y=b; show $X',
  'X=a; builtin declare X=b; show $X',
  'X=a; command declare X=b; show $X',
  'X=a; command declare -n Y=X; Y=b; show $X',
  'X=A; declare -l X; X=B; show $X',
  'X=a; declare -u X=b; show $X',
  'declare -i X=1+1; show $X; X=2+2; show $X',
  'shopt -s expand_aliases\nBASH_ALIASES[one]=two\none',
  'BASH_CMDS[nothing]=$(command -v two); nothing',
  'shopt -s expand_aliases; alias one=two\none',
  'pushd / >/dev/null; show ~+0 ~+1 ~-0',
  'DIRSTACK[0]=/; show $PWD ~+0; pushd /usr >/dev/null; DIRSTACK[1]=/; popd >/dev/null; show $PWD',
  'shopt -s cdable_vars; there=/usr; cd there >/dev/null && show $PWD',
  'shopt -s autocd; /usr >/dev/null 2>&1; show $PWD',
  'a=(/*bin a); show "${a[-1]}" "${a[0]}"',
  'a=(one "$RANDOM"); "${a[0]}" x',
  'a[3]=one; a[1]=two; "${a[@]}"',
  'a=([1]=one [0]=two); "${a[@]}"',
  'declare -A a=([x]=one); "${a[x]}"; a[y]=two; show "${!a[@]}"',
  'a=(one two); unset "a[0]"; "${a[@]}"',
  'a=(one); a[0]=two; ${a[@]}',
  'a=(one); a=two; ${a[@]}',
  'a=(one); read -a a <<< two; ${a[@]}',
  'a=(one); mapfile -t a <<< two; ${a[@]}',
  'a=(one two); X=a[1]; "${!X}"',
  "X='$(one)'; show ${X@P}",
  'X=a; show "${X@U}" "${X@Q}" "${X@A}"',
  "X='a b'; show ${X@Q}",
  'X=one; Y=${!X*}; show "$Y"',
  'let X=1+1; show $X; ((X = 5)); show $X; ((X++)); show $X',
  'for ((X = 0; X < 2; X++)); do show $X; done',
  'X=a; coproc { X=b; }; wait; show $X',
  'X=a; f() { local X; X=b; g; }; g() { show $X; }; f; g',
  'f() { unset X; X=b; }; g() { local X=a; f; show $X; }; X=c; g; show $X',
  'f() { declare -g X=b; }; X=a; f; show $X',
  'f() { local X=a; declare -g X=b; show $X; }; f; show $X',
  'f() { show $FUNCNAME; }; f; show $LINENO',
  "trap 'X=b' DEBUG; X=a; show $X",
  "f() { :; }; X=a; trap 'X=b' RETURN; f; show $X",
  "set -e; trap 'show $X' ERR; X=a; false; X=b",
  'shopt -s lastpipe; X=a; echo b | read X; show $X',
  'X=a; mapfile -C "X=b;:" -c 1 Y <<< z; show $X',
  'PROMPT_COMMAND="one"; two',
  'command_not_found_handle() { one "$@"; }; nothing-there a',
  'exec {X}>/dev/null; show $X',
  'wait -p X -n; show x$X',
  'unset -f one; unset -n X; one',
  'hash -p "$(command -v two)" nothing-there; nothing-there',
  'set -o posix; X=a; X=b :; show $X',
  'X=a; select X in b; do break; done <<< 1 2>/dev/null; show $X',
  '[[ a =~ (.) ]]; show "${BASH_REMATCH[1]}"',
  'X=a; export -n X=b; show $X; readonly -a Y=(c); show $Y',
  'X=abc; show "${X:(-1)}" ${X:1:1} ${X/b/"$RANDOM"x}',
  'IFS=-; set -- a b; show "$*"; X="$*"; show $X',
  'X=~+; show $X; X=~-; show x$X',
  'time X=b; show $X',
  'shopt -s extglob\nshow ${PWD##+(/)*/}',
  'shopt -s patsub_replacement; X=abc; show ${X/b/&&} "${X/b/[&]}"',
  'X=one\\ two; show $X "$X"; printf -v Y %q "$X"; show $Y',
]

type Shell = { readonly name: string; readonly argv: readonly string[]; readonly isBash: boolean }
const ALL: readonly Shell[] = [
  { name: 'dash', argv: ['/usr/bin/dash', '-c'], isBash: false },
  { name: 'bash', argv: ['/usr/bin/bash', '-c'], isBash: true },
  { name: 'bash as sh', argv: ['/usr/bin/bash', '--posix', '-c'], isBash: true },
  { name: 'busybox', argv: ['/usr/bin/busybox', 'sh', '-c'], isBash: false },
]
const SHELLS = ALL.filter(({ argv: [program = ''] }) => existsSync(program))

function record(shell: Shell, text: string, directory: string): string[] {
  const record = join(directory, 'record')
  rmSync(record, { force: true })
  const [program = '', ...options] = shell.argv
  // Nothing but the recorders and a few harmless programs can be found.
  const env = { PATH: join(directory, 'bin'), RECORD: record, HOME: '/home/u', LC_ALL: 'C.UTF-8' }
  spawnSync(program, [...options, text], { cwd: join(directory, 'work'), env, timeout: 10_000 })
  if (!existsSync(record)) return []
  return [...new Set(readFileSync(record, 'utf8').split('\u001e').slice(0, -1))].sort()
}

/** Whether `line` is what a command with these words could become, where some of them are not known. */
function couldBe(words: readonly ShellWord[], line: string): boolean {
  const given = line.split('\u001f')
  for (const [index, { text, opaque }] of words.entries()) {
    // From here on there may be any number of words.
    if (opaque !== undefined) return index >= given.length || given[index]?.startsWith(text) === true
    if (given[index] !== text) return false
  }
  return words.length === given.length
}

function analysed(
  text: string,
  cwd: string,
): { readonly words: ShellWord[][]; readonly found: string[]; readonly isKnown: boolean } {
  const { commands, opaque } = parseShell(text, { cwd, home: '/home/u', variables: new Map([['@', '']]) })
  const ours = commands.map(({ words }) => {
    const first = words[0]?.text
    const isWrapped = first === 'command' || first === 'exec'
    return words.slice(isWrapped ? 1 : 0)
  })
  const run = ours.filter(([program]) => NAMES.includes(program?.text ?? ''))
  return {
    words: ours,
    found: [...new Set(run.map((words) => words.map(({ text }) => text).join('\u001f')))].sort(),
    isKnown: opaque.length === 0 && !ours.some((words) => words.some(({ opaque }) => opaque === 'eval')),
  }
}

const FIXTURE = {
  bin: Object.fromEntries(NAMES.map((name) => [name, RECORDER])),
  work: {},
}

function prepare(directory: string): void {
  for (const name of NAMES) chmodSync(join(directory, 'bin', name), 0o755)
}

for (const shell of SHELLS) {
  t.test(`${shell.name} starts exactly the commands that its text is said to start`, (t) => {
    const directory = t.testdir(FIXTURE)
    prepare(directory)
    for (const text of shell.isBash ? [...COMMON, ...BASH] : COMMON) {
      const { found, isKnown } = analysed(text, join(directory, 'work'))
      // The path of a process substitution is the shell's business.
      const real = record(shell, text, directory).map((line) => line.replace(/\/dev\/fd\/[0-9]+/g, ''))
      t.strictSame(found, real, text)
      t.ok(isKnown, `nothing of it is in doubt: ${text}`)
    }
    t.end()
  })

  t.test(
    `${shell.name} starts nothing beyond what its text is said to start, whichever branch it takes`,
    (t) => {
      const directory = t.testdir(FIXTURE)
      prepare(directory)
      for (const text of PARTLY) {
        const { found } = analysed(text, join(directory, 'work'))
        const real = record(shell, text, directory)
        t.strictSame(
          real.filter((line) => !found.includes(line)),
          [],
          text,
        )
        t.ok(real.length > 0, `and it starts something: ${text}`)
      }
      t.end()
    },
  )
}

for (const shell of SHELLS) {
  t.test(`${shell.name} starts nothing that was neither found nor said not to be known`, (t) => {
    const directory = t.testdir(FIXTURE)
    prepare(directory)
    for (const text of shell.name === 'bash' ? [...UNKNOWN, ...UNKNOWN_OF_BASH] : UNKNOWN) {
      const { words, isKnown } = analysed(text, join(directory, 'work'))
      const real = record(shell, text, directory)
      const missed = isKnown ? real.filter((line) => !words.some((words) => couldBe(words, line))) : []
      t.strictSame(missed, [], text)
      t.ok(real.length > 0, `and it starts something: ${text}`)
    }
    t.end()
  })
}

if (!SHELLS.some(({ isBash }) => isBash)) t.comment('skipped: there is no bash here')
