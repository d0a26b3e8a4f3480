/** A screen that everything passes at once: for tests that are about something else than the firewall. */
import type { Screen } from '../../src/defense/firewall/screen.ts'

export function openUnscreened(): Screen {
  return {
    push: (bytes, emit) => emit(bytes),
    pause() {},
    finish() {},
    isKeeping: false,
    findings: undefined,
  }
}
