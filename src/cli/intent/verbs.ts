/**
 * What one verb of `sass-edge intent` is: its lines of help, how many words follow it, and what it does.
 * @module
 */
import type { Command, CommandContext } from '../words/command.ts'

export type Verb = {
  readonly usage: readonly string[]
  /** At least and at most. */
  readonly words: readonly [number, number]
  run(context: CommandContext, word: string, more?: string): Promise<number> | number
}

/** The verbs of one subject, with the options and examples that help shows for them. */
export type VerbGroup = {
  readonly verbs: Readonly<Record<string, Verb>>
  readonly options: Command['options']
  readonly examples: Command['examples']
}
