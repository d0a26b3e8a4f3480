/**
 * The operator's methods: questions to a human, levels of alarm, penalties, explanations, reload. Who calls them has
 * been decided by then; what changes something is an action of its own, recorded with who did it.
 * Rules: docs/protocol.md, section 3 (32 to 63); docs/responses.md, sections 4 and 8.
 * @module
 */

import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import type { Action } from '../../defense/facts.ts'
import { isLevel, LEVELS } from '../../defense/level.ts'
import { LISTED_CONFIRMATIONS, LISTED_ENTRIES } from '../../limits.ts'
import type { Termination } from '../../wire/identity-messages.ts'
import * as m from '../../wire/messages.ts'
import * as s from '../../wire/status-messages.ts'
import { terminate } from '../common/end-session.ts'
import { metricsText } from '../common/metrics.ts'
import type { Call, Handler, Peer } from '../common/peer.ts'
import { requested, telling } from '../decisions/permitted.ts'
import { isRunning } from '../executions/execution.ts'
import type { Pending } from '../standing/confirmations.ts'
import type { LevelScope } from '../standing/levels.ts'
import { sentence } from '../standing/sentence.ts'

type Answer = { readonly success: boolean; readonly message: string }

/** So many of them fit one frame with the rest of their entries. */
const LEVEL_WHY_BYTES = 256
const EFFECTIVE_BYTES = 240
const OPAQUE_BYTES = 256
const CONFINEMENT_BYTES = 512
const SCOPES: readonly string[] = Object.freeze(['daemon', 'agent', 'session'])

const done = (message: string): Answer => ({ success: true, message })
const notDone = (message: string): Answer => ({ success: false, message })

function answer(peer: Peer, call: Call, { success, message }: Answer): void {
  peer.connection.end(call.streamId, m.outcome.encode({ success, message: sentence(message) }))
}

/** `act` says what came of it; undefined: it answers by itself, later. */
function changing<T>(
  actionOf: (request: T) => Action,
  act: (peer: Peer, call: Call, request: T) => Answer | undefined,
  problemOf?: (request: T) => string,
): Handler {
  return (peer, call) => {
    const go = (request: T): void => {
      const outcome = act(peer, call, request)
      if (outcome !== undefined) answer(peer, call, outcome)
    }
    requested(peer, call, actionOf, go, problemOf)
  }
}

/** One of each agent in turn, so that no agent's questions push those of others out of the list. */
function inTurn(all: readonly Pending[]): readonly Pending[] {
  const byAgent = new Map<string, Pending[]>()
  for (const pending of all) {
    const own = byAgent.get(pending.agent)
    if (own === undefined) byAgent.set(pending.agent, [pending])
    else own.push(pending)
  }
  const ordered: Pending[] = []
  for (let round = 0; ordered.length < all.length; round++)
    for (const own of byAgent.values()) {
      const pending = own[round]
      if (pending !== undefined) ordered.push(pending)
    }
  return ordered
}

function listConfirmations({ rooms }: Peer): ReturnType<typeof m.empty.encode> {
  const all = inTurn(rooms.confirmations.list())
  const confirmations = all.slice(0, LISTED_CONFIRMATIONS).map((pending) => ({
    id: pending.idBytes,
    agent_name: pending.agent,
    session_id: decodeHex(pending.sessionId) ?? new Uint8Array(16),
    layer: pending.layer,
    rule: pending.rule,
    reason: sentence(pending.reason),
    shown: pending.shownText,
    digest: pending.digest,
    asked_at: Math.floor(pending.askedAtMs / 1_000),
    expires_at: Math.floor(pending.expiresAtMs / 1_000),
  }))
  return m.confirmationList.encode({
    confirmations: confirmations as readonly m.Confirmation[],
    total: all.length,
  })
}

const answerConfirmation = changing<m.ConfirmationAnswer>(
  ({ id, digest, approve }) => ({
    kind: 'confirm',
    id: encodeHex(id),
    digest: encodeHex(digest),
    approves: approve,
  }),
  ({ rooms, caller }, _call, { id, digest, approve }) => {
    const by = caller?.name ?? ''
    switch (rooms.confirmations.answer(encodeHex(id), encodeHex(digest), approve, by)) {
      case 'taken':
        return done(approve ? 'Approved; the request goes on.' : 'Denied.')
      case 'unknown':
        return notDone('There is no such question any more: it was answered, withdrawn or too old.')
      case 'other_digest':
        return notDone(
          'The digest is of something else than what is asked: list the questions again and look at them.',
        )
    }
  },
)

