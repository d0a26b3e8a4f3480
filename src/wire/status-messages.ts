/**
 * What a device tells about itself: its decisions, its record and what its link has carried, by the names and keys of
 * docs/protocol.md, section 3. Beside messages.ts, and docs/sass.cddl is generated from both.
 * @module
 */
import { AGENT_NAME_BYTES, EXECUTION_ID_BYTES, LISTED_ENTRIES, METRICS_BYTES } from '../limits.ts'
import { gateReadings } from './egress-messages.ts'
import { INSTANCE_BYTES } from './limits.ts'
import {
  bool,
  bytes,
  countMap,
  defaulted,
  listOf,
  type MessageInput,
  type MessageValue,
  message,
  optional,
  required,
  text,
  unsigned,
} from './schema.ts'

const sentence = text(1_024)

/** Bytes of TCP payload, TLS included, as the device counts them. */
export const wireBytes = message('WireBytes', {
  received: defaulted(1, unsigned(), 0, 'by the device'),
  sent: defaulted(2, unsigned(), 0),
  since: optional(3, unsigned(), 'Unix seconds; of a day: its midnight, or when counting began'),
})

export const sessionBytes = message('SessionBytes', {
  session_id: required(1, bytes(EXECUTION_ID_BYTES)),
  agent_name: required(2, text(AGENT_NAME_BYTES)),
  received: defaulted(3, unsigned(), 0, 'by the device'),
  sent: defaulted(4, unsigned(), 0),
  acts_for: optional(5, text(INSTANCE_BYTES), 'the session that has handed its work on, by its instance'),
  instance: defaulted(6, text(INSTANCE_BYTES), ''),
})

/** One agent as the anomaly monitor sees it. */
export const watchedAgent = message('WatchedAgent', {
  agent_name: required(1, text(AGENT_NAME_BYTES)),
  turns: defaulted(2, unsigned(), 0, 'that its baseline weighs'),
  is_calibrated: defaulted(3, bool, false),
  alerts: defaulted(4, unsigned(), 0, 'since the start'),
  beyond: defaulted(5, text(64), '', 'what its last turn was beyond, separated by spaces'),
})

/** What the device is busy with, and what it takes. */
export const deviceReadings = message('DeviceReadings', {
  started_at: defaulted(1, unsigned(), 0, 'Unix seconds'),
  rss_bytes: defaulted(2, unsigned(), 0, 'memory of the daemon'),
  anonymous_bytes: defaulted(3, unsigned(), 0, 'the part of it that is no file'),
  open_files: defaulted(4, unsigned(), 0),
  free_bytes: optional(5, unsigned(), 'on the disk of the record'),
  running: defaulted(6, unsigned(), 0),
  stalled: defaulted(7, unsigned(), 0, 'held back, since nobody takes their output'),
  queued: defaulted(8, unsigned(), 0),
  rings: defaulted(9, unsigned(), 0, 'places for output'),
  rings_used: defaulted(10, unsigned(), 0),
  confirmations: defaulted(11, unsigned(), 0, 'requests that wait for an operator'),
  transfers: defaulted(12, unsigned(), 0),
  branches: defaulted(13, unsigned(), 0),
  connections: defaulted(14, unsigned(), 0),
  strangers: defaulted(15, unsigned(), 0, 'of them, those that have not authenticated'),
  tarpit_bytes: defaulted(16, unsigned(), 0, 'of noise since the start'),
  tarpit_seconds: defaulted(17, unsigned(), 0),
})

/** What came signed, and what of it is at work. */
export const signedWork = message('SignedWork', {
  waiting: defaulted(1, unsigned(), 0, 'envelopes that nobody has taken yet'),
  quarantined: defaulted(2, unsigned(), 0),
  outbox: defaulted(3, unsigned(), 0, 'envelopes of the device that are not delivered yet'),
  plans_running: defaulted(4, unsigned(), 0),
  plans_kept: defaulted(5, unsigned(), 0, 'plans that wait for whoever runs them'),
})

/** The exposition format 0.0.4 of Prometheus. */
export const metricsText = message('MetricsText', { text: required(1, text(METRICS_BYTES)) })

export const securityStatus = message('SecurityStatus', {
  active_tarpits: defaulted(1, unsigned(), 0),
  active_sessions: defaulted(2, unsigned(), 0),
  blocked_ips: defaulted(3, unsigned(), 0),
  policy_version: defaulted(4, text(64), ''),
  responses: required(12, countMap(6), 'how often each of R1 to R6 was given'),
  level: defaulted(13, text(16), ''),
  audit_seq: required(14, unsigned()),
  audit_hash: required(15, bytes(32)),
  session: optional(16, wireBytes, 'of the caller’s own session'),
  today: optional(17, wireBytes, 'of the whole device, to operators; the day is one of UTC'),
  yesterday: optional(18, wireBytes),
  sessions: defaulted(19, listOf(sessionBytes, LISTED_ENTRIES), [], 'to operators'),
  device: optional(20, deviceReadings, 'to operators'),
  gate: optional(21, gateReadings, 'to operators, where any session has had one'),
  watched: defaulted(22, listOf(watchedAgent, LISTED_ENTRIES), [], 'to operators'),
  signed_work: optional(23, signedWork, 'to operators, where the device takes envelopes in or runs plans'),
})

export type DeviceReadings = MessageValue<typeof deviceReadings>
export type MetricsText = MessageValue<typeof metricsText>
export type SecurityStatus = MessageValue<typeof securityStatus>
export type SecurityStatusInput = MessageInput<typeof securityStatus>

export const whyRequest = message('WhyRequest', { seq: required(1, unsigned()) })
export const explanation = message('Explanation', {
  seq: required(1, unsigned()),
  asked: defaulted(2, text(1_024), '', 'what was asked, cut to a length'),
  response: required(3, text(16)),
  layer: required(4, text(32)),
  rule: required(5, text(128)),
  reason: required(6, sentence),
  advice: defaulted(7, sentence, ''),
  agent_name: defaulted(8, text(AGENT_NAME_BYTES), ''),
  source: defaulted(9, text(64), ''),
  at: defaulted(10, unsigned(), 0, 'Unix seconds'),
  effective: defaulted(11, listOf(text(256), 32), []),
  severity: defaulted(12, text(16), ''),
  opaque: defaulted(13, text(256), '', 'of a command: what of it nobody has read'),
  confinement: defaulted(14, text(512), '', 'how far from the device it runs, and the digest of that'),
})
export type Explanation = MessageValue<typeof explanation>
