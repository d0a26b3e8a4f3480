/**
 * Work that one agent hands on to another: the request for a token, and what becomes of one that a worker shows when it
 * authenticates. Each is decided and recorded before it takes effect.
 * Rules: docs/protocol.md, section 4 (delegation); docs/responses.md, layer 8.
 * @module
 */
import { ADMIN_NAME } from '../../base/text/name.ts'
import { ALL_TOOLS, grantedTools, isTool, type ToolList } from '../../base/tool-name.ts'
import type { Action, TokenState } from '../../defense/facts.ts'
import {
  type DelegateRequest,
  type DelegationAnswer,
  delegation as delegationMessage,
} from '../../wire/identity-messages.ts'
import { DELEGATIONS_PER_SESSION } from '../../wire/limits.ts'
import type { Handed } from '../callers/delegations.ts'
import { type Caller, scopeOf } from '../callers/identities.ts'
import type { Session } from '../callers/sessions.ts'
import { type Call, namesOf, type Peer } from '../common/peer.ts'
import { capabilityOf } from '../common/rooms.ts'
import { requested } from '../decisions/permitted.ts'

/** Whom nobody has invited is listed by the configuration. */
const CONFIGURED = 'configuration'

/** Why nothing can be handed on so; undefined: it can. */
function whyNot({ rooms }: Peer, caller: Caller, request: DelegateRequest): string | undefined {
  const { worker: name, tools, ttl_seconds: ttl } = request
  const worker = rooms.identities.find(name)
  if (caller.name === ADMIN_NAME)
    return 'Whoever comes through the admin socket has no capability set to hand on: do it as an agent.'
  if (name === caller.name) return 'An agent cannot hand work on to itself: name another one.'
  if (worker === undefined)
    return 'No agent of that name is listed: look at sass-edge agent list, and name one of them.'
  if (worker.role !== 'agent') return `${name} is an operator, whom nobody bounds: name an agent.`
  if (worker.delegatedBy !== undefined && worker.delegatedBy !== caller.name)
    return `${name} acts for ${worker.delegatedBy} already, and can act for one only: name another agent.`
  const own = grantedTools(caller.tier, caller.tools)
  const more = tools.filter((tool) => tool !== ALL_TOOLS && !(isTool(tool) && own.includes(tool)))
  if (more.length > 0)
    return `${caller.name} does not have ${more.join(', ').slice(0, 256)}, so it cannot hand that on: name tools of its own.`
  const [mine, its] = [caller, worker].map(
    ({ capability }) => capabilityOf(rooms, capability)?.run_as ?? null,
  )
  if (mine !== its)
    return `The commands of ${name} run as another user than yours, so nothing is what both may do: ask the operator for the same run_as.`
  return ttl < 1 ? 'Work is handed on for at least one second.' : undefined
}

export function delegate(peer: Peer, call: Call): void {
  const { rooms } = peer
  const actionOf = (request: DelegateRequest): Action => ({
    kind: 'delegate',
    worker: request.worker,
    tools: request.tools,
    commands: request.allowed_commands,
    paths: request.allowed_paths,
    seconds: request.ttl_seconds,
  })
  requested<DelegateRequest>(peer, call, actionOf, (request) => {
    const { caller, session } = peer
    if (caller === undefined || session === undefined) return
    const answer = (value: Partial<DelegationAnswer>) =>
      peer.connection.end(call.streamId, delegationMessage.encode(value))
    const problem = whyNot(peer, caller, request)
    const worker = rooms.identities.find(request.worker)
    if (problem !== undefined || worker === undefined) return answer({ message: problem ?? '' })
    const made = rooms.delegations.make(
      { name: worker.name, scope: scopeOf(worker) },
      handedOn(caller, session, request),
      request.ttl_seconds,
    )
    if (made === undefined)
      return answer({
        message: `As much work is handed on as may be, by this agent or by all, ${DELEGATIONS_PER_SESSION} times in one session: wait until some of it is over.`,
      })
    const { token, handed } = made
    const { id: delegation, user } = handed
    rooms.audit.append(
      {
        ...{ type: 'identity', what: 'delegated', ...namesOf(peer), user, worker: worker.name, delegation },
        seconds: request.ttl_seconds,
      },
      true,
    )
    rooms.log.write('info', 'delegated', { agent: caller.name, worker: worker.name })
    const expires_at = Math.floor(rooms.clock.wallMs() / 1_000) + request.ttl_seconds
    answer({ success: true, token, expires_at })
  })
}

function handedOn(
  caller: Caller,
  session: Session,
  { tools, allowed_commands, allowed_paths }: DelegateRequest,
): Omit<Handed, 'id' | 'endsAtMs'> {
  return {
    by: caller.name,
    session: session.id,
    orchestrator: session.instance,
    user: caller.enrolledBy ?? CONFIGURED,
    tools: tools.filter((tool) => tool === ALL_TOOLS || isTool(tool)) as ToolList,
    allowed_commands,
    allowed_paths,
  }
}

/** What a worker's token is, and what its session goes by where it is taken. */
export type Shown = { readonly state: TokenState; readonly handed?: Handed | undefined }

/** Undefined: it shows none, and acts as it is listed. @param resumed the session that it takes back */
export function shownToken(
  { rooms }: Peer,
  caller: Caller,
  token: Uint8Array | undefined,
  resumed: Session | undefined,
): Shown | undefined {
  if (token === undefined) return undefined
  const looked = rooms.delegations.look(token, { name: caller.name, scope: scopeOf(caller) })
  const { state, handed } = looked
  if (handed === undefined) return { state }
  // Whoever takes its session back shows the token that the session was begun with.
  if (resumed !== undefined) return { state: resumed.handed?.id === handed.id ? 'open' : 'twice' }
  if (state !== 'open') return { state }
  if (caller.delegatedBy !== undefined && caller.delegatedBy !== handed.by) return { state: 'twice' }
  const above = [...rooms.sessions.all()].find(({ id }) => id === handed.session)
  if (above === undefined || above.state === 'EXPIRED') return { state: 'orchestrator_gone' }
  return { state, handed }
}

/** A session has begun with the token. */
export function tokenUsed({ rooms }: Peer, handed: Handed, session: Session): void {
  rooms.delegations.use(handed.id)
  rooms.audit.append(
    {
      type: 'identity',
      what: 'delegation_used',
      agent: session.caller.name,
      instance: session.instance,
      session: session.id,
      user: handed.user,
      orchestrator: handed.orchestrator,
      delegation: handed.id,
    },
    true,
  )
}
