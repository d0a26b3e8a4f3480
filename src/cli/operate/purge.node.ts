/**
 * `sass-edge purge`: erases what a session said and did. Its records stay, the chain verifies, and a replay says that
 * these decisions were purged.
 * @module
 */

import { SassError } from '../../errors.ts'
import { takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command } from '../words/command.ts'
import { plainId } from '../words/listing.ts'

export const command: Command = {
  usage: ['purge SESSION'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge purge 65b58159a3314fe4a201aff6dd9f1245':
      'the arguments, paths and output of that session are gone for good',
  },
  async run(context) {
    const [given] = takeWords(context, 1)
    if (given === undefined)
      throw new SassError('USAGE', 'purge takes the id of a session: it is in sass-edge audit tail.')
    const session = plainId(given)
    const outcome = await asOperator(context, ({ operator }) => operator.purge(session))
    const message = doneMessage(outcome, 'PROCESS_NOT_FOUND')
    return context.output.result({ session, message }, [message])
  },
}
