/**
 * What was permitted, and waits until its record outlives a loss of power: the place that it takes up, what must not
 * have changed meanwhile, and the record that nothing came of it where nothing did. The wait costs nobody else anything:
 * what is not recorded goes on, and all that waits is kept by one call of fdatasync(2).
 * Rules: docs/responses.md, section on durability (`always`).
 * @module
 */

import type { Action } from '../../defense/facts.ts'
import type { Warrant } from '../../defense/warrant.ts'
import { SassError } from '../../errors.ts'
import { type Asker, ownScope, SESSION_FACTS } from '../common/peer.ts'
import type { Rooms } from '../common/rooms.ts'
import type { Reservation } from '../executions/executions.ts'
import { startRecord } from '../executions/kept-record.ts'
import { recordAnyway } from '../standing/record-anyway.ts'

/** Whether this must wait for its record, which every action has that does more than tell; each call of a plan waits for its own. */
export function mustBeKept(rooms: Rooms, action: Action | undefined): action is Action {
  if (action === undefined || action.kind === 'read' || action.kind === 'run_plan') return false
  return rooms.audit.whenKept !== undefined
}

/** The chain says that it was permitted: it must also say that nothing came of it. */
export function recordNotDone(
  { rooms, session }: Pick<Asker, 'rooms' | 'session'>,
  action: Action,
  warrant: Warrant,
  reason: string,
): void {
  const what =
    action.kind === 'execute'
      ? { type: 'execution_not_started', execution: action.executionId }
      : { type: 'not_done', action: action.kind, warrant: warrant.id }
  recordAnyway(rooms, { ...what, instance: session?.instance ?? null, reason })
}

/** What cannot be written down is not started, and nothing else is until it can be. */
export function haltWithoutRoom({ levels }: Rooms, cause: unknown): void {
  if (cause instanceof SassError && cause.code === 'STATE_UNWRITABLE') levels.storage('HALT', cause.message)
}

/** What the decision was made upon and the adjudicator is not asked about again; equal texts: nothing has changed. */
function standing({ rooms, caller, session, level }: Asker): string {
  const state = session === undefined ? '' : SESSION_FACTS[session.state]
  return `${session?.id} ${state} ${level} ${rooms.levels.of(caller?.name ?? '', session?.id ?? '', [])}`
}

/**
 * The place of a command, and its id written down beside the record: the disk is to keep both before it starts.
 * @throws STATE_UNWRITABLE
 */
function reserved(
  { rooms, caller, session }: Asker,
  action: Action,
  warrant: Warrant,
): Reservation | undefined {
  if (action.kind !== 'execute' || caller === undefined || session === undefined) return undefined
  const { name: owner } = caller
  const { id: sessionId, instance } = session
  const who = { id: action.executionId, owner, scope: ownScope({ caller, session }), instance, sessionId }
  try {
    return rooms.executions.reserve(startRecord({ ...who, warrant, action }, rooms.clock.wallMs()))
  } catch (cause) {
    haltWithoutRoom(rooms, cause)
    throw cause
  }
}

type WhenKept = (done: (problem?: Error) => void) => void

/** Calls back when the last of them does, with the first problem. */
function whenAllKept(all: readonly WhenKept[], done: (problem: Error | undefined) => void): void {
  let left = all.length
  let found: Error | undefined
  for (const whenKept of all)
    whenKept((problem) => {
      found ??= problem
      left--
      if (left === 0) done(found)
    })
}

/**
 * Calls `next` when the record is kept, or with why it is not; `isAsItWas` where the decision still stands.
 * @returns what gives it up: then it is never done, and the record says so
 */
export function waitUntilKept(
  peer: Asker,
  action: Action,
  warrant: Warrant,
  next: (problem: Error | undefined, isAsItWas: boolean) => void,
): () => void {
  const { rooms } = peer
  const { policy, identities } = rooms
  const before = standing(peer)
  // Its cycle goes on until it is done: decisions that come meanwhile do not end it.
  rooms.openWarrant = undefined
  const place = reserved(peer, action, warrant)
  let isOver = false

  const files = [rooms.audit.whenKept, place?.whenKept].filter((one) => one !== undefined)
  whenAllKept(files, (problem) => {
    if (isOver) return
    isOver = true
    place?.giveBack()
    if (problem !== undefined) rooms.levels.storage('HALT', problem.message)
    next(problem, standing(peer) === before && rooms.policy === policy && rooms.identities === identities)
    place?.over()
    warrant.lapse()
    rooms.queue.pump()
  })

  return () => {
    if (isOver) return
    isOver = true
    place?.giveBack()
    place?.over()
    warrant.lapse()
    recordNotDone(peer, action, warrant, 'its stream ended before its record was kept')
    rooms.queue.pump()
  }
}
