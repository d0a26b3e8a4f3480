/**
 * Who may authenticate, and the check of a caller's proof. Name and role come from the list, never from the
 * request: the key must be listed under that very name, and the signature must bind this very connection.
 * Rules: docs/protocol.md, section 4.
 * @module
 */

import { checkPublicKey } from '../../base/crypto/ed25519-key.ts'
import { equalConstantTime } from '../../base/crypto/hash.ts'
import { decodeBase64Url, encodeBase64Url } from '../../base/encoding/base64.ts'
import { ALL_TOOLS, grantedTools, isTool } from '../../base/tool-name.ts'
import type { Delegation, Identity } from '../../defense/facts.ts'
import type { Tier, ToolList } from '../../defense/tools.ts'
import type { Code } from '../../errors.ts'
import { authSigningInput } from '../../wire/auth-input.ts'
import type { AuthRequest } from '../../wire/messages.ts'
import { type Handed, narrowedTools } from './delegations.ts'
import type { Enrolled, Enrolments, Invitation } from './enrolments.ts'

export type CallerRole = 'agent' | 'operator'
export type Caller = {
  readonly name: string
  readonly role: CallerRole
  readonly capability: string
  readonly tier: Tier
  readonly tools: ToolList
  /** Whom it acts for. */
  readonly delegatedBy: string | undefined
  /** The operator that has invited it; absent: the configuration lists it. */
  readonly enrolledBy?: string
  /** The one that was proven, or of a caller that is looked up, the one that it has now. */
  readonly publicKey: Uint8Array
  /** The one that it was listed with, where it has changed it since. */
  readonly listedKey?: Uint8Array
  /** The one before, as long as it is taken. */
  readonly previousKey?: Uint8Array
}

/** Whose executions are whose: of the key, since a name may be another one's tomorrow. Empty on the admin socket. */
export function scopeOf(caller: Pick<Caller, 'publicKey' | 'listedKey'> | undefined): string {
  return caller === undefined ? '' : encodeBase64Url(caller.listedKey ?? caller.publicKey)
}

/** Whom a handoff is given to: its name, and its key (scopeOf), since a name may be another one's tomorrow. */
export type Recipient = { readonly name: string; readonly scope: string }

export function recipientOf(caller: Caller | undefined): Recipient {
  return { name: caller?.name ?? '', scope: scopeOf(caller) }
}

/** The tier of who has enrolled, by its role. */
export type TierOf = (role: CallerRole) => Tier

export type Identities = {
  readonly size: number
  readonly tierOf: TierOf
  find(name: string): Caller | undefined
  /** Whether that is, or was lately, a key of somebody who is listed. */
  hasKey(key: Uint8Array): boolean
}

type Listed = {
  readonly name: string
  readonly public_key: string
  readonly role: CallerRole
  readonly capability: string
  readonly tier: Tier
  readonly tools: readonly string[]
  readonly delegated_by: string | null
}

/** What of the book of enrolments a list looks into. */
export type BesideTheList = Pick<Enrolments, 'version' | 'size' | 'find' | 'keysOf' | 'hasKey'>

/** What an invitation gives besides a role and a set. */
const ENROLLED_RIGHTS = Object.freeze({ tools: [ALL_TOOLS], delegatedBy: undefined } as const)

function invitedCaller(
  { name, role, capability, by }: Invitation | Enrolled,
  publicKey: Uint8Array,
  tierOf: TierOf,
): Caller {
  return {
    name,
    role,
    capability,
    tier: tierOf(role),
    ...ENROLLED_RIGHTS,
    publicKey,
    ...(by === undefined ? {} : { enrolledBy: by }),
  }
}

/**
 * The authorised list of a configuration that was checked already (names and keys unique, keys good), and who has
 * enrolled beside it. The configuration comes first: whom it names, or whose key it has, nobody else can be.
 */
