/**
 * One connection without a socket: bytes go in, events and bytes to send come out. It lets in what
 * phases.ts allows, keeps streams and credit, and reads every payload by its method's schema. It knows no
 * sessions, no time and no meaning: who calls it decides. After a fatal event it takes nothing and sends nothing.
 * Rules: docs/protocol.md, sections 1 and 2.
 * @module
 */
import type { CborValue } from '../base/encoding/cbor.ts'
import type { Code } from '../errors.ts'
import { CODES, SassError } from '../errors.ts'
import {
  FRAME_BYTES,
  INITIAL_WINDOW_BYTES,
  STREAMS_PER_CONNECTION,
  UNAUTHENTICATED_FRAME_BYTES,
  UNAUTHENTICATED_TOTAL_BYTES,
} from '../limits.ts'
import { createDeframer } from './deframer.ts'
import {
  asUnsigned,
  type CopyOut,
  encodeFileFrame,
  encodeFrame,
  encodeOutputFrame,
  type Frame,
  holdsFrame,
  readFrame,
} from './frame.ts'
import { type Status, status } from './messages.ts'
import { type Method, methodByNumber } from './methods.ts'
import { PHASES, type Phase, type Role } from './phases.ts'
import { type AnyMessage, type Problem, readMessage } from './schema.ts'
import { createStreams, type Stream } from './streams.ts'

export type ReadPayload =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export type ConnectionEvent =
  /** Daemon: a stream was opened. */
  | {
      readonly kind: 'opened'
      readonly stream: number
      readonly method: Method
      readonly message: ReadPayload
    }
  /** Daemon: an OPEN with a number that is not in the table of methods; the stream is not open. */
  | { readonly kind: 'unknown_method'; readonly stream: number; readonly number: number }
  | {
      readonly kind: 'message'
      readonly stream: Stream
      readonly message: ReadPayload
      readonly dataBytes: number
    }
  /** `message` undefined: END without a payload. */
  | {
      readonly kind: 'ended'
      readonly stream: Stream
      readonly message: ReadPayload | undefined
      readonly dataBytes: number
    }
  | { readonly kind: 'status'; readonly stream: Stream; readonly status: Status }
  /** More may be sent on this stream than before. */
  | { readonly kind: 'credit'; readonly stream: Stream }
  | { readonly kind: 'reset'; readonly stream: Stream }
  | { readonly kind: 'pong' }
  | { readonly kind: 'goaway'; readonly status: Status }
  /** Malformed or out of phase: the connection must be reset; nothing more will come. */
  | { readonly kind: 'fatal'; readonly problem: string }

/** `taken` is called when the kernel has the frame. */
export type Send = (frame: Uint8Array, taken?: () => void) => void

export type Connection = {
  readonly phase: Phase
  readonly role: Role
  /** Bytes received so far, decrypted. */
  readonly receivedBytes: number
  /** `pauses` and the number that is returned: as in Deframer. */
  receive(chunk: Uint8Array, pauses?: () => boolean): number
  /** Authenticated: larger frames, all kinds. `windowBytes` holds for streams opened from now on. */
  becomeOpen(windowBytes: number): void
  stream(id: number): Stream | undefined
  streams(): Iterable<Stream>
  /**
   * Client: opens a stream with its first message; returns its id. `more` false also ends our side.
   * Throws USAGE where as many streams are open as the peer takes; nothing was sent then.
   */
  open(method: Method, request: CborValue, more: boolean): number
  message(id: number, payload: CborValue, dataBytes?: number): void
  end(id: number, payload?: CborValue): void
  /** Ends the stream with a code; ignored when it is already gone. */
  fail(id: number, code: Code, text: string, details?: ReadonlyMap<number, number>): void
  /** Answers an OPEN whose method nobody knows; the stream never exists. */
  refuseUnknown(id: number, code: Code, text: string): void
  reset(id: number): void
  /** Bytes of data that may be sent on this stream now. */
  credit(id: number): number
  /** Lets the peer send `bytes` more on this stream than it was allowed so far. */
  grant(id: number, bytes: number): void
  /** The frame of the hot path, written into `target` (see encodeOutputFrame); counts the credit, returns the length. */
  output(
    target: Uint8Array,
    id: number,
    source: number,
    offset: number | undefined,
    dataBytes: number,
    copyOut: CopyOut,
    encoding?: 0 | 1,
  ): number
  /** The same for a piece of a file (see encodeFileFrame). */
  filePiece(target: Uint8Array, id: number, dataBytes: number, copyOut: CopyOut): number
  ping(): void
  /** Sends GOAWAY; streams already open may finish. */
  goAway(code: Code, text: string, details?: ReadonlyMap<number, number>): void
  /** Takes and sends nothing from now on. */
  kill(): void
}

