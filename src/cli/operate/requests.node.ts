/**
 * What an operator asks of a daemon in one word: to end a session for good (`terminate`), to erase what one said and did
 * (`purge`; its records stay, and the chain verifies), to read its configuration again (`reload`; what is wrong with it
 * leaves the old one in place), to end in order as SIGTERM does (`drain`, which waits until it has; starting it again is
 * the service manager's), and what it counts, as the text that a Prometheus server scrapes (`metrics`).
 * @module
 */
import { misuse } from '../../errors.ts'
import { ask } from '../common/ask.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import { isGiven } from '../words/arguments.ts'
import type { Command } from '../words/command.ts'
import { plainId } from '../words/listing.ts'

const WHOLE_ID = /^[0-9a-f]{32}$/

export const terminate: Command = {
  usage: ['terminate INSTANCE'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge terminate tester-20260101T120000Z-5f3a91c2':
      'that session is over; sass-edge status --json names the others',
  },
  async run(context) {
    const [instance] = takeWords(context, 1)
    if (instance === undefined)
      throw misuse('terminate takes the name of an instance: sass-edge status --json and the record have it.')
    const outcome = await asOperator(context, ({ operator }) => operator.terminate(instance))
    const message = doneMessage(outcome, 'PROCESS_NOT_FOUND')
    return context.output.result({ instance, message }, [message])
  },
}

export const purge: Command = {
  usage: ['purge SESSION'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge purge 65b58159a3314fe4a201aff6dd9f1245':
      'asks; then the arguments, paths and output of that session and its branch are gone for good',
  },
  async run(context) {
    const [given] = takeWords(context, 1)
    if (given === undefined) throw misuse('purge takes the id of a session: it is in sass-edge audit tail.')
    const session = plainId(given)
    // Nobody is asked about what cannot be done.
    if (!WHOLE_ID.test(session))
      throw misuse('purge takes the 32 digits of a session: they are in sass-edge audit tail.')
    context.output.note(
      `What session ${session} said and did goes for good, and its branch with what is not merged of it.`,
    )
    if (!isGiven(context.arguments.options, 'yes') && !ask('Shall it be erased?'))
      throw misuse('Nobody said yes, so nothing was erased; answer at a terminal, or with --yes.')
    const outcome = await asOperator(context, ({ operator }) => operator.purge(session))
    const message = doneMessage(outcome, 'PROCESS_NOT_FOUND')
    return context.output.result({ session, message }, [message])
  },
}

export const reload: Command = {
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

export const drain: Command = {
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

export const metrics: Command = {
  usage: ['metrics'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge metrics': 'what GET /metrics answers, without metrics.listen',
    'sass-edge metrics >/var/lib/node_exporter/sass_edge.prom': 'for the textfile collector of node_exporter',
  },
  async run(context) {
    takeWords(context, 0)
    const text = await asOperator(context, ({ operator }) => operator.metrics())
    return context.output.result({ text }, [text.trimEnd()])
  },
}