export function createIdentities(
  agents: readonly Listed[],
  beside?: BesideTheList,
  tierOf: TierOf = () => 'T3',
): Identities {
  const byName = new Map<string, Caller>()
  const keys = new Set<string>()
  for (const { name, public_key, role, capability, tier, tools, delegated_by } of agents) {
    const publicKey = decodeBase64Url(public_key, 32)
    if (publicKey === undefined) continue
    const known = tools.filter((tool) => tool === ALL_TOOLS || isTool(tool)) as ToolList
    const delegatedBy = delegated_by ?? undefined
    byName.set(name, { name, role, capability, tier, tools: known, delegatedBy, publicKey })
    keys.add(public_key)
  }
  if (beside === undefined)
    return {
      size: byName.size,
      tierOf,
      find: (name) => byName.get(name),
      hasKey: (key) => keys.has(encodeBase64Url(key)),
    }

  function listed(name: string): Caller | undefined {
    const own = byName.get(name)
    const enrolled = own === undefined ? beside?.find(name) : undefined
    if (enrolled === undefined || keys.has(enrolled.public_key)) return own
    const key = decodeBase64Url(enrolled.public_key, 32)
    return key === undefined ? undefined : invitedCaller(enrolled, key, tierOf)
  }

  function callerOf(name: string): Caller | undefined {
    const caller = listed(name)
    if (caller === undefined || beside === undefined) return undefined
    const text = encodeBase64Url(caller.publicKey)
    const { current, previous } = beside.keysOf(name, text)
    if (current === text) return caller
    const publicKey = decodeBase64Url(current, 32)
    const previousKey = previous === undefined ? undefined : decodeBase64Url(previous, 32)
    // A key that cannot be read is nobody's.
    if (publicKey === undefined) return undefined
    return { ...caller, publicKey, listedKey: caller.publicKey, ...(previousKey && { previousKey }) }
  }

  const found = new Map<string, Caller>()
  let version = -1

  return {
    tierOf,
    get size() {
      return byName.size + beside.size
    },
    find(name) {
      if (version !== beside.version) {
        found.clear()
        version = beside.version
      }
      const known = found.get(name) ?? callerOf(name)
      // Of nobody there is nothing to keep: strangers name whatever they like.
      if (known !== undefined) found.set(name, known)
      return known
    },
    hasKey: (key) => keys.has(encodeBase64Url(key)) || beside.hasKey(encodeBase64Url(key)),
  }
}

/** Whether a caller may go on with the key that it has proven: the one that it has now, or the one before while it is taken. */
export function isInForce({ publicKey, previousKey }: Caller, proven: Uint8Array): boolean {
  return (
    equalConstantTime(publicKey, proven) ||
    (previousKey !== undefined && equalConstantTime(previousKey, proven))
  )
}

/** More than any chain that the decision lets through, and an end for one that runs in a circle. */
const CHAIN_MOST = 8

/** For whom a caller acts, counted from the list; `handed`: what was handed on to its session with a token. */
function delegationOf(
  caller: Caller,
  identities: Identities,
  handed: Handed | undefined,
): Delegation | undefined {
  let above: string | undefined = handed?.by ?? caller.delegatedBy
  if (above === undefined) return undefined
  const chain: Delegation['chain'][number][] = []
  while (above !== undefined && chain.length < CHAIN_MOST) {
    const found = identities.find(above)
    // Whoever is not listed any more gives nothing.
    const tools = found === undefined ? [] : grantedTools(found.tier, found.tools)
    const isHere = handed !== undefined && chain.length === 0
    chain.push({
      name: above,
      capability: found?.capability ?? '',
      tools: isHere ? narrowedTools(tools, handed.tools) : tools,
    })
    above = found?.delegatedBy
  }
  if (handed === undefined) return { chain, hops: chain.length }
  const { user, session, orchestrator, allowed_commands, allowed_paths } = handed
  return {
    chain,
    hops: chain.length,
    handed: { user, session, orchestrator, allowed_commands, allowed_paths },
  }
}

