/**
 * R4 carried out: the caller of a refused command sees an editor's start screen, of its terminal's size where it has
 * one, and then nothing; its slot is held, what it types is swallowed, and in the end the stream is over. Like an
 * editor it draws itself again when the terminal's size changes. Other methods are held in silence.
 * Rules: docs/protocol.md, section 8; draft 8.3.1.
 * @module
 */

import { encodeHex } from '../../base/encoding/hex.ts'
import { viRedraw, viScreen } from '../../defense/deception/vi-screen.ts'
import { EXECUTION_ID_BYTES, INITIAL_WINDOW_BYTES } from '../../limits.ts'
import { STDOUT } from '../../ports.ts'
import { SYSTEM } from '../../wire/frame.ts'
import { type ExecuteRequest, type StdinChunk, streamResponse } from '../../wire/messages.ts'
import type { Call, Peer, StreamUser } from '../common/peer.ts'
import type { HeldScreen } from '../common/rooms.ts'
import { commandName } from '../executions/command-name.ts'

function requestOf(call: Call): Partial<ExecuteRequest> {
  return call.message.ok ? (call.message.value as Partial<ExecuteRequest>) : {}
}

function idOf(call: Call): Uint8Array | undefined {
  const id = requestOf(call).execution_id
  return id instanceof Uint8Array ? id : undefined
}

/** What a list of commands shows of it. */
function commandOf(call: Call): string {
  const { command } = requestOf(call)
  return typeof command === 'string' ? commandName(command) : ''
}

/** Holds the stream of `call` until `vi_swap.hold_seconds` are over, the peer leaves it or the connection ends. */
export function holdViScreen(peer: Peer, call: Call): void {
  const { rooms, connection } = peer
  const caller = peer.caller?.name ?? ''
  rooms.viHolds.set(caller, (rooms.viHolds.get(caller) ?? 0) + 1)
  const idBytes = idOf(call) ?? rooms.random.bytes(EXECUTION_ID_BYTES)
  const key = `${caller}/${encodeHex(idBytes)}`
  // What is held for an hour holds nothing of the request, which may be as large as a frame.
  const { streamId } = call
  const request = call.message.ok ? (call.message.value as Partial<ExecuteRequest>) : undefined
  const hasTerminal = request?.pty !== undefined
  const isShown = call.method.name === 'ExecuteStream'
  const isCommand = isShown || call.method.name === 'Execute'
  let isOver = false
  let swallowed = 0
  /** Where the next bytes of the screen stand in the output. */
  let offset = 0
  let unshown: Uint8Array = new Uint8Array(0)
  /** The size that a redraw is due for. */
  let resized: StdinChunk['resize']

  function leave(): void {
    if (isOver) return
    isOver = true
    cancel()
    const left = (rooms.viHolds.get(caller) ?? 1) - 1
    if (left > 0) rooms.viHolds.set(caller, left)
    else rooms.viHolds.delete(caller)
    if (rooms.screens.get(key) === screen) rooms.screens.delete(key)
    // It held a slot, which somebody may be waiting for.
    rooms.queue.pump()
  }

  const cancel = rooms.clock.after(rooms.settings.viHoldMs, () => {
    leave()
    connection.fail(streamId, 'RESPONSE_VI_SWAP_ENGAGED', '')
    peer.streamDone(streamId)
  })

  /** Within the stream's credit, as any output; of the sizes that come while it waits, only the last one counts. */
  function show(): void {
    if (unshown.length === 0 && resized !== undefined) {
      unshown = viRedraw(resized.rows, resized.cols)
      resized = undefined
    }
    const data = unshown.subarray(0, connection.credit(streamId))
    if (data.length === 0) return
    connection.message(streamId, streamResponse.encode({ source: STDOUT, data, offset }), data.length)
    offset += data.length
    unshown = unshown.subarray(data.length)
    show()
  }

  const user: StreamUser = {
    isHeld: true,
    message(value, dataBytes) {
      const { resize } = value as StdinChunk
      if (isShown && hasTerminal && resize !== undefined) resized = resize
      show()
      // A file stalls as on a slow disk: what goes nowhere gets no more credit.
      if (!isCommand) return
      swallowed += dataBytes
      const stream = connection.stream(streamId)
      // A client with a small window must be able to go on typing, as into any editor.
      const isStarved = stream !== undefined && stream.receiveLimitBytes - stream.receivedBytes <= swallowed
      if (swallowed < INITIAL_WINDOW_BYTES / 2 && !isStarved) return
      connection.grant(streamId, swallowed)
      swallowed = 0
    },
    ended() {},
    credit: show,
    stdinDrained() {},
    leave,
  }
  peer.join(streamId, user)

  const previous = isCommand ? rooms.screens.get(key) : undefined
  const screen: HeldScreen = {
    owner: caller,
    idBytes,
    command: previous?.command ?? commandOf(call),
    startedAtMs: previous?.startedAtMs ?? rooms.clock.wallMs(),
    replaced() {
      leave()
      connection.reset(streamId)
      peer.streamDone(streamId)
    },
  }
  // What is no command is none to its caller either.
  if (isCommand) rooms.screens.set(key, screen)
  previous?.replaced()
  if (!isShown) return
  connection.message(streamId, streamResponse.encode({ source: SYSTEM, execution_id: idBytes }))
  unshown = viScreen(request?.pty?.rows, request?.pty?.cols)
  show()
}
