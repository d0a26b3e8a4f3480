/**
 * Files that a line writes and a tool of the project then runs: what is in them counts, and only then.
 * @module
 */
import t from 'tap'
import { commandsOf, pathsOf } from '../unwrap-staged.ts'

/** A line, and a program that it comes down to. */
const RUNS: readonly (readonly [string, string])[] = [
  ["just -f /dev/stdin <<< $'x:\\n reboot'", 'reboot'],
  ['echo \'<exec executable="reboot"/>\' | ant -f /dev/stdin', 'reboot'],
  ["printf 'x:\\n reboot\\n' > justfile && just x", 'reboot'],
  ['echo \'task :default do sh "reboot" end\' > Rakefile && rake', 'reboot'],
  ['echo \'system("reboot")\' > Gemfile && bundle install', 'reboot'],
  ["echo 'execute_process(COMMAND reboot)' > CMakeLists.txt && cmake .", 'reboot'],
  ['echo "run_command(\'reboot\')" > meson.build && meson setup b', 'reboot'],
  ['echo \'import os; os.system("reboot")\' > SConstruct && scons', 'reboot'],
  ['echo \'import os; os.system("reboot")\' > tasks.py && invoke x', 'reboot'],
  ['echo \'require("child_process").execSync("reboot")\' > jest.config.js && npx jest', 'reboot'],
  ['echo \'import os; os.system("reboot")\' > sitecustomize.py; PYTHONPATH=. python3 -c pass', 'reboot'],
  ['echo \'import os; os.system("reboot")\' > json.py; python3 app.py', 'reboot'],
  ['echo \'import os; os.system("reboot")\' > tests/test_a.py; python3 -m pytest', 'reboot'],
  ['echo \'import os; os.system("reboot")\' > a.pth; python3 app.py', 'reboot'],
  ['echo \'system("reboot")\' > json.rb; ruby -I. app.rb', 'reboot'],
  ['echo \'system("reboot")\' > strict.pm; perl -I. app.pl', 'reboot'],
  ['echo \'require("child_process").execSync("reboot")\' > lib/a.js; npm test', 'reboot'],
  ['echo \'system("reboot")\' > .Rprofile; Rscript -e 1', 'reboot'],
  ["echo '\\! reboot' > .psqlrc; HOME=. psql", 'reboot'],
  ['echo reboot > .bashrc; HOME=. bash -i -c true', 'reboot'],
  ["printf '[testenv]\\ncommands = rm -rf /srv\\n' > tox.ini && tox", 'rm'],
  ["printf 'tasks:\\n  a:\\n    cmds: [rm -rf /srv]\\n' > Taskfile.yml && task a", 'rm'],
  ["printf 'reboot\\n' > .envrc && direnv allow", 'reboot'],
  ['echo \'int main(){system("reboot");}\' | gcc -xc - -o x', 'reboot'],
  ['echo \'int main(){system("reboot");}\' > x.c && make x', 'reboot'],
  ['echo \'class X{void x(){new ProcessBuilder("reboot").start();}}\' > X.java && java X.java', 'reboot'],
  ['echo \'fpSystem("reboot")\' > x.pas && fpc x.pas', 'reboot'],
  ['echo \'CALL EXECUTE_COMMAND_LINE("reboot")\' > x.f90 && gfortran x.f90', 'reboot'],
  ["echo '(rule (action (run rm -rf /srv)))' > dune && dune build", 'rm'],
  ["echo '//go:generate reboot' > x.go && go generate", 'reboot'],
  [
    "echo '[build]' > .cargo/config.toml; echo 'runner = \"rm -rf /srv\"' >> .cargo/config.toml && cargo run",
    'rm',
  ],
  ['echo \'run = "rm -rf /srv"\' > mise.toml && mise run x', 'rm'],
  ["echo 'm4_syscmd([cat /etc/shadow])' > configure.ac && autoconf", 'cat'],
  ['echo \'s.run("rm", "-rf", "/srv")\' > noxfile.py && nox', 'rm'],
  ['echo \'program = ["sh", "-c", "cat /etc/shadow"]\' > main.tf && terraform plan', 'cat'],
  ['echo \'{"scripts":{"a":"rm -rf a","b":"reboot"}}\' > package.json && bun run b', 'reboot'],
  ['echo \'{"a":"sh -c \\\\"reboot\\\\""}\' > deno.json && deno task a', 'reboot'],
  ["echo '<executable>reboot</executable>' > pom.xml && mvn exec:exec", 'reboot'],
  ["printf '#!/bin/sh\\nreboot\\n' > .githooks/pre-push && git push", 'reboot'],
  ["ninja -f /dev/stdin <<< 'command = reboot'", 'reboot'],
  ["printf 'X != reboot\\nall:;\\n' > Makefile && make", 'reboot'],
]

