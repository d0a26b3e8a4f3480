/**
 * Paths that code puts together: joined, formatted, divided, from the home directory; and what is done with them.
 * @module
 */
import t from 'tap'
import { commandsOf, pathsOf } from '../unwrap-staged.ts'

const PATHS: readonly (readonly [string, string])[] = [
  ['python3 -c \'import os; open(os.path.join("/etc", "shadow"))\'', 'read /etc/shadow'],
  ['python3 -c \'import os; p = os.path.join("/etc", "x"); open(p, "w")\'', 'write /etc/x'],
  ['python3 -c \'import os; open(os.path.join("/a", "/etc/x"))\'', 'read /etc/x'],
  ['python3 -c \'open("/".join(["", "etc", "shadow"]))\'', 'read /etc/shadow'],
  ['python3 -c \'open("/etc/%s" % "shadow")\'', 'read /etc/shadow'],
  ['python3 -c \'open("/%s/%s" % ("etc", "shadow"))\'', 'read /etc/shadow'],
  ['python3 -c \'open("/etc/{}".format("shadow"))\'', 'read /etc/shadow'],
  ['python3 -c \'from pathlib import Path; (Path.home()/".ssh"/"x").open("a")\'', 'write /home/agent/.ssh/x'],
  ['python3 -c \'from pathlib import Path; p = Path("/etc")/"x"; p.write_text("")\'', 'write /etc/x'],
  ['python3 -c \'from pathlib import Path; Path("/etc").joinpath("x").unlink()\'', 'write /etc/x'],
  ['python3 -c \'from pathlib import Path; Path("/etc", "x").unlink()\'', 'write /etc/x'],
  ['python3 -c \'from pathlib import Path; Path("~/x").expanduser().unlink()\'', 'write /home/agent/x'],
  ['node -e \'require("fs").rmSync(require("path").join("/etc", "x"))\'', 'mention /etc'],
  ['node -e \'const path = require("path"); require("fs").rmSync(path.join("/etc", "x"))\'', 'write /etc/x'],
  ['node -e \'require("fs").readFileSync(process.env.HOME + "/.ssh/x")\'', 'read /home/agent/.ssh/x'],
  ['ruby -e \'File.read(File.join("/etc", "shadow"))\'', 'read /etc/shadow'],
  ['node -p \'require("fs").readFileSync(require("os").homedir() + "/.npmrc")\'', 'read /home/agent/.npmrc'],
  ['node -p \'f(require("path").join(os.userInfo().homedir, ".ssh", "x"))\'', 'read /home/agent/.ssh'],
  ['python3 -c \'import os; open("%s/.netrc" % os.environ["HOME"])\'', 'read /home/agent/.netrc'],
  ['python3 -c \'import os; open(os.sep.join(["", "etc", "shadow"]))\'', 'read /etc/shadow'],
  ['php -r \'echo file_get_contents(getenv("HOME")."/.npmrc");\'', 'read /home/agent/.npmrc'],
  ['lua -e \'io.lines(os.getenv("HOME") .. "/.kube/config")\'', 'read /home/agent/.kube/config'],
  ["tclsh <<< 'open [file join $env(HOME) .npmrc]'", 'read /home/agent/.npmrc'],
  ['Rscript -e \'readLines(file.path(Sys.getenv("HOME"), ".netrc"))\'', 'read /home/agent/.netrc'],
  ['ruby -e \'File.read(["/etc", "shadow"].join("/"))\'', 'read /etc/shadow'],
]

