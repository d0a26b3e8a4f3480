/**
 * Signals that reach this process go to the remote command, and nobody is kept waiting by one that is deaf or out of
 * reach: ^C three times leaves it, twice while the link is away, and whoever asks this process itself to end is let go
 * after a moment.
 * @module
 */
import { constants } from 'node:os'
import type { Client, RunningExecution } from '../../client/client.node.ts'
import { TERM_TO_KILL_MS } from '../../limits.ts'
import type { Output } from '../words/command.ts'

/** ^C pressed this often ends the waiting, not the command; while the link is away less is enough. */
const INTERRUPTS_TO_LEAVE = 3
const INTERRUPTS_TO_LEAVE_AWAY = 2
/** Signals that wait to be delivered; more of them say nothing new. */
const WAITING_SIGNALS = 16

/** Signals that ask this process itself to end. */
const ENDING: ReadonlySet<string> = new Set(['SIGTERM', 'SIGHUP'])

/** Signals that are passed on. */
export const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

export type Forwarding = {
  readonly client: Client
  readonly execution: RunningExecution
  readonly output: Output
  /** How often the link was lost so far. */
  readonly losses: () => number
  /** Leaves the command running. */
  readonly leave: () => void
  /** While the command waits before it begins: takes it back. */
  readonly whileWaiting: () => (() => void) | undefined
}

/** The returned function ends it. */
export function forwardSignals(forwarding: Forwarding): () => void {
  const { client, execution, output, losses, leave, whileWaiting } = forwarding
  let interrupts = 0
  /** Of the present loss. */
  let away = { loss: 0, interrupts: 0 }
  let waiting = 0
  let patience: NodeJS.Timeout | undefined

  function deliver(name: (typeof FORWARDED)[number]): void {
    if (waiting >= WAITING_SIGNALS) return
    waiting++
    // It may have ended in between: then its exit is on the way.
    client
      .signal(execution.id, constants.signals[name])
      .catch(() => {})
      .finally(() => waiting--)
  }

  /** True where it was one too many. */
  function interrupted(): boolean {
    interrupts++
    if (client.isConnected) return interrupts >= INTERRUPTS_TO_LEAVE
    if (away.loss !== losses()) away = { loss: losses(), interrupts: 0 }
    if (++away.interrupts === 1)
      output.warn('^C is delivered when the link is back; press it again to leave the command running.')
    return interrupts >= INTERRUPTS_TO_LEAVE || away.interrupts >= INTERRUPTS_TO_LEAVE_AWAY
  }

  const stops = FORWARDED.map((name) => {
    const listener = () => {
      // There is nothing yet that a signal could reach.
      const withdraw = name === 'SIGINT' || ENDING.has(name) ? whileWaiting() : undefined
      if (withdraw !== undefined) return client.isConnected ? withdraw() : leave()
      if (name === 'SIGINT' && interrupted()) return leave()
      // Whoever ends this process so does not want to wait for a command that takes no notice.
      if (ENDING.has(name)) patience ??= setTimeout(leave, TERM_TO_KILL_MS)
      deliver(name)
    }
    process.on(name, listener)
    return () => process.off(name, listener)
  })
  return () => {
    clearTimeout(patience)
    for (const stop of stops) stop()
  }
}
