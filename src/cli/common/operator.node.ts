/**
 * What the operator's commands share: the device they mean, a connection for as long as it is needed, and the outcome
 * of what was asked.
 * @module
 */
import { visible } from '../../base/text/visible.ts'
import type { Client } from '../../client/client.node.ts'
import type { Outcome } from '../../client/operator-client.ts'
import { type Code, SassError } from '../../errors.ts'
import type { Described } from '../words/arguments.ts'
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'
import { connectOperator, DEVICE_OPTIONS } from './device.node.ts'

/** Which device, where no word of the command names one. */
export const TARGET_OPTION: Described = Object.freeze({
  '--target TARGET': 'the device; else that of the nearest .sass-edge',
})

export const OPERATOR_OPTIONS: Described = Object.freeze({
  ...TARGET_OPTION,
  ...DEVICE_OPTIONS,
})

/** Connects as an operator, does `use`, and hangs up however that ends. */
export async function asOperator<T>(
  context: CommandContext,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const client = await connectOperator(context, optionValue(context.arguments.options, 'target'))
  try {
    return await use(client)
  } finally {
    await client.close()
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
