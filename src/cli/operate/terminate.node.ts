/**
 * `sass-edge terminate INSTANCE`: ends one session of an agent for good, with what it runs and what it has handed on. Its
 * instance is never given again.
 * @module
 */
import { SassError } from '../../errors.ts'
import { takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command } from '../words/command.ts'

export const command: Command = {
  usage: ['terminate INSTANCE'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge terminate tester-20260101T120000Z-5f3a91c2':
      'that session is over; sass-edge status --json names the others',
  },
  async run(context) {
    const [instance] = takeWords(context, 1)
    if (instance === undefined)
      throw new SassError(
        'USAGE',
        'terminate takes the name of an instance: sass-edge status --json and the record have it.',
      )
    const outcome = await asOperator(context, ({ operator }) => operator.terminate(instance))
    const message = doneMessage(outcome, 'PROCESS_NOT_FOUND')
    return context.output.result({ instance, message }, [message])
  },
}
