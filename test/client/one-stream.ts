/**
 * A streamed execution on one connection, as a link asks for it that has no other.
 * @module
 */

import type { ExecuteRequestInput, OutputSink } from '../../src/client/calls/call-words.ts'
import type { Caller } from '../../src/client/calls/caller.ts'
import type { Link } from '../../src/client/calls/link.ts'
import { createRunning, type StreamedExecution } from '../../src/client/calls/running.ts'
import type { OnWaiting } from '../../src/client/calls/waiting.ts'

export function stream(
  caller: Caller,
  request: ExecuteRequestInput,
  output: OutputSink,
  onWaiting?: OnWaiting,
): StreamedExecution {
  const options = { output, onWaiting, comesBack: false, isNew: true }
  const { execution, member } = createRunning('07'.repeat(16), request, options, () => {})
  member.join(caller, request.accept ?? 0)
  return execution
}

/** What asks on that one connection. */
export function linkOf(caller: Caller): Pick<Link, 'call' | 'use'> {
  return { call: caller.call, use: (work) => work(caller, 0) }
}
