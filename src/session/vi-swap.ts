/**
 * R4 carried out: the caller of a refused command sees an editor's start screen and then nothing; its slot is held,
 * what it types is swallowed, and in the end the stream is over. Other methods are held in silence.
 * Rules: docs/protocol.md, section 8; draft 8.3.1.
 * @module
 */
import { viScreen } from '../defense/vi-screen.ts'
import { EXECUTION_ID_BYTES, INITIAL_WINDOW_BYTES } from '../limits.ts'
import { STDOUT } from '../ports.ts'
import { SYSTEM } from '../wire/frame.ts'
import { streamResponse } from '../wire/messages.ts'
import type { Call, Peer, StreamUser } from './peer.ts'

/** Holds the stream of `call` until `vi_swap.hold_seconds` are over, the peer leaves it or the connection ends. */
export function holdViScreen(peer: Peer, call: Call): void {
  const { rooms, connection } = peer
  const caller = peer.caller?.name ?? ''
  rooms.viHolds.set(caller, (rooms.viHolds.get(caller) ?? 0) + 1)
  let isOver = false
  let swallowed = 0

  function leave(): void {
    if (isOver) return
    isOver = true
    cancel()
    const left = (rooms.viHolds.get(caller) ?? 1) - 1
    if (left > 0) rooms.viHolds.set(caller, left)
    else rooms.viHolds.delete(caller)
  }

  const cancel = rooms.clock.after(rooms.settings.viHoldMs, () => {
    leave()
    connection.fail(call.streamId, 'RESPONSE_VI_SWAP_ENGAGED', '')
    peer.streamDone(call.streamId)
  })

  const user: StreamUser = {
    isHeld: true,
    message(_value, dataBytes) {
      swallowed += dataBytes
      const stream = connection.stream(call.streamId)
      // A client with a small window must be able to go on typing, as into any editor.
      const isStarved = stream !== undefined && stream.receiveLimitBytes - stream.receivedBytes <= swallowed
      if (swallowed < INITIAL_WINDOW_BYTES / 2 && !isStarved) return
      connection.grant(call.streamId, swallowed)
      swallowed = 0
    },
    ended() {},
    credit() {},
    stdinDrained() {},
    leave,
  }
  peer.join(call.streamId, user)

  if (call.method.name !== 'ExecuteStream') return
  const asked = call.message.ok
    ? (call.message.value as { readonly execution_id?: Uint8Array }).execution_id
    : undefined
  const execution_id = asked ?? rooms.random.bytes(EXECUTION_ID_BYTES)
  connection.message(call.streamId, streamResponse.encode({ source: SYSTEM, execution_id }))
  const data = viScreen()
  connection.message(call.streamId, streamResponse.encode({ source: STDOUT, data, offset: 0 }), data.length)
}
