/**
 * One line on a terminal while a command waits before it begins, written over as that changes and gone when it does.
 * In a pipe stands once that a human is asked, who has to be told of it; with --json there is none.
 * @module
 */
import { isatty } from 'node:tty'
import type { Waiting } from '../../client/calls/waiting.ts'
import { unreachable } from '../../errors.ts'
import type { Output } from '../words/command.ts'
import { writeAll } from './output.node.ts'

const STDERR_FD = 2
/** To the left edge, and nothing to the right of it. */
const CLEAR_LINE = '\r\u001b[K'

export type WaitingLine = {
  show(what: Waiting): void
  clear(): void
}

function textOf(what: Waiting): string | undefined {
  switch (what.kind) {
    case 'queued':
      return `waiting in the queue, place ${what.position}`
    case 'operator':
      return 'waiting for an operator (sass-edge confirm list)'
    case 'challenge':
      // Over before anybody could read it.
      return undefined
    default:
      return unreachable(what)
  }
}

export function createWaitingLine({ json }: Pick<Output, 'json'>): WaitingLine {
  const isTerminal = isatty(STDERR_FD)
  let isShown = false
  let isTold = false
  return {
    show(what) {
      const text = json ? undefined : textOf(what)
      if (text === undefined) return
      if (!isTerminal) {
        if (what.kind === 'operator' && !isTold) writeAll(STDERR_FD, `sass-edge: ${text}\n`)
        isTold ||= what.kind === 'operator'
        return
      }
      isShown = true
      writeAll(STDERR_FD, `${CLEAR_LINE}sass-edge: ${text}`)
    },
    clear() {
      if (!isShown) return
      isShown = false
      writeAll(STDERR_FD, CLEAR_LINE)
    },
  }
}
