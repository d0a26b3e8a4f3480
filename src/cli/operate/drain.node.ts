/**
 * `sass-edge drain`: has the daemon end in order, as SIGTERM does, and waits until it has. Starting it again is the
 * service manager's.
 * @module
 */

import { takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command } from '../words/command.ts'

export const command: Command = {
  usage: ['drain'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge drain': 'returns when nothing runs any more; a service manager starts it again',
    'sass-edge drain --target boss@edge7': 'the same of a device far away',
  },
  async run(context) {
    takeWords(context, 0)
    const message = await asOperator(context, async ({ operator, closed }) => {
      const said = doneMessage(await operator.drain(), 'DAEMON_SHUTTING_DOWN')
      context.output.note(said)
      await closed
      return said
    })
    return context.output.result({ message }, ['It has ended.'])
  },
}
