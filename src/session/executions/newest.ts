/**
 * What runs and what ended last, of one caller or of all: what is here, and the kept results of what is not.
 * Rules: docs/protocol.md, section 6.
 * @module
 */
import { type Execution, keyOf } from './execution.ts'
import type { KeptResults } from './kept-results.ts'

/** @param scope undefined: everybody's. `total` counts all that is known. */
export function newestOf(
  executions: ReadonlyMap<string, Execution>,
  results: Pick<KeptResults, 'newest' | 'has' | 'countOf'>,
  scope: string | undefined,
  most: number,
): { readonly found: Execution[]; readonly total: number } {
  const own = (execution: Execution) => scope === undefined || execution.scope === scope
  const here = [...executions.values()].filter(own)
  const gone = results.newest(scope, most).filter((execution) => !executions.has(keyOf(execution)))
  const kept = here.filter((execution) => results.has(execution)).length
  return {
    found: [...here, ...gone].sort((a, b) => b.startedAtMs - a.startedAtMs).slice(0, most),
    total: here.length - kept + results.countOf(scope),
  }
}
