import t from 'tap'
import { countEffective } from '../../src/defense/13policy/unwrap.ts'
import { enter, hold, leave, spend, spendPass, startWork, WorkSpent } from '../../src/defense/work.ts'
import { DECISION_BYTES, DECISION_DEPTH, DECISION_STEPS } from '../../src/limits.ts'

t.test('what does not fit any more is not counted, and says so', async (t) => {
  const work = startWork()
  spend(work, DECISION_STEPS - 1)
  t.throws(() => spend(work, 2), WorkSpent)
  spend(work, 1)
  t.equal(work.steps, DECISION_STEPS)
  t.throws(() => spendPass(work, 0), WorkSpent)
  const made = startWork()
  hold(made, DECISION_BYTES)
  t.throws(() => hold(made, 1), WorkSpent)
  t.equal(made.bytes, DECISION_BYTES)
  const deep = startWork()
  for (let level = 0; level < DECISION_DEPTH; level += 1) enter(deep)
  t.throws(() => enter(deep), WorkSpent)
  leave(deep)
  enter(deep)
})

const SURROUNDINGS = {
  cwd: '/srv/work',
  home: '/home/agent',
  resolved: undefined,
  terminal: false,
  stdin: false,
}
/** A frame has 69,632 bytes. */
const CHARACTERS = 66_000

const fill = (unit: string, head = '', tail = ''): string =>
  head + unit.repeat(Math.floor((CHARACTERS - head.length - tail.length) / unit.length)) + tail
const numbered = (form: (index: number) => string): string => {
  let text = ''
  for (let index = 0; text.length < CHARACTERS - 40; index += 1) text += form(index)
  return text
}
const sh = (text: string): readonly string[] => ['sh', '-c', text]
const FUNCTIONS = 'abcdefgh'

