/** A screen that everything passes at once: for tests that are about something else than the firewall. */
import type { Screen } from '../../src/defense/firewall/screen.ts'
import type { OutputGround } from '../../src/session/executions/execution-output.ts'

export function openUnscreened(): Screen {
  return {
    push: (bytes, emit) => emit(bytes),
    pause() {},
    finish() {},
    answer() {},
    isKeeping: false,
    held: 'open',
    heldWindow: undefined,
    withheldBytes: 0,
    secrets: undefined,
    suspicions: undefined,
    commandLine: undefined,
  }
}

/** For the room of executions. */
export const UNSCREENED: Omit<OutputGround, 'clock'> = {
  openScreen: openUnscreened,
  askRelease: () => () => {},
}
