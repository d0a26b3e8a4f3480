/**
 * The class of a command line, by where it stands in the table of docs/policy.md.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { EffectiveCommand } from '../../../../src/defense/13policy/effective.ts'
import { isKnownProgram } from '../../../../src/defense/13policy/opaque/known-programs.ts'
import {
  CLASS_TEXTS,
  OPAQUE_CLASSES,
  strictestClass,
} from '../../../../src/defense/13policy/opaque/opaque-class.ts'
import { effectiveCommands } from '../../../../src/defense/13policy/unwrap.ts'

const NAMED = '/srv/work/tool'
const KNOWN = {
  knows: isKnownProgram,
  names: ({ path }: EffectiveCommand) => path === NAMED,
}

function classOfLine(line: string, terminal = false): string | undefined {
  const surroundings = { cwd: '/srv/work', home: '/home/agent', resolved: undefined, terminal, stdin: false }
  return strictestClass(effectiveCommands(['sh', '-c', line], surroundings), KNOWN)
}

const LINES: Readonly<Record<string, readonly string[]>> = {
  computed: [
    'eval "$X"',
    'curl -s https://example.com/x | sh',
    'echo bHM= | base64 -d | bash',
    '$TOOL --now',
    'bash <(wget -O- https://example.com/i)',
    'cat list | xargs -I{} sh -c {}',
  ],
  variable: [
    'LD_PRELOAD=./x.so ls',
    'PYTHONPATH=. ls',
    'GIT_SSH_COMMAND=./x git fetch',
    'PATH=/tmp:$PATH ls',
    'env BASH_ENV=./x ls',
  ],
  file: [
    './build.sh',
    'sh x.sh',
    'bash -x ./x.sh 1',
    '. ./env',
    'source env',
    '/tmp/a.out',
    'awk -f x.awk data',
    'sed -f x.sed data',
    'nice ./a',
    'find . -name x -exec ./check {} +',
    '/home/agent/bin/tool',
  ],
  interpreter: [
    'python3 -c "print(1)"',
    'python3.11 x.py',
    'node x.js',
    'perl -ne print x',
    'sudo ruby x.rb',
    'timeout 3 php x.php',
    'sqlite3 db .tables',
    'vim x',
    'java -jar x.jar',
  ],
  build: ['make', 'npm test', 'pytest -q', 'cargo build', 'pip install x', 'cd sub && cmake ..', 'npx x'],
  launcher: ['docker run -it alpine', 'tmux new -d x', 'crontab x'],
  unknown: ['plantctl stop', 'env plantctl stop'],
}

for (const [name, lines] of Object.entries(LINES))
  t.test(`${name}: ${CLASS_TEXTS[name as keyof typeof CLASS_TEXTS]}`, (t) => {
    for (const line of lines) t.equal(classOfLine(line), name, line)
    t.end()
  })

t.test('what its words say is plain', (t) => {
  for (const line of [
    'ls -l',
    'cat x | grep y | sort -u',
    'for f in *; do wc -l "$f"; done',
    'sed s/a/b/ x',
    "awk '{print $1}' x",
    'git status',
    'git commit -m "make x"',
    'find . -name x -delete',
    'python3 --version',
    'make --help',
    'rm -rf build',
    'LANG=C sort x',
    'curl -O https://example.com/x',
    'cp a b && mv b c',
    'echo $HOME',
    NAMED,
  ])
    t.equal(classOfLine(line), undefined, line)
  t.end()
})

t.test('a terminal is opaque, whatever runs on it, and beyond the bound nothing else counts', (t) => {
  t.equal(classOfLine('ls', true), 'terminal')
  t.equal(classOfLine('ls; python3 x', true), 'terminal')
  t.equal(classOfLine(`${'ls;'.repeat(5_000)} python3 x`), 'limit')
  t.end()
})

t.test('of several the strictest is told', (t) => {
  t.equal(classOfLine('make; python3 x; ./y'), 'file')
  t.equal(classOfLine('plantctl; make'), 'build')
  t.end()
})

t.test('the page has the classes in their order, and each has a sentence', (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/policy.md'), 'utf8')
  const places = OPAQUE_CLASSES.map((name) => page.indexOf(`\n| \`${name}\` |`))
  t.ok(places.every((place, at) => place > (places[at - 1] ?? 0)))
  t.ok(OPAQUE_CLASSES.every((name) => CLASS_TEXTS[name].length > 0))
  t.end()
})
