/**
 * `sass-edge attach [TARGET] ID`: goes back to a command that runs on a device, or to what is kept of one that has ended:
 * its output from where you say, its exit code, and on a terminal its keys.
 * @module
 */
import { isatty } from 'node:tty'
import { encodeHex } from '../../base/encoding/hex.ts'
import type { Client } from '../../client/client.node.ts'
import { asSassError, misuse, SassError } from '../../errors.ts'
import {
  connectDevice,
  DEVICE_OPTIONS,
  OUTPUT_OPTIONS,
  RECONNECT_OPTION,
  reconnecting,
} from '../common/device.node.ts'
import { takeWords } from '../common/local-config.node.ts'
import { isGiven } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { isWholeId, pickId, plainId } from '../words/listing.ts'
import { tailOf, terminalOf } from './exec.node.ts'
import { createRemoteSession } from './remote-session.node.ts'

const EXECUTION = Object.freeze({ name: 'execution', listedBy: 'sass-edge jobs --all' })
/** About a screen. */
const SHOWN_BYTES = 4_096

type Found = { readonly id: string; readonly isTerminal: boolean }

async function find(client: Client, given: string): Promise<Found> {
  const prefix = plainId(given)
  const list = await client.executions()
  const ids = list.map(({ execution_id }) => encodeHex(execution_id))
  // One that is too old for the list may still be known.
  const id = isWholeId(prefix, EXECUTION) ? prefix : pickId(prefix, ids, EXECUTION)
  return { id, isTerminal: list[ids.indexOf(id)]?.is_terminal === true }
}

/** Where its output begins. */
function beginning(context: CommandContext): { readonly tail?: number } {
  const tail = tailOf(context)
  if (!isGiven(context.arguments.options, 'from-start')) return { tail: tail ?? SHOWN_BYTES }
  if (tail === undefined) return {}
  throw misuse('--tail and --from-start say two things; give one of them.')
}

/** That a device does not know an id proves nothing: it may have forgotten it. */
function unknownId(error: unknown, id: string): unknown {
  if (asSassError(error)?.code !== 'PROCESS_NOT_FOUND') return error
  return new SassError(
    'EXECUTION_OUTCOME_UNKNOWN',
    `The device knows no execution ${id}: it was never started there, or is forgotten.`,
    { id },
    error,
  )
}

export const command: Command = {
  usage: ['attach [TARGET] ID'],
  options: {
    '--tail BYTES': `begin so many bytes before the end; else ${SHOWN_BYTES}`,
    '--from-start': 'begin with the oldest that the device still has',
    '--stdin': 'what comes on stdin goes to it; the keys of a terminal session always do',
    ...RECONNECT_OPTION,
    ...OUTPUT_OPTIONS,
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge attach 5f3a': 'to the execution whose id begins so; see sass-edge jobs',
    'sass-edge attach --from-start edge7 5f3a >log': 'all that edge7 has of its output',
  },
  async run(context) {
    const words = takeWords(context, 2)
    const prefix = words.at(-1)
    if (prefix === undefined) throw misuse('No id is given: copy one from sass-edge jobs.')
    const target = words.length > 1 ? words[0] : undefined
    isWholeId(prefix, EXECUTION)
    const start = beginning(context)
    const session = createRemoteSession(context, target)
    const client = await connectDevice(context, target, { ...reconnecting(context), onLink: session.onLink })
    const { id, isTerminal: hasTerminal } = await find(client, prefix)
    const isTerminal = hasTerminal && isatty(0)
    const stdin = isTerminal || isGiven(context.arguments.options, 'stdin')
    const execution = client.attach(id, {
      ...start,
      stdin,
      output: session.output,
      onWaiting: session.onWaiting,
      onGap: session.onGap,
    })
    if (isTerminal) {
      // Programs draw for the terminal that they have now.
      const { rows, columns } = terminalOf(context)
      execution.resize(rows, columns)
    }
    try {
      return await session.follow(execution, { client, stdin, isTerminal })
    } catch (error) {
      throw unknownId(error, id)
    }
  },
}
