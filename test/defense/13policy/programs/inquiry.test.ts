/**
 * Commands that only ask what a program is: which questions count, to which programs, and for which rules.
 * @module
 */
import t from 'tap'
import { asksOnly } from '../../../../src/defense/13policy/programs/inquiry.ts'
import { inquirable } from '../../../../src/defense/13policy/rules/rule-conditions.ts'
import { effectiveCommands } from '../../../../src/defense/13policy/unwrap.ts'

function asks(line: string, subcommands: readonly string[] = []): boolean {
  const { commands } = effectiveCommands(line.split(' '), {
    cwd: '/srv/work',
    home: '/home/agent',
    resolved: undefined,
    terminal: false,
    stdin: false,
  })
  const [command] = commands
  return command !== undefined && asksOnly(command, subcommands)
}

t.test('a question is all that a command is given', async (t) => {
  for (const line of ['insmod --help', 'x --version', 'nmap -h', 'nmap -V']) t.ok(asks(line), line)
  for (const line of [
    'insmod',
    'insmod x --help',
    'insmod --help x',
    'nmap -v',
    'nmap version',
    'hostapd -v',
    'caddy version',
    'tclsh --version',
  ])
    t.notOk(asks(line), line)
})

t.test('where the short question is an order, it is none', async (t) => {
  for (const line of [
    'halt -h',
    'poweroff -h',
    'reboot -h',
    'shutdown -h',
    'killall5 -V',
    'rpi-update --help',
  ])
    t.notOk(asks(line), line)
})

t.test('behind a subcommand of the rule --help is a question, and nothing else is', async (t) => {
  t.ok(asks('kubectl apply --help', ['apply']))
  t.ok(asks('kubectl plugin install --help', ['plugin install']))
  t.notOk(asks('kubectl apply -h', ['apply']))
  t.notOk(asks('kubectl apply x --help', ['apply']))
  t.notOk(asks('npx evil --help', ['exec']))
})

t.test('a rule that says more than programs and words holds for questions too', async (t) => {
  t.strictSame(inquirable({ program: ['x'] }), [])
  t.strictSame(inquirable({ program: ['x'], subcommand: ['a'], not_options: ['-q'] }), ['a'])
  t.strictSame(inquirable({ program: ['x'], other_options: ['-q'] }), [])
  t.equal(inquirable({ program: ['*'] }), undefined)
  t.equal(inquirable({ paths: ['/etc/**'] }), undefined)
  for (const more of [
    { options: ['-h'] },
    { assigns: ['A'] },
    { via: ['sudo'] },
    { opaque: ['eval'] as const },
  ])
    t.equal(inquirable({ program: ['x'], ...more }), undefined)
})
