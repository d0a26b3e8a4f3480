/**
 * `sass-edge shell [TARGET] [-- CMD ARGS...]`: an interactive program on a device, with a terminal of its own.
 * @module
 */
import { isatty } from 'node:tty'
import type { Client } from '../../client/client.node.ts'
import { asSassError, misuse, SassError } from '../../errors.ts'
import {
  connectDevice,
  DEVICE_OPTIONS,
  OUTPUT_OPTIONS,
  RECONNECT_OPTION,
  reconnecting,
} from '../common/device.node.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { terminalOf } from './exec.node.ts'
import { createRemoteSession, type RemoteSession } from './remote-session.node.ts'

/** Tried in turn where no program is named: not every device has the first. */
const SHELLS: readonly string[] = ['bash', 'sh']

async function open(
  context: CommandContext,
  session: RemoteSession,
  client: Client,
  [program, ...args]: readonly [string, ...string[]],
): Promise<number> {
  const execution = client.stream(program, args, {
    output: session.output,
    onWaiting: session.onWaiting,
    onGap: session.onGap,
    stdin: true,
    terminal: terminalOf(context),
  })
  await session.begun(execution)
  return session.follow(execution, { client, stdin: true, isTerminal: isatty(0) })
}

export const command: Command = {
  usage: ['shell [TARGET] [-- CMD [ARGS...]]'],
  options: {
    ...RECONNECT_OPTION,
    ...OUTPUT_OPTIONS,
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge shell': 'bash or sh of the nearest device',
    'sass-edge shell edge7 -- htop': 'any program that wants a terminal',
  },
  async run(context) {
    const { positionals, rest } = context.arguments
    if (positionals.length > 1)
      throw misuse('More than one device is named: write sass-edge shell [TARGET] [-- CMD ARGS].')
    const session = createRemoteSession(context, positionals[0])
    const client = await connectDevice(context, positionals[0], {
      ...reconnecting(context),
      onLink: session.onLink,
    })
    const [program, ...args] = rest ?? []
    if (program !== undefined) return open(context, session, client, [program, ...args])
    for (const shell of SHELLS) {
      try {
        return await open(context, session, client, [shell])
      } catch (error) {
        const known = asSassError(error)
        if (known?.code !== 'SPAWN_FAILED' || known.details['errno'] !== 'ENOENT') throw error
      }
    }
    throw new SassError(
      'SHELL_NOT_FOUND',
      'The device has neither bash nor sh where the daemon looks; name a program: sass-edge shell -- PROGRAM.',
    )
  },
}
