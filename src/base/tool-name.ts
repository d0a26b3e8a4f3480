/**
 * The names of tools and tiers, closed: what a configuration may write and what the decision knows. Tiers are sets of
 * tools. T5 is the tier of those who hand work on (`Task`); T4 stands for a memory of agents, which no request to this
 * daemon asks for: it gives what T2 does.
 * @module
 */

export const TOOLS = Object.freeze([
  'Read',
  'Glob',
  'Grep',
  'Write',
  'Edit',
  'Bash',
  'WebFetch',
  'Task',
] as const)
export type Tool = (typeof TOOLS)[number]
/** Stands for every tool. */
export const ALL_TOOLS = '*'

const T1: readonly Tool[] = Object.freeze(['Read', 'Glob', 'Grep'])
const T2: readonly Tool[] = Object.freeze([...T1, 'Write', 'Edit', 'Bash'])
const T3: readonly Tool[] = Object.freeze([...T2, 'WebFetch'])
const T5: readonly Tool[] = Object.freeze([...T3, 'Task'])
/** What each tier gives at most. A tier is an entry here and nothing else: its name is taken from here everywhere. */
export const TIERS = Object.freeze({ T1, T2, T3, T4: T2, T5 })
export type Tier = keyof typeof TIERS
export const TIER_NAMES = Object.freeze(Object.keys(TIERS) as Tier[])

/** The lowest tier that gives all of these tools; undefined: none are needed. */
export function tierNeeded(tools: readonly Tool[]): Tier | undefined {
  if (tools.length === 0) return undefined
  return TIER_NAMES.find((tier) => tools.every((tool) => TIERS[tier].includes(tool)))
}

export function isTool(text: string): text is Tool {
  return (TOOLS as readonly string[]).includes(text)
}

/** The tools that a tier and a list of tools, or `*`, leave of each other. */
export function grantedTools(tier: Tier, tools: readonly string[]): readonly Tool[] {
  return TIERS[tier].filter((tool) => tools.includes(ALL_TOOLS) || tools.includes(tool))
}

/** Tools by name, or `*` for every one. */
export type ToolList = readonly (Tool | typeof ALL_TOOLS)[]
