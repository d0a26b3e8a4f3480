/**
 * How far a copy is: one line on a terminal with the share, the rate and the time left, written over as it goes and gone
 * at the end. In a pipe and with --json there is none.
 * @module
 */
import { isatty } from 'node:tty'
import { visible } from '../../base/text/visible.ts'
import { writeAll } from '../common/output.node.ts'
import type { Output } from '../words/command.ts'
import { clockText, sizeText } from '../words/copy-place.ts'

const STDERR_FD = 2
const CLEAR_LINE = '\r\u001b[K'
const EVERY_MS = 200
/** The rate is that of about the last so many milliseconds. */
const RATE_MS = 3_000
const NAME_CHARS = 40

export type CopyProgress = {
  /** `done` of `total` bytes of the file that is being copied now. */
  show(name: string, done: number, total: number): void
  clear(): void
}

/** `now` is a monotonic clock in milliseconds. */
export function progressLine(
  name: string,
  done: number,
  total: number,
  bytesPerSecond: number | undefined,
): string {
  const share = total === 0 ? 100 : Math.floor((done / total) * 100)
  const shown = visible(name)
  const short = shown.length <= NAME_CHARS ? shown : `…${shown.slice(1 - NAME_CHARS)}`
  const rate =
    bytesPerSecond === undefined || bytesPerSecond <= 0
      ? ''
      : `  ${sizeText(bytesPerSecond)}/s  ${clockText((total - done) / bytesPerSecond)} left`
  return `${short}  ${share}%  ${sizeText(done)} of ${sizeText(total)}${rate}`
}

export function createProgress({ json }: Pick<Output, 'json'>): CopyProgress {
  const hasReader = !json && isatty(STDERR_FD)
  let isShown = false
  let shownAt = 0
  let current: string | undefined
  let samples: { readonly at: number; readonly done: number }[] = []
  return {
    show(name, done, total) {
      if (!hasReader) return
      const now = performance.now()
      if (name !== current) samples = []
      current = name
      samples.push({ at: now, done })
      while (samples.length > 2 && now - (samples[0]?.at ?? now) > RATE_MS) samples.shift()
      if (now - shownAt < EVERY_MS && done < total) return
      shownAt = now
      isShown = true
      const first = samples[0]
      const seconds = first === undefined ? 0 : (now - first.at) / 1_000
      const rate = first === undefined || seconds === 0 ? undefined : (done - first.done) / seconds
      writeAll(STDERR_FD, `${CLEAR_LINE}${progressLine(name, done, total, rate)}`)
    },
    clear() {
      if (!isShown) return
      isShown = false
      writeAll(STDERR_FD, CLEAR_LINE)
    },
  }
}
