/**
 * Signed envelopes over a connection: handed in, listed and taken by agents; what lies in quarantine is the operator's.
 * What is handed in goes the way of a file: into quarantine, and through the checks there. Each of it is an action that
 * the adjudicator decides about; what an envelope says is nothing that this decision rests on.
 * Rules: docs/protocol.md, section 3 (64 to 68); docs/intent.md.
 * @module
 */
import { sha256 } from '../../base/crypto/hash.ts'
import { decodeHex, encodeHex } from '../../base/encoding/hex.ts'
import { QUARANTINE_LISTED } from '../../config/intent-limits.ts'
import type { Action } from '../../defense/facts.ts'
import type { Accepted, Intake, IntentRoom, Quarantined, Waiting } from '../../intent/spool/room.ts'
import { CHUNK_BYTES, LISTED_ENTRIES } from '../../limits.ts'
import * as n from '../../wire/intent-messages.ts'
import { outcome } from '../../wire/messages.ts'
import type { MessageInput } from '../../wire/schema.ts'
import { type Call, type Peer, sessionOf } from '../common/peer.ts'
import { mistake, permitted } from '../decisions/permitted.ts'
import { readEnvelope } from './read-envelope.ts'

const CONTENT_SOURCE = 'AGENT_HANDOFF'
const OFF =
  'This device takes in nothing that is signed: its configuration names no vault (intent.vault), which its operator can change.'
const MAX_FROM = 256
const MAX_PROBLEM = 1_000

/** Permitted, and there is a room; else it is said why not. */
function inRoom(peer: Peer, call: Call, action: Action, go: (room: IntentRoom) => void, problem = ''): void {
  const enter = (): void => {
    const { intent } = peer.rooms
    if (intent === undefined) return peer.connection.fail(call.streamId, 'INTENT_REJECTED', OFF)
    go(intent)
  }
  permitted(peer, call, action, enter, problem)
}

const bytesOf = (hex: string): Uint8Array => decodeHex(hex) ?? new Uint8Array(0)

function entryOf(of: Accepted | Waiting): MessageInput<typeof n.envelopeEntry> {
  return {
    envelope_id: of.id,
    session_id: of.session,
    sender: of.sender,
    receiver: of.receiver,
    template: of.template,
    digest: bytesOf(of.digest),
    size: of.size,
    accepted_at: Math.floor(of.acceptedAtMs / 1_000),
    is_taken: 'isTaken' in of && of.isTaken,
  }
}

function answerIntake(peer: Peer, call: Call, intake: Intake): void {
  const { connection } = peer
  switch (intake.kind) {
    case 'accepted': {
      const { size } = intake.of
      const receipt = { entry: entryOf(intake.of) as never, received: size }
      return connection.end(call.streamId, n.envelopeReceipt.encode(receipt))
    }
    case 'refused':
      return connection.fail(call.streamId, 'INTENT_REJECTED', intake.refusal.problem)
    case 'busy':
      return connection.fail(call.streamId, 'RESPONSE_THROTTLED', intake.problem)
  }
}

function submit(peer: Peer, call: Call): void {
  if (!call.message.ok) return mistake(peer, call, '')
  const { receiver, piece: data, total, offset, digest } = call.message.value as n.EnvelopePiece
  // Borrowed bytes: they are gone when this returns, and what is decided may wait.
  const piece = new Uint8Array(data)
  if (total === undefined) return handIn(peer, call, receiver, piece)
  if (digest === undefined) return mistake(peer, call, 'digest is missing beside total')
  // Nothing of it is kept for whoever may not ask.
  inRoom(peer, call, { kind: 'read', method: call.method.name }, ({ staging }) => {
    const sender = { agent: peer.caller?.name ?? '', session: sessionOf(peer) }
    const came = { total, offset, digest: encodeHex(digest), data: piece }
    const staged = staging.add(sender, came, peer.rooms.clock.monotonicMs())
    switch (staged.kind) {
      case 'odd':
        return mistake(peer, call, `piece ${staged.problem}`)
      case 'whole': {
        if (encodeHex(sha256(staged.bytes)) !== encodeHex(digest))
          return mistake(peer, call, 'digest is not that of what came')
        return handIn(peer, call, receiver, staged.bytes)
      }
      case 'busy':
        return peer.connection.fail(
          call.streamId,
          'RESPONSE_THROTTLED',
          'Other envelopes come in just now, of you or of several others: ask again in a minute.',
        )
      case 'more':
        return peer.connection.end(call.streamId, n.envelopeReceipt.encode({ received: staged.received }))
    }
  })
}

