/**
 * `sass-edge kill ID [SIGNAL]`: a signal to the process group of an execution; KILL goes to every process of it.
 * @module
 */
import { constants } from 'node:os'
import { encodeHex } from '../../base/encoding/hex.ts'
import type { Client } from '../../client/client.node.ts'
import { SassError } from '../../errors.ts'
import { connectOperator } from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { OPERATOR_OPTIONS } from '../common/operator.node.ts'
import { optionValue } from '../words/arguments.ts'
import type { Command } from '../words/command.ts'
import { isWholeId, pickId, plainId } from '../words/listing.ts'

const SIGNALS: Readonly<Record<string, number>> = constants.signals
const EXECUTION = Object.freeze({ name: 'execution', listedBy: 'sass-edge jobs --all' })

function signalNumber(word: string): number {
  const name = word.toUpperCase().replace(/^(SIG)?/, 'SIG')
  const number = /^[0-9]{1,2}$/.test(word) ? Number(word) : SIGNALS[name]
  if (number !== undefined && number >= 1 && number <= 64) return number
  throw new SassError(
    'USAGE',
    `${JSON.stringify(word.slice(0, 16))} is no signal: write a name such as TERM or a number from 1 to 64.`,
  )
}

/** The one running execution whose id begins so. */
async function resolveId(client: Client, given: string): Promise<string> {
  const prefix = plainId(given)
  if (isWholeId(prefix, EXECUTION)) return prefix
  const ids = (await client.executions()).map(({ execution_id }) => encodeHex(execution_id))
  return pickId(prefix, ids, EXECUTION)
}

export const command: Command = {
  usage: ['kill ID [SIGNAL]'],
  options: {
    ...OPERATOR_OPTIONS,
  },
  examples: {
    'sass-edge kill 5f3a': 'SIGTERM to the execution whose id begins so',
    'sass-edge kill 5f3a KILL': 'ends every process of it',
  },
  async run(context) {
    const [prefix, word] = takeWords(context, 2)
    if (prefix === undefined) throw new SassError('USAGE', 'No id is given: copy one from sass-edge jobs.')
    const number = signalNumber(word ?? 'TERM')
    const client = await connectOperator(context, optionValue(context.arguments.options, 'target'))
    const id = await resolveId(client, prefix)
    if (number === constants.signals.SIGKILL) await client.cancel(id)
    else await client.signal(id, number)
    await client.close()
    return context.output.result({ id, signal: number }, [])
  },
}