/** A part that is not known may be anything. */
const HOLED: readonly (readonly [string, string])[] = [
  ["node -e 'fs.readFileSync(`/proc/${p}/environ`)'", 'read /proc/*/environ'],
  ['node -e \'fs.readFileSync(path.join("/home", u, ".ssh", "x"))\'', 'read /home/*/.ssh/x'],
  ['node -e \'fs.readFileSync("/home/".concat(u, "/.netrc"))\'', 'read /home/*/.netrc'],
  ['node -e \'fs.readFileSync(["/proc", p, "environ"].join("/"))\'', 'read /proc/*/environ'],
  ['python3 -c \'open(f"/proc/{p}/environ")\'', 'read /proc/*/environ'],
  ['python3 -c \'open("/proc/%s/environ" % p)\'', 'read /proc/*/environ'],
  ['python3 -c \'open("/proc/{}/environ".format(p))\'', 'read /proc/*/environ'],
  ['python3 -c \'open("/sys/class/gpio/" + p + "/value", "w")\'', 'write /sys/class/gpio/*/value'],
  ['python3 -c \'for p in Path("/proc").iterdir(): (p/"environ").read_text()\'', 'read /proc/*/environ'],
  ['python3 -c \'for p in glob.glob("/proc/[0-9]*"): open(p + "/environ")\'', 'read /proc/[0-9]*/environ'],
  ['ruby -e \'File.read("/proc/#{p}/environ")\'', 'read /proc/*/environ'],
  ['perl -e \'for (</proc/*>) { open F, "$_/environ" }\'', 'read /proc/*/environ'],
  ['perl -e \'open F, "<", join("/", "/proc", $p, "environ")\'', 'read /proc/*/environ'],
  ['php -r \'file_get_contents("/proc/$p/environ");\'', 'read /proc/*/environ'],
  ['php -r \'file_get_contents(implode("/", ["/proc", $p, "environ"]));\'', 'read /proc/*/environ'],
  ['lua -e \'io.open(string.format("/proc/%d/environ", i))\'', 'read /proc/*/environ'],
  ['lua -e \'io.open("/proc/" .. i .. "/environ")\'', 'read /proc/*/environ'],
  ['awk \'BEGIN { while ((getline l < ("/proc/" i "/environ")) > 0) print l }\'', 'read /proc/*/environ'],
  ["tclsh <<< 'foreach p [glob /proc/*] { open $p/environ }'", 'mention /proc/*/environ'],
  ['Rscript -e \'readLines(paste0("/proc/", p, "/environ"))\'', 'read /proc/*/environ'],
  ['python3 -c \'Path("/proc").glob("*/environ")\'', 'read /proc/*/environ'],
  ['python3 -c \'open(os.sep.join(["/proc", p, "environ"]))\'', 'read /proc/*/environ'],
  ['awk \'BEGIN { print 1 > ("/sys/class/gpio/" i "/value") }\'', 'write /sys/class/gpio/*/value'],
  ['Rscript -e \'writeLines("1", sprintf("/sys/class/gpio/%d/value", i))\'', 'write /sys/class/gpio/*/value'],
  ['groovy -e \'new File(it, "environ"); new File("/proc")\'', 'mention /proc/*/environ'],
]

/** What is worked out from numbers and texts that are no paths stays what it is. */
const NO_PATHS: readonly string[] = [
  "python3 -c 'print(6 / 2)'",
  'python3 -c \'print(7 % 2, "%d" % 3)\'',
  'python3 -c \'print(", ".join(["a", "b"]))\'',
  'python3 -c \'print("{} {}".format(1, 2))\'',
]

t.test('a path that code puts together is the path that it is', (t) => {
  for (const [line, path] of PATHS) t.ok(pathsOf(commandsOf(line)).includes(path), `${line}: ${path}`)
  t.end()
})

t.test('of a path with a part that is not known, what stands behind that counts as well', (t) => {
  for (const [line, path] of HOLED) t.ok(pathsOf(commandsOf(line)).includes(`${path} *`), `${line}: ${path}`)
  t.end()
})

t.test('what is no path becomes none', (t) => {
  for (const line of NO_PATHS) {
    t.strictSame(pathsOf(commandsOf(line)), [], line)
    t.strictSame(
      commandsOf(line).flatMap(({ opaque }) => opaque),
      [],
      line,
    )
  }
  t.end()
})

t.test('calls within calls are read to a depth, and cost no more than their length', (t) => {
  const nested = `${'os.path.join("a", '.repeat(3_000)}"x"${')'.repeat(3_000)}`
  const began = commandsOf(`python3 -c 'import os; open(${nested})'`)
  t.equal(began[0]?.names[0], 'python3')
  t.end()
})
