/**
 * What the gate to the network tells of itself: whom work has talked to and what was refused, by the names and keys of
 * docs/protocol.md, section 3. Beside messages.ts, and docs/sass.cddl is generated from both.
 * @module
 */
import { HOST_NAME_BYTES, LISTED_REFUSED } from '../limits.ts'
import {
  defaulted,
  listOf,
  type MessageValue,
  message,
  optional,
  required,
  text,
  unsigned,
} from './schema.ts'

const PROTOCOL = defaulted(6, text(3), 'tcp', 'udp: datagrams')

export const talkedTo = message('TalkedTo', {
  host: defaulted(1, text(HOST_NAME_BYTES), '', 'a name or an address; empty: all that are not listed'),
  port: defaulted(2, unsigned(65_535), 0),
  connections: defaulted(3, unsigned(), 0),
  sent: defaulted(4, unsigned(), 0, 'bytes, by the work in the branch'),
  received: defaulted(5, unsigned(), 0),
  protocol: PROTOCOL,
})

export const refusedPlace = message('RefusedPlace', {
  host: required(1, text(HOST_NAME_BYTES), 'a name or an address'),
  port: optional(2, unsigned(65_535), 'absent: a name was asked for'),
  reason: required(3, text(32), 'as docs/egress.md lists them'),
  times: defaulted(4, unsigned(), 0),
  at: defaulted(5, unsigned(), 0, 'the last time, Unix seconds'),
  protocol: PROTOCOL,
})

/** What the gate to the network does, and has done since the daemon started. */
export const gateReadings = message('GateReadings', {
  sessions: defaulted(1, unsigned(), 0, 'that have one'),
  connections: defaulted(2, unsigned(), 0, 'that are open'),
  asked: defaulted(3, unsigned(), 0, 'questions that wait for an operator'),
  passed: defaulted(4, unsigned(), 0, 'connections that are over'),
  refused: defaulted(5, unsigned(), 0, 'names and connections'),
  failed: defaulted(6, unsigned(), 0, 'listed, and not reached'),
  sent: defaulted(7, unsigned(), 0, 'bytes, by sessions'),
  received: defaulted(8, unsigned(), 0),
  lately: defaulted(9, listOf(refusedPlace, LISTED_REFUSED), [], 'what was refused last, the latest first'),
})

export type GateReadings = MessageValue<typeof gateReadings>
export type TalkedTo = MessageValue<typeof talkedTo>
