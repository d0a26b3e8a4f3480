/**
 * The output of one execution on its way into the rings: through the firewall, one screen for each source. What the
 * firewall keeps back, since it may be the beginning of a secret, goes on when more comes, when nothing comes for a
 * while, and at the end.
 * Rules: docs/firewall.md.
 * @module
 */

import { OUTPUT_LONG_PAUSE_MS, OUTPUT_PAUSE_MS } from '../../defense/firewall/limits.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import type { Clock, OutputSource } from '../../ports.ts'
import { STDERR, STDOUT } from '../../ports.ts'

export type ScreenedOutput = {
  push(source: OutputSource, bytes: Uint8Array): void
  /** Both sources have ended. */
  finish(): void
  /** The screens that something went through. */
  readonly screens: readonly Screen[]
}

/**
 * @param take bytes that may go on, lent; gives how many were taken
 * @param told after the last bytes of one push, where some were taken
 */
export function createScreenedOutput(
  open: () => Screen,
  clock: Pick<Clock, 'after'>,
  take: (source: OutputSource, bytes: Uint8Array) => number,
  told: (source: OutputSource) => void,
): ScreenedOutput {
  const screens: [Screen | undefined, Screen | undefined] = [undefined, undefined]
  let cancelPause: (() => void) | undefined
  /** Something came since the timer was set. */
  let isFresh = false

  function through(source: OutputSource, work: (emit: (bytes: Uint8Array) => void) => void): void {
    let bytes = 0
    work((piece) => {
      bytes += take(source, piece)
    })
    if (bytes > 0) told(source)
  }

  function pause(isLong: boolean): void {
    cancelPause = undefined
    if (isFresh) return awaitMore(false)
    for (const source of [STDOUT, STDERR] as const) {
      const screen = screens[source]
      if (screen?.isKeeping === true) through(source, (emit) => screen.pause(isLong, emit))
    }
    if (!isLong && screens.some((screen) => screen?.isKeeping === true)) awaitMore(true)
  }

  /** One timer at a time, whatever comes meanwhile. */
  function awaitMore(isLong: boolean): void {
    isFresh = false
    cancelPause ??= clock.after(isLong ? OUTPUT_LONG_PAUSE_MS : OUTPUT_PAUSE_MS, () => pause(isLong))
  }

  return {
    push(source, bytes) {
      const screen = screens[source] ?? open()
      screens[source] = screen
      through(source, (emit) => screen.push(bytes, emit))
      if (!screen.isKeeping) return
      if (cancelPause === undefined) awaitMore(false)
      else isFresh = true
    },
    finish() {
      cancelPause?.()
      for (const source of [STDOUT, STDERR] as const) {
        const screen = screens[source]
        if (screen?.isKeeping === true) through(source, (emit) => screen.finish(emit))
      }
    },
    get screens() {
      return screens.filter((screen) => screen !== undefined)
    },
  }
}
