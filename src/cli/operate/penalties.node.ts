/**
 * `sass-edge penalties list|clear`: the addresses that a device keeps out for a while, and how to let them in again.
 * @module
 */

import { formatIpAddress, parseIpAddress } from '../../base/ip-address.ts'
import { visible } from '../../base/text/visible.ts'
import type { Penalties } from '../../client/operator-client.ts'
import { misuse } from '../../errors.ts'
import { takeWords } from '../common/local-config.node.ts'
import { asOperator, doneMessage, OPERATOR_OPTIONS } from '../common/operator.node.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { alignColumns, shortDuration } from '../words/listing.ts'

function listLines({ penalties, total }: Penalties): string[] {
  if (penalties.length === 0) return ['Nobody is kept out.']
  const rows = penalties.map(({ source, secondsLeft, isActive, reason }) => [
    visible(source),
    shortDuration(secondsLeft),
    isActive ? 'kept out' : 'counted',
    visible(reason),
  ])
  const more = total - penalties.length
  return [
    ...alignColumns([['SOURCE', 'LEFT', 'STATE', 'REASON'], ...rows]),
    ...(more > 0 ? [`${more} more are not listed.`] : []),
  ]
}

async function list(context: CommandContext): Promise<number> {
  const found = await asOperator(context, ({ operator }) => operator.penalties())
  const penalties = found.penalties.map(({ source, secondsLeft, isActive, reason }) => ({
    source,
    seconds_left: secondsLeft,
    active: isActive,
    reason,
  }))
  return context.output.result({ penalties, total: found.total }, listLines(found))
}

/** The address or the network (`2001:db8::/64`) as the device writes it. */
function sourceOf(word: string): string {
  const [address = '', ...prefix] = word.split('/')
  const parsed = prefix.length > 1 ? undefined : parseIpAddress(address)
  if (parsed !== undefined) return [formatIpAddress(parsed), ...prefix].join('/')
  throw misuse(`${JSON.stringify(word.slice(0, 64))} is no address: copy one from sass-edge penalties list.`)
}

async function clear(context: CommandContext, word: string | undefined): Promise<number> {
  const source = word === undefined ? undefined : sourceOf(word)
  const outcome = await asOperator(context, ({ operator }) => operator.clearPenalties(source))
  const message = doneMessage(outcome, 'PROCESS_NOT_FOUND')
  return context.output.result({ source: source ?? null, message }, [message])
}

export const command: Command = {
  usage: ['penalties list', 'penalties clear [ADDRESS]'],
  options: OPERATOR_OPTIONS,
  examples: {
    'sass-edge penalties list': 'who is kept out, for how long and why',
    'sass-edge penalties clear 198.51.100.7': 'lets that address in again',
    'sass-edge penalties clear': 'lets everybody in again',
  },
  async run(context) {
    const [action, word] = takeWords(context, 2)
    if (action === 'list' && word === undefined) return list(context)
    if (action === 'clear') return clear(context, word)
    throw misuse('penalties can list and clear [ADDRESS]: see sass-edge penalties --help.')
  },
}
