/**
 * `sass-edge kill ID [SIGNAL]`: a signal to the process group of an execution; KILL goes to every process of it.
 * @module
 */

import { constants } from 'node:os'
import { encodeHex } from '../../base/encoding/hex.ts'
import { misuse } from '../../errors.ts'
import { takeWords } from '../common/local-config.node.ts'
import { asOperator, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command } from '../words/command.ts'
import { findId } from '../words/listing.ts'

const SIGNALS: Readonly<Record<string, number>> = constants.signals
const EXECUTION = Object.freeze({ name: 'execution', listedBy: 'sass-edge jobs --all' })

function signalNumber(word: string): number {
  const name = word.toUpperCase().replace(/^(SIG)?/, 'SIG')
  const number = /^[0-9]{1,2}$/.test(word) ? Number(word) : SIGNALS[name]
  if (number !== undefined && number >= 1 && number <= 64) return number
  throw misuse(
    `${JSON.stringify(word.slice(0, 16))} is no signal: write a name such as TERM or a number from 1 to 64.`,
  )
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
    if (prefix === undefined) throw misuse('No id is given: copy one from sass-edge jobs.')
    const number = signalNumber(word ?? 'TERM')
    const id = await asOperator(context, async (client) => {
      const ids = async () => (await client.executions()).map((each) => encodeHex(each.execution_id))
      const found = await findId(prefix, ids, EXECUTION)
      if (number === constants.signals.SIGKILL) await client.cancel(found)
      else await client.signal(found, number)
      return found
    })
    return context.output.result({ id, signal: number }, [])
  },
}
