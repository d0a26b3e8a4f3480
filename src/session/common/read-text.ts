/**
 * How texts of agents are read before others read them.
 * Rules: docs/handoffs.md; docs/firewall.md.
 * @module
 */

export type ReadText = {
  /** With what is secret hidden, and how many secrets those were. */
  hide(text: string): { readonly text: string; readonly hidden: number }
  /** Per mille of certainty that it gives orders to the model that reads it. */
  assess(text: string): number
}
