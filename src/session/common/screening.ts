/**
 * What a session asks of the output firewall, as types: a screen for a stream, a judgement of one text.
 * Rules: docs/firewall.md.
 * @module
 */
import type { Assessment } from '../../defense/firewall/injections/assess.ts'
import type { Screen } from '../../defense/firewall/screen.ts'

/** The firewall, for what is no output of a command. */
export type FirewallRoom = {
  /** `mayHold`: what gives orders waits for an operator; otherwise it is marked alone. */
  open(mayHold: boolean): Screen
  /** Judges what a caller has sent, its first window. */
  assess(bytes: Uint8Array): Assessment
  /** From how many per mille on it is marked. */
  readonly flagPermille: number
  /** A file that holds what output may not is asked about. */
  readonly asksAboutFiles: boolean
  /** Makes the tables in a spare moment: it takes a tenth of a second. */
  prepare(): void
  /** Gives the tables up, until somebody comes. */
  forget(): void
}

export type ReadText = {
  /** With what is secret hidden, and how many secrets those were. */
  hide(text: string): { readonly text: string; readonly hidden: number }
  /** Per mille of certainty that it gives orders to the model that reads it. */
  assess(text: string): number
}
