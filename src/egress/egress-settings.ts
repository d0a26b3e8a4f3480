/**
 * What the configuration says of the gate, read once: lists as they are matched, and what becomes of what no list has.
 * Rules: docs/egress.md, docs/configuration.md.
 * @module
 */

import { type IpRange, parseIpRange } from '../base/ip-address.ts'
import type { Config } from '../config/config.ts'
import { type EgressItem, writtenEgress } from '../config/egress-fields.ts'
import type { GateRules } from './gate-events.ts'
import { type EgressList, parseEgressList } from './lists/egress-list.ts'
import { narrowedList } from './lists/narrowed.ts'

export type EgressSettings = GateRules & {
  /** Of the device. */
  readonly list: EgressList
  readonly refusesInternal: boolean
  readonly reachable: readonly IpRange[]
}

/** Entries that are none are left away: a configuration that has some was refused before it came here. */
function readList(entries: readonly EgressItem[]): EgressList {
  const read = parseEgressList(entries.map(writtenEgress))
  return read.ok ? read.list : []
}

export function egressSettings({ sandbox, security }: Config): EgressSettings {
  const { unlisted_domains: unlisted } = security
  return {
    list: readList(sandbox.egress),
    // What is allowed to pass is still worth a line.
    unlisted: unlisted === 'allow' ? 'audit' : unlisted,
    refusesInternal: security.internal_addresses !== 'allow',
    reachable: security.reachable_addresses.flatMap((text) => {
      const parsed = parseIpRange(text)
      return parsed.ok ? [parsed.range] : []
    }),
  }
}

/** The list that holds for a capability set within another list; `entries` null: it says nothing of it. */
export function listWithin(
  { list }: Pick<EgressSettings, 'list'>,
  entries: readonly EgressItem[] | null,
): EgressList {
  return entries === null ? list : narrowedList(list, readList(entries))
}
