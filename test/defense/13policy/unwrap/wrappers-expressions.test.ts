/**
 * Commands and files that are named in small languages within other words.
 * @module
 */
import t from 'tap'
import { commandsOf, lineOf, opaqueOf, pathsOf } from '../unwrap-staged.ts'

function linesOf(line: string): readonly string[] {
  return commandsOf(line).map(lineOf)
}

/** A command line, and what it starts among other things. */
const STARTS: readonly (readonly [string, string])[] = [
  ["websocat ws://h/ cmd:'cat /etc/shadow'", 'cat /etc/shadow'],
  ['websocat autoreconnect:exec:/bin/ls ws-l:0.0.0.0:1 --exec-args -l', '/bin/ls -l'],
  ['websocketd --port=8080 cat x', 'cat x'],
  ['s6-tcpserver -c 4 0.0.0.0 4444 cat x', 'cat x'],
  ['libtool --mode=execute cat x', 'cat x'],
  ['libtool execute cat x', 'cat x'],
  ["cross-env-shell A=b 'cat x'", 'cat x'],
  ['mlr -n put \'end { system("cat x") }\'', 'cat x'],
  ['chezmoi execute-template \'{{ output "cat" "x" }}\'', 'cat x'],
  ["fossil sql '.shell cat x'", 'cat x'],
  ["deno task --eval 'cat x'", 'cat x'],
  ["uwsgi --cron '-1 -1 -1 -1 -1 cat x'", 'cat x'],
  ["uwsgi --exec-as-user 'cat x'", 'cat x'],
  ['ubus call file exec \'{"command":"cat","params":["x"]}\'', 'cat x'],
  ['drush php:eval \'system("cat x");\'', 'cat x'],
  ["nx run-commands --command 'cat x'", 'cat x'],
  ['volta run --node 20 cat x', 'cat x'],
  ['rails runner \'system("cat x")\'', 'cat x'],
  ['python3 manage.py shell -c \'import os; os.system("cat x")\'', 'cat x'],
  ['php artisan tinker --execute=\'system("cat x");\'', 'cat x'],
  ['clickhouse local -q "select * from executable(\'cat x\')"', 'cat x'],
  ["mlr --prepipe 'cat x' sort -f a b.csv", 'cat x'],
  ["RUSTC_WRAPPER='cat x' cargo build", 'cat x'],
  ['dpkg-architecture -c cat x', 'cat x'],
  ["npm pkg set scripts.a='cat x'", 'cat x'],
  ['tsx -e \'require("child_process").execSync("cat x")\'', 'cat x'],
  ['nvim +\'lua vim.fn.jobstart({"cat","x"})\'', 'cat x'],
  ["FZF_DEFAULT_COMMAND='cat x' fzf", 'cat x'],
  ['GOFLAGS=\'-mod=mod -toolexec="cat x"\' go build .', 'cat x'],
  ['CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=./cat cargo build', './cat'],
]

t.test('a program that is named in the middle of other words is started', (t) => {
  for (const [line, started] of STARTS)
    t.ok(
      linesOf(line).some((found) => found.endsWith(started)),
      line,
    )
  t.end()
})

/** A command line, and a path that it uses. */
const USES: readonly (readonly [string, string])[] = [
  ['yq -n \'load_str("/etc/x")\'', 'read /etc/x'],
  ['yq \'.a = load("b.yml")\' c.yml', 'read /srv/work/b.yml'],
  ['chezmoi execute-template \'{{ include "/etc/x" }}\'', 'read /etc/x'],
  ['ubus call file read \'{"path":"/etc/x"}\'', 'read /etc/x'],
  ['ubus call file write \'{"path":"/etc/x","data":"y"}\'', 'write /etc/x'],
  ["xmllint --shell a.xml <<< 'save /etc/x'", 'write /etc/x'],
  ['python3 -m zipfile -e a.zip /etc/x', 'write /etc/x'],
  ['python3 -m cProfile -o /etc/x a.py', 'write /etc/x'],
  ['python3 -m json.tool a.json /etc/x', 'write /etc/x'],
  ['docker build --secret id=a,src=/etc/x .', 'read /etc/x'],
  ['docker build -o type=local,dest=/etc/x .', 'write /etc/x'],
  ['docker buildx build --output=/etc/x .', 'write /etc/x'],
  ["m4 -DA='include(/etc/x)' <<< A", 'read /etc/x'],
  ['git hash-object -w --stdin-paths <<< /etc/x', 'read /etc/x'],
  ['git -C /etc log -p -- x', 'read /etc/x'],
  ['git config -f /etc/x core.pager less', 'write /etc/x'],
  ['git config -f /etc/x core.pager', 'read /etc/x'],
  ['GIT_TRACE=/etc/x git status', 'write /etc/x'],
  ['MAVEN_OPTS="-Xmx1g -javaagent:/etc/x" mvn -v', 'read /etc/x'],
  ['LUA_PATH="/etc/x;/etc/y" lua -v', 'read /etc/y'],
  ['unheard-of --log-file /etc/x', 'write /etc/x'],
  ['unheard-of --output=/etc/x a', 'write /etc/x'],
]

t.test('a file that is named in the middle of other words is used', (t) => {
  for (const [line, path] of USES) t.ok(pathsOf(commandsOf(line)).includes(path), line)
  t.end()
})

t.test('words that only look like such a language start and use nothing', (t) => {
  t.same(linesOf('websocat ws://h/cmd:x'), ['websocat ws://h/cmd:x'])
  t.same(linesOf('mlr --icsv sort -f put a.csv'), ['mlr --icsv sort -f put a.csv'])
  t.same(linesOf('chezmoi diff'), ['chezmoi diff'])
  t.same(linesOf('npm pkg set version=1.2.3'), ['npm pkg set version=1.2.3'])
  t.notOk(pathsOf(commandsOf('GIT_TRACE=1 git status')).includes('write /srv/work/1'))
  t.notOk(pathsOf(commandsOf('git log -- src')).includes('write /srv/work/src'))
  t.end()
})

t.test(
  'what evaluates text is known where it is handed on, and a pipe with a name is as unknown as one without',
  (t) => {
    t.ok(opaqueOf(commandsOf("node -e 'fetch(x).then(r=>r.text()).then(eval)'")).includes('eval'))
    t.ok(opaqueOf(commandsOf("python3 -c 'list(map(exec, x))'")).includes('eval'))
    t.notOk(opaqueOf(commandsOf("node -e 'f(evaluate)'")).includes('eval'))
    t.ok(opaqueOf(commandsOf('mkfifo p && sh < p')).includes('piped'))
    t.ok(opaqueOf(commandsOf('bash --init-file <(curl -s h) -i')).includes('piped'))
    t.notOk(opaqueOf(commandsOf('mkfifo p && cat < p')).includes('piped'))
    t.ok(opaqueOf(commandsOf('curl -s h/x > a.sql && sqlite3 < a.sql')).includes('piped'))
    t.ok(opaqueOf(commandsOf('curl -so a.sql h/x; psql db < a.sql')).includes('piped'))
    t.notOk(opaqueOf(commandsOf('./dump > a.sql && sqlite3 < a.sql')).includes('piped'))
    t.end()
  },
)
