/**
 * What keeps a session from being as far from the device as it could be: what it is given, and what this device could
 * not give.
 * Rules: docs/policy.md, "What is not read".
 * @module
 */
import type { Weakness } from '../../defense/facts.ts'
import type { NamespacePlan } from '../namespaces/namespace-plan.ts'

type Given = Pick<NamespacePlan, 'network' | 'devices' | 'sockets'>

/** What only the device itself shows. */
export type Lacking = {
  /** A place of the view could not be made an overlay. */
  readonly isCovered: boolean
  readonly isUnbounded: boolean
}

const NOTHING: Lacking = { isCovered: false, isUnbounded: false }

/** Of a session in a view of its own; without `lacking` as far as the configuration says it. */
export function weaknessesOf({ network, devices, sockets }: Given, lacking = NOTHING): readonly Weakness[] {
  const found: Weakness[] = []
  if (network === 'host') found.push('host_network')
  if (lacking.isCovered) found.push('covered_view')
  if (devices.length > 0) found.push('devices')
  if (sockets.length > 0) found.push('sockets')
  if (lacking.isUnbounded) found.push('unbounded')
  return found
}
