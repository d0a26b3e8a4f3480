/**
 * ShowChanges: what the branch of the caller's own session would change, by names, kinds and sizes. Contents and digests
 * of what was there before are for operators: whoever may remove or replace a file need not be one who may read it.
 * Rules: docs/protocol.md, section 3 (17); docs/sandbox.md (looking at a branch).
 * @module
 */

import { asSassError } from '../../errors.ts'
import type { Looker } from '../../sandbox/branch/threads/branch-work.ts'
import { choosePaths } from '../../sandbox/branch/threads/chosen-paths.ts'
import type { ChangesRequest } from '../../wire/messages.ts'
import { type Call, type Peer, sessionOf } from '../common/peer.ts'
import { failPermitted, mistake, whenReading } from '../decisions/permitted.ts'
import { withView } from '../transfers/transfers-start.ts'
import { createWaiter, giveReview, logFailed } from './branches.ts'

const FORMS = ['text', 'stat'] as const
const NO_BRANCH =
  'Commands of this session run on the real files, so there is no branch: what they change is changed.'

export function showChanges(peer: Peer, call: Call): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const request = call.message.value as ChangesRequest
  // The branch of a session is known once it has a place.
  withView(peer, call, { ...createWaiter(), waits: true }, () => look(peer, call, request))
}

function look(peer: Peer, call: Call, { form, paths }: ChangesRequest): void {
  const { rooms } = peer
  const branch = rooms.branches.find(rooms.places.find(sessionOf(peer))?.branch ?? '')
  if (branch === undefined) return failPermitted(peer, call, 'SANDBOX_UNAVAILABLE', NO_BRANCH)
  const { session } = branch
  const chosen = choosePaths(rooms.planner.workspaceRoot, branch.roots, paths)
  const go = (): void => {
    if (!chosen.ok) return
    const ownLook = (onLeave: Looker['onLeave']) =>
      rooms.branches.reviewOwn(session, FORMS[form] ?? 'text', chosen.paths, onLeave)
    giveReview(peer, call, session, ownLook, { branch: session, failed: fail })
  }
  whenReading(peer, call, go, chosen.ok ? '' : chosen.problem)
}

/** What went wrong may name files that are not the caller's business. */
function fail(peer: Peer, call: Call, cause: unknown): void {
  const known = asSassError(cause)
  if (known?.code === 'RESPONSE_THROTTLED')
    return peer.connection.fail(call.streamId, known.code, known.message)
  logFailed(peer, call, cause)
  peer.connection.fail(
    call.streamId,
    'FILE_IO',
    'The device could not look through the branch; ask again, or ask its operator, whose log says why.',
  )
}
