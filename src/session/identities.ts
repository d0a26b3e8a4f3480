/**
 * Who may authenticate, and the check of a caller's proof. Name and role come from the list, never from the
 * request: the key must be listed under that very name, and the signature must bind this very connection.
 * Rules: docs/protocol.md, section 4.
 * @module
 */
import { decodeBase64Url, encodeBase64Url } from '../base/base64.ts'
import { equalConstantTime } from '../base/hash.ts'
import { ALL_TOOLS, grantedTools, isTool } from '../base/tool-name.ts'
import type { Delegation, Identity } from '../defense/facts.ts'
import type { Tier, ToolList } from '../defense/tools.ts'
import type { Code } from '../errors.ts'
import { authSigningInput } from '../wire/auth-input.ts'
import type { AuthRequest } from '../wire/messages.ts'

export type CallerRole = 'agent' | 'operator'
export type Caller = {
  readonly name: string
  readonly role: CallerRole
  readonly capability: string
  readonly tier: Tier
  readonly tools: ToolList
  /** Whom it acts for. */
  readonly delegatedBy: string | undefined
  readonly publicKey: Uint8Array
}

/** Whose executions are whose: of the key, since a name may be another one's tomorrow. Empty on the admin socket. */
export function scopeOf(caller: Pick<Caller, 'publicKey'> | undefined): string {
  return caller === undefined ? '' : encodeBase64Url(caller.publicKey)
}

export type Identities = { find(name: string): Caller | undefined }

type Listed = {
  readonly name: string
  readonly public_key: string
  readonly role: CallerRole
  readonly capability: string
  readonly tier: Tier
  readonly tools: readonly string[]
  readonly delegated_by: string | null
}

/** The authorised list of a configuration that was checked already (names and keys unique, keys good). */
export function createIdentities(agents: readonly Listed[]): Identities {
  const byName = new Map<string, Caller>()
  for (const { name, public_key, role, capability, tier, tools, delegated_by } of agents) {
    const publicKey = decodeBase64Url(public_key, 32)
    if (publicKey === undefined) continue
    const known = tools.filter((tool) => tool === ALL_TOOLS || isTool(tool)) as ToolList
    const delegatedBy = delegated_by ?? undefined
    byName.set(name, { name, role, capability, tier, tools: known, delegatedBy, publicKey })
  }
  return { find: (name) => byName.get(name) }
}

/** More than any chain that the decision lets through, and an end for one that runs in a circle. */
const CHAIN_MOST = 8

/** For whom a caller acts, counted from the list. */
function delegationOf(caller: Caller, identities: Identities): Delegation | undefined {
  if (caller.delegatedBy === undefined) return undefined
  const chain: Delegation['chain'][number][] = []
  let above: string | undefined = caller.delegatedBy
  while (above !== undefined && chain.length < CHAIN_MOST) {
    const found = identities.find(above)
    // Whoever is not listed any more gives nothing.
    const tools = found === undefined ? [] : grantedTools(found.tier, found.tools)
    chain.push({ name: above, capability: found?.capability ?? '', tools })
    above = found?.delegatedBy
  }
  return { chain, hops: chain.length }
}

/** A listed caller as the decision sees it. */
export function factsOf(caller: Caller, identities: Identities, instance: string | undefined): Identity {
  const { name, role, capability, tier, tools } = caller
  return {
    kind: 'known',
    name,
    role,
    capability,
    tier,
    tools,
    delegation: delegationOf(caller, identities),
    instance,
  }
}

export type VerifySignature = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

export type Proof =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly code: Code; readonly why: string }

/**
 * Checks a complete request. The reason is for the operator; the peer learns nothing.
 * @param clientName the name in the peer's certificate, where certificates are asked for: then nobody else may be named
 */
export function checkProof(
  request: AuthRequest,
  identities: Identities,
  channelBinding: Uint8Array | undefined,
  verify: VerifySignature,
  clientName?: string,
): Proof {
  if (channelBinding === undefined)
    return { ok: false, code: 'AUTH_INVALID', why: 'The connection gives no channel binding.' }
  if (clientName !== undefined && clientName !== request.agent_name) {
    const why = 'The client certificate is of another name than the one that the peer gave.'
    return { ok: false, code: 'TLS_CLIENT_CERT_INVALID', why }
  }
  const caller = identities.find(request.agent_name)
  if (caller === undefined)
    return { ok: false, code: 'AUTH_KEY_NOT_FOUND', why: 'The peer named an agent that is not listed.' }
  if (!equalConstantTime(caller.publicKey, request.public_key)) {
    return {
      ok: false,
      code: 'AUTH_KEY_NOT_FOUND',
      why: `The peer named ${caller.name} with a key that is not listed under that name.`,
    }
  }
  const input = authSigningInput(request.agent_name, request.nonce, channelBinding)
  if (request.signature.length !== 64 || !verify(caller.publicKey, input, request.signature)) {
    return {
      ok: false,
      code: 'AUTH_SIGNATURE_INVALID',
      why: `The signature for ${caller.name} does not fit this connection.`,
    }
  }
  return { ok: true, caller }
}