/** Bytes of `payload` that count against credit: before any schema has looked at it, so that a bad message counts too. */
function dataIn(payload: unknown, key: number | undefined): number {
  if (key === undefined || !(payload instanceof Map)) return 0
  const data: unknown = payload.get(key)
  return data instanceof Uint8Array ? data.length : 0
}

function statusFrame(
  id: number,
  code: Code,
  text: string,
  details?: ReadonlyMap<number, number>,
): Uint8Array {
  return encodeFrame(id, 'STATUS', status.encode({ code: CODES[code].number, text, details }))
}

/**
 * `send` takes whole frames in order and must not call back into the connection; `tell` may.
 */
export function createConnection(role: Role, send: Send, tell: (event: ConnectionEvent) => void): Connection {
  const streams = createStreams()
  const strictness = role === 'daemon' ? 'strict' : 'lenient'
  let phase: Phase = 'silent'
  let windowBytes = INITIAL_WINDOW_BYTES
  let receivedBytes = 0
  let nextId = 1
  let pingNonce = 0
  let pingInFlight = false
  let pongWaits = false

  const deframer = createDeframer(
    () => (isBounded() ? UNAUTHENTICATED_FRAME_BYTES : FRAME_BYTES),
    (event) => (event.kind === 'body' ? takeBody(event.body) : fatal(event.problem)),
  )

  /** Nobody is known yet, and so little is taken. */
  function isBounded(): boolean {
    return phase === 'silent' && role === 'daemon'
  }

  function push(bytes: Uint8Array, pauses: (() => boolean) | undefined): number {
    const taken = deframer.push(bytes, pauses)
    receivedBytes += taken
    return taken
  }

  function kill(): void {
    phase = 'dead'
    deframer.stop()
    streams.clear()
  }

  function fatal(problem: string): void {
    if (phase === 'dead') return
    kill()
    tell({ kind: 'fatal', problem })
  }

  function transmit(frame: Uint8Array, taken?: () => void): void {
    if (phase !== 'dead') send(frame, taken)
  }

  function read(type: AnyMessage | undefined, payload: unknown): ReadPayload {
    if (type === undefined)
      return { ok: false, problems: [{ path: 'payload', problem: 'is not expected here' }] }
    return readMessage(type, payload, strictness)
  }

  function takeBody(body: Uint8Array): void {
    if (phase === 'dead') return
    const result = readFrame(body)
    if (!result.ok) return fatal(result.problem)
    const frame = result.frame
    const rule = PHASES[role][phase][frame.kind]
    if (rule === undefined) return fatal(`a ${frame.kind} in phase ${phase}`)
    if (rule === 'refuse') return refuseOpen(frame)
    takeFrame(frame)
  }

  function refuseOpen(frame: Frame): void {
    const problem = streams.skip(frame.stream)
    if (problem !== undefined) return fatal(problem)
    transmit(statusFrame(frame.stream, 'DAEMON_SHUTTING_DOWN', 'The device is going down.'))
  }

  function takeFrame(frame: Frame): void {
    switch (frame.kind) {
      case 'OPEN':
        return takeOpen(frame)
      case 'PING': {
        const nonce = asUnsigned(frame.payload)
        if (nonce === undefined) return fatal('a PING without a nonce')
        // Its sender cannot have the answer to the one before: that has not left.
        if (role === 'daemon' && pongWaits) return fatal('a PING while another one is in flight')
        pongWaits = true
        return transmit(encodeFrame(0, 'PONG', nonce), () => {
          pongWaits = false
        })
      }
      case 'PONG':
        if (!pingInFlight || asUnsigned(frame.payload) !== pingNonce)
          return fatal('a PONG that answers nothing')
        pingInFlight = false
        return tell({ kind: 'pong' })
      case 'GOAWAY': {
        const message = readMessage(status, frame.payload, 'lenient')
        if (!message.ok) return fatal('a GOAWAY without a code')
        phase = 'draining'
        return tell({ kind: 'goaway', status: message.value })
      }
      default:
        return takeStreamFrame(frame)
    }
  }

  function takeOpen(frame: Frame): void {
    const method = methodByNumber(frame.method ?? -1)
    if (method === undefined) {
      const unusable = streams.skip(frame.stream)
      if (unusable !== undefined) return fatal(unusable)
      return tell({ kind: 'unknown_method', stream: frame.stream, number: frame.method ?? -1 })
    }
    const more =
      method.requestMore !== undefined &&
      (method.moreKey === undefined ||
        (frame.payload instanceof Map && frame.payload.get(method.moreKey) === true))
    const problem = streams.open(frame.stream, method, more, windowBytes)
    if (problem !== undefined) return fatal(problem)
    // Where OPEN carries the first of several like messages, its data counts as theirs does.
    const stream = method.request === method.requestMore ? streams.get(frame.stream) : undefined
    if (stream !== undefined) stream.receivedBytes = dataIn(frame.payload, method.requestDataKey)
    if (stream !== undefined && stream.receivedBytes > windowBytes) return fatal('data past the credit')
    tell({ kind: 'opened', stream: frame.stream, method, message: read(method.request, frame.payload) })
  }

  function takeStreamFrame(frame: Frame): void {
    const stream = streams.get(frame.stream)
    if (stream === undefined) {
      // Frames that were on their way when we closed the stream are no fault of the peer.
      if (
        streams.isPast(frame.stream) ||
        (role === 'client' && frame.stream < nextId && frame.stream % 2 === 1)
      )
        return
      return fatal(`a ${frame.kind} on a stream that was never open`)
    }
    switch (frame.kind) {
      case 'CREDIT': {
        const limit = asUnsigned(frame.payload)
        if (limit === undefined) return fatal('a CREDIT that is no number')
        if (limit <= stream.sendLimitBytes) return
        stream.sendLimitBytes = limit
        stream.reachBytes = limit - stream.sentBytes
        return tell({ kind: 'credit', stream })
      }
      case 'RESET':
        streams.closeSide(stream.id, 'both')
        return tell({ kind: 'reset', stream })
      case 'STATUS': {
        const message = readMessage(status, frame.payload, 'lenient')
        if (!message.ok) return fatal('a STATUS without a code')
        streams.closeSide(stream.id, 'both')
        return tell({ kind: 'status', stream, status: message.value })
      }
      case 'MSG':
      case 'END':
        return takeMessage(frame, stream)
      default:
        return fatal(`a ${frame.kind} out of place`)
    }
  }

  function takeMessage(frame: Frame, stream: Stream): void {
    if (!stream.remoteOpen) return fatal(`a ${frame.kind} after the end of its side`)
    const { method } = stream
    const isEnd = frame.kind === 'END'
    // An answer of another kind than the messages before it holds no data that counts, whatever it has under that key.
    const responseDataKey =
      isEnd && method.response !== method.responseMore ? undefined : method.responseDataKey
    const dataBytes = dataIn(frame.payload, role === 'daemon' ? method.requestDataKey : responseDataKey)
    stream.receivedBytes += dataBytes
    if (stream.receivedBytes > stream.receiveLimitBytes) return fatal('data past the credit')
    if (!isEnd) {
      const message = read(role === 'daemon' ? method.requestMore : method.responseMore, frame.payload)
      return tell({ kind: 'message', stream, message, dataBytes })
    }
    const type = role === 'daemon' ? method.requestMore : method.response
    const message = frame.payload === undefined && role === 'daemon' ? undefined : read(type, frame.payload)
    // The daemon's END is the last word on a stream; a client's ends only its own side.
    streams.closeSide(stream.id, role === 'client' ? 'both' : 'remote')
    tell({ kind: 'ended', stream, message, dataBytes })
  }

  return {
    get phase() {
      return phase
    },
    role,
    get receivedBytes() {
      return receivedBytes
    },
    receive(chunk, pauses) {
      if (phase === 'dead') return chunk.length
      let taken = 0
      if (isBounded()) {
        taken = push(chunk.subarray(0, UNAUTHENTICATED_TOTAL_BYTES - receivedBytes), pauses)
        if (taken === chunk.length || pauses?.() === true) return taken
        if (isBounded()) {
          fatal('more than UNAUTHENTICATED_TOTAL_BYTES before authentication')
          return chunk.length
        }
      }
      return taken + push(chunk.subarray(taken), pauses)
    },
    becomeOpen(bytes) {
      if (phase !== 'silent') return
      phase = 'open'
      windowBytes = bytes
    },
    stream: (id) => streams.get(id),
    streams: () => streams.all(),
    open(method, request, more) {
      if (streams.size >= STREAMS_PER_CONNECTION) {
        throw new SassError(
          'USAGE',
          `${STREAMS_PER_CONNECTION} requests are open on this connection already, so this one was not sent; wait for one to end.`,
        )
      }
      const id = nextId
      const frame = encodeFrame(id, 'OPEN', request, method.number)
      if (!holdsFrame(frame)) {
        throw new SassError(
          'USAGE',
          `The request has ${frame.length} bytes, or more parts than a device takes in one; it was not sent. Give it in fewer and smaller parts.`,
        )
      }
      nextId += 2
      streams.open(id, method, true, windowBytes)
      if (!more) streams.closeSide(id, 'local')
      transmit(frame)
      return id
    },
    message(id, payload, dataBytes = 0) {
      const stream = streams.get(id)
      if (stream === undefined || !stream.localOpen) return
      stream.sentBytes += dataBytes
      transmit(encodeFrame(id, 'MSG', payload))
    },
    end(id, payload) {
      const stream = streams.get(id)
      if (stream === undefined || !stream.localOpen) return
      transmit(encodeFrame(id, 'END', payload))
      streams.closeSide(id, role === 'daemon' ? 'both' : 'local')
    },
    fail(id, code, text, details) {
      if (streams.get(id) === undefined) return
      transmit(statusFrame(id, code, text, details))
      streams.closeSide(id, 'both')
    },
    refuseUnknown: (id, code, text) => transmit(statusFrame(id, code, text)),
    reset(id) {
      if (streams.get(id) === undefined) return
      transmit(encodeFrame(id, 'RESET'))
      streams.closeSide(id, 'both')
    },
    credit(id) {
      const stream = streams.get(id)
      return stream === undefined || !stream.localOpen ? 0 : stream.sendLimitBytes - stream.sentBytes
    },
    grant(id, bytes) {
      const stream = streams.get(id)
      if (stream === undefined || !stream.remoteOpen || bytes <= 0) return
      stream.receiveLimitBytes += bytes
      transmit(encodeFrame(id, 'CREDIT', stream.receiveLimitBytes))
    },
    output(target, id, source, offset, dataBytes, copyOut, encoding) {
      const stream = streams.get(id)
      if (stream !== undefined) stream.sentBytes += dataBytes
      return encodeOutputFrame(target, id, source, offset, dataBytes, copyOut, encoding)
    },
    filePiece(target, id, dataBytes, copyOut) {
      const stream = streams.get(id)
      if (stream !== undefined) stream.sentBytes += dataBytes
      return encodeFileFrame(target, id, dataBytes, copyOut)
    },
    ping() {
      if (pingInFlight || phase === 'silent') return
      pingInFlight = true
      pingNonce = (pingNonce + 1) % 0x1_0000
      transmit(encodeFrame(0, 'PING', pingNonce))
    },
    goAway(code, text, details) {
      if (phase === 'dead') return
      transmit(encodeFrame(0, 'GOAWAY', status.encode({ code: CODES[code].number, text, details })))
      phase = 'draining'
    },
    kill,
  }
}
