/**
 * Forms of Perl in which what a call is given stands elsewhere than among its arguments, and switches that are variables.
 * @module
 */
import t from 'tap'
import { commandsOf, lineOf, pathsOf } from '../unwrap-staged.ts'

/** A line, and what it runs. */
const RUN: readonly (readonly [string, string])[] = [
  ['perl -e \'exec{"/bin/rm"}"x","-rf","y"\'', 'perl -e: /bin/rm -rf y'],
  ['perl -e \'system { "/bin/rm" } qw(x -rf y)\'', 'perl -e: /bin/rm -rf y'],
  ['perl -e \'exec({"/bin/rm"} ("x", "y"))\'', 'perl -e: /bin/rm y'],
  ["perl -e 'system qw(rm y)'", 'perl -e: rm y'],
]

/** A line, and a path that it writes. */
const WRITTEN: readonly (readonly [string, string])[] = [
  ["perl -se 'unlink $f' -- -f=/etc/x", '/etc/x'],
  ["perl -se 'unlink ${f}' -- -f=/etc/x", '/etc/x'],
  ["ruby -s -e 'File.delete($f)' -- -f=/etc/x", '/etc/x'],
  ["awk '{print > f}' f=/etc/x y", '/etc/x'],
  ['awk \'{print > (d "/x")}\' d=/etc y', '/etc/x'],
  ["perl -lne 'unlink' <<< /etc/x", '/etc/x'],
  ['perl -e \'for ("/etc/x") { unlink }\'', '/etc/x'],
  ["perl -e 'unlink for </etc/x/*>'", '/etc/x/*'],
]

t.test('a program in brackets runs', async (t) => {
  for (const [line, command] of RUN)
    t.ok(
      commandsOf(line)
        .map(lineOf)
        .some((one) => one.endsWith(command)),
      line,
    )
})

t.test('a path that is given another way is written', async (t) => {
  for (const [line, path] of WRITTEN)
    t.ok(
      pathsOf(commandsOf(line)).some((one) => one.startsWith(`write ${path}`)),
      line,
    )
})

t.test('what only reckons writes nothing', async (t) => {
  for (const line of [
    "perl -se 'print $f' -- -f=/etc/x",
    "awk 'NR>n' n=2 /etc/x",
    "perl -lne 'print' <<< /etc/x",
  ])
    t.notOk(
      pathsOf(commandsOf(line)).some((path) => path.startsWith('write')),
      line,
    )
})
