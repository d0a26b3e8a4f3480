/**
 * `sass-edge exec [TARGET] -- CMD ARGS...`: one command on a device, its bytes and its exit code as if it ran here.
 * @module
 */
import { isatty } from 'node:tty'
import { asSassError, SassError } from '../errors.ts'
import { TIMEOUT_MAX_SECONDS } from '../limits.ts'
import { isGiven, optionValue, optionValues, wholeNumber } from './arguments.ts'
import type { Command, CommandContext } from './command.ts'
import { connectDevice, DEVICE_OPTIONS, OUTPUT_OPTIONS } from './device.node.ts'
import { EXIT } from './exit-codes.ts'
import { createRemoteSession } from './remote-session.node.ts'
import { hasNoInput } from './stdio.node.ts'
import { SUMMARIES } from './summaries.ts'

function environmentOf(context: CommandContext): Record<string, string> | undefined {
  const pairs = optionValues(context.arguments.options, 'env')
  if (pairs.length === 0) return undefined
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=')
      if (equals > 0) return [pair.slice(0, equals), pair.slice(equals + 1)]
      const value = context.environment[pair]
      if (value !== undefined) return [pair, value]
      throw new SassError(
        'USAGE',
        `-e ${pair} has no value here and is not set in this environment; write -e ${pair}=VALUE.`,
      )
    }),
  )
}

function timeoutOf(context: CommandContext): number | undefined {
  const text = optionValue(context.arguments.options, 'timeout')
  if (text === undefined) return undefined
  const seconds = wholeNumber(text, 1, TIMEOUT_MAX_SECONDS)
  if (seconds === undefined)
    throw new SassError(
      'USAGE',
      `--timeout ${text} is not a number of seconds from 1 to ${TIMEOUT_MAX_SECONDS}.`,
    )
  return seconds
}

export const command: Command = {
  name: 'exec',
  summary: SUMMARIES.exec,
  usage: ['exec [TARGET] [OPTIONS] -- CMD [ARGS...]'],
  options: [
    { name: 'cwd', value: 'DIR', description: 'where the command starts; else in the workspace' },
    {
      name: 'env',
      short: 'e',
      value: 'NAME[=VALUE]',
      repeat: true,
      description: 'set an environment variable',
    },
    { name: 'pty', description: 'give the command a terminal' },
    { name: 'timeout', value: 'SECONDS', description: 'end it after this time' },
    { name: 'keep-background', description: 'what it leaves running stays when it ends' },
    { name: 'detach', description: 'print the id as soon as it runs, and leave it running' },
    { name: 'id', value: 'HEX', description: '32 hexadecimal digits; the same id never starts twice' },
    ...OUTPUT_OPTIONS,
    ...DEVICE_OPTIONS,
  ],
  examples: [
    { line: 'sass-edge exec -- uname -a', does: 'on the daemon of the nearest .sass-edge' },
    { line: 'tar c . | sass-edge exec edge7 -- tar t', does: 'bytes pass through both ways' },
    { line: 'sass-edge exec --detach -- make -j2', does: 'prints the id; see sass-edge jobs' },
  ],
  async run(context) {
    const { options, positionals, rest } = context.arguments
    // The command stands behind `--` alone: no word of it can be taken for a TARGET or an option of ours.
    const [program, ...args] = rest ?? []
    if (program === undefined || positionals.length > 1) {
      throw new SassError('USAGE', 'No command is given: write sass-edge exec [TARGET] -- CMD ARGS.')
    }
    const client = await connectDevice(context, positionals[0])
    const session = createRemoteSession(context.output)
    const isDetached = isGiven(options, 'detach')
    const hasTerminal = isGiven(options, 'pty')
    const stdin = hasTerminal || !(isDetached || hasNoInput())
    const execution = client.stream(program, args, {
      output: session.output,
      onWaiting: session.onWaiting,
      stdin,
      cwd: optionValue(options, 'cwd'),
      environment: environmentOf(context),
      timeoutSeconds: timeoutOf(context),
      keepBackground: context.arguments.options.has('keep-background'),
      id: optionValue(options, 'id'),
      terminal: hasTerminal ? terminalOf(context) : undefined,
    })
    if (isDetached) {
      const id = await session.begun(execution).catch((error: unknown) => {
        // It has run already, which is what was asked for.
        if (keptOffsets(error) === undefined) throw error
        return execution.id
      })
      execution.detach()
      context.output.result({ id }, [id])
      await client.close()
      return EXIT.OK
    }
    try {
      return await session.follow(execution, { client, stdin, isTerminal: hasTerminal && isatty(0) })
    } catch (error) {
      const kept = keptOffsets(error)
      if (kept === undefined) throw error
      context.output.warn(
        'The command was started before and its output is no longer kept; only what is left of it and its exit code follow.',
      )
      const rest = client.attach(execution.id, { output: session.output, ...kept })
      return await session.follow(rest, { client, stdin: false, isTerminal: false })
    }
  },
}

/** Where the output begins that the device still has, from the error that says that it has not all of it. */
function keptOffsets(error: unknown): { stdoutOffset: number; stderrOffset: number } | undefined {
  const known = asSassError(error)
  if (known?.code !== 'RING_BUFFER_DATA_LOSS') return undefined
  const offsets = known.details['details'] as Readonly<Record<string, number>> | undefined
  return { stdoutOffset: offsets?.['1'] ?? 0, stderrOffset: offsets?.['2'] ?? 0 }
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
