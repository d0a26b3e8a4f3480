/**
 * `sass-edge exec [TARGET] -- CMD ARGS...`: one command on a device, its bytes and its exit code as if it ran here.
 * @module
 */
import { isatty } from 'node:tty'
import { misuse } from '../../errors.ts'
import { TIMEOUT_MAX_SECONDS } from '../../limits.ts'
import { DEVICE_OPTIONS, OUTPUT_OPTIONS, RECONNECT_OPTION, reconnecting } from '../common/device.node.ts'
import { hasNoInput } from '../common/stdio.node.ts'
import { isGiven, optionValue, optionValues, wholeNumber } from '../words/arguments.ts'
import type { Command, CommandContext } from '../words/command.ts'
import { EXIT } from '../words/exit-codes.ts'
import { connectRunning } from './connect-running.node.ts'
import { createRemoteSession } from './remote-session.node.ts'

function environmentOf(context: CommandContext): Record<string, string> | undefined {
  const pairs = optionValues(context.arguments.options, 'env')
  if (pairs.length === 0) return undefined
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=')
      if (equals === 0) throw misuse(`-e ${pair} names no variable: write -e NAME=VALUE.`)
      if (equals > 0) return [pair.slice(0, equals), pair.slice(equals + 1)]
      const value = context.environment[pair]
      if (value !== undefined) return [pair, value]
      throw misuse(`-e ${pair} has no value here and is not set in this environment; write -e ${pair}=VALUE.`)
    }),
  )
}

function timeoutOf(context: CommandContext): number | undefined {
  const text = optionValue(context.arguments.options, 'timeout')
  if (text === undefined) return undefined
  const seconds = wholeNumber(text, 1, TIMEOUT_MAX_SECONDS)
  if (seconds === undefined)
    throw misuse(`--timeout ${text} is not a number of seconds from 1 to ${TIMEOUT_MAX_SECONDS}.`)
  return seconds
}

export const command: Command = {
  usage: ['exec [TARGET] [OPTIONS] -- CMD [ARGS...]'],
  options: {
    '--cwd DIR': 'where the command starts; else in the workspace',
    '-e, --env NAME[=VALUE]...': 'set an environment variable',
    '--pty': 'give the command a terminal',
    '--timeout SECONDS': 'end it after this time',
    '--keep-background': 'what it leaves running stays when it ends',
    '--detach': 'print the id as soon as it runs, and leave it running',
    '--id HEX':
      '32 hexadecimal digits; the same id never starts twice: another command under it is not run, and gets the output of the first',
    '--tail BYTES': 'of an id that runs or ran: only the end of its output',
    ...RECONNECT_OPTION,
    ...OUTPUT_OPTIONS,
    ...DEVICE_OPTIONS,
  },
  examples: {
    'sass-edge exec -- uname -a': 'on the daemon of the nearest .sass-edge',
    'tar c . | sass-edge exec edge7 -- tar t': 'bytes pass through both ways',
    'sass-edge exec --detach -- make -j2': 'prints the id; see sass-edge jobs',
  },
  async run(context) {
    const { options, positionals, rest } = context.arguments
    // The command stands behind `--` alone: no word of it can be taken for a TARGET or an option of ours.
    const [program, ...args] = rest ?? []
    if (program === undefined || positionals.length > 1) {
      throw misuse('No command is given: write sass-edge exec [TARGET] -- CMD ARGS.')
    }
    const [target] = positionals
    const isDetached = isGiven(options, 'detach')
    const hasTerminal = isGiven(options, 'pty')
    const request = {
      cwd: optionValue(options, 'cwd'),
      environment: environmentOf(context),
      timeoutSeconds: timeoutOf(context),
      keepBackground: isGiven(options, 'keep-background'),
      id: optionValue(options, 'id'),
      tail: tailOf(context),
      terminal: hasTerminal ? terminalOf(context) : undefined,
    }
    const session = createRemoteSession(context, target)
    const stdin = hasTerminal || !(isDetached || hasNoInput())
    const first = {
      command: program,
      args,
      options: {
        ...request,
        // Whoever leaves it running does not look at what it writes.
        ...(isDetached ? { output() {}, onGap() {} } : { output: session.output, onGap: session.onGap }),
        onWaiting: session.onWaiting,
        stdin,
      },
    }
    const more = { ...reconnecting(context), onLink: session.onLink }
    const { client, execution } = await connectRunning(context, target, first, more)
    if (!isDetached) return session.follow(execution, { client, stdin, isTerminal: hasTerminal && isatty(0) })
    const id = await session.begun(execution)
    execution.detach()
    context.output.result({ id }, [id])
    await client.close()
    return EXIT.OK
  },
}

/** `--tail N`: bytes before the end of each output. */
export function tailOf(context: CommandContext): number | undefined {
  const text = optionValue(context.arguments.options, 'tail')
  const bytes = text === undefined ? undefined : wholeNumber(text, 0, Number.MAX_SAFE_INTEGER)
  if (text !== undefined && bytes === undefined) throw misuse(`--tail ${text} is not a number of bytes.`)
  return bytes
}

/** The size of this terminal, or the usual one where there is none. */
export function terminalOf(context: CommandContext): {
  rows: number
  columns: number
  term: string | undefined
} {
  const { rows, columns } = process.stdout
  const term = context.environment['TERM']
  return {
    rows: rows > 0 ? rows : 24,
    columns: columns > 0 ? columns : 80,
    term: term === '' ? undefined : term,
  }
}
