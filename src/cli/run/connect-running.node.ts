/**
 * A connection whose first command is asked for with the authentication: what `exec` and `rsh` share.
 * @module
 */
import type { Client, FirstCommand, RunningExecution } from '../../client/client.node.ts'
import { type Connecting, connectDevice } from '../common/device.node.ts'
import type { CommandContext } from '../words/command.ts'
import { FORWARDED } from './forward-signals.node.ts'

/**
 * Keeps signals for whoever follows the command, from when it was asked for until that is so: it may have begun, and
 * whoever presses ^C means it. The second one does not wait for an answer that may never come.
 */
function createHeldSignals(): { hold(): void; give(): void } {
  const came: NodeJS.Signals[] = []
  const stop = () => {
    for (const signal of FORWARDED) process.off(signal, take)
  }
  const raise = () => {
    for (const signal of came.splice(0)) process.kill(process.pid, signal)
  }
  function take(signal: NodeJS.Signals): void {
    came.push(signal)
    if (came.length === 1) return
    stop()
    raise()
  }
  return {
    hold() {
      for (const signal of FORWARDED) process.on(signal, take)
    },
    give() {
      stop()
      // Once this turn is over somebody else hears them.
      setImmediate(raise)
    },
  }
}

/**
 * Connects as connectDevice does, with a command that is asked for in the same flight.
 * @throws SassError with what to do
 */
export async function connectRunning(
  context: CommandContext,
  word: string | undefined,
  first: FirstCommand,
  more: Connecting,
): Promise<{ readonly client: Client; readonly execution: RunningExecution }> {
  const signals = createHeldSignals()
  try {
    const client = await connectDevice(context, word, { ...more, first: { ...first, onAsked: signals.hold } })
    const { command, args, options } = first
    return { client, execution: client.first ?? client.stream(command, args, options) }
  } finally {
    signals.give()
  }
}
