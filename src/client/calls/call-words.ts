/**
 * What a caller asks with and hears: the words of calls.
 * Rules: docs/protocol.md, sections 2 to 6.
 * @module
 */

import type { SassError } from '../../errors.ts'
import type { Connection } from '../../wire/connection.ts'
import type { ContentSource } from '../../wire/content-source.ts'
import type { executeRequest, Finding } from '../../wire/messages.ts'
import type { MessageInput } from '../../wire/schema.ts'
import type { StdinWriter } from './stdin-writer.ts'
import type { OnWaiting } from './waiting.ts'

export type ExecuteRequestInput = MessageInput<typeof executeRequest>

/** `signal` is a POSIX number. `timedOut`: the device ended it because its time was over. */
export type RemoteExit = {
  readonly exitCode: number | undefined
  readonly signal: number | undefined
  readonly truncated: boolean
  readonly timedOut: boolean
  /** Why the device ended it, and what its network refused: the device's words. Never write them to a terminal as they are. */
  readonly why: string | undefined
  readonly refused?: string | undefined
  /** Where its output is from, and where in it the device found orders to whoever reads it. */
  readonly source?: ContentSource
  readonly findings?: readonly Finding[] | undefined
  /** What else the device has to say to whoever reads the output; its words too. */
  readonly notice?: string | undefined
}

/**
 * Where output goes. A promise holds the next credit back until it is settled, anything else (the boolean of
 * `process.stdout.write`) means nothing. `bytes` are borrowed: copy to keep.
 */
export type OutputSink = (source: 'stdout' | 'stderr', bytes: Uint8Array, offset: number) => unknown

/** What becomes of an execution on one stream. After `ended` or `failed` nothing more. */
export type ExecutionEvents = {
  /** The device has begun. `stdinBytes`: what its stdin was given before this stream. */
  started(id: string, stdinBytes: number): void
  output(...of: Parameters<OutputSink>): void | Promise<void>
  ended(exit: RemoteExit): void
  failed(error: SassError): void
  readonly onWaiting?: OnWaiting | undefined
  readonly stdin?: Pick<StdinWriter, 'join' | 'credit'> | undefined
  /** Nobody can have written to its stdin before. */
  readonly isFirst?: boolean | undefined
}

/** What becomes of an open stream; values are borrowed. After `ended` or `failed` nothing more. */
export type StreamEvents = {
  message(value: unknown, dataBytes: number): void
  ended(value: unknown): void
  failed(error: SassError): void
  credit(): void
  readonly onWaiting?: OnWaiting | undefined
}

export type OpenStream = {
  /** Bytes of data that may be sent now. */
  credit(): number
  message(payload: Parameters<Connection['message']>[1], dataBytes: number): void
  end(): void
  /** So many bytes of data have been taken: the device may send as many more, or as the link can carry. */
  consumed(dataBytes: number): void
  /** Leaves the stream; nothing more is told. */
  reset(): void
}

export type UnaryResult = {
  readonly id: string
  readonly exitCode: number | undefined
  readonly signal: number | undefined
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  readonly truncated: boolean
}
