/**
 * Scripts with a part that is not known: where it is text, a pattern or a number, and where it could be a command.
 * @module
 */
import t from 'tap'
import { UNKNOWN_PART } from '../../../../src/defense/13policy/code/script-parts.ts'
import { effectiveCommands } from '../../../../src/defense/13policy/unwrap.ts'

function reading(line: string): readonly string[] {
  const { commands } = effectiveCommands(['sh', '-c', line], {
    cwd: '/srv/work',
    home: '/home/agent',
    resolved: undefined,
    terminal: false,
    stdin: false,
  })
  return commands.flatMap(({ calls, opaque }) => [
    ...calls.filter((call) => call === UNKNOWN_PART),
    ...opaque,
  ])
}

const IN_PLACE = [
  ...['sed "s/a/$V/" f', 'sed "s|$A|$B|g" f', 'sed -n "${N}p" f', 'sed "$((N-1)),${M}d" f', 'sed "/$P/d" f'],
  ...['sed "/$P/s/a/b/" f', 'sed "1i $T" f', 'sed "/x/r $F" f', 'sed "${N}{p;q}" f'],
  ...['awk "NR==$N" f', 'awk "{print \\$$C}" f', 'awk "/$P/" f', 'awk "BEGIN{print $A/$B}"'],
  ...['perl -pe "s/a/$V/" f', 'perl -pe "s|$A|b|g" f'],
]

const COMMAND = [
  ...['sed "$V" f', 'sed "1$V" f', 'sed "$A$B" f', 'sed "s/a/b/$V" f', 'sed "s/a/$V" f', 'sed "/$V" f'],
  ...[
    'sed "p;$V" f',
    'sed "/a/$V" f',
    'sed "/a/{$V}" f',
    'sed "1e $V" f',
    'sed "s/a/$V/e" f',
    'sed "s${V}a/b/" f',
  ],
  ...['awk "$V" f', 'awk "{$V}" f', 'awk "/x/{print};$V" f', 'awk "BEGIN{system(\\"$V\\")}"'],
  ...['perl -e "$V"', 'perl -pe "s/a/$V/e" f', 'perl -ne "print $V" f', 'perl -pe "s/(?{$V})/b/" f'],
  'V=$(curl -s https://example.com); sed "s/a/$V/" f',
]

t.test('text, patterns and numbers of a script stay in their places', async (t) => {
  for (const line of IN_PLACE) {
    t.ok(reading(line).includes(UNKNOWN_PART), line)
    t.notOk(reading(line).includes('eval'), line)
  }
})

t.test('what could be a command of the script is taken for one', async (t) => {
  for (const line of COMMAND) t.ok(reading(line).includes('eval'), line)
})
