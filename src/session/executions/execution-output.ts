/**
 * Where the output of one execution goes: through the firewall, into its rings as far as it may deliver so much, and to
 * whoever watches.
 * Rules: docs/protocol.md, section 6; docs/firewall.md.
 * @module
 */
import type { Screen } from '../../defense/firewall/screen.ts'
import { type Clock, type OutputSource, STDOUT } from '../../ports.ts'
import type { Execution } from './execution.ts'
import { createScreenedOutput, type ScreenedOutput } from './screened-output.ts'

/** Into its rings, as far as it may deliver so much; how many bytes that were. */
function takeOutput(execution: Execution, source: OutputSource, bytes: Uint8Array): number {
  const room = execution.acceptBytes[source]
  const taken = bytes.length <= room ? bytes : bytes.subarray(0, room)
  execution.discardedBytes += bytes.length - taken.length
  if (taken.length === 0) return 0
  execution.acceptBytes[source] = room - taken.length
  execution.outputBytes[source] += taken.length
  ;(source === STDOUT ? execution.rings?.stdout : execution.rings?.stderr)?.write(taken)
  return taken.length
}

/** The output of `execution`, into its rings and to whoever watches it. */
export function screenedOutput(
  execution: Execution,
  open: () => Screen,
  clock: Pick<Clock, 'after'>,
): ScreenedOutput {
  return createScreenedOutput(
    open,
    clock,
    (source, bytes) => takeOutput(execution, source, bytes),
    (source) => execution.watcher?.output(source),
  )
}
