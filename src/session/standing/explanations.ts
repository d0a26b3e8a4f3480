/**
 * The last decisions in words, for the operator who asks why: what was asked, what decided, and what to do. A bounded
 * number of them, each of a bounded length; the chain itself keeps digests for ever and words never.
 * @module
 */
import { type Described, describeDecision } from '../../defense/describe.ts'
import type { Facts } from '../../defense/facts.ts'
import type { Policy } from '../../defense/layer.ts'
import type { Verdict } from '../../defense/verdict.ts'
import { EXPLAINED_DECISIONS } from '../../limits.ts'

export type KeptExplanation = Described & { readonly sequence: number; readonly atMs: number }

export type Explanations = {
  keep(sequence: number, facts: Facts, verdict: Verdict): void
  find(sequence: number): KeptExplanation | undefined
  /** Forgets the decisions of that session. */
  purge(sessionId: string): void
}

type Kept = { readonly facts: Facts; readonly verdict: Verdict; readonly atMs: number }

/** In words already, and of which session. */
type KeptWords = KeptExplanation & { readonly sessionId: string | undefined }

/** Facts are small but for what a command carries; a decision with more than this is put into words at once. */
const SMALL_CHARS = 1_024

function charsOf({ action, realPaths }: Facts): number {
  let chars = 0
  for (const { real } of realPaths) chars += real.length
  if (action?.kind === 'upload' || action?.kind === 'download')
    return chars + action.path.length + action.real.length
  if (action?.kind === 'take_handoff') chars += action.artifact?.length ?? 0
  if (action?.kind === 'merge') for (const path of [...action.paths, ...action.force]) chars += path.length
  if (action?.kind !== 'execute') return chars
  for (const word of action.argv) chars += word.length
  for (const entry of action.environment) chars += entry.length
  return chars + action.cwd.length
}

/** Text that was cut out of a longer one keeps that in memory; this is what lets go of it. */
function detached(described: Described): Described {
  return JSON.parse(JSON.stringify(described)) as Described
}

export function createExplanations(policy: () => Policy, wallMs: () => number): Explanations {
  const kept = new Map<number, Kept | KeptWords>()
  return {
    keep(sequence, facts, verdict) {
      const entry = { facts, verdict, atMs: wallMs() }
      // Words cost time, and hardly any decision is ever asked about.
      kept.set(
        sequence,
        charsOf(facts) <= SMALL_CHARS
          ? entry
          : {
              ...detached(describeDecision(facts, verdict, policy())),
              sequence,
              atMs: entry.atMs,
              sessionId: facts.session?.id,
            },
      )
      if (kept.size > EXPLAINED_DECISIONS) {
        const [oldest] = kept.keys()
        if (oldest !== undefined) kept.delete(oldest)
      }
    },
    find(sequence) {
      const entry = kept.get(sequence)
      if (entry === undefined || 'sequence' in entry) return entry
      return { ...describeDecision(entry.facts, entry.verdict, policy()), sequence, atMs: entry.atMs }
    },
    purge(sessionId) {
      for (const [sequence, entry] of kept) {
        const own = 'facts' in entry ? entry.facts.session?.id : entry.sessionId
        if (own === sessionId) kept.delete(sequence)
      }
    },
  }
}
