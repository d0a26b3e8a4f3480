/**
 * stdin of this process to the remote command, held back where the device does not take it. Keys of a terminal pass
 * through the escapes first.
 * @module
 */

import { errnoOf, errnoText } from '../../base/files.node.ts'
import type { Client, RunningExecution } from '../../client/client.node.ts'
import { writeAll } from '../common/output.node.ts'
import { enterRawMode } from '../common/raw-terminal.node.ts'
import type { Output } from '../words/command.ts'
import { createEscapes, ESCAPES_HELP } from './escapes.ts'

const STDERR_FD = 2

export type Feeding = {
  readonly client: Client
  readonly execution: RunningExecution
  /** Raw mode: every key goes to the device, ^C too. */
  readonly isTerminal: boolean
  /** `~.` was typed. */
  readonly leave: () => void
  readonly output: Pick<Output, 'warn'>
}

/** The returned function ends it, and gives the terminal back as it was. */
export function feed({ client, execution, isTerminal, leave, output }: Feeding): () => void {
  const { stdin } = process
  const leaveRawMode = isTerminal ? enterRawMode() : () => {}
  const escapes = createEscapes()

  function pass(bytes: Uint8Array): void {
    if (execution.write(bytes)) return
    stdin.pause()
    void execution.drained().then(() => stdin.resume())
  }

  function typed(bytes: Buffer): void {
    for (const event of escapes(bytes)) {
      if (event.kind === 'leave') return leave()
      if (event.kind === 'help') writeAll(STDERR_FD, `\r\n${ESCAPES_HELP.join('\r\n')}\r\n`)
      else pass(event.bytes)
    }
    // Whoever types sees what they typed, or finds out soon that nobody is there.
    client.expectAnswer()
  }

  const onData = isTerminal ? typed : pass
  const onEnd = () => execution.end()
  stdin.on('data', onData)
  stdin.once('end', onEnd)
  stdin.once('error', (error) => {
    // A terminal that hangs up is gone; of a file the command has not been given all.
    if (!isTerminal)
      output.warn(
        `stdin cannot be read any further, since ${errnoText(errnoOf(error))}; to the command it ends there.`,
      )
    onEnd()
  })
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    stdin.off('data', onData)
    leaveRawMode()
    stdin.pause()
  }
}

/** The size of this terminal to the remote one, whenever it changes. The returned function ends it. */
export function forwardSize(execution: RunningExecution): () => void {
  const listener = () => {
    const { rows, columns } = process.stdout
    if (rows > 0 && columns > 0) execution.resize(rows, columns)
  }
  process.stdout.on('resize', listener)
  return () => process.stdout.off('resize', listener)
}