/** A listed caller as the decision sees it; `session`: what its session goes by, where it has one. */
export function factsOf(
  caller: Caller,
  identities: Identities,
  session: { readonly instance: string; readonly handed?: Handed | undefined } | undefined,
): Identity {
  const { name, role, capability, tier, tools } = caller
  return {
    kind: 'known',
    name,
    role,
    capability,
    tier,
    tools,
    delegation: delegationOf(caller, identities, session?.handed),
    instance: session?.instance,
  }
}

export type VerifySignature = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

export type Proof =
  /** `invitation`: the caller is not listed yet, and is once this is used up. */
  | { readonly ok: true; readonly caller: Caller; readonly invitation?: Invitation }
  | { readonly ok: false; readonly code: Code; readonly why: string }

/**
 * Checks a complete request. The reason is for the operator; the peer learns nothing.
 * @param clientName the name in the peer's certificate, where certificates are asked for: then nobody else may be named
 * @param enrolments where the token of somebody who is not listed is looked up
 */
export function checkProof(
  request: AuthRequest,
  identities: Identities,
  channelBinding: Uint8Array | undefined,
  verify: VerifySignature,
  clientName?: string,
  enrolments?: Pick<Enrolments, 'invited'>,
): Proof {
  if (channelBinding === undefined)
    return { ok: false, code: 'AUTH_INVALID', why: 'The connection gives no channel binding.' }
  if (clientName !== undefined && clientName !== request.agent_name) {
    const why = 'The client certificate is of another name than the one that the peer gave.'
    return { ok: false, code: 'TLS_CLIENT_CERT_INVALID', why }
  }
  const { enrolment, public_key: key } = request
  const known = identities.find(request.agent_name)
  const invitation =
    known === undefined && enrolment !== undefined
      ? enrolments?.invited(request.agent_name, enrolment)
      : undefined
  if (invitation !== undefined && (!checkPublicKey(key).ok || identities.hasKey(key)))
    return {
      ok: false,
      code: 'AUTH_KEY_NOT_FOUND',
      why: `The key to enrol ${invitation.name} with cannot be taken.`,
    }
  const caller = invitation === undefined ? known : invitedCaller(invitation, key, identities.tierOf)
  if (caller === undefined) {
    const how = enrolment === undefined ? '' : ', with an enrolment that is not open'
    return { ok: false, code: 'AUTH_KEY_NOT_FOUND', why: `The peer named an agent that is not listed${how}.` }
  }
  if (!isInForce(caller, key)) {
    return {
      ok: false,
      code: 'AUTH_KEY_NOT_FOUND',
      why: `The peer named ${caller.name} with a key that is not listed under that name.`,
    }
  }
  const input = authSigningInput(request.agent_name, request.nonce, channelBinding)
  if (request.signature.length !== 64 || !verify(key, input, request.signature)) {
    return {
      ok: false,
      code: 'AUTH_SIGNATURE_INVALID',
      why: `The signature for ${caller.name} does not fit this connection.`,
    }
  }
  // What it has proven is what it goes on with.
  const proven = equalConstantTime(caller.publicKey, key) ? caller : { ...caller, publicKey: key }
  return { ok: true, caller: proven, ...(invitation && { invitation }) }
}

/** The caller by its name, since a reload may have changed what it may. */
export function callerAsListed(caller: Caller, identities: Pick<Identities, 'find'>): Caller {
  const { publicKey, name } = caller
  if (publicKey.length === 0) return caller
  const listed = identities.find(name)
  // Whoever is not listed any more, or not with that key, has nothing, for as long as it takes to end its session.
  if (listed === undefined || !isInForce(listed, publicKey))
    return { ...caller, role: 'agent', capability: '', tools: [] }
  return listed.publicKey === publicKey ? listed : { ...listed, publicKey }
}
