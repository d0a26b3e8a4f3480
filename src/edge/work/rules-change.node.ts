/**
 * What the record says where people have changed what is allowed and denied: by a reload, or while the daemon was not
 * there. Such a change is worth a second look, whoever made it: C3 of C1 to C4, and C4 where the rules are pinned, since
 * those are the ones that nobody was to change.
 * Rules: JF-012, JF-040, JF-R41; docs/operations.md (reload).
 * @module
 */
import { hostTextDigest } from '../../base/crypto/sha256.node.ts'
import { canonicalize } from '../../base/encoding/canonical-json.ts'
import type { Json } from '../../base/encoding/strict-json.ts'
import type { Config } from '../../config/config.ts'
import type { AuditValue, Log } from '../../ports.ts'
import { compareRules, keepRulesMark } from '../state/rules-mark.node.ts'

type Fields = Readonly<Record<string, AuditValue>>

/** SHA-256, hex, of what is allowed and denied, and of the rules. */
export function deniedBy({ capabilities, security, policy }: Config, rules: string): string {
  const named = { capabilities, security, policy, rules } as unknown as Json
  return hostTextDigest(canonicalize(named))
}

/** Nothing where both are the same. */
export function rulesChange({ policy }: Config, from: string, to: string): Fields {
  if (from === to) return {}
  return { care: policy.rules_sha256 === null ? 'C3' : 'C4', denied_from: from, denied: to }
}

/** For the record of the start: whether the rules are those of the run before; kept for the next one. */
export function rulesAtStart(config: Config, rules: string, log: Log): Fields {
  const to = deniedBy(config, rules)
  const { configuration, before } = compareRules(config.state_directory, to)
  keepRulesMark(config.state_directory, to)
  if (configuration === 'DRIFT_DETECTED') log.write('warn', 'rules_changed', { from: before ?? '', to })
  return { configuration, ...rulesChange(config, before ?? to, to) }
}
