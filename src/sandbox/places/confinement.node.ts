/**
 * How far from the device the commands of a session run, in one digest: the same for all sessions that may see, reach
 * and take the same.
 * Rules: docs/sandbox.md (what is recorded of it); docs/policy.md, "What is not read".
 * @module
 */

import { hostTextDigest } from '../../base/crypto/sha256.node.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import { type EgressItem, writtenEgress } from '../../config/egress-fields.ts'
import type { Confinement } from '../../defense/facts.ts'
import type { BranchLevel } from '../branch/files/branch.ts'
import { areProcessesBounded, type ControlGroups, type GroupLimits } from '../launcher/control-groups.node.ts'
import type { NamespacePlan, ViewGaps } from '../namespaces/namespace-plan.ts'
import { weaknessesOf } from './weaknesses.ts'

type Made = {
  readonly level: BranchLevel
  readonly plan: NamespacePlan
  readonly gaps: ViewGaps
  readonly limits: GroupLimits
  readonly groups: Pick<ControlGroups, 'bounds'>
  /** The list that a capability set has of its own; null: the device's. */
  readonly egress: readonly EgressItem[] | null
}

/** It stands in every record of a command: 128 bits tell one apart from all others. */
const DIGEST_BYTES = 16

function digestOf(what: unknown): string {
  const text = canonicalize(JSON.parse(JSON.stringify(what)) as Json)
  return hostTextDigest(text).slice(0, 2 * DIGEST_BYTES)
}

/** Of a session in a view of its own. */
export function confinementOf(made: Made): Confinement {
  const { level, plan, gaps, limits, groups, egress } = made
  const { read, hidden, hidesSecrets, sockets, shown, volatile, devices, network, scratchBytes } = plan
  const { userId, groupId, homes } = plan
  const roots = plan.roots.map(({ kind, path }) => ({ kind, path }))
  const digest = digestOf({
    ...{ level, read, hidden, hidesSecrets, roots, shown, volatile, devices, sockets, network, scratchBytes },
    ...{ userId, groupId, homes, limits, covered: gaps.covered, refused: gaps.refused },
    egress: egress === null ? null : egress.map(writtenEgress),
  })
  return {
    digest,
    weak: weaknessesOf(plan, {
      isCovered: gaps.covered.length > 0,
      isUnbounded: !areProcessesBounded(groups),
    }),
  }
}

/** Of a session on the real files. */
export function unconfined(runAs: string | null): Confinement {
  return { digest: digestOf({ level: 'none', runAs }), weak: ['real_files'] }
}
