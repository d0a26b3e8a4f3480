/**
 * What is said while a link is away, in one line on stderr: written over as time goes by on a terminal, once a loss
 * anywhere else. A link that is back before anybody could have read that says only how long it was away. On a terminal
 * that belongs to a remote program it stands in the first row, and is taken away again.
 * @module
 */
import { isatty } from 'node:tty'
import { visible } from '../../base/text/visible.ts'
import type { LinkEvent } from '../../client/client.node.ts'
import type { Output } from '../words/command.ts'
import { sizeText } from '../words/copy-place.ts'
import { writeAll } from './output.node.ts'

const STDERR_FD = 2
const CLEAR_LINE = '\r\u001b[K'
/** Save the cursor, first row, reversed; and back. */
const FIRST_ROW = '\u001b7\u001b[1;1H\u001b[7m'
const FROM_FIRST_ROW = '\u001b[0m\u001b[K\u001b8'
/** A loss that is over before this is told in one line. */
const SHORT_MS = 1_000
const EVERY_MS = 1_000
/** What has caught up: until the output pauses, or what comes is as likely new. */
const FIRST_OUTPUT_MS = 1_500
const PAUSE_MS = 250
const CATCH_UP_MS = 3_000
/** How long the first row says that the link is back. */
const FIRST_ROW_MS = 2_000

export type LinkLineOptions = {
  /** What goes on meanwhile, and how to leave: `the command goes on; trying again (^C twice leaves it running)`. */
  readonly meanwhile: () => string
  /** The terminal is a remote program's. */
  readonly isRaw: () => boolean
  /** Told beside the line, for --json. */
  readonly onEvent?: ((event: object) => void) | undefined
}

export type LinkLine = {
  readonly onLink: (event: LinkEvent) => void
  /** Output has come; `endsLine`: what follows stands at the beginning of a line. */
  output(bytes: number, endsLine: boolean): void
  /** Nothing more comes: says what there is to say. */
  end(): void
}

/** `0.4 s`, `14 s`, `3 min`. */
function spanText(ms: number): string {
  const seconds = ms / 1_000
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  return seconds < 600 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`
}

export function createLinkLine(output: Output, { meanwhile, isRaw, onEvent }: LinkLineOptions): LinkLine {
  const isTerminal = !output.json && isatty(STDERR_FD)
  let lostMs = 0
  let isTold = false
  let isLineShown = false
  let isMidLine = false
  let timer: NodeJS.Timeout | undefined
  /** Since it is back. */
  let caughtUp: { bytes: number; readonly awayMs: number; readonly untilMs: number } | undefined

  function stop(): void {
    clearTimeout(timer)
    timer = undefined
  }

  function write(text: string, isLast: boolean): void {
    const line = `sass-edge: ${visible(text)}`
    if (!isTerminal) return void writeAll(STDERR_FD, `${line}\n`)
    if (isRaw()) {
      writeAll(STDERR_FD, `${FIRST_ROW}${line}${FROM_FIRST_ROW}`)
      if (isLast) setTimeout(() => writeAll(STDERR_FD, `${FIRST_ROW}${FROM_FIRST_ROW}`), FIRST_ROW_MS).unref()
      return
    }
    // What the command has written so far of a line stays.
    const before = !isLineShown && isMidLine ? '\n' : CLEAR_LINE
    writeAll(STDERR_FD, `${before}${line}${isLast ? '\n' : ''}`)
    isLineShown = !isLast
    isMidLine = false
  }

  function away(): void {
    write(`link lost ${spanText(performance.now() - lostMs)} ago, ${meanwhile()}`, false)
    isTold = true
    if (isTerminal) timer = setTimeout(away, EVERY_MS)
  }

  function settle(): void {
    stop()
    if (caughtUp === undefined) return
    const { bytes, awayMs } = caughtUp
    caughtUp = undefined
    const rest = bytes === 0 ? '' : `, ${sizeText(bytes)} caught up`
    write(`${isTold ? 'back after' : 'link was lost for'} ${spanText(awayMs)}${rest}`, true)
    onEvent?.({ event: 'link_back', away_ms: Math.round(awayMs), caught_up_bytes: bytes })
  }

  return {
    onLink(event) {
      switch (event.kind) {
        case 'leaving': {
          const { withinSeconds } = event
          const when = withinSeconds === undefined ? '' : ` within ${withinSeconds} s`
          write(`the device goes down${when}; what runs there may end`, true)
          onEvent?.({ event: 'leaving', within_seconds: withinSeconds })
          return
        }
        case 'lost':
          settle()
          isTold = false
          lostMs = performance.now()
          onEvent?.({ event: 'link_lost', reason: event.reason })
          timer = setTimeout(away, SHORT_MS)
          return
        case 'back':
          stop()
          caughtUp = { bytes: 0, awayMs: event.awayMs, untilMs: performance.now() + CATCH_UP_MS }
          timer = setTimeout(settle, FIRST_OUTPUT_MS)
          if (event.recordProblem !== undefined) output.warn(event.recordProblem)
          return
        case 'gaveUp':
          stop()
          if (isLineShown) writeAll(STDERR_FD, '\n')
          isLineShown = false
          return
        default:
          return
      }
    },
    output(bytes, endsLine) {
      // Where the line stands, output begins.
      if (isLineShown) writeAll(STDERR_FD, CLEAR_LINE)
      isLineShown = false
      isMidLine = !endsLine
      if (caughtUp === undefined) return
      caughtUp.bytes += bytes
      if (performance.now() >= caughtUp.untilMs) return settle()
      stop()
      timer = setTimeout(settle, PAUSE_MS)
    },
    end() {
      settle()
      stop()
      if (isLineShown) writeAll(STDERR_FD, '\n')
      isLineShown = false
    },
  }
}
