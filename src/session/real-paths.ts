/**
 * Where the paths that a command uses really lie, as facts for the decision: a symbolic link must not lead past a rule.
 * What the decision hears is what was so at that moment; what then happens is bounded by where the command runs.
 * @module
 */
import type { Effective } from '../defense/13policy/effective.ts'
import type { Facts } from '../defense/facts.ts'
import { RESOLVED_PATHS } from '../limits.ts'
import type { ProgramFinder } from '../sandbox/plan.ts'

const NOTHING: Facts['realPaths'] = Object.freeze([])

/** Only those that lie elsewhere than they say. */
export function findRealPaths({ commands }: Effective, finder: ProgramFinder): Facts['realPaths'] {
  let found: { path: string; real: string }[] | undefined
  let looked = 0
  for (const { paths } of commands) {
    for (const { path, isGlob } of paths) {
      if (isGlob || looked++ >= RESOLVED_PATHS) continue
      const real = finder.realPath(path)
      if (real === path || found?.some((entry) => entry.path === path)) continue
      found ??= []
      found.push({ path, real })
    }
  }
  return found ?? NOTHING
}
