/**
 * A unary Execute over as many connections as it takes. Its id makes it start at most once: asked again it finds what
 * runs, or what was kept of it.
 * Rules: docs/protocol.md, sections 3 (at most once) and 6.
 * @module
 */
import { asSassError } from '../../errors.ts'
import type { ExecuteRequestInput, UnaryResult } from './call-words.ts'
import type { Link } from './link.ts'
import { oldestOffsets } from './running.ts'
import type { OnWaiting } from './waiting.ts'

export function executeOnce(
  link: Link,
  request: ExecuteRequestInput,
  onWaiting: OnWaiting | undefined,
): Promise<UnaryResult> {
  let asked = 0
  return link.use(async (caller, accept) => {
    asked++
    try {
      return await caller.execute({ ...request, accept }, onWaiting)
    } catch (error) {
      const known = asSassError(error)
      if (asked === 1 || known?.code !== 'RING_BUFFER_DATA_LOSS') throw error
      // It has ended while we were away, and of its output only the sizes were kept.
      const [resume_offset, resume_offset_stderr] = oldestOffsets(known)
      const rest = await caller.execute(
        { ...request, accept, resume_offset, resume_offset_stderr },
        onWaiting,
      )
      return { ...rest, truncated: true }
    }
  }, true)
}
