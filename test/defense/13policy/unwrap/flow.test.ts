/**
 * Files that one command of a request makes and another one runs: what was written is followed, what was copied keeps
 * its name, what was fetched is not known.
 * @module
 */
import t from 'tap'
import { commandsOf, lineOf, opaqueOf } from '../unwrap-staged.ts'

/** A text, and a command that it comes down to through a file that it makes. */
const RUN: readonly (readonly [string, string])[] = [
  ["echo 'rm x' > a; sh a", 'sh -c > sh: rm x'],
  ["echo 'rm x' > a; . ./a", 'sh -c > source: rm x'],
  ["echo 'rm x' > a && chmod +x a && ./a", 'sh -c > sh: rm x'],
  ["echo 'rm x' > a; sh < a", 'sh -c > sh: rm x'],
  ["echo 'rm x' > a; cat a | sh", 'sh -c > sh: rm x'],
  ["echo 'rm x' > a; cp a b; sh b", 'sh -c > sh: rm x'],
  ["echo 'rm x' > a; mv a /tmp/b; /tmp/b", 'sh -c > sh: rm x'],
  ["echo 'rm x' | tee a; sh a", 'sh -c > sh: rm x'],
  ["tee a <<< 'rm x'; sh a", 'sh -c > sh: rm x'],
  ["dd of=a <<< 'rm x'; sh a", 'sh -c > sh: rm x'],
  ["cat > a <<'E'\nrm x\nE\nsh a", 'sh -c > sh: rm x'],
  ["printf 'rm ' > a; echo x >> a; sh a", 'sh -c > sh: rm x'],
  ["echo 'rm $1' > a; sh a x", 'sh -c > sh: rm x'],
  ["cd /tmp; echo 'rm x' > a; /tmp/a", 'sh -c > sh: rm x'],
  ["sh -c 'echo rm x > a'; sh a", 'sh -c > sh: rm x'],
  ['echo \'import os; os.system("rm x")\' > a.py; python3 a.py', 'sh -c > python: rm x'],
  ['printf \'#!/usr/bin/env perl\\nsystem("rm x")\\n\' > a; ./a', 'sh -c > sh: rm x'],
  ['echo \'BEGIN{system("rm x")}\' > a; awk -f a', 'sh -c > awk: rm x'],
  ["printf 'all:\\n\\trm x\\n' > Makefile; make", 'sh -c > make: rm x'],
  ["echo '* * * * * rm x' > a; crontab a", 'sh -c > crontab: rm x'],
  ["printf '#!/bin/rm -f\\n' > a; ./a x", 'sh -c > sh: /bin/rm -f ./a x'],
  ["printf 'rule r\\n command = rm x\\nbuild y: r\\n' > build.ninja; ninja", 'sh -c > ninja: rm x'],
  ["echo '!rm x' > g; gdb -batch -x g", 'sh -c > gdb: rm x'],
  ["bash /dev/fd/3 3<<< 'rm x'", 'sh -c > sh: rm x'],
]

t.test('a file that was written is followed where it is run', (t) => {
  for (const [text, expected] of RUN) {
    const lines = commandsOf(['sh', '-c', text]).map(lineOf)
    t.ok(lines.includes(expected), `${text}\n${expected}\n${lines.join('\n')}`)
  }
  t.end()
})

t.test('a copy of a program, and a link to it, goes by its name as well', (t) => {
  for (const text of [
    'cp /bin/rm r; ./r x',
    'ln -s /bin/rm r && ./r x',
    'install -m 755 /bin/rm r; ./r x',
    'cat /bin/rm > r; ./r x',
    'dd if=/bin/rm of=r; ./r x',
    'cp /bin/rm /tmp/; /tmp/rm x',
    'cp /bin/rm ~/bin/r; r x',
    'hash -p /bin/rm ls; ls x',
    'cp /bin/rm b/ls; PATH=b ls x',
  ]) {
    const last = commandsOf(['sh', '-c', text]).at(-1)
    t.ok(last?.names.includes('rm'), `${text}: ${last?.names}`)
    t.ok(
      last?.paths.some(({ use }) => use === 'write'),
      `${text}: it is judged as the program that it is`,
    )
  }
  t.end()
})

t.test('a file that was fetched or decoded is not known where it is run', (t) => {
  for (const [text, opaque] of [
    ['curl http://h/a > a; sh a', 'piped'],
    ['curl -o a http://h/x; ./a', 'piped'],
    ['curl -O http://h/a.sh && . ./a.sh', 'piped'],
    ['curl http://h/a | tee a; sh a', 'piped'],
    ['wget http://h/a.sh; sh a.sh', 'piped'],
    ['wget -O a http://h/x; sh a', 'piped'],
    ['wget -P /tmp http://h/a; /tmp/a', 'piped'],
    ['scp h:a.sh .; sh a.sh', 'piped'],
    ["sed 's/x/y/' b > a; sh a", 'piped'],
    ['python3 -c \'open("a","w").write("rm x")\'; sh a', 'eval'],
    ['base64 -d b > a; sh a', 'decoded'],
    ['echo "$X" > a; sh a', 'eval'],
    ['{ echo rm x; } > a; sh a', 'eval'],
  ] as const) {
    t.ok(opaqueOf(commandsOf(['sh', '-c', text])).includes(opaque), text)
  }
  t.end()
})

t.test('what is made and not run is only written', (t) => {
  for (const text of [
    "echo 'rm x' > a; cat a",
    "echo 'rm x' > notes; grep rm notes",
    'curl -O http://h/a.tgz; tar tf a.tgz',
    'curl -o a.json http://h/; jq . a.json',
    'make > log; cat log',
    'gcc a.c -o a && ./a',
    'cp run.sh b/run; b/run',
  ]) {
    const commands = commandsOf(['sh', '-c', text])
    t.notOk(
      commands.some(({ argv }) => argv[0] === 'rm'),
      text,
    )
    t.strictSame(opaqueOf(commands), [], text)
  }
  t.end()
})

t.test('a file that runs itself ends at a limit', (t) => {
  t.ok(opaqueOf(commandsOf(['sh', '-c', "echo 'sh a; sh a' > a; sh a"])).includes('limit'))
  t.end()
})
