/**
 * Where the output of one execution goes: through the firewall, into its rings as far as it may deliver so much, and to
 * whoever watches. What the firewall holds is asked about once; the answer is for all that the execution prints.
 * Rules: docs/protocol.md, section 6; docs/firewall.md.
 * @module
 */
import type { HeldWindow } from '../../defense/firewall/injections/hold.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import { type Clock, type OutputSource, STDERR, STDOUT } from '../../ports.ts'
import { type Execution, type ExecutionOutput, setHeld } from './execution.ts'
import { createScreenedOutput, type ScreenedOutput } from './screened-output.ts'

/**
 * Asks somebody whether the output of that execution that is held may go on; `answer` is called once, at once where nobody can be
 * asked. What comes back is called where nobody waits for it any more.
 */
export type AskRelease = (
  execution: Execution,
  held: HeldWindow | undefined,
  answer: (isReleased: boolean) => void,
) => () => void

export type OutputGround = {
  readonly openScreen: (execution: Execution) => Screen
  readonly askRelease: AskRelease
  readonly clock: Pick<Clock, 'after' | 'monotonicMs'>
}

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
  { openScreen, askRelease, clock }: OutputGround,
): ExecutionOutput {
  let withdraw: (() => void) | undefined
  let ruling: boolean | undefined
  let over: (() => void) | undefined

  function settle(isReleased: boolean): void {
    withdraw = undefined
    ruling = isReleased
    output.answer(isReleased)
    for (const source of [STDOUT, STDERR] as const) setHeld(execution, source, false, 'withheld')
    over?.()
    over = undefined
  }

  const output: ScreenedOutput = createScreenedOutput(() => openScreen(execution), clock, {
    take: (source, bytes) => takeOutput(execution, source, bytes),
    told: (source) => execution.watcher?.output(source),
    held(source, window) {
      if (ruling !== undefined) return output.answer(ruling)
      setHeld(execution, source, true, 'withheld')
      if (withdraw !== undefined) return
      const cancel = askRelease(execution, window, settle)
      if (ruling !== undefined) return
      withdraw = cancel
      execution.watcher?.held?.()
    },
  })

  return {
    push: output.push,
    finish(done) {
      output.finish()
      if (output.isHeld) over = done
      else done()
    },
    giveUp() {
      withdraw?.()
      settle(false)
    },
    get screens() {
      return output.screens
    },
  }
}
