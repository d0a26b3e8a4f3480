/**
 * What was permitted, and waits until its record outlives a loss of power: the place that it takes up, what must not
 * have changed meanwhile, and the record that nothing came of it where nothing did. The wait costs nobody else anything:
 * what is not recorded goes on, and all that waits is kept by one call of fdatasync(2).
 * Rules: docs/responses.md, section on durability (`always`).
 * @module
 */
import type { Action } from '../defense/facts.ts'
import type { Warrant } from '../defense/warrant.ts'
import { type Peer, SESSION_FACTS } from './peer.ts'
import type { Rooms } from './rooms.ts'

/** Whether this must wait for its record, which every action has that does more than tell. */
export function mustBeKept(rooms: Rooms, action: Action | undefined): action is Action {
  return rooms.audit.whenKept !== undefined && action !== undefined && action.kind !== 'read'
}

/** The chain says that it was permitted: it must also say that nothing came of it. */
export function recordNotDone(
  { rooms, session }: Peer,
  action: Action,
  warrant: Warrant,
  reason: string,
): void {
  const { audit, log } = rooms
  const instance = session?.instance ?? null
  try {
    if (action.kind === 'execute')
      audit.append({ type: 'execution_not_started', execution: action.executionId, instance, reason }, true)
    else audit.append({ type: 'not_done', action: action.kind, warrant: warrant.id, instance, reason }, true)
  } catch (cause) {
    log.write('error', 'audit_failed', { reason: cause instanceof Error ? cause.message : 'unknown' })
  }
}

/** What the decision was made upon and the adjudicator is not asked about again; equal texts: nothing has changed. */
function standing({ rooms, caller, session, level }: Peer): string {
  const state = session === undefined ? '' : SESSION_FACTS[session.state]
  return `${session?.id} ${state} ${level} ${rooms.levels.of(caller?.name ?? '', session?.id ?? '', [])}`
}

/**
 * Calls `next` when the record is kept, or with why it is not; `isAsItWas` where the decision still stands.
 * @returns what gives it up: then it is never done, and the record says so
 */
export function waitUntilKept(
  peer: Peer,
  action: Action,
  warrant: Warrant,
  next: (problem: Error | undefined, isAsItWas: boolean) => void,
): () => void {
  const { rooms } = peer
  const { policy, identities } = rooms
  const before = standing(peer)
  // Its cycle goes on until it is done: decisions that come meanwhile do not end it.
  rooms.openWarrant = undefined
  const giveBack = action.kind === 'execute' ? rooms.executions.reserve(peer.caller?.name ?? '') : () => {}
  let isOver = false

  rooms.audit.whenKept?.((problem) => {
    if (isOver) return
    isOver = true
    giveBack()
    if (problem !== undefined) rooms.levels.storage('HALT', problem.message)
    next(problem, standing(peer) === before && rooms.policy === policy && rooms.identities === identities)
    warrant.lapse()
    rooms.queue.pump()
  })

  return () => {
    if (isOver) return
    isOver = true
    giveBack()
    warrant.lapse()
    recordNotDone(peer, action, warrant, 'its stream ended before its record was kept')
    rooms.queue.pump()
  }
}
