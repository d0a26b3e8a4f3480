/**
 * Which kind of frame is allowed in which phase of a connection, for both sides, as one table. What is absent is fatal:
 * there is no kind that is merely ignored.
 * Rules: docs/protocol.md, sections 1 and 2.
 * @module
 */
import type { KindName } from './frame.ts'

export type Role = 'daemon' | 'client'
/** `silent`: not authenticated. `open`: authenticated. `draining`: GOAWAY was sent or received. */
export type Phase = 'silent' | 'open' | 'draining' | 'dead'

/** What a kind is when it arrives: taken, or answered with STATUS 107 (a race that the peer cannot see). */
type Rule = 'take' | 'refuse'
type PhaseTable = Readonly<Record<Exclude<Phase, 'dead'>, Readonly<Partial<Record<KindName, Rule>>>>>

/** Absent is fatal. Every cell of it is tested. */
export const PHASES: Readonly<Record<Role, PhaseTable>> = Object.freeze({
  daemon: {
    silent: { OPEN: 'take', MSG: 'take', END: 'take', RESET: 'take' },
    open: {
      OPEN: 'take',
      MSG: 'take',
      END: 'take',
      CREDIT: 'take',
      RESET: 'take',
      PING: 'take',
      PONG: 'take',
    },
    draining: {
      OPEN: 'refuse',
      MSG: 'take',
      END: 'take',
      CREDIT: 'take',
      RESET: 'take',
      PING: 'take',
      PONG: 'take',
    },
  },
  client: {
    silent: { MSG: 'take', END: 'take', STATUS: 'take', GOAWAY: 'take' },
    open: {
      MSG: 'take',
      END: 'take',
      STATUS: 'take',
      CREDIT: 'take',
      RESET: 'take',
      PING: 'take',
      PONG: 'take',
      GOAWAY: 'take',
    },
    draining: {
      MSG: 'take',
      END: 'take',
      STATUS: 'take',
      CREDIT: 'take',
      RESET: 'take',
      PING: 'take',
      PONG: 'take',
      GOAWAY: 'take',
    },
  },
} as const)
