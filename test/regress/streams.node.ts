/**
 * Frames of commands on bare connections, for tests of what once went wrong.
 * @module
 */
import { encodeFrame, type Frame } from '../../src/wire/frame.ts'
import { executeRequest } from '../../src/wire/messages.ts'
import { framesIn, type Wire } from '../integration/connections.node.ts'

export const EXECUTE = 1
export const EXECUTE_STREAM = 2

type Request = Parameters<typeof executeRequest.encode>[0]

/** OPEN of a command on `stream`. */
export function command(stream: number, method: number, request: Request): Uint8Array {
  return encodeFrame(stream, 'OPEN', executeRequest.encode(request), method)
}

/** What has come on `stream` so far. */
export function on(wire: Wire, stream: number): Frame[] {
  return framesIn(wire.received()).filter((frame) => frame.stream === stream)
}

/** The field of a message that has come. */
export function field(frame: Frame | undefined, key: number): unknown {
  return frame?.payload instanceof Map ? frame.payload.get(key) : undefined
}

export function isOver(wire: Wire, stream: number): boolean {
  const last = on(wire, stream).at(-1)?.kind
  return last === 'END' || last === 'STATUS'
}
