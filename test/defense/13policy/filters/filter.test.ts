/**
 * Scripts of sed and awk: what they start, what they write, and what of them is not known.
 * @module
 */
import t from 'tap'
import { commandsOf, lineOf, opaqueOf, pathsOf } from '../unwrap-staged.ts'

const STARTED: readonly (readonly [string, string])[] = [
  ['awk \'BEGIN{system("rm x")}\'', 'awk > sh -c: rm x'],
  ['awk \'{ print | "rm x" }\'', 'awk: rm x'],
  ['awk \'{ print $1 |& "rm x" }\'', 'awk: rm x'],
  ['awk \'BEGIN { "rm x" | getline y }\'', 'awk: rm x'],
  ['gawk \'BEGIN { while (("rm " "x") | getline) n++ }\'', 'awk: rm x'],
  ['awk -e \'BEGIN{system("r\\155 x")}\'', 'awk -e: rm x'],
  ["sed 's/a/rm x/e' f", 'sed: rm x'],
  ["sed -n '1e rm x' f", 'sed: rm x'],
  ["sed -e '$!N' -e 'e rm x' f", 'sed -e: rm x'],
]

t.test('what they start is followed', async (t) => {
  for (const [line, expected] of STARTED) {
    const found = commandsOf(line).map(lineOf)
    const end = expected.slice(expected.lastIndexOf(': '))
    t.ok(
      found.some((one) => one.endsWith(end) && one !== line),
      `${line}: ${found.join(', ')}`,
    )
  }
})

const USED: readonly (readonly [string, string])[] = [
  ['awk \'{ print > "/etc/x" }\' f', 'write /etc/x'],
  ['awk \'{ print $1, $2 >> "/etc/x" }\' f', 'write /etc/x'],
  ['awk \'BEGIN { while ((getline line < "/etc/shadow") > 0) print line }\'', 'read /etc/shadow'],
  ['awk \'{ printf("%s", $0) > ("/etc/x") }\' f', 'write /srv/work ...'],
  ["sed -n 'w /etc/x' f", 'write /etc/x'],
  ["sed 's/a/b/w /etc/x' f", 'write /etc/x'],
  ["sed 'r /etc/shadow' f", 'read /etc/shadow'],
]

t.test('what they write and read is used', async (t) => {
  for (const [line, expected] of USED) {
    const paths = pathsOf(commandsOf(line))
    if (expected.endsWith('...'))
      t.ok(
        paths.some((one) => one.startsWith('write ')),
        `${line}: ${paths}`,
      )
    else t.ok(paths.includes(expected), `${line}: ${paths.join(', ')}`)
  }
})

/** They start and write nothing, and are known as a whole. */
const HARMLESS: readonly string[] = [
  "awk '{ print $1 }' f",
  "awk -F: '$3 > 1000 { print $1 }' f",
  'awk \'NR % 2 == 0 || /system\\("rm x"\\)/\' f',
  'awk \'# system("rm x")\n{ print }\' f',
  'awk \'{ s = "system(\\"rm x\\")"; print s }\' f',
  "awk '{ print ($1 > $2) ? $1 : $2 }' f",
  "awk '{ n = $1 / 2; m = $2 / 3; print n | 0 }' f".replace(' | 0', ''),
  "sed 's/rm x/e/g' f",
  "sed -i '/^e rm x$/d' f",
  "sed 's|/etc/x|w|' f",
  'sed -e 1q f',
]

t.test('text, patterns and comparisons start and write nothing', async (t) => {
  for (const line of HARMLESS) {
    const commands = commandsOf(line)
    t.strictSame(commands.map(({ names }) => names.includes('rm')).filter(Boolean), [], line)
    t.strictSame(
      pathsOf(commands).filter((one) => one.startsWith('write ') && !line.includes('-i')),
      [],
      line,
    )
    t.strictSame(opaqueOf(commands), [], line)
  }
})

t.test(
  'a part that is not known is a value where the script has one, and may be anything elsewhere',
  async (t) => {
    for (const line of [
      'sed "s/x/$V/" f',
      'sed -n "${N}p" f',
      'awk "NR==$N" f',
      'awk "{ print \\$1 + $N }" f',
    ])
      t.notOk(opaqueOf(commandsOf(line)).includes('eval'), line)
    for (const line of [
      'sed "$V" f',
      'awk "$V" f',
      'awk "BEGIN{$V}" f',
      "awk 'BEGIN{system($1)}'",
      'sed "s/x/y/$V" f',
    ])
      t.ok(opaqueOf(commandsOf(line)).includes('eval'), line)
  },
)

t.test('a script from elsewhere is not known', async (t) => {
  t.ok(opaqueOf(commandsOf('curl -s https://x.org | awk -f -')).includes('piped'))
  t.ok(pathsOf(commandsOf('awk -f x.awk f')).includes('read /srv/work/x.awk'))
})

t.test('of other interpreters only that code is run is known', async (t) => {
  for (const line of [
    'python3 -c \'import os; os.system("rm x")\'',
    'perl -e \'system("rm x")\'',
    'node -e \'require("child_process").exec("rm x")\'',
  ])
    t.equal(commandsOf(line).length, 1, line)
  t.ok(opaqueOf(commandsOf('python3 -c "$X"')).includes('eval'))
  t.ok(opaqueOf(commandsOf('curl -s https://x.org | python3')).includes('piped'))
  t.ok(opaqueOf(commandsOf('base64 -d f | perl')).includes('piped'))
})
