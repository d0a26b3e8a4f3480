/**
 * A second word of the command line, which says what of a command is meant.
 * @module
 */
import { nearest } from '../../base/text/suggest.ts'
import { misuse } from '../../errors.ts'
import type { CommandContext } from './command.ts'

export type Subcommand = (context: CommandContext) => Promise<number> | number

/** @throws SassError USAGE with what `command` can do, where it is none of that */
export function subcommandOf(
  command: string,
  table: ReadonlyMap<string, Subcommand>,
  { arguments: { positionals } }: CommandContext,
): Subcommand {
  const word = positionals[0]
  const found = table.get(word ?? '')
  if (found !== undefined) return found
  const names = [...table.keys()]
  if (word === undefined) throw misuse(`${command} needs to be told what to do: ${names.join(' or ')}.`)
  const meant = nearest(word, names)
  const hint = meant === undefined ? `it can ${names.join(' or ')}.` : `did you mean ${meant}?`
  throw misuse(`${command} cannot ${JSON.stringify(word.slice(0, 64))}: ${hint}`)
}
