/**
 * A capability set within another one: what a session has that acts for somebody who has the other. Its numbers, its
 * variables and its lists are those that both have. Which commands and paths may be used is asked of each set by itself
 * (gates/rights.ts): two patterns have no pattern in common that is easily written. What is told of them here is the
 * part that one of the two covers.
 * Rules: docs/responses.md, layers 8 and 9.
 * @module
 */
import { type CapabilitySet, matchesCommand, matchesPath } from './capability.ts'

type Covers = (outer: string, inner: string) => boolean

/** The patterns of either list that a pattern of the other covers: what both surely have. */
function inBoth(one: readonly string[], other: readonly string[], covers: Covers): string[] {
  const found = new Set<string>()
  for (const a of one)
    for (const b of other) {
      if (covers(b, a)) found.add(a)
      else if (covers(a, b)) found.add(b)
    }
  return [...found]
}

/** A pattern is read as the words of a command: `*` in it is a word that only `*` fits. */
const coversCommand: Covers = (outer, inner) =>
  matchesCommand(
    outer,
    inner.split(' ').filter((word) => word !== ''),
    undefined,
  )

/** `NAME`, the beginning of names followed by `*`, or `*`. */
const coversVariable: Covers = (outer, inner) =>
  outer === inner || (outer.endsWith('*') && inner.startsWith(outer.slice(0, -1)))

function leastOf(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.min(one, other)
}

const eitherOf = (one: readonly string[], other: readonly string[]): string[] => [
  ...new Set([...one, ...other]),
]

/** Only these commands and paths. */
export type Subset = Pick<CapabilitySet, 'allowed_commands' | 'allowed_paths'>

/** What `own` leaves within `above`: of the user and of the network it says what `own` does. */
export function narrowedSet(own: CapabilitySet, above: CapabilitySet): CapabilitySet {
  return {
    ...own,
    ...withinSubset(own, above),
    denied_commands: eitherOf(own.denied_commands, above.denied_commands),
    forbidden_commands: eitherOf(own.forbidden_commands ?? [], above.forbidden_commands ?? []),
    denied_paths: eitherOf(own.denied_paths, above.denied_paths),
    max_concurrent: Math.min(own.max_concurrent, above.max_concurrent),
    timeout_seconds: leastOf(own.timeout_seconds, above.timeout_seconds),
    max_file_size_bytes: Math.min(own.max_file_size_bytes, above.max_file_size_bytes),
    allowed_env: inBoth(own.allowed_env, above.allowed_env, coversVariable),
    output_bytes: leastOf(own.output_bytes, above.output_bytes),
  }
}

/** The commands and paths of a set that a subset leaves. */
export function withinSubset(own: CapabilitySet, subset: Subset): CapabilitySet {
  return {
    ...own,
    allowed_commands: inBoth(own.allowed_commands, subset.allowed_commands, coversCommand),
    allowed_paths: inBoth(own.allowed_paths, subset.allowed_paths, matchesPath),
  }
}
