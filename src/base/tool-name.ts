/**
 * The names of tools and tiers, closed: what a configuration may write and what the decision knows.
 * @module
 */

export const TOOLS = Object.freeze([
  'Read',
  'Glob',
  'Grep',
  'Write',
  'Edit',
  'Bash',
  'WebSearch',
  'WebFetch',
  'Context7',
  'Memory-Keeper',
  'Task',
] as const)
export type Tool = (typeof TOOLS)[number]
/** Stands for every tool. */
export const ALL_TOOLS = '*'

export const TIER_NAMES = Object.freeze(['T1', 'T2', 'T3', 'T4', 'T5'] as const)
export type Tier = (typeof TIER_NAMES)[number]

export function isTool(text: string): text is Tool {
  return (TOOLS as readonly string[]).includes(text)
}
