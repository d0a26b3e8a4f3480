/**
 * ShowChanges: what the branch of the caller's own session would change, by names, kinds and sizes. Contents and digests
 * of what was there before are for operators: whoever may remove or replace a file need not be one who may read it.
 * Rules: docs/protocol.md, section 3 (17); docs/sandbox.md (looking at a branch).
 * @module
 */

import { Warrant } from '../../defense/warrant.ts'
import { asSassError } from '../../errors.ts'
import { choosePaths } from '../../sandbox/branch/threads/chosen-paths.ts'
import type { ChangesRequest } from '../../wire/messages.ts'
import { type Call, type Peer, sessionOf } from '../common/peer.ts'
import { attempt } from '../decisions/attempt.ts'
import { failPermitted, mistake, withView } from '../transfers/transfers-start.ts'
import { createWaiter, sendReview } from './branches.ts'

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
  const action = { kind: 'read', method: call.method.name } as const
  attempt(peer, call, {
    action,
    problem: chosen.ok ? '' : chosen.problem,
    go(warrant) {
      if (!chosen.ok) return
      Warrant.redeem(warrant, action, sessionOf(peer))
      const waiter = createWaiter()
      peer.join(call.streamId, waiter)
      const work = async () => {
        const review = await rooms.branches.reviewOwn(
          session,
          FORMS[form] ?? 'text',
          chosen.paths,
          waiter.onLeave,
        )
        try {
          // It was given up meanwhile.
          if (peer.user(call.streamId) === waiter)
            await sendReview(
              peer,
              call,
              { ...review, branch: session, stopped: rooms.branches.stopped(session) },
              rooms.egress.destinations(session),
            )
        } finally {
          review.text.close()
        }
      }
      work().catch((cause: unknown) => {
        if (waiter.isGone()) return
        fail(peer, call, cause)
        peer.streamDone(call.streamId)
      })
    },
  })
}

/** What went wrong may name files that are not the caller's business. */
function fail(peer: Peer, call: Call, cause: unknown): void {
  const known = asSassError(cause)
  if (known?.code === 'RESPONSE_THROTTLED')
    return peer.connection.fail(call.streamId, known.code, known.message)
  peer.rooms.log.write('error', 'branch_failed', {
    method: call.method.name,
    reason: cause instanceof Error ? cause.message : 'unknown',
  })
  peer.connection.fail(
    call.streamId,
    'FILE_IO',
    'The device could not look through the branch; ask again, or ask its operator, whose log says why.',
  )
}
