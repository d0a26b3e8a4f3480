/**
 * The analysis of shell texts against the shells of this machine: what they really start, word by word.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseShell } from '../../../../src/defense/13policy/shell/shell.ts'

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
  `$(printf '\\145rase') x`,
  '$(echo $(echo erase)) x',
  'echo `echo \\`one\\``',
  'show "$(echo a; echo b)" `echo c d`',
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
  'show $(\n:\necho x 2>/dev/null\n) # y',
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
  'show $(cat <<E\nE\n) x',
  'X=$(echo a b); show $X "$X"',
  'X="a   b"; Y=$X; show "$Y" $Y',
  'alias q=one; two',
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
  'X=ERASE; ${X,,} a; show ${X,} ; X=ab; show ${X^} ${X^^}',
  'a=(erase -rf "x y"); "${a[@]}"; show ${#a[@]} ${a[1]} "${a[*]}"',
  'a=(show); a+=(b c); "${a[@]}"; "${a[@]:0:2}"',
  'a[0]=show; a[1]=q; "${a[@]}"',
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
  'printf -v X erase; $X y',
  'set -- a b c; show "${@:2}" "${@:1:1}"',
  'declare X=erase; $X y; typeset -r Z=show; $Z',
  'show $"hello" a$"b"',
  'echo x {fd}>out; show {fd}>out y',
  '$(echo -e "\\x65rase") y',
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
  'alias q="show -a"\nq b\none',
  'three; time -p two',
  'three\n((one a)) 2>/dev/null',
  'three\n[[ a || two b ]] 2>/dev/null',
  'one; exit 0; erase',
  'one() { two; }; one; command one x',
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

function analysed(text: string, cwd: string): { readonly found: string[]; readonly isKnown: boolean } {
  const { commands, opaque } = parseShell(text, { cwd, home: '/home/u', variables: new Map([['@', '']]) })
  const ours = commands.map(({ words }) => {
    const first = words[0]?.text
    const isWrapped = first === 'command' || first === 'exec'
    return words.slice(isWrapped ? 1 : 0)
  })
  const run = ours.filter(([program]) => NAMES.includes(program?.text ?? ''))
  return {
    found: [...new Set(run.map((words) => words.map(({ text }) => text).join('\u001f')))].sort(),
    isKnown: opaque.length === 0,
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

if (!SHELLS.some(({ isBash }) => isBash)) t.comment('skipped: there is no bash here')
