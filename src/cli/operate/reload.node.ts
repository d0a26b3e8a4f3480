/**
 * `sass-edge reload`: has the daemon read its configuration again. What is wrong with it leaves the old one in place.
 * @module
 */

import { takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command } from '../words/command.ts'

export const command: Command = {
  usage: ['reload'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge check && sass-edge reload': 'the new configuration holds, sessions go on',
  },
  async run(context) {
    takeWords(context, 0)
    const outcome = await asOperator(context, ({ operator }) => operator.reload())
    const message = doneMessage(outcome, 'CONFIG_INVALID')
    return context.output.result({ message }, [message])
  },
}
