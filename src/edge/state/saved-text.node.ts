/**
 * A small file of the state directory that follows what is in memory: written where that has changed, now and then and
 * when it is told to, so that flash is not worn. What cannot be written is written the next time, or begins anew.
 * @module
 */
import { replaceFile } from '../../base/files.node.ts'
import { TRAFFIC_SAVE_MS } from '../../limits.ts'
import type { Clock } from '../../ports.ts'

const MODE = 0o600

export type SavedText = {
  /** Writes what has changed, where it is time. */
  tick(): void
  /** Writes what has changed now. */
  save(): void
}

/** @param textOf what is to be in the file; what it is at first is there already */
export function createSavedText(
  path: string,
  textOf: () => string,
  clock: Pick<Clock, 'monotonicMs'>,
): SavedText {
  let written = textOf()
  let writtenAtMs = clock.monotonicMs()

  function save(): void {
    writtenAtMs = clock.monotonicMs()
    const text = textOf()
    if (text === written) return
    written = text
    try {
      replaceFile(path, Buffer.from(`${text}\n`), MODE)
    } catch {
      // No reason to stop.
      written = ''
    }
  }

  return {
    save,
    tick() {
      if (clock.monotonicMs() - writtenAtMs >= TRAFFIC_SAVE_MS) save()
    },
  }
}
