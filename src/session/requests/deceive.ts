/**
 * A stranger of this host asks to read something without having authenticated: a few harmless reads really run,
 * confined, and what they print is masked before it leaves; figures of disk and memory are made up. Slowly, a few at a
 * time, each for a bounded time and so many bytes. Everything else gets noise.
 * Rules: docs/responses.md, section 5; draft 8.4.
 * @module
 */

import { sha256 } from '../../base/crypto/hash.ts'
import { joined } from '../../base/joined.ts'
import type { Stay } from '../../defense/deception/budget.ts'
import { DELAY_DRAW_BYTES, delayMs } from '../../defense/deception/delay.ts'
import { createMask, type Mask } from '../../defense/deception/mask.ts'
import type { Action } from '../../defense/facts.ts'
import { Warrant } from '../../defense/warrant.ts'
import { reasonOf } from '../../errors.ts'
import { EXECUTION_ID_BYTES, UNARY_INLINE_BYTES } from '../../limits.ts'
import { type Child, type ChildEvents, type OutputSource, STDERR, STDOUT } from '../../ports.ts'
import { fileChunk, fileDownloadEnd } from '../../wire/file-messages.ts'
import type { ExecuteRequest } from '../../wire/messages.ts'
import { executeResponse, streamResponse } from '../../wire/messages.ts'
import { type Call, type Peer, type StreamUser, sessionOf } from '../common/peer.ts'
import { NO_CIRCUMSTANCES, requestFacts } from '../decisions/attempt.ts'

/** What is asked for, as a command; undefined where it is not plain enough to look at. */
function argvOf(call: Call): readonly string[] | undefined {
  if (!call.message.ok) return undefined
  if (call.method.name === 'FileDownload')
    return ['cat', '--', (call.message.value as { readonly remote_path: string }).remote_path]
  const request = call.message.value as ExecuteRequest
  const isPlain =
    request.raw_payload === undefined && request.pty === undefined && !request.stdin && !request.is_reattach
  return isPlain ? [request.command, ...request.args] : undefined
}

export function deceive(peer: Peer, call: Call): void {
  const argv = argvOf(call)
  const action: Action | undefined = argv === undefined ? undefined : { kind: 'deceive', argv }
  // A stranger is never told what is wrong with its request.
  const facts = { ...requestFacts(call, {}, NO_CIRCUMSTANCES), problems: '' }
  const verdict = peer.decide(facts, action)
  if (
    verdict.kind !== 'response' ||
    verdict.response !== 'EXECUTE' ||
    argv === undefined ||
    action === undefined
  )
    return peer.refuse(verdict, call)
  const { rooms } = peer
  const stay = rooms.deceptions.enter(rooms.clock.monotonicMs())
  if (stay === undefined) return peer.transport.reset()
  Warrant.redeem(verdict.warrant, action, sessionOf(peer))
  answer(peer, call, argv, stay)
}

/** The system's own programs, and nobody else's. */
const SYSTEM_PATH = '/usr/bin:/bin:/usr/sbin:/sbin'

type Parts = { readonly [STDOUT]: Uint8Array[]; readonly [STDERR]: Uint8Array[] }

function send(peer: Peer, call: Call, parts: Parts, exitCode: number): void {
  const { connection, rooms } = peer
  const stdout = joined(parts[STDOUT])
  const stderr = joined(parts[STDERR])
  const execution_id = rooms.random.bytes(EXECUTION_ID_BYTES)
  switch (call.method.name) {
    case 'Execute':
      return connection.end(
        call.streamId,
        executeResponse.encode({ exit_code: exitCode, stdout, stderr, execution_id }),
      )
    case 'FileDownload':
      if (stdout.length > 0)
        connection.message(call.streamId, fileChunk.encode({ data: stdout }), stdout.length)
      return connection.end(
        call.streamId,
        fileDownloadEnd.encode({ sha256: sha256(stdout), total_size: stdout.length }),
      )
    default:
      connection.message(call.streamId, streamResponse.encode({ source: 2, execution_id }))
      for (const [source, data] of [
        [STDOUT, stdout],
        [STDERR, stderr],
      ] as const)
        if (data.length > 0)
          connection.message(call.streamId, streamResponse.encode({ source, data, offset: 0 }), data.length)
      connection.end(call.streamId, streamResponse.encode({ exit_code: exitCode }))
  }
}

function answer(peer: Peer, call: Call, argv: readonly string[], stay: Stay): void {
  const { rooms } = peer
  const { clock, random } = rooms
  const parts: Parts = { [STDOUT]: [], [STDERR]: [] }
  const masks: readonly Mask[] = [createMask(random.bytes), createMask(random.bytes)]
  let child: Child | undefined
  let isOver = false
  // Nobody waits for credit here: what there is at the beginning is all that is sent of it.
  const creditBytes =
    call.method.name === 'Execute' ? UNARY_INLINE_BYTES : peer.connection.credit(call.streamId)
  let bytesLeft = Math.min(UNARY_INLINE_BYTES, creditBytes)
  let cancel = clock.after(delayMs(random.bytes(DELAY_DRAW_BYTES)), beginWhenKept)
  const cancelEnd = clock.after(Math.max(0, stay.endsAtMs - clock.monotonicMs()), () => finish(1))

  const user: StreamUser = {
    isHeld: true,
    message() {},
    ended() {},
    credit() {},
    stdinDrained() {},
    leave: stop,
  }
  peer.join(call.streamId, user)

  /** Ends what runs and gives the place back, once; true for the first call. */
  function stop(): boolean {
    if (isOver) return false
    isOver = true
    cancel()
    cancelEnd()
    child?.killTree()
    stay.leave()
    return true
  }

  function finish(exitCode: number): void {
    if (!stop()) return
    send(peer, call, parts, exitCode)
    peer.streamDone(call.streamId)
  }

  function take(source: OutputSource, bytes: Uint8Array, mask: (bytes: Uint8Array) => Uint8Array): void {
    if (isOver) return
    const allowed = stay.take(Math.min(bytes.length, bytesLeft), clock.monotonicMs())
    bytesLeft -= allowed
    if (allowed > 0) parts[source].push(mask(bytes.subarray(0, allowed)))
    if (allowed < bytes.length) finish(0)
  }

  function beginWhenKept(): void {
    cancel = () => {}
    const { whenKept } = rooms.audit
    if (whenKept === undefined) return begin()
    whenKept((problem) => (problem === undefined ? begin() : finish(1)))
  }

  function begin(): void {
    if (isOver) return
    const figures = rooms.figures.answer(argv)
    if (figures !== undefined) {
      take(STDOUT, figures, (bytes) => bytes)
      return finish(0)
    }
    run().catch((cause: unknown) => {
      rooms.log.write('warn', 'deception_failed', { reason: reasonOf(cause) })
      finish(1)
    })
  }

  async function run(): Promise<void> {
    const spawner = await rooms.confined()
    const program = rooms.planner.finder.find(argv[0] ?? '', '/', SYSTEM_PATH)
    if (isOver) return
    if (spawner === undefined || program === undefined) return finish(127)
    const events: ChildEvents = {
      spawned() {},
      failed: () => finish(127),
      output: (source, bytes) => take(source, bytes, (taken) => masks[source]?.push(taken) ?? taken),
      stdinDrained() {},
      exited: (status) => finish(status.kind === 'exited' ? status.code : 1),
    }
    child = spawner.spawn(
      { file: program.path, argv, environment: [], cwd: '/', stdin: 'none', terminal: undefined },
      events,
    )
  }
}
