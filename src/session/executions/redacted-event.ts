/**
 * What the audit says of secrets that were hidden in the output of a command: of which kinds, and how many. The secrets
 * themselves are sealed with the facts of the session.
 * Rules: docs/firewall.md; docs/responses.md (what is recorded); JF-082, JF-089.
 * @module
 */
import { encodeBase64 } from '../../base/encoding/base64.ts'
import { REDACTED_KINDS } from '../../defense/firewall/limits.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import type { SecretFindings } from '../../defense/firewall/secrets/secret-screen.ts'
import type { AuditEvent } from '../../ports.ts'
import { type Execution, namedBy } from './execution.ts'

/** What is sealed: each source's secrets as they came, in Base64, with where they stood. */
export type Hidden = {
  readonly redacted: readonly { readonly kind: string; readonly offset: number; readonly secret: string }[]
}

/** Undefined where nothing was hidden. */
export function hiddenIn({ screened }: Execution): Hidden | undefined {
  const found = findingsOf(screened?.screens ?? [])
  if (found.length === 0) return undefined
  const redacted = found.flatMap(({ secrets }) =>
    secrets.map(({ kind, offset, secret }) => ({ kind, offset, secret: encodeBase64(secret) })),
  )
  return { redacted }
}

/** @param sealed the digest of what was sealed */
export function redactedEvent(execution: Execution, sealed: string): AuditEvent {
  return {
    type: 'redacted',
    ...namedBy(execution),
    ...countedIn(findingsOf(execution.screened?.screens ?? [])),
    facts: sealed,
  }
}

/** Of which kinds, and how many. */
export function countedIn(all: readonly SecretFindings[]) {
  const kinds: Record<string, number> = {}
  let [secrets, late] = [0, 0]
  for (const found of all) {
    secrets += found.count
    late += found.late
    for (const [kind, count] of found.kinds)
      if (kind in kinds || Object.keys(kinds).length < REDACTED_KINDS)
        kinds[kind] = (kinds[kind] ?? 0) + count
  }
  return { secrets, kinds, canaries: kinds['canary'] ?? 0, late }
}

function findingsOf(screens: readonly Screen[]): SecretFindings[] {
  return screens.flatMap(({ secrets }) => secrets ?? [])
}
