/**
 * ShowRules: what holds for the caller, in a few sentences for the model that works as it. That it was told is on the
 * record, with the digest of what it was told; whether it is heeded is nobody's to know.
 * Rules: docs/protocol.md, section 3; JF-021.
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import { grantedTools } from '../../base/tool-name.ts'
import { NO_CAPABILITY } from '../../defense/capability.ts'
import { policyDigest, policyRules } from '../../defense/digest/policy-digest.ts'
import { listWithin } from '../../egress/egress-settings.ts'
import { networkOf } from '../../sandbox/places/place.ts'
import { rulesTold } from '../../wire/identity-messages.ts'
import { namesOf, type Peer } from '../common/peer.ts'
import { setOf, tenantOf } from '../common/rooms.ts'

/** The tools that are granted to the caller, within what was handed on to its session. */
function toolsOf({ caller, session }: Peer): readonly string[] {
  if (caller === undefined) return []
  const own = grantedTools(caller.tier, caller.tools)
  const handed = session?.handed?.tools
  return handed === undefined || handed.includes('*') ? own : own.filter((tool) => handed.includes(tool))
}

export function showRules(peer: Peer): ReturnType<typeof rulesTold.encode> {
  const { rooms, caller, session } = peer
  const { settings, policy, planner } = rooms
  const set = setOf(rooms, caller, session)
  const tenant = session === undefined ? undefined : tenantOf(rooms, session)
  const place = session === undefined ? undefined : rooms.places.find(session.id)
  const rules = policyRules({
    tools: toolsOf(peer),
    set: set ?? NO_CAPABILITY,
    security: policy.security,
    workspace: planner.workspaceRoot,
    isBranched: (place?.level ?? (settings.isBranched ? 'overlay' : 'none')) !== 'none',
    network: tenant === undefined ? 'none' : networkOf(tenant, settings.network),
    reachable: listWithin(settings.egress, set?.egress ?? null).map(({ text }) => text),
    unlisted: settings.egress.unlisted,
    confirmSeconds: Math.floor(settings.confirmTimeoutMs / 1_000),
  })
  const text = policyDigest(rules)
  const digest = sha256(encodeUtf8(text))
  rooms.audit.append(
    {
      type: 'policy_digest',
      ...namesOf(peer),
      rules: rules.length,
      bytes: text.length,
      sha256: encodeHex(digest),
    },
    true,
  )
  return rulesTold.encode({ text, sha256: digest })
}
