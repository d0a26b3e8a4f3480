/**
 * The output of one execution on its way into the rings: through the firewall, one screen for each source. What the
 * firewall keeps back, since it may be the beginning of a secret, goes on when more comes, when nothing comes for a
 * while, and at the end.
 * Rules: docs/firewall.md.
 * @module
 */

import { OUTPUT_PAUSES_MS } from '../../defense/firewall/limits.ts'
import type { Screen } from '../../defense/firewall/screen.ts'
import type { Pause } from '../../defense/firewall/secrets/pass.ts'
import type { Clock, OutputSource } from '../../ports.ts'
import { STDERR, STDOUT } from '../../ports.ts'

export type ScreenedOutput = {
  push(source: OutputSource, bytes: Uint8Array): void
  /** Both sources have ended. */
  finish(): void
  /** The screens that something went through. */
  readonly screens: readonly Screen[]
}

const NEXT_PAUSE: Readonly<Record<Pause, Pause | undefined>> = {
  moment: 'while',
  while: 'long',
  long: undefined,
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

  function pause(how: Pause): void {
    cancelPause = undefined
    if (isFresh) return waitFor('moment')
    for (const source of [STDOUT, STDERR] as const) {
      const screen = screens[source]
      if (screen?.isKeeping === true) through(source, (emit) => screen.pause(how, emit))
    }
    const next = NEXT_PAUSE[how]
    if (next !== undefined && screens.some((screen) => screen?.isKeeping === true)) waitFor(next)
  }

  /** One timer at a time, whatever comes meanwhile. */
  function waitFor(how: Pause): void {
    isFresh = false
    cancelPause ??= clock.after(OUTPUT_PAUSES_MS[how], () => pause(how))
  }

  return {
    push(source, bytes) {
      const screen = screens[source] ?? open()
      screens[source] = screen
      through(source, (emit) => screen.push(bytes, emit))
      if (!screen.isKeeping) return
      if (cancelPause === undefined) waitFor('moment')
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
