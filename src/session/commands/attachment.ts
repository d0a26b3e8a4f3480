/**
 * The way of an execution's output to one stream of one connection: from its rings, by offset, within the stream's
 * credit and the connection's buffers. What cannot be sent now holds the process back; nothing is queued beyond
 * that. It ends with the exit, or leaves when the stream or the connection does.
 * Rules: docs/protocol.md, sections 2, 3 and 6.
 * @module
 */

import type { CborValue } from '../../base/encoding/cbor.ts'
import { encodeUtf8 } from '../../base/encoding/utf8.ts'
import type { Ring } from '../../base/ring.ts'
import { CODES } from '../../errors.ts'
import {
  CHUNK_BYTES,
  CHUNK_MIN_BYTES,
  CODED_UNARY_BYTES,
  PIPE_MIN_BYTES,
  PIPE_READ_BYTES,
  UNARY_INLINE_BYTES,
} from '../../limits.ts'
import { type OutputPace, type OutputSource, STDERR, STDOUT } from '../../ports.ts'
import { ACCEPT, acceptsZstd } from '../../wire/accept.ts'
import { contentSourceNumber } from '../../wire/content-source.ts'
import { SYSTEM } from '../../wire/frame.ts'
import { executeResponse, streamResponse } from '../../wire/messages.ts'
import type { MessageInput } from '../../wire/schema.ts'
import type { Stream } from '../../wire/streams.ts'
import type { Peer } from '../common/peer.ts'
import { AWAITING } from '../decisions/attempt.ts'
import type { Execution, Watcher } from '../executions/execution.ts'
import type { Executions } from '../executions/executions.ts'
import { injectionFindings } from '../executions/injection-event.ts'
import { createOutputPacker, type PackedPiece } from '../executions/output-packer.ts'
import { sentence } from '../standing/sentence.ts'
import { refusedSentence } from './refused-reach.ts'

type ExitFields = Pick<
  MessageInput<typeof streamResponse>,
  'exit_code' | 'signal' | 'why' | 'refused' | 'notice' | 'content_source' | 'findings'
>

export type Attachment = Watcher & {
  /** Credit or buffers came: go on. */
  pump(): void
  /** The stream or the connection is gone. */
  leave(): void
}

export type AttachmentStart = {
  readonly stdoutOffset: number
  readonly stderrOffset: number
  /** The forms of output that the client reads (wire/accept.ts). */
  readonly accept?: number
}

const DATA_LOSS = 'That output is no longer here; details give the oldest offsets that are.'

/** Offsets that the ring cannot give any more; undefined when it can give all. */
type Offsets = { readonly stdout: number; readonly stderr: number }

export function missingFrom(execution: Execution, start: AttachmentStart): Offsets | undefined {
  const stdout = execution.rings?.stdout.oldestOffset ?? execution.outputBytes[STDOUT]
  const stderr = execution.rings?.stderr.oldestOffset ?? execution.outputBytes[STDERR]
  return start.stdoutOffset < stdout || start.stderrOffset < stderr ? { stdout, stderr } : undefined
}

// How far a program may be ahead of a link: every byte that it has written and that has not arrived is time that a ^C
// takes. The window of the client says how slow the link is; a fast one is left alone (section 2, flow control).

/** The most data of one message: some of them fit the window, so that one arrives while the next is on its way. */
function chunkBytes(stream: Stream): number {
  const credit = stream.sendLimitBytes - stream.sentBytes
  const wanted = Math.max(stream.windowBytes, credit) >>> 2
  return Math.min(Math.max(wanted, CHUNK_MIN_BYTES), CHUNK_BYTES)
}

/** What the pipe of a program may hold: all that it usually does, or little beside what is under way. */
function aheadBytes({ reachBytes }: Stream): number {
  if (reachBytes >= PIPE_READ_BYTES) return PIPE_READ_BYTES
  const pages = Math.max(1, Math.floor(reachBytes / 4 / PIPE_MIN_BYTES))
  return PIPE_MIN_BYTES * 2 ** Math.floor(Math.log2(pages))
}

type Failing = Pick<Peer['connection'], 'fail'>

