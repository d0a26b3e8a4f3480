/**
 * An envelope past the firewall, before its receiver has it. It is signed, so that nothing in it can be hidden: what holds
 * a canary or a secret of this device is not given, and what gives orders is marked, as in a handoff.
 * Rules: docs/firewall.md, "Envelopes".
 * @module
 */
import { namesOf, type Peer } from '../common/peer.ts'
import { suspectedOf } from '../executions/injection-event.ts'
import { countedIn } from '../executions/redacted-event.ts'
import { recordAnyway } from '../standing/record-anyway.ts'

export type ReadEnvelope = {
  /** It holds what this device keeps secret. */
  readonly isWithheld: boolean
  /** Per mille of certainty that it gives orders to whoever reads it. */
  readonly injection: number
}

/** @param isRecorded what is found is put on record: once for each that is taken */
export function readEnvelope(peer: Peer, id: string, bytes: Uint8Array, isRecorded: boolean): ReadEnvelope {
  const { rooms } = peer
  const screen = rooms.firewall.open(false)
  const drop = () => {}
  screen.push(bytes, drop)
  screen.finish(drop)
  const { secrets, suspicions } = screen
  const kinds = secrets?.kinds
  const isWithheld = kinds?.has('canary') === true || kinds?.has('known-secret') === true
  if (isRecorded && secrets !== undefined)
    recordAnyway(rooms, {
      ...{ type: 'redacted', envelope: id, ...namesOf(peer), ...countedIn([secrets]) },
      what: isWithheld ? 'withheld' : 'given',
    })
  if (isRecorded && suspicions !== undefined)
    recordAnyway(rooms, {
      ...{ type: 'injection', what: 'flagged', envelope: id, ...namesOf(peer) },
      ...suspectedOf([suspicions]),
    })
  return { isWithheld, injection: suspicions?.most ?? 0 }
}
