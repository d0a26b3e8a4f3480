/**
 * Kept policies that no decision needs any more: no record that is kept names them, and they did not hold when the first
 * of these was made. They go after the files of the chain that named them, one look at a file of the chain at a time, so
 * that nobody waits for it. In doubt a policy stays: whatever cannot be read ends the search.
 *
 * The document goes first, then rules that no document names: a crash in between leaves rules alone, which go the next
 * time, and never a document without its rules.
 * Rules: docs/responses.md, section 7 (retention).
 * @module
 */
import { existsSync, readdirSync, unlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { chainPaths, policyOfDropped } from '../../audit/retention.node.ts'
import { activePath, eachLine, openSegment } from '../../audit/segments.node.ts'
import { closing } from '../../base/closing.node.ts'
import { syncDirectorySoon } from '../../base/files.node.ts'
import { rulesNamedIn } from './frozen-policy.node.ts'

export type UnusedPolicies = {
  /** Files of the chain are gone: there may be some. */
  look(): void
  /**
   * Goes on looking, at one file of the chain; removes what there is when all were looked at.
   * @throws the system's error, or INTEGRITY_RISK for a document that was changed; then nothing is removed
   */
  tick(): void
}

const NAMED = /"frozen":"([0-9a-f]{64})"/
const NEEDLE = Buffer.from('"frozen":')
const DOCUMENT = /^[0-9a-f]{64}\.json$/
const RULES = /^[0-9a-f]{64}\.rules$/

function namesIn(path: string): readonly string[] {
  const names = new Set<string>()
  const descriptor = openSegment(path)
  using _descriptor = closing(descriptor)
  eachLine(descriptor, (line) => {
    const name = line.includes(NEEDLE) ? NAMED.exec(line.toString('latin1'))?.[1] : undefined
    if (name !== undefined) names.add(name)
    return false
  })
  return [...names]
}

/**
 * @param directory that of the audit
 * @param policies where the policies are kept
 */
export function createUnusedPolicies(directory: string, policies: string): UnusedPolicies {
  let isLooking = false
  /** What closed files name, by their path: they do not change. */
  let known = new Map<string, readonly string[]>()

  const entries = (pattern: RegExp) =>
    existsSync(policies) ? readdirSync(policies).filter((name) => pattern.test(name)) : []

  function remove(named: ReadonlySet<string>): void {
    const unused = entries(DOCUMENT).filter((name) => !named.has(basename(name, '.json')))
    if (unused.length === 0 && entries(RULES).length <= 1) return
    const rules = new Set<string>()
    for (const name of named) for (const sha256 of rulesNamedIn(policies, name)) rules.add(sha256)
    for (const name of unused) unlinkSync(join(policies, name))
    for (const name of entries(RULES))
      if (!rules.has(basename(name, '.rules'))) unlinkSync(join(policies, name))
    syncDirectorySoon(policies, () => {})
  }

  return {
    look() {
      isLooking = true
    },
    tick() {
      if (!isLooking) return
      if (entries(DOCUMENT).length <= 1 && entries(RULES).length <= 1) {
        isLooking = false
        return
      }
      const active = activePath(directory)
      const closed = chainPaths(directory).filter((path) => path !== active)
      known = new Map([...known].filter(([path]) => closed.includes(path)))
      const next = closed.find((path) => !known.has(path))
      if (next !== undefined) {
        known.set(next, namesIn(next))
        return
      }
      isLooking = false
      const before = policyOfDropped(directory)
      // What held before the first record that is kept is not known: it may be any.
      if (before === undefined) return
      remove(new Set([before, ...[...known.values()].flat(), ...namesIn(active)]))
    },
  }
}