export function failMissing(connection: Failing, streamId: number, missing: Offsets): void {
  const details = new Map([
    [1, missing.stdout],
    [2, missing.stderr],
  ])
  connection.fail(streamId, 'RING_BUFFER_DATA_LOSS', DATA_LOSS, details)
}

export function failOverdue(connection: Failing, streamId: number): void {
  connection.fail(streamId, 'EXECUTION_TIMEOUT', 'The command was ended because its time was over.')
}

/** Why posix_spawn did not start a program, for whoever asked for it: asm-generic/errno-base.h. */
function spawnProblem(errno: number): string {
  switch (errno) {
    case 2:
      return 'no such program or working directory: name the program by its path, or another directory'
    case 7:
      return 'the arguments and the environment are too long'
    case 8:
      return 'it is no program that this device can run'
    case 11:
      return 'neither the device nor this session may have more processes: end what runs in it, by its id'
    case 12:
      return 'the device is out of memory, or what this session may have of it'
    case 13:
      return 'it is not executable'
    case 20:
      return 'a part of the path is not a directory'
    default:
      return `errno ${errno}`
  }
}

/**
 * Joins an execution to a stream. `isUnary`: the output waits for the exit and goes with it.
 * The caller makes it the execution's watcher.
 */
export function createAttachment(
  peer: Peer,
  streamId: number,
  executions: Executions,
  getExecution: () => Execution | undefined,
  isUnary: boolean,
  start: AttachmentStart,
): Attachment {
  const sent: [number, number] = [start.stdoutOffset, start.stderrOffset]
  // Before anything that comes on this stream: its stdin goes on from there.
  const stdinBytes = getExecution()?.stdinBytes ?? 0
  let isGone = false
  let hasAnnounced = false
  const { accept = 0 } = start
  const { coders, settings } = peer.rooms
  const packer = acceptsZstd(accept, settings.isMetered) ? createOutputPacker(coders, pump) : undefined
  // The first message of a source says where it begins.
  const isContinued: [boolean, boolean] = [false, false]

  function ringOf(source: OutputSource): Ring | undefined {
    const rings = getExecution()?.rings
    return source === STDOUT ? rings?.stdout : rings?.stderr
  }

  function unsent(source: OutputSource): number {
    const ring = ringOf(source)
    return ring === undefined ? 0 : ring.totalBytes - sent[source]
  }

  /** Whoever sits at a terminal waits for it. */
  function takeBuffer(): Uint8Array | undefined {
    return peer.takeBuffer(pump, getExecution()?.isTerminal === true)
  }

  /** Sends the piece that was compressed, if there is one; false while something of it has yet to leave. */
  function sendPacked(): boolean {
    const piece = packer?.ready
    if (piece === undefined) return packer?.isIdle !== false
    const buffer = takeBuffer()
    if (buffer === undefined) return false
    sendPiece(buffer, piece)
    packer?.sent()
    return true
  }

  /** The offset to send with what begins at `offset`; undefined: it goes on where the last one ended. */
  function told(source: OutputSource, offset: number): number | undefined {
    if (isContinued[source]) return undefined
    isContinued[source] = (accept & ACCEPT.continued) !== 0
    return offset
  }

  function sendPiece(buffer: Uint8Array, { source, offset, plainBytes, data, encoding }: PackedPiece): void {
    const copyOut = (target: Uint8Array) => target.set(data)
    const at = told(source, offset)
    const length = peer.connection.output(buffer, streamId, source, at, data.length, copyOut, encoding)
    if (peer.session !== undefined) peer.session.deliveredBytes += plainBytes
    peer.sendBuffer(buffer, length)
  }

  /** Sends what credit and buffers allow of one source; true when nothing of it is left. */
  function pumpSource(source: OutputSource): boolean {
    const ring = ringOf(source)
    if (ring === undefined) return true
    for (;;) {
      const left = ring.totalBytes - sent[source]
      if (left === 0) return true
      if (!sendPacked()) return false
      const credit = peer.connection.credit(streamId)
      const stream = peer.connection.stream(streamId)
      if (stream === undefined || credit <= 0) return false
      const packed = packer?.take(source, sent[source], left, credit, ring.copyOut) ?? 0
      if (packed > 0) {
        sent[source] += packed
        continue
      }
      const bytes = Math.min(left, credit, chunkBytes(stream))
      const buffer = takeBuffer()
      if (buffer === undefined) return false
      const offset = sent[source]
      const at = told(source, offset)
      const length = peer.connection.output(buffer, streamId, source, at, bytes, (target) =>
        ring.copyOut(offset, target),
      )
      sent[source] = offset + bytes
      packer?.passed(bytes)
      if (peer.session !== undefined) peer.session.deliveredBytes += bytes
      peer.sendBuffer(buffer, length)
    }
  }

  /**
   * Ends the stream where what it would send next is gone: whoever waits for the exit does not hold the process back,
   * and one write may be larger than the ring.
   */
  function hasLostData(execution: Execution): boolean {
    const missing = missingFrom(execution, { stdoutOffset: sent[STDOUT], stderrOffset: sent[STDERR] })
    if (missing === undefined || execution.rings === undefined) return false
    go()
    failMissing(peer.connection, streamId, missing)
    executions.leave(execution, self)
    peer.streamDone(streamId)
    return true
  }

  function pump(): void {
    const execution = getExecution()
    if (isGone || execution === undefined || (isUnary && execution.exit === undefined)) return
    if (hasLostData(execution)) return
    const isSent = sendPacked()
    const stdoutDone = pumpSource(STDOUT)
    const stderrDone = pumpSource(STDERR)
    if (execution.exit === undefined) {
      executions.hold(execution, STDOUT, !stdoutDone || isSpent())
      executions.hold(execution, STDERR, !stderrDone || isSpent())
    } else if (isSent && stdoutDone && stderrDone && packer?.isIdle !== false) finish()
  }

  /** Without credit neither source is read: what they would bring could not be sent. */
  function isSpent(): boolean {
    return peer.connection.credit(streamId) <= 0
  }

  /** Nothing more is sent by this. */
  function go(): void {
    isGone = true
    packer?.close()
  }

  /** Taken whatever is told of it: the next command is not told of what this one did. */
  function refusedBy({ sessionId, exit, command }: Execution): { refused?: string } {
    const { places, egress } = peer.rooms
    const place = places.find(sessionId)
    if (place?.namespaces === undefined || place.namespaces.network < 0) return {}
    const { branch } = place
    const refused = refusedSentence({
      reaches: place.refused?.() ?? [],
      places: egress.refused(branch),
      nameOf: (address) => egress.nameOf(branch, address),
      command,
    })
    const hasFailed = exit?.kind !== 'exited' || exit.code !== 0
    return refused === undefined || !hasFailed ? {} : { refused: sentence(refused) }
  }

  /** Where its output is from, and what in it gives orders. */
  function contentFields(execution: Execution): Pick<ExitFields, 'content_source' | 'findings'> {
    const { places, egress } = peer.rooms
    const branch = places.find(execution.sessionId)?.branch
    const findings = injectionFindings(execution)
    return {
      ...(branch !== undefined && egress.hasTalked(branch)
        ? { content_source: contentSourceNumber('NETWORK_EXTERNAL') }
        : {}),
      ...(findings.length > 0 ? { findings } : {}),
    }
  }

  function exitFields(): ExitFields {
    const execution = getExecution()
    const exit = execution?.exit
    if (execution === undefined || exit === undefined) return {}
    const why = execution.why === undefined ? {} : { why: execution.why }
    const notice = peer.session === undefined ? undefined : peer.rooms.anomalies.delivered(peer.session)
    const more = {
      ...why,
      ...refusedBy(execution),
      ...contentFields(execution),
      ...(notice === undefined ? {} : { notice }),
    }
    return exit.kind === 'exited' ? { exit_code: exit.code, ...more } : { signal: exit.signal, ...more }
  }

  function finish(): void {
    const execution = getExecution()
    if (isGone || execution === undefined) return
    go()
    const truncated = execution.discardedBytes > 0
    if (isUnary) {
      if (execution.timedOut) {
        failOverdue(peer.connection, streamId)
      } else {
        peer.connection.end(
          streamId,
          executeResponse.encode({ ...exitFields(), execution_id: execution.idBytes, truncated }),
        )
      }
    } else {
      const code = execution.timedOut
        ? CODES.EXECUTION_TIMEOUT.number
        : truncated
          ? CODES.OUTPUT_TRUNCATED.number
          : undefined
      peer.connection.end(streamId, streamResponse.encode({ ...exitFields(), code }))
    }
    tellEnd(execution)
  }

  function tellEnd(execution: Execution): void {
    execution.toldAtMs = peer.rooms.clock.monotonicMs()
    executions.leave(execution, self)
    peer.streamDone(streamId)
  }

  /** The usual unary answer: everything in one frame. */
  function finishInline(execution: Execution): boolean {
    if (!isUnary || execution.timedOut) return false
    const stdoutBytes = unsent(STDOUT)
    const stderrBytes = unsent(STDERR)
    const mostBytes = packer === undefined ? UNARY_INLINE_BYTES : CODED_UNARY_BYTES
    if (stdoutBytes + stderrBytes > mostBytes) return false
    const stdout = new Uint8Array(stdoutBytes)
    const stderr = new Uint8Array(stderrBytes)
    ringOf(STDOUT)?.copyOut(sent[STDOUT], stdout)
    ringOf(STDERR)?.copyOut(sent[STDERR], stderr)
    go()
    if (peer.session !== undefined) peer.session.deliveredBytes += stdoutBytes + stderrBytes
    const truncated = execution.discardedBytes > 0
    const response: ReadonlyMap<number, CborValue> = executeResponse.encode({
      ...exitFields(),
      stdout,
      stderr,
      execution_id: execution.idBytes,
      truncated,
    })
    peer.connection.end(streamId, response)
    tellEnd(execution)
    return true
  }

  function announce(): void {
    const execution = getExecution()
    if (hasAnnounced || isUnary || isGone || execution === undefined) return
    hasAnnounced = true
    peer.connection.message(
      streamId,
      streamResponse.encode({
        source: SYSTEM,
        execution_id: execution.idBytes,
        offset: stdinBytes === 0 ? undefined : stdinBytes,
        // An agent need not know that it is in one.
        isolation: peer.caller?.role === 'operator' ? execution.isolation : undefined,
      }),
    )
  }

  const pace: OutputPace = {
    readBytes: (source) => (unsent(source) > 0 ? 0 : peer.connection.credit(streamId)),
    aheadBytes() {
      const stream = peer.connection.stream(streamId)
      return stream === undefined ? PIPE_READ_BYTES : aheadBytes(stream)
    },
  }

  const self: Attachment = {
    started: announce,
    output(source) {
      const execution = getExecution()
      if (isUnary || isGone || execution === undefined) return
      announce()
      if (hasLostData(execution)) return
      if (!pumpSource(source)) executions.hold(execution, source, true)
      if (!isSpent()) return
      executions.hold(execution, STDOUT, true)
      executions.hold(execution, STDERR, true)
    },
    stdinDrained: () => peer.stdinDrained(streamId),
    held() {
      if (isUnary || isGone || peer.connection.credit(streamId) < AWAITING.length) return
      announce()
      const data = encodeUtf8(AWAITING)
      const message = streamResponse.encode({ source: SYSTEM, is_queued: true, data })
      peer.connection.message(streamId, message, data.length)
    },
    finished() {
      const execution = getExecution()
      if (isGone || execution === undefined) return
      announce()
      if (hasLostData(execution)) return
      if (!finishInline(execution)) pump()
    },
    notStarted() {
      const execution = getExecution()
      if (isGone || execution === undefined) return
      go()
      const text = `The command was not started: ${spawnProblem(execution.errno)}.`
      peer.connection.fail(streamId, 'SPAWN_FAILED', text, new Map([[1, execution.errno]]))
      executions.leave(execution, self)
      peer.streamDone(streamId)
    },
    replaced() {
      if (isGone) return
      go()
      peer.connection.reset(streamId)
      peer.streamDone(streamId)
    },
    pace: isUnary ? undefined : pace,
    pump,
    leave() {
      if (isGone) return
      go()
      const execution = getExecution()
      if (execution !== undefined) executions.leave(execution, self)
    },
  }
  return self
}