function showLevels({ rooms }: Peer): ReturnType<typeof m.empty.encode> {
  const entries = rooms.levels
    .list()
    .toSorted((a, b) => LEVELS.indexOf(b.level) - LEVELS.indexOf(a.level) || b.sinceMs - a.sinceMs)
    .slice(0, LISTED_ENTRIES)
  return m.levelList.encode({
    entries: entries.map(({ scope, name, level, why, sinceMs }) => ({
      scope,
      name,
      level,
      why: sentence(why, LEVEL_WHY_BYTES),
      since: Math.floor(sinceMs / 1_000),
    })),
    incident: rooms.incident(),
  })
}

/** What nobody has cannot be raised: it would never end. What is left of somebody who is gone can be lowered. */
function isThere({ rooms }: Peer, scope: string, name: string): boolean {
  if (scope === 'daemon') return true
  if (rooms.levels.list().some((entry) => entry.scope === scope && entry.name === name)) return true
  if (scope === 'agent') return rooms.identities.find(name) !== undefined
  for (const { id } of rooms.sessions.all()) if (id === name) return true
  return false
}

const setLevel = changing<m.LevelChange>(
  ({ scope, name, level }) => ({
    kind: 'set_level',
    scope,
    name,
    level: isLevel(level) ? level : 'NORMAL',
  }),
  (peer, _call, { scope, name, level, why, incident }) => {
    const { rooms, caller, session } = peer
    if (!isLevel(level)) return notDone('There is no such level.')
    if (!isThere(peer, scope, name)) return notDone(`There is no ${scope} of that name.`)
    const isHalted = rooms.levels.daemon === 'HALT'
    if (isHalted && rooms.incident() === undefined)
      return notDone(
        'The daemon has halted since it cannot write its record: make room, and it goes on by itself.',
      )
    if (scope === 'daemon' && isHalted && level !== 'HALT' && !rooms.acknowledge(incident ?? ''))
      return notDone(
        `The daemon has halted: name the incident that you have looked into, with --ack-incident ${rooms.incident() ?? 'HASH'}.`,
      )
    const text = why === '' ? 'An operator set it.' : why
    rooms.levels.set(scope as LevelScope, name, level, text, caller?.name ?? '', session?.instance)
    return done(`The level of ${name === '' ? 'the daemon' : name} is ${level}.`)
  },
  ({ scope, name, level }) => {
    if (!SCOPES.includes(scope)) return `scope must be ${SCOPES.join(', ')}`
    if (!isLevel(level)) return 'level is not one of the levels'
    return (scope === 'daemon') === (name === '') ? '' : 'name is for an agent or a session, and needed there'
  },
)

function listPenalties({ rooms }: Peer): ReturnType<typeof m.empty.encode> {
  const now = rooms.clock.monotonicMs()
  const all = rooms.penalties.list(now)
  return m.penaltyList.encode({
    entries: all.slice(0, LISTED_ENTRIES).map((penalty) => ({
      source: penalty.source,
      seconds_left: Math.max(0, Math.ceil(penalty.secondsLeft)),
      is_active: penalty.isActive,
      reason: penalty.reason,
    })),
    total: all.length,
  })
}

const clearPenalties = changing<m.PenaltyClear>(
  ({ source }) => ({ kind: 'clear_penalties', source: source ?? null }),
  ({ rooms }, _call, { source }) => {
    const count = rooms.penalties.clear(source)
    return done(count === 1 ? '1 penalty was lifted.' : `${count} penalties were lifted.`)
  },
)

/** One instance of an agent, for good: the agent may begin another one, unless it is taken off the list. */
const terminateInstance = changing<Termination>(
  ({ instance }) => ({ kind: 'terminate', instance }),
  ({ rooms, caller }, _call, { instance }) => {
    const found = [...rooms.sessions.all()].find((session) => session.instance === instance)
    if (found === undefined)
      return notDone(
        'There is no session of that instance: sass-edge status --json names those that there are.',
      )
    terminate(rooms, found, 'operator', caller?.name ?? '')
    return done(`${instance} has ended for good, and all that it ran and had handed on.`)
  },
)

