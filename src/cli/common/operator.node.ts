/**
 * What the operator's commands share: the device they mean, a connection for as long as it is needed, and the outcome
 * of what was asked.
 * @module
 */
import { visible } from '../../base/text/visible.ts'
import type { Client, OnWaiting } from '../../client/client.node.ts'
import type { Outcome } from '../../client/operator-client.ts'
import { type Code, SassError } from '../../errors.ts'
import type { Described } from '../words/arguments.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { connectDevice, connectOperator, DEVICE_OPTIONS } from './device.node.ts'

/** Which device, where no word of the command names one. */
export const TARGET_OPTION: Described = Object.freeze({
  '--target TARGET': 'the device; else that of the nearest .sass-edge',
})

export const OPERATOR_OPTIONS: Described = Object.freeze({
  ...TARGET_OPTION,
  ...DEVICE_OPTIONS,
})

type Use<T> = (client: Client) => Promise<T>

async function during<T>(connecting: Promise<Client>, use: Use<T>): Promise<T> {
  const client = await connecting
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

const targetOf = (context: CommandContext) => optionValue(context.arguments.options, 'target')

/** Connects as an operator, does `use`, and hangs up however that ends. */
export function asOperator<T>(context: CommandContext, use: Use<T>): Promise<T> {
  return during(connectOperator(context, targetOf(context)), use)
}

/** The same as an agent. */
export function asAgent<T>(context: CommandContext, use: Use<T>): Promise<T> {
  return during(connectDevice(context, targetOf(context)), use)
}

/** As an agent what is its own; with --all what is anybody's, as the operator. */
export function asEither<T>(context: CommandContext, use: Use<T>): Promise<T> {
  return (context.arguments.options.has('all') ? asOperator : asAgent)(context, use)
}

/** What is said to whoever waits until a human has let something go. */
export function humanNote({ output }: CommandContext): OnWaiting {
  return ({ kind }) => {
    if (kind === 'operator') output.note('A human is asked whether it may go: sass-edge confirm list.')
  }
}

/**
 * The sentence of what was done.
 * @throws SassError `code` with the device's sentence where it was not
 */
export function doneMessage({ success, message }: Outcome, code: Code): string {
  const text = visible(message)
  if (success) return text
  throw new SassError(
    code,
    text === '' ? 'The device did not do it, and does not say why; see its log.' : text,
  )
}

/** `2026-01-02 03:04:05Z` of Unix seconds. */
export function utcTime(seconds: number): string {
  const date = new Date(seconds * 1_000)
  return Number.isNaN(date.getTime())
    ? '-'
    : date
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z$/, 'Z')
}