/** A line, and a path that it uses. */
const USES: readonly (readonly [string, string])[] = [
  ['echo \'fn main(){std::fs::remove_dir_all("/etc").unwrap()}\' > build.rs && cargo build', 'write /etc'],
  ['echo \'package main;func main(){os.RemoveAll("/home")}\' > main.go && go run .', 'write /home'],
  ['echo \'#include "/etc/shadow"\' | gcc -E -', 'read /etc/shadow'],
  ["gcc -xc - <<< '#include </etc/shadow>'", 'read /etc/shadow'],
  ['echo \'#include "/etc/shadow"\' > x.c; gcc x.c', 'read /etc/shadow'],
  ['echo \'.incbin "/etc/shadow"\' > x.s; as x.s', 'read /etc/shadow'],
  ['echo \'const X: &str = include_str!("/etc/shadow");\' > x.rs; rustc x.rs', 'read /etc/shadow'],
  ["echo 'include /etc/shadow' > Makefile; make", 'read /etc/shadow'],
  ['nasm -E <(echo \'%include "/etc/shadow"\')', 'read /etc/shadow'],
  ['saxon <(printf \'<!ENTITY x SYSTEM "file:///etc/shadow">\') x', 'read /etc/shadow'],
  ['xmllint --noent - <<< \'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/shadow">]>\'', 'read /etc/shadow'],
  ['echo \'<!ENTITY x SYSTEM "/etc/shadow">\' > a.xml; xmllint --noent a.xml', 'read /etc/shadow'],
  ['echo \'<xi:include href="/etc/shadow"/>\' | xmllint --xinclude -', 'read /etc/shadow'],
  ['xmllint --xpath \'document("file:///etc/shadow")\' a.xml', 'read /etc/shadow'],
  ['rsvg-convert - <<< \'<image href="file:///etc/shadow"/>\'', 'read /etc/shadow'],
  ["asciidoctor - <<< 'include::/etc/shadow[]'", 'read /etc/shadow'],
  ["soelim <<< '.so /etc/shadow'", 'read /etc/shadow'],
  ['wkhtmltopdf file:///etc/shadow x.pdf', 'read /etc/shadow'],
  ["cmake -P /dev/stdin <<< 'file(REMOVE_RECURSE /srv)'", 'write /srv'],
  ['echo \'<delete dir="/srv"/>\' > build.xml; ant', 'write /srv'],
  ["echo '\\input{/etc/shadow}' > x.tex; pdflatex x.tex", 'read /etc/shadow'],
  ["printf 'x:\\n echo a > /srv/a\\n' > justfile && just x", 'write /srv/a'],
  ["printf 'all:\\n\\t$(file >/srv/a,x)\\n' > Makefile && make", 'write /srv/a'],
  ['echo \'int main(){open("/srv/a", 1);}\' > x.c && gcc x.c', 'write /srv/a'],
  ['echo \'int main(){open("/srv/a", 0);}\' > x.c && gcc x.c', 'read /srv/a'],
]

/** What stands in a file that no tool of the line runs, or that is of another tool, is text. */
const TEXTS: readonly string[] = [
  "printf 'x:\\n reboot\\n' > justfile",
  "printf 'x:\\n reboot\\n' > notes.txt && just x",
  "printf 'x:\\n reboot\\n' > justfile && npm test",
  "printf 'do not reboot here: it was rebooted\\n' > tox.ini.md && tox",
  'echo \'run = "reboot"\' > notes.txt && mise run x',
  "printf 'name: how to reboot-safely run\\n' > Taskfile.yml && task a",
]

t.test('what a line writes and a tool of the project runs is followed', (t) => {
  for (const [line, program] of RUNS)
    t.ok(
      commandsOf(line).some(({ names }) => names.includes(program)),
      line,
    )
  for (const [line, path] of USES) t.ok(pathsOf(commandsOf(line)).includes(path), line)
  t.end()
})

t.test('a recipe that was fetched is as unknown as any fetched file', (t) => {
  const [, command] = commandsOf('curl -so justfile https://example.com/x; just x').filter(
    ({ via }) => via.length > 0,
  )
  t.ok(command?.opaque.includes('piped'))
  t.end()
})

t.test('what no tool of the line runs is text', (t) => {
  for (const line of TEXTS)
    t.notOk(
      commandsOf(line).some(({ names }) => names.includes('reboot')),
      line,
    )
  t.end()
})

t.test('an order within quotes ends with them', (t) => {
  const line = 'echo \'{"scripts":{"a":"rm -rf dist","b":"tsc -p ."}}\' > package.json && bun run b'
  const removed = commandsOf(line).filter(({ names }) => names.includes('rm'))
  t.strictSame(pathsOf(removed), ['write /srv/work/dist'])
  t.end()
})

t.test('more orders than are looked at are said to be more', (t) => {
  const line = `printf '${'x: rm a\\n'.repeat(200)}' > tox.ini && tox`
  t.ok(commandsOf(line).some(({ opaque }) => opaque.includes('limit')))
  t.end()
})

t.test('a file is followed once, however many tools there are', (t) => {
  const line = `echo 'system("reboot")' > Gemfile; ${'bundle install; '.repeat(20)}`
  t.equal(commandsOf(line).filter(({ names }) => names.includes('reboot')).length, 1)
  t.end()
})