/** Inputs that fit a frame and would take seconds, or more memory than there is, if all of them were followed. */
const HOSTILE: readonly (readonly [string, readonly string[]])[] = [
  ['brackets of ruby', ['ruby', '-e', fill('(')]],
  ['prefixes of a shell', sh(fill('command '))],
  ['loops in loops', sh(`${'for i in 1 2 3 4 5 6 7 8; do '.repeat(15)}a $i${'; done'.repeat(15)}`)],
  ['loops over globs', sh(`${'for i in *; do '.repeat(15)}a $i${'; done'.repeat(15)}`)],
  ['loops that never end', sh(`${'while a; do '.repeat(15)}x=$y; rm $x${'; done'.repeat(15)}`)],
  ['values that double', sh(`a=xxxxxxxx;${'a=$a$a;'.repeat(40)}echo $a`)],
  ['unknown values that double', sh(fill('x=$x$x; '))],
  ['exports that double', sh(fill('export x=$x$x; '))],
  ['values of python that double', ['python3', '-c', `a="xxxxxxxx";${'a=a+a;'.repeat(40)}print(a)`]],
  ['values of perl that double', ['perl', '-e', `$a="xxxxxxxx";${'$a=$a.$a;'.repeat(40)}system($a)`]],
  ['lists of node that double', ['node', '-e', `a=["x"];${'a=a+a;'.repeat(40)}eval(a)`]],
  ['calls of php in calls', ['php', '-r', fill('f(')]],
  ['calls of guile in calls', ['guile', '-c', fill('(f ')]],
  ['blocks of sed', ['sed', fill('/x/{s/[/]/b/;')]],
  ['pipes of awk', ['awk', fill('"a" | getline; ', 'BEGIN{')]],
  [
    'commands of find',
    ['find', '.', ...Array.from({ length: 1_300 }, () => ['-exec', 'sh', '-c', 'sh -c "a;b"', ';']).flat()],
  ],
  ['functions of make', ['make', `--eval=${fill('$(eval $(call a,$(shell b)))')}`]],
  [
    'aliases of git',
    ['git', ...Array.from({ length: 2_000 }, (_, index) => ['-c', `alias.a${index}=!sh -c "b;c"`]).flat()],
  ],
  ['functions of jq', ['jq', fill('def f: f|f; ')]],
  ['programs of psql', ['psql', '-c', fill("COPY a TO PROGRAM 'b';")]],
  ['backslashes of mysql', ['mysql', '-e', fill('\\! a;')]],
  ['lines of vim', ['vim', '-c', fill('!a|w b|')]],
  ['here-documents', sh(numbered((index) => `cat <<E${index}\n$x $(a)\nE${index}\n`))],
  ['here-documents of one line', sh(fill('<<a '))],
  ['arithmetic', sh(fill('$(( '))],
  ['arithmetic that may be commands', sh(`${'(('.repeat(15)}1${'))'.repeat(15)};`.repeat(1_000))],
  ['braces that multiply', sh(`echo ${'{a,b}'.repeat(13_000)}`)],
  ['braces in braces', sh(`echo ${'{a,'.repeat(9_000)}b${'}'.repeat(9_000)}`)],
  ['ranges', sh(fill('{1..100000} '))],
  ['substitutions in substitutions', sh(`${'$('.repeat(30_000)}`)],
  [
    'aliases of aliases',
    sh(
      `${[...FUNCTIONS].map((name, index) => `alias ${name}="${`${FUNCTIONS[index + 1] ?? 'rm'};`.repeat(6)}"`).join('\n')}\na`,
    ),
  ],
  [
    'functions that call functions',
    sh(
      `${[...FUNCTIONS].map((name, index) => `${name}(){ ${`${FUNCTIONS[index + 1] ?? 'rm'};`.repeat(6)} };`).join('')}a`,
    ),
  ],
  [
    'files that run files',
    sh(
      `${[...FUNCTIONS].map((name, index) => `echo '${`sh ${FUNCTIONS[index + 1] ?? 'x'};`.repeat(8)}' > ${name};`).join('')}sh a`,
    ),
  ],
  [
    'traps and what they may find',
    sh(`trap 'rm $x' EXIT;${numbered((index) => `trap 'rm $x${index}' EXIT; x${index}=1;`)}`),
  ],
  ['words of xargs', sh(fill('xargs '))],
  ['words of parallel', ['parallel', ...Array.from({ length: 4_000 }, () => ':::')]],
  ['formats that are used again', sh(`printf -v x '${'%s'.repeat(2_000)}' ${'a '.repeat(20_000)}; echo $x`)],
  ['formats that are printed', sh(`printf '${'a%s'.repeat(2_000)}' ${'a '.repeat(20_000)} | sh`)],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a shell's.
  ['replacements', sh(fill('${a//x/y}', `a=${'x'.repeat(400)}; echo `))],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a shell's.
  ['patterns of many stars', sh(`a=${'ab'.repeat(400)}; echo ${fill('${a%%*a*a*a*b*c}').slice(0, 60_000)}`)],
  ['patterns of case', sh(fill('case $x in *a*|*b*|[c-d]*) e;; esac; '))],
  ['globs of many stars', ['rm', ...Array.from({ length: 4_000 }, () => '/e*t*c*/*')]],
  ['a path of many stars', ['rm', fill('/*a*')]],
  ['letters of options', ['rm', `-${fill('rf')}`]],
  ['words in words of env', ['env', '-S', fill('env -S ')]],
  ['evaluated text', sh(fill('eval "a;b"; '))],
  ['a pipeline of shells', sh(fill("echo 'echo ls | sh' | sh | "))],
  [
    'many variables, many ways',
    sh(
      `${Array.from({ length: 800 }, (_, index) => `v${index}=1;`).join('')}${'if a; then v1=2; fi;'.repeat(2_500)}`,
    ),
  ],
  [
    'many directories',
    sh(`${Array.from({ length: 800 }, (_, index) => `v${index}=1;`).join('')}${'cd a; v1=2;'.repeat(4_500)}`),
  ],
  ['arrays that grow', sh(fill('x+=(a b c); '))],
  ['parameters that grow', sh(fill('set -- "$@" "$@"; '))],
]

t.test('hostile inputs that fit a frame are read within the bounds, or said not to be read', async (t) => {
  t.ok(HOSTILE.length >= 30)
  for (const [name, argv] of HOSTILE) {
    const { work, effective } = countEffective(argv, SURROUNDINGS)
    t.ok(work.steps <= DECISION_STEPS && work.bytes <= DECISION_BYTES, `${name}: ${JSON.stringify(work)}`)
    t.ok(work.depth <= DECISION_DEPTH, name)
    // The same is read the next time.
    t.strictSame(countEffective(argv, SURROUNDINGS).work, work, name)
    const [outermost] = effective.commands
    t.strictSame(outermost?.argv.length, argv.length, name)
  }
})

t.test('what people send is far from the bounds', async (t) => {
  const within = (argv: readonly string[], share: number) => {
    const { work, effective } = countEffective(argv, SURROUNDINGS)
    t.ok(work.steps * share <= DECISION_STEPS, `${work.steps} steps`)
    t.notOk(effective.commands.some(({ opaque }) => opaque.includes('limit')))
  }
  within(['ls', '-l', '/srv/work'], 500)
  within(sh('cd /srv/work && make -j2 && ls *.o | wc -l'), 50)
  within(sh(Array.from({ length: 100 }, (_, index) => `cp a${index}.txt "$x/b" || exit 1`).join('\n')), 2)
  // The longest argument, and as many as there may be.
  within(['echo', 'x'.repeat(131_072)], 2)
  within(['ls', ...Array.from({ length: 4_095 }, () => 'x'.repeat(31))], 1)
})
