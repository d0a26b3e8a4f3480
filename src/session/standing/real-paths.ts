/**
 * What the host looks up for a decision: where the paths that a command uses really lie, since a symbolic link must not
 * lead past a rule, and where programs are pinned which files would be started besides its own.
 * What the decision hears is what was so at that moment; what then happens is bounded by where the command runs.
 * @module
 */
import type { Effective } from '../../defense/13policy/effective.ts'
import { isBuiltin } from '../../defense/capability.ts'
import type { Facts, Look } from '../../defense/facts.ts'
import type { Policy } from '../../defense/layer.ts'
import { RESOLVED_PATHS } from '../../limits.ts'
import { DEFAULT_PATH } from '../../sandbox/places/environment.ts'
import type { ProgramFinder } from '../../sandbox/places/found-program.ts'

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

/** Where programs are pinned: every other program that the command would start, as it would be found. */
function findPrograms(
  { commands }: Effective,
  finder: ProgramFinder,
  cwd: string,
  { pins, pinnedOnly }: Policy['security'],
): NonNullable<Look['programs']> {
  if (!pinnedOnly && Object.keys(pins).length === 0) return []
  return commands
    .filter((command) => command.via.length > 0 && !isBuiltin(command))
    .slice(0, RESOLVED_PATHS)
    .map((command) => {
      const name = command.argv[0] ?? ''
      const path = finder.find(name, command.cwd ?? cwd, DEFAULT_PATH)?.realPath ?? name
      return { path, sha256: Object.hasOwn(pins, path) ? (finder.pin(path)?.sha256 ?? null) : null }
    })
}

export function lookUp(effective: Effective, finder: ProgramFinder, cwd: string, policy: Policy): Look {
  return {
    realPaths: findRealPaths(effective, finder),
    programs: findPrograms(effective, finder, cwd, policy.security),
  }
}