function handIn(peer: Peer, call: Call, receiver: string, bytes: Uint8Array): void {
  const { rooms, caller } = peer
  const isKnown = rooms.intent === undefined || rooms.intent.isReceiver(receiver)
  const action: Action = {
    kind: 'submit_envelope',
    to: receiver,
    digest: encodeHex(sha256(bytes)),
    bytes: bytes.length,
  }
  inRoom(
    peer,
    call,
    action,
    (room) => answerIntake(peer, call, room.submit(bytes, receiver, caller?.name ?? '')),
    isKnown ? '' : 'receiver is nobody whose envelopes are taken in here',
  )
}

/** Whose envelopes a caller sees as its own: an operator's are the device's. */
function ownName({ caller }: Peer, room: IntentRoom): string {
  return caller?.role === 'operator' ? room.id : (caller?.name ?? '')
}

function list(peer: Peer, call: Call): void {
  inRoom(peer, call, { kind: 'read', method: call.method.name }, (room) => {
    const all = room.list(peer.caller?.role === 'operator' ? undefined : ownName(peer, room))
    const envelopes = all.slice(0, LISTED_ENTRIES).map(entryOf)
    peer.connection.end(
      call.streamId,
      n.envelopeList.encode({ envelopes: envelopes as never, total: all.length }),
    )
  })
}

function take(peer: Peer, call: Call): void {
  const { envelope_id: id, offset } = (
    call.message.ok ? call.message.value : { envelope_id: '', offset: 0 }
  ) as { envelope_id: string; offset: number }
  inRoom(peer, call, { kind: 'take_envelope', id }, (room) => {
    const given = room.take(id, ownName(peer, room))
    if (given.kind === 'unknown')
      return peer.connection.fail(
        call.streamId,
        'PROCESS_NOT_FOUND',
        'No envelope with that id waits for you: list them again, one that was taken is kept for an hour.',
      )
    if (given.kind === 'changed')
      return peer.connection.fail(
        call.streamId,
        'INTENT_REJECTED',
        'The envelope is not what was accepted: its file was changed or taken away on the device; ask its sender for a new one.',
      )
    const { isWithheld, injection } = readEnvelope(peer, id, given.bytes, !given.of.isTaken)
    if (isWithheld)
      return peer.connection.fail(
        call.streamId,
        'INTENT_REJECTED',
        'The envelope holds what this device keeps secret, so it is given to nobody; ask its sender for one without it.',
      )
    peer.connection.end(
      call.streamId,
      n.envelopeContent.encode({
        entry: entryOf(given.of) as never,
        piece: given.bytes.slice(offset, offset + CHUNK_BYTES),
        content_source: CONTENT_SOURCE,
        injection,
      }),
    )
  })
}

function quarantined({ refusal, ...one }: Quarantined): MessageInput<typeof n.quarantineEntry> {
  return {
    name: one.name,
    receiver: one.receiver,
    from: one.from.slice(-MAX_FROM),
    since: Math.floor(one.sinceMs / 1_000),
    size: one.size,
    digest: one.digest === '' ? undefined : bytesOf(one.digest),
    step: refusal?.step,
    code: refusal?.code ?? '',
    ticket: refusal?.ticket ?? '',
    problem: refusal?.problem.slice(0, MAX_PROBLEM) ?? '',
  }
}

function listQuarantine(peer: Peer, call: Call): void {
  const { offset } = (call.message.ok ? call.message.value : { offset: 0 }) as { offset: number }
  inRoom(peer, call, { kind: 'read', method: call.method.name }, (room) => {
    const all = room.quarantine()
    const files = all.slice(offset, offset + QUARANTINE_LISTED).map(quarantined)
    peer.connection.end(call.streamId, n.quarantineList.encode({ files: files as never, total: all.length }))
  })
}

function settle(peer: Peer, call: Call): void {
  const { name, releases } = (call.message.ok ? call.message.value : { name: '', releases: false }) as {
    name: string
    releases: boolean
  }
  const by = peer.caller?.name ?? ''
  inRoom(peer, call, { kind: 'settle_envelope', name, releases }, (room) => {
    const say = (success: boolean, message: string) =>
      peer.connection.end(call.streamId, outcome.encode({ success, message }))
    if (!releases && room.discard(name, by)) return say(true, 'The file is gone.')
    const intake = releases ? room.release(name, by) : undefined
    if (intake === undefined)
      return peer.connection.fail(
        call.streamId,
        'PROCESS_NOT_FOUND',
        'No file of that name lies in quarantine: list them again.',
      )
    if (intake.kind === 'accepted')
      return say(true, `Every check let it through: it waits for ${intake.of.receiver}.`)
    say(false, intake.kind === 'refused' ? intake.refusal.problem : intake.problem)
  })
}

export const INTENT_HANDLERS = Object.freeze({
  SubmitEnvelope: submit,
  ListEnvelopes: list,
  TakeEnvelope: take,
  ListQuarantine: listQuarantine,
  SettleQuarantine: settle,
})
