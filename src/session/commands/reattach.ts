/**
 * What an id that is known is answered with: the stream of what runs, from the offsets that were asked for; the result
 * of what has ended, and what is left of its output; and the plain truth where there is no result.
 * Rules: docs/protocol.md, sections 3 (at most once) and 6.
 * @module
 */

import type { Action } from '../../defense/facts.ts'
import type { ExitStatus } from '../../ports.ts'
import { type ExecuteRequest, executeResponse } from '../../wire/messages.ts'
import type { Call, Peer } from '../common/peer.ts'
import type { Aim } from '../decisions/attempt.ts'
import { aimAt } from '../decisions/permitted.ts'
import type { Execution } from '../executions/execution.ts'
import {
  type AttachmentStart,
  createAttachment,
  failMissing,
  failOverdue,
  missingFrom,
} from './attachment.ts'
import { joinedStream } from './joined-stream.ts'

/** Whoever may only read may look at what runs, and not tell it what to do. */
export function attachAction(
  executionId: string,
  request: ExecuteRequest,
): Extract<Action, { kind: 'attach' }> {
  return { kind: 'attach', executionId, stdin: request.stdin }
}

/** To be joined to `known`, however the request came to it. */
export function attachAim(peer: Peer, call: Call, request: ExecuteRequest, known: Execution): Aim {
  // One that did not start may have been started again while this request waited.
  return aimAt(peer, attachAction(known.id, request), () =>
    join(peer, call, request, peer.rooms.executions.find(known.scope, known.id) ?? known),
  )
}

function join(peer: Peer, call: Call, request: ExecuteRequest, execution: Execution): void {
  const { connection, rooms } = peer
  const { streamId } = call
  if (execution.state === 'not_started') {
    const details = new Map([[1, execution.errno]])
    return connection.fail(streamId, 'SPAWN_FAILED', 'The command was not started.', details)
  }
  if (execution.state === 'unknown') {
    const text = `The command was started, and how it ended is not known. ${execution.why ?? ''}`
    return connection.fail(streamId, 'EXECUTION_OUTCOME_UNKNOWN', text)
  }
  if (execution.isOfPlan === true) {
    const text =
      'It is a call of a plan whose output is held to a schema: what may go on is in the results of the plan.'
    return connection.fail(streamId, 'OUTPUT_BLOCKED', text)
  }
  const isUnary = call.method.name === 'Execute'
  const start = startOf(request, execution)
  const missing = missingFrom(execution, start)
  if (missing !== undefined && isUnary && execution.exit !== undefined && execution.rings === undefined)
    return endWithoutOutput(peer, streamId, execution, execution.exit)
  if (missing !== undefined) return failMissing(connection, streamId, missing)
  if (start.stdoutOffset > execution.outputBytes[0] || start.stderrOffset > execution.outputBytes[1])
    return connection.fail(streamId, 'FRAME_MALFORMED', 'A resume offset lies beyond the end of the output.')
  const attachment = createAttachment(peer, streamId, rooms.executions, () => execution, isUnary, start)
  peer.join(
    streamId,
    joinedStream(peer, streamId, attachment, () => execution, request.stdin),
  )
  rooms.executions.watch(execution, attachment)
  if (execution.state === 'starting') return
  if (execution.exit !== undefined) return attachment.finished()
  attachment.started()
  attachment.pump()
}

/** One answer has no place for two: how it ended is worth more than that its output is gone, which it says as well. */
function endWithoutOutput(peer: Peer, streamId: number, execution: Execution, exit: ExitStatus): void {
  const { idBytes, timedOut, why } = execution
  if (timedOut) return failOverdue(peer.connection, streamId)
  const how = exit.kind === 'exited' ? { exit_code: exit.code } : { signal: exit.signal }
  peer.connection.end(
    streamId,
    executeResponse.encode({ ...how, why, execution_id: idBytes, truncated: true }),
  )
}

function startOf(request: ExecuteRequest, execution: Execution): AttachmentStart {
  const { accept } = request
  if (request.tail === undefined)
    return {
      stdoutOffset: request.resume_offset,
      stderrOffset: request.resume_offset_stderr,
      accept,
    }
  const { rings, outputBytes } = execution
  return {
    stdoutOffset: Math.max(outputBytes[0] - request.tail, rings?.stdout.oldestOffset ?? outputBytes[0]),
    stderrOffset: Math.max(outputBytes[1] - request.tail, rings?.stderr.oldestOffset ?? outputBytes[1]),
    accept,
  }
}
