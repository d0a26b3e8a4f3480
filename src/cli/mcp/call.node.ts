/**
 * One call of a tool as the tools see it: what it may use, whether it is still wanted, and how it says how far it is.
 * @module
 */
import type { Client, LinkEvent, Waiting } from '../../client/client.node.ts'
import type { Progress, ToolResult } from './thread-messages.ts'

export type Call = {
  readonly client: Client
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal
  /** Told at most once a second, the last of them. */
  progress(progress: Progress): void
  /** Hears of the link until the call is over. */
  onLink(listener: (event: LinkEvent) => void): void
  /** Executions that a call waits for, by id: another one that went to them would take them away. */
  readonly followed: Set<string>
  /** What was asked may never be answered: the next call has another connection. */
  abandon(): void
}

export type Tool<Args> = (call: Call, args: Args) => Promise<ToolResult>

/** What a request waits for, in words for whoever waits with it. */
export function waitingWords(what: Waiting): string {
  switch (what.kind) {
    case 'queued':
      return `waits in the queue of the device, place ${what.position}`
    case 'operator':
      return 'waits for a human: an operator has to approve it (sass-edge confirm list)'
    case 'challenge':
      return 'the device asks for a proof of the connection'
  }
}

export function linkWords(event: LinkEvent): string {
  switch (event.kind) {
    case 'leaving':
      return 'the device goes down in order; what runs may end, nothing new begins'
    case 'lost':
      return 'the link is lost; trying again, and what runs goes on'
    case 'tried':
      return `the link is lost; ${event.tries} tries so far`
    case 'back':
      return 'the link is back'
    case 'gaveUp':
      return 'the device cannot be reached'
  }
}
