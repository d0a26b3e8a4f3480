/**
 * All connections of the daemon: who is admitted at all, who is still at the gate, and what happens to everyone when
 * time passes or the daemon goes down.
 * Rules: docs/protocol.md, sections 1 and 2; docs/responses.md, layers 1 to 3.
 * @module
 */

import type { Facts } from '../../defense/facts.ts'
import type { Acceptor, Admission, Random, Transport } from '../../ports.ts'
import { type PeerHandle, type PeerPhase, sourceOf } from '../common/peer.ts'
import { penalise } from '../common/penalise.ts'
import { decide, nextCycle, type Rooms } from '../common/rooms.ts'
import { createGate } from './gate.ts'
import { createPeer } from './peer-engine.ts'

/** `handshake`: let in, and TLS is not through; the others have a peer. */
export type ConnectionPhase = 'handshake' | PeerPhase

export type Peers = Acceptor & {
  readonly size: number
  readonly waiting: number
  tick(): void
  /**
   * GOAWAY to everyone who has authenticated; the rest, and who comes later, is reset.
   * @param seconds after which the daemon has ended, at the latest
   */
  drain(seconds: number): void
  readonly openStreams: boolean
  /** Connections, admitted or not. */
  readonly count: number
  /** How many are where. */
  phases(): Readonly<Record<ConnectionPhase, number>>
  endAll(): void
}

/** 0 to 99, as even as 32 bits are. */
function drawPercent(random: Random): number {
  return new DataView(random.bytes(4).buffer).getUint32(0) % 100
}

/** `isAllowed`: whether an address is in the allow-list; `isExempt`: whether it is never dropped by lot. */
export function createPeers(
  rooms: Rooms,
  isAllowed: (address: string) => boolean,
  isExempt: (address: string) => boolean,
): Peers {
  const gate = createGate()
  const handles = new Set<PeerHandle>()
  let drainSeconds: number | undefined

  /** What is known of an address at this moment; `isNew`: a connection that has just come. */
  function pastOf(address: string, isNew: boolean): Parameters<typeof sourceOf>[2] {
    const now = rooms.clock.monotonicMs()
    const isDrawn = isNew && gate.size > 0 && !isExempt(address)
    return {
      isAllowed: isAllowed(address),
      isPenalised: rooms.penalties.isActive(address, now),
      isSuspect: rooms.penalties.isSuspect(address, now),
      crowd: isDrawn ? { waiting: gate.size, draw: drawPercent(rooms.random) } : undefined,
    }
  }

  function factsAt(kind: Transport['kind'], address: string, change: Partial<Facts>, isNew = false): Facts {
    return {
      cycle: nextCycle(rooms),
      source: sourceOf(kind, address, pastOf(address, isNew)),
      realPaths: [],
      transport: undefined,
      identity: { kind: 'none', dismissed: 'no' },
      session: undefined,
      request: undefined,
      action: { kind: 'connect', address },
      ...change,
    }
  }

  function admit(kind: Transport['kind'], address: string, reset: () => void): Admission | undefined {
    const arrived = factsAt(kind, address, {}, true)
    rooms.counts.arrived[kind]++
    const verdict = decide(rooms, arrived)
    if (verdict.kind !== 'response' || verdict.response !== 'EXECUTE') {
      rooms.counts.turnedAway[kind]++
      return undefined
    }

    let handle: PeerHandle | undefined
    let isOver = false
    const place = gate.enter(rooms.clock.monotonicMs(), (why) => {
      isOver = true
      decide(rooms, factsAt(kind, address, { identity: { kind: 'none', dismissed: why } }))
      if (handle === undefined) reset()
      else handle.reset()
    })
    return {
      connected(transport) {
        // Whether the place was drawn by lot is past; whether the address is suspect is told for as long as it is.
        const source = { ...arrived.source, crowd: undefined }
        const peer = createPeer(rooms, transport, source, place, () => handles.delete(peer))
        handle = peer
        handles.add(peer)
        // Its handshake was under way when the daemon began to go down.
        if (drainSeconds !== undefined) peer.drain(drainSeconds)
        return peer
      },
      failed(problem) {
        place.leave()
        if (isOver) return
        isOver = true
        const agreement = { version: '', suite: '', alpn: '', hasExporter: false, frameProblem: problem }
        decide(rooms, factsAt(kind, address, { transport: agreement }))
      },
      gone() {
        place.leave()
        if (kind === 'tls') penalise(rooms, address, 'no_auth')
      },
    }
  }

  return {
    admit,
    get size() {
      return handles.size
    },
    get waiting() {
      return gate.size
    },
    tick() {
      const now = rooms.clock.monotonicMs()
      gate.tick(now)
      for (const handle of handles) handle.tick(now)
    },
    drain(seconds) {
      drainSeconds = seconds
      for (const handle of [...handles]) handle.drain(seconds)
    },
    get count() {
      return handles.size
    },
    phases() {
      const phases = { handshake: 0, unauthenticated: 0, open: 0, tarpit: 0, ending: 0 }
      for (const { phase } of handles) phases[phase]++
      // Whoever has not authenticated has a place at the gate, before its handshake and after.
      phases.handshake = Math.max(0, gate.size - phases.unauthenticated)
      return phases
    },
    get openStreams() {
      for (const handle of handles) if (handle.hasOpenStreams) return true
      return false
    },
    endAll() {
      for (const handle of [...handles]) handle.end()
    },
  }
}
