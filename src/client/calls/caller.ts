/**
 * The client's side of a connection without a socket: calls become streams, streams become promises and callbacks.
 * Bytes go in through `receive`; what is to be sent goes to `send`. Everything that was asked and not answered when
 * the connection ends is rejected, and says whether the device may have begun. A challenge is answered here, on
 * whatever stream it comes; the request that it holds up goes on or fails with it.
 * Rules: docs/protocol.md, sections 2 to 6.
 * @module
 */

import { defer } from '../../base/deferred.ts'
import { encodeHex } from '../../base/encoding/hex.ts'
import { asSassError, CODES, SassError } from '../../errors.ts'
import { STDERR, STDOUT } from '../../ports.ts'
import { acceptsZstd } from '../../wire/accept.ts'
import type { Challenge } from '../../wire/challenge.ts'
import {
  type Connection,
  type ConnectionEvent,
  createConnection,
  type ReadPayload,
} from '../../wire/connection.ts'
import { contentSource } from '../../wire/content-source.ts'
import { SYSTEM } from '../../wire/frame.ts'
import type { ExecuteResponse, StreamResponse } from '../../wire/messages.ts'
import { executeRequest, streamResponse } from '../../wire/messages.ts'
import { type MethodName, methodNamed } from '../../wire/methods.ts'
import { describeProblems } from '../../wire/schema.ts'
import type {
  ExecuteRequestInput,
  ExecutionEvents,
  OpenStream,
  StreamEvents,
  UnaryResult,
} from './call-words.ts'
import { errorOfStatus, lostError, overlongError } from './caller-errors.ts'
import { type ChallengeKeys, meetChallenge } from './challenger.ts'
import { createOutputDecoder, type FrameReader } from './output-decoder.ts'
import { createUnaryOutput } from './unary-output.ts'
import { type OnWaiting, waitingOf } from './waiting.ts'
import { createWindow, type Window } from './window.ts'

export type Caller = {
  /** Resolves where the device says that it goes down: with the seconds after which it has, at the latest, if it says. */
  readonly leaving: Promise<number | undefined>
  /**
   * Authenticate was sent: what is asked now comes with it, as if this window were agreed. What the device says after its
   * answer waits for `goOn`: whoever asked hears first that it was let in.
   */
  askAlong(windowBytes: number): void
  goOn(): void
  /** Authenticate succeeded and agreed this window. `keys`: what challenges are answered with; the admin socket has none. */
  authenticated(windowBytes: number, keys?: ChallengeKeys, roundTripMs?: number): void
  /** Answers a challenge that came outside of a stream. Throws CHALLENGE_FAILED, as meetChallenge. */
  meet(challenge: Challenge): Promise<void>
  receive(bytes: Uint8Array): void
  /** One question, one answer; the type is that of the method's response. */
  call(
    method: MethodName,
    request: Parameters<Connection['open']>[1],
    onWaiting?: OnWaiting,
  ): Promise<unknown>
  /** The returned function leaves the execution running and forgets the stream. */
  stream(request: ExecuteRequestInput, events: ExecutionEvents): () => void
  /** Unary: resolves with the exit and all output that the device kept. */
  execute(request: ExecuteRequestInput, onWaiting?: OnWaiting): Promise<UnaryResult>
  /** A stream of any method, for whoever knows its messages. `more`: the caller's side stays open. */
  open(
    method: MethodName,
    request: Parameters<Connection['open']>[1],
    more: boolean,
    events: StreamEvents,
  ): OpenStream
  ping(): void
  /** Bytes of data of ours that the device has not yet allowed again. */
  readonly underwayBytes: number
  /** The transport is gone. */
  lost(cause: unknown): void
  readonly isLost: boolean
  /** Authenticate succeeded. */
  readonly isLetIn: boolean
  /** Why, where the device broke the protocol. */
  readonly broken: SassError | undefined
}

type StreamHandler = {
  message(message: ReadPayload, dataBytes: number): void
  ended(message: ReadPayload | undefined, dataBytes: number): void
  failed(error: SassError): void
  credit(): void
}