/** What is known in full of a decision that was made lately. */
const explain: Handler = (peer, call) =>
  requested<{ seq: number }>(
    peer,
    call,
    () => ({ kind: 'read', method: call.method.name }),
    ({ seq }) => {
      const found = peer.rooms.explanations.find(seq)
      if (found === undefined)
        return peer.connection.fail(
          call.streamId,
          'PROCESS_NOT_FOUND',
          'The daemon does not remember that decision in words; its record in the chain says what decided.',
        )
      const { response, layer, rule, source, severity, agent: agent_name } = found
      peer.connection.end(
        call.streamId,
        s.explanation.encode({
          ...{ seq, response, layer, rule, source, severity, agent_name },
          asked: sentence(found.asked),
          reason: sentence(found.reason),
          advice: sentence(found.advice),
          at: Math.floor(found.atMs / 1_000),
          effective: found.effective.map((line) => sentence(line, EFFECTIVE_BYTES)),
          opaque: sentence(found.opaque, OPAQUE_BYTES),
          confinement: sentence(found.confinement, CONFINEMENT_BYTES),
        }),
      )
    },
  )

const reload = changing<Record<string, never>>(
  () => ({ kind: 'reload' }),
  (peer, call) => {
    peer.rooms
      .reload()
      .then((result) => {
        const message = result.ok
          ? `The policy is ${result.policyVersion} now.${result.needsRestart.length === 0 ? '' : ` Only a restart takes over ${result.needsRestart.join(', ')}.`}`
          : result.problem
        answer(peer, call, { success: result.ok, message })
      })
      .catch((cause: unknown) => peer.fail(call, cause))
    return undefined
  },
)

/** The answer goes first: what begins then ends this connection as well. */
const drain = changing<Record<string, never>>(
  () => ({ kind: 'drain' }),
  ({ rooms, caller }) => done(rooms.drain(caller?.name ?? '')),
)

/** Ends the session where it is there, so that nothing of it is written any more. */
function endSession({ rooms }: Peer, id: string): void {
  for (const session of [...rooms.sessions.all()]) {
    if (session.id !== id) continue
    session.dismissHolder?.()
    rooms.sessions.apply(session, 'destroyed', rooms.clock.monotonicMs())
  }
}

/** The decision to do it is recorded by then; what was done is as well, so that replay knows why facts are missing. */
const purge = changing<m.PurgeRequest>(
  ({ session_id }) => ({ kind: 'purge', session: encodeHex(session_id) }),
  (peer, call, { session_id }) => {
    const { rooms, caller } = peer
    const instance = peer.session?.instance ?? null
    const id = encodeHex(session_id)
    if (rooms.executions.present().some((one) => one.sessionId === id && isRunning(one)))
      return notDone('Commands of this session still run: end them first, see sass-edge jobs and kill.')
    const hadBranch = rooms.branches.find(id) !== undefined
    endSession(peer, id)
    const executions = rooms.executions.purge(id) + rooms.handoffs.purge(id)
    const keys = rooms.facts.purge(id)
    rooms.explanations.purge(id)
    const end = (problem: string | undefined): void => {
      const branch = !hadBranch ? 'none' : problem === undefined ? 'erased' : 'kept'
      const by = caller?.name ?? ''
      rooms.audit.append({ type: 'purge', session: id, keys, branch, by, instance }, true)
      answer(peer, call, purged(id, keys + executions > 0 || hadBranch, problem))
    }
    rooms.branches
      .erase(id)
      .catch((cause: unknown) => (cause instanceof Error ? cause.message : 'its files could not be removed.'))
      .then(end)
      .catch((cause: unknown) => peer.fail(call, cause))
    return undefined
  },
)

function purged(id: string, wasThere: boolean, problem: string | undefined): Answer {
  if (problem !== undefined)
    return notDone(`The words of session ${id} are erased, and its branch is not: ${problem}`)
  return wasThere
    ? done(
        `What session ${id} said and did is erased, its branch too; its records stay, and the chain verifies.`,
      )
    : notDone('There is nothing of a session with that id: it was erased before, or there was none.')
}

export const OPERATOR_HANDLERS = Object.freeze({
  ListConfirmations: telling(listConfirmations),
  AnswerConfirmation: answerConfirmation,
  ShowLevels: telling(showLevels),
  SetLevel: setLevel,
  ListPenalties: telling(listPenalties),
  ClearPenalties: clearPenalties,
  Explain: explain,
  Reload: reload,
  Drain: drain,
  Purge: purge,
  Terminate: terminateInstance,
  ShowMetrics: telling(({ rooms }) => s.metricsText.encode({ text: metricsText(rooms) })),
})
