/**
 * `sass-edge drain`: has the daemon end in order, as SIGTERM does, and waits until it has. Starting it again is the
 * service manager's.
 * @module
 */

import { takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { SUMMARIES } from '../words/summaries.ts'

export const command: Command = {
  name: 'drain',
  summary: SUMMARIES.drain,
  usage: ['drain'],
  options: OPERATOR_OPTIONS,
  examples: [
    {
      line: 'sass-edge drain',
      does: 'returns when nothing runs any more; a service manager starts it again',
    },
    { line: 'sass-edge drain --target boss@edge7', does: 'the same of a device far away' },
  ],
  async run(context) {
    takeWords(context, 0)
    const message = await asOperator(context, async ({ operator, closed }) => {
      const said = doneMessage(await operator.drain(), 'DAEMON_SHUTTING_DOWN')
      context.output.note(said)
      await closed
      return said
    })
    context.output.result({ message }, ['It has ended.'])
    return EXIT.OK
  },
}
