/**
 * The command line that goes back to an execution, to be pasted: with the options that this one was given to find the
 * device and to say who it is.
 * @module
 */
import { optionValue } from '../words/arguments.ts'
import type { CommandContext } from '../words/command.ts'

/** Options that choose the device and the caller. */
const CHOOSING = ['config', 'agent', 'key'] as const

/** A word as a shell takes it, quoted only where it must be. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

export function attachLine(
  { arguments: { options } }: Pick<CommandContext, 'arguments'>,
  target: string | undefined,
  id: string,
): string {
  const words = ['sass-edge', 'attach']
  for (const name of CHOOSING) {
    const value = optionValue(options, name)
    if (value !== undefined) words.push(`--${name}`, quoted(value))
  }
  if (target !== undefined) words.push(quoted(target))
  return [...words, id].join(' ')
}