/**
 * `send` takes whole frames in order; `nowMs` is a monotonic clock. `fatal` hears of a device that breaks the protocol:
 * the transport must be closed. `frames` reads compressed output, where requests accept it.
 */
export function createCaller(
  send: (frame: Uint8Array) => void,
  nowMs: () => number,
  fatal: (error: SassError) => void,
  frames?: () => FrameReader,
): Caller {
  const handlers = new Map<number, StreamHandler>()
  let newWindow: () => Window = createWindow
  const challengeKeys = defer<ChallengeKeys | undefined>()
  let isLost = false
  let isLetIn = false
  /** Asked along; answered, in the order of the frames; and what came after that. */
  let [isHeld, isAnswered] = [false, false]
  const kept: Uint8Array[] = []
  const mustWait = () => isHeld && isAnswered
  let broken: SassError | undefined
  const leaving = defer<number | undefined>()
  const connection = createConnection('client', send, take)

  function over(id: number): StreamHandler | undefined {
    const handler = handlers.get(id)
    handlers.delete(id)
    return handler
  }

  function take(event: ConnectionEvent): void {
    switch (event.kind) {
      case 'message':
        return handlers.get(event.stream.id)?.message(event.message, event.dataBytes)
      case 'ended':
        return over(event.stream.id)?.ended(event.message, event.dataBytes)
      case 'status':
        return over(event.stream.id)?.failed(errorOfStatus(event.status))
      case 'reset':
        return over(event.stream.id)?.failed(
          new SassError('CONNECTION_LOST', 'Another client took this over; it goes on there.'),
        )
      case 'credit':
        return handlers.get(event.stream.id)?.credit()
      case 'goaway':
        return leaving.resolve(event.status.details?.get(1))
      case 'fatal':
        return breakOff(
          new SassError(
            'FRAME_MALFORMED',
            `The device sent ${event.problem}, so the connection was closed; it may be another program or version.`,
          ),
        )
      default:
        return
    }
  }

  function breakOff(error: SassError): void {
    broken = error
    lost(error)
    fatal(error)
  }

  function lost(cause: unknown): void {
    if (isLost) return
    isLost = true
    connection.kill()
    for (const handler of [...handlers.values()]) handler.failed(lostError(cause, true))
    handlers.clear()
  }

  function bad(message: ReadPayload): SassError {
    const problems = message.ok ? 'it is not due yet' : describeProblems(message.problems)
    return new SassError('FRAME_MALFORMED', `The device sent an answer that cannot be read: ${problems}.`)
  }

  /** Leaves a stream whose messages cannot be used: what is missing of its output must not pass for all of it. */
  function abandon(id: number, error: SassError): void {
    const handler = over(id)
    connection.reset(id)
    handler?.failed(error)
  }

  /** Reads the output of one stream, in its order; where it cannot be read the stream ends, whatever came since. */
  function decoderOf(id: number, { accept = 0 }: ExecuteRequestInput, giveUp: (error: SassError) => void) {
    return createOutputDecoder(acceptsZstd(accept, true) ? frames : undefined, (error) => {
      handlers.delete(id)
      connection.reset(id)
      giveUp(error)
    })
  }

  function refuseIfLost(): void {
    if (isLost) throw lostError(undefined, false)
  }

  /** True where the message says that the request waits; a challenge in it is then being answered. */
  function waits(id: number, value: StreamResponse, onWaiting: OnWaiting | undefined): boolean {
    const waiting = waitingOf(value)
    if (waiting === undefined) return false
    onWaiting?.(waiting)
    if (value.challenge !== undefined)
      meet(value.challenge).catch((cause: unknown) => abandon(id, unmet(cause)))
    return true
  }

  function unmet(cause: unknown): SassError {
    const sentence =
      'A challenge of the device could not be answered, so the request was not done; connect again.'
    return asSassError(cause) ?? new SassError('CHALLENGE_FAILED', sentence, {}, cause)
  }

  async function meet(challenge: Challenge): Promise<void> {
    // Of what was asked with Authenticate it may come with the answer to that.
    const keys = await challengeKeys.promise
    return meetChallenge(challenge, keys, (answer) => call('CognitiveChallenge', answer))
  }

  function call(
    method: MethodName,
    request: Parameters<Connection['open']>[1],
    onWaiting?: OnWaiting,
  ): Promise<unknown> {
    refuseIfLost()
    const { promise, resolve, reject } = defer<unknown>()
    const id = connection.open(methodNamed(method), request, false)
    // These two are what the others wait for.
    const mayWait = method !== 'Authenticate' && method !== 'CognitiveChallenge'
    handlers.set(id, {
      // Beside the word that it waits, one answer is all there is: who sends anything else before it, as the noise for
      // those whom a device does not know, will not send the answer.
      message(message, dataBytes) {
        if (!message.ok || !mayWait || !waits(id, message.value as StreamResponse, onWaiting))
          return reject(bad(message))
        connection.grant(id, dataBytes)
      },
      ended(message) {
        isAnswered ||= method === 'Authenticate'
        if (message?.ok === true) resolve(message.value)
        else reject(bad(message ?? { ok: false, problems: [] }))
      },
      failed: reject,
      credit() {},
    })
    return promise
  }

  function receive(bytes: Uint8Array): void {
    const taken = mustWait() ? 0 : connection.receive(bytes, mustWait)
    if (taken < bytes.length) kept.push(bytes.slice(taken))
  }

  function execute(request: ExecuteRequestInput, onWaiting?: OnWaiting): Promise<UnaryResult> {
    refuseIfLost()
    const { promise, resolve, reject } = defer<UnaryResult>()
    const output = createUnaryOutput()
    const window = newWindow()
    const id = connection.open(methodNamed('Execute'), executeRequest.encode(request), false)
    const decoder = decoderOf(id, request, reject)
    const giveUp = (error: SassError) => abandon(id, error)

    function keep(value: StreamResponse, dataBytes: number): void {
      const { source, data } = value
      if (data !== undefined && source !== SYSTEM && !output.add(source === STDOUT ? STDOUT : STDERR, data))
        return giveUp(overlongError())
      connection.grant(id, window.consumed(dataBytes, nowMs()))
    }

    handlers.set(id, {
      message(message, dataBytes) {
        if (!message.ok) return giveUp(bad(message))
        const value = message.value as StreamResponse
        waits(id, value, onWaiting)
        decoder.push(value, (plain) => keep(plain, dataBytes))
      },
      ended(message) {
        if (message?.ok !== true) return reject(bad(message ?? { ok: false, problems: [] }))
        const value = message.value as ExecuteResponse
        const last = { ...value, stdout: value.stdout.slice(), stderr: value.stderr.slice() }
        decoder.after(() => {
          decoder.close()
          resolve({
            id: encodeHex(last.execution_id),
            exitCode: last.exit_code,
            signal: last.signal,
            stdout: output.whole(STDOUT, last.stdout),
            stderr: output.whole(STDERR, last.stderr),
            truncated: last.truncated,
          })
        })
      },
      failed(error) {
        decoder.close()
        reject(error)
      },
      credit() {},
    })
    return promise
  }

  function stream(request: ExecuteRequestInput, events: ExecutionEvents): () => void {
    refuseIfLost()
    const { output, stdin } = events
    const window = newWindow()
    /** Where output goes on that comes without its offset. */
    const next = [request.resume_offset ?? 0, request.resume_offset_stderr ?? 0]
    let isOver = false
    const id = connection.open(
      methodNamed('ExecuteStream'),
      executeRequest.encode(request),
      request.stdin === true,
    )
    if (request.stdin === true) stdin?.join(connection, id, events.isFirst === true)
    const decoder = decoderOf(id, request, fail)

    function deliver(value: StreamResponse, dataBytes: number): void {
      const granted = () => {
        if (!isOver) connection.grant(id, window.consumed(dataBytes, nowMs()))
      }
      if (value.execution_id !== undefined) events.started(encodeHex(value.execution_id), value.offset ?? 0)
      if (value.data === undefined || value.source === SYSTEM) return granted()
      const source = value.source === 0 ? 0 : 1
      const offset = value.offset ?? next[source] ?? 0
      next[source] = offset + value.data.length
      const settled = output(source === 0 ? 'stdout' : 'stderr', value.data, offset)
      if (settled === undefined) granted()
      else settled.then(granted, granted)
    }

    function fail(error: SassError): void {
      isOver = true
      decoder.close()
      events.failed(error)
    }

    handlers.set(id, {
      message(message, dataBytes) {
        if (!message.ok) return abandon(id, bad(message))
        const value = message.value as StreamResponse
        waits(id, value, events.onWaiting)
        decoder.push(value, (plain) => deliver(plain, dataBytes))
      },
      ended(message, dataBytes) {
        isOver = true
        if (message?.ok !== true) return fail(bad(message ?? { ok: false, problems: [] }))
        decoder.push(message.value as StreamResponse, (value) => {
          deliver(value, dataBytes)
          decoder.close()
          events.ended({
            exitCode: value.exit_code,
            signal: value.signal,
            truncated: value.code === CODES.OUTPUT_TRUNCATED.number,
            timedOut: value.code === CODES.EXECUTION_TIMEOUT.number,
            ...{ source: contentSource(value.content_source), findings: value.findings },
            ...{ why: value.why, refused: value.refused, notice: value.notice },
          })
        })
      },
      failed(error) {
        isOver = true
        // What came before it has arrived, and is given.
        decoder.after(() => fail(error))
      },
      credit: () => stdin?.credit(),
    })
    return () => {
      isOver = true
      decoder.close()
      handlers.delete(id)
      connection.reset(id)
    }
  }

  function open(...[method, request, more, events]: Parameters<Caller['open']>): OpenStream {
    refuseIfLost()
    const window = newWindow()
    const type = methodNamed(method)
    const id = connection.open(type, request, more)
    const mayWait = type.responseMore === streamResponse
    handlers.set(id, {
      message(message, dataBytes) {
        if (!message.ok) return abandon(id, bad(message))
        if (mayWait && waits(id, message.value as StreamResponse, events.onWaiting))
          return connection.grant(id, window.consumed(dataBytes, nowMs()))
        events.message(message.value, dataBytes)
      },
      ended(message) {
        if (message?.ok !== true) return events.failed(bad(message ?? { ok: false, problems: [] }))
        events.ended(message.value)
      },
      failed: events.failed,
      credit: events.credit,
    })
    return {
      credit: () => connection.credit(id),
      message: (payload, dataBytes) => connection.message(id, payload, dataBytes),
      end: () => connection.end(id),
      consumed: (dataBytes) => connection.grant(id, window.consumed(dataBytes, nowMs())),
      reset() {
        handlers.delete(id)
        connection.reset(id)
      },
    }
  }

  return {
    leaving: leaving.promise,
    open,
    goOn() {
      isHeld = false
      for (const bytes of kept.splice(0)) receive(bytes)
    },
    askAlong(bytes) {
      isHeld = true
      newWindow = () => createWindow(bytes)
      connection.becomeOpen(bytes)
    },
    authenticated(bytes, keys, roundTripMs) {
      newWindow = () => createWindow(bytes, roundTripMs)
      challengeKeys.resolve(keys)
      isLetIn = true
      connection.becomeOpen(bytes)
    },
    receive,
    meet,
    call,
    stream,
    execute,
    ping: () => connection.ping(),
    get underwayBytes() {
      let bytes = 0
      for (const { sentBytes, sendLimitBytes, windowBytes } of connection.streams())
        bytes += Math.max(0, sentBytes + windowBytes - sendLimitBytes)
      return bytes
    },
    lost,
    get isLost() {
      return isLost
    },
    get isLetIn() {
      return isLetIn
    },
    get broken() {
      return broken
    },
  }
}
