import t from 'tap'
import type { NamedCommand } from '../../../src/cli/words/command.ts'
import { commandHelp, overviewHelp } from '../../../src/cli/words/help.ts'
import { SUMMARIES } from '../../../src/cli/words/summaries.ts'

const command: NamedCommand = {
  name: 'demo',
  summary: 'show something',
  usage: ['demo A', 'demo B'],
  options: { '-e, --env K=V...': 'a variable', '--pty': 'a terminal' },
  examples: { 'sass-edge demo A': 'the first' },
  run: async () => 0,
}

t.test(
  'the help of a command shows its forms, its options, those of every command, and examples',
  async (t) => {
    const text = commandHelp(command)
    t.match(text, 'Usage: sass-edge demo A\n       sass-edge demo B\n')
    t.match(text, /^ {2}-e, --env K=V +a variable \(may be repeated\)$/m)
    t.match(text, /^ {6}--pty +a terminal$/m)
    t.match(text, /^ {6}--json /m)
    t.match(text, 'Examples:\n  sass-edge demo A  the first\n')
  },
)

t.test('the overview lists every command with its line and the exit codes', async (t) => {
  const text = overviewHelp()
  for (const [name, summary] of Object.entries(SUMMARIES)) {
    t.ok(
      text.split('\n').some((line) => line.trim().startsWith(`${name} `) && line.endsWith(summary)),
      name,
    )
  }
  for (const code of ['124', '125', '126', '127', '254', '255']) t.match(text, code)
  for (const line of text.split('\n')) t.ok(line.length <= 120, line)
})
