/**
 * What an operator asks of a device: questions that wait for a human, levels of alarm, penalties, why something was
 * decided, and to read the configuration again. Ids and digests are hex. What the device did not do is an outcome
 * with a sentence, not an error; to somebody who is no operator it answers nothing that could be read.
 * Rules: docs/protocol.md, section 3 (32 to 63).
 * @module
 */

import { encodeHex } from '../base/encoding/hex.ts'
import { EXECUTION_ID_BYTES } from '../limits.ts'
import {
  type Invitation,
  type InviteRequestInput,
  inviteRequest,
  termination,
} from '../wire/identity-messages.ts'
import * as m from '../wire/messages.ts'
import type { MessageValue } from '../wire/schema.ts'
import * as s from '../wire/status-messages.ts'
import type { Caller } from './calls/caller.ts'
import { hexBytes } from './hex-bytes.ts'

const DIGEST_BYTES = 32

/** A question to a human. Texts come from the agent and from its command: never write them to a terminal as they are. */
export type Confirmation = {
  readonly id: string
  readonly agent: string
  readonly sessionId: string
  readonly layer: string
  readonly rule: string
  readonly reason: string
  /** RFC 8785 JSON: all that there is to judge by. */
  readonly shown: string
  /** SHA-256 of `shown`. */
  readonly digest: string
  /** Unix seconds. */
  readonly askedAt: number
  readonly expiresAt: number
}
export type Confirmations = { readonly confirmations: readonly Confirmation[]; readonly total: number }

export type Outcome = { readonly success: boolean; readonly message: string }

export type LevelEntry = {
  readonly scope: string
  /** The agent or the session; empty for the daemon. */
  readonly name: string
  readonly level: string
  readonly why: string
  /** Unix seconds. */
  readonly since: number
}
/** Who is not listed is at NORMAL. `incident`: hash of the record of what halted the daemon. */
export type Levels = { readonly entries: readonly LevelEntry[]; readonly incident: string | undefined }
export type LevelChange = {
  readonly scope: 'daemon' | 'agent' | 'session'
  /** Not for the daemon. */
  readonly name?: string | undefined
  readonly level: string
  readonly why?: string | undefined
  /** The incident that was looked into; needed to lower HALT. */
  readonly incident?: string | undefined
}

export type Penalty = {
  readonly source: string
  readonly secondsLeft: number
  /** False: it counts, and is not yet long enough to keep the source out. */
  readonly isActive: boolean
  readonly reason: string
}
export type Penalties = { readonly penalties: readonly Penalty[]; readonly total: number }

export type OperatorClient = {
  confirmations(): Promise<Confirmations>
  /** `digest` is that of what was shown to whoever answers; of anything else the answer is not taken. */
  answerConfirmation(id: string, approve: boolean, digest: string): Promise<Outcome>
  levels(): Promise<Levels>
  setLevel(change: LevelChange): Promise<Outcome>
  penalties(): Promise<Penalties>
  /** Of one source, or of all. */
  clearPenalties(source?: string): Promise<Outcome>
  /** Rejects with PROCESS_NOT_FOUND where the device does not remember that decision in words. */
  explain(sequence: number): Promise<s.Explanation>
  /** Resolves when the new configuration holds, or with what is wrong with it; then the old one holds. */
  reload(): Promise<Outcome>
  /** What the daemon counts, as text for Prometheus. */
  metrics(): Promise<string>
  /** Resolves when the daemon has begun to end; the connection ends when it has. */
  drain(): Promise<Outcome>
  /** Ends one session for good, by its instance. */
  terminate(instance: string): Promise<Outcome>
  /** The token is told once, and kept by nobody: it goes into a line to paste. */
  invite(request: InviteRequestInput): Promise<Invitation>
  /** Erases what a session said and did: its keys, output and words. Its records stay, and the chain verifies. */
  purge(session: string): Promise<Outcome>
}

function toConfirmation(value: m.Confirmation): Confirmation {
  return {
    id: encodeHex(value.id),
    agent: value.agent_name,
    sessionId: encodeHex(value.session_id),
    layer: value.layer,
    rule: value.rule,
    reason: value.reason,
    shown: value.shown,
    digest: encodeHex(value.digest),
    askedAt: value.asked_at,
    expiresAt: value.expires_at,
  }
}

/** The operator's methods over `call`. */
export function createOperatorClient(call: Caller['call']): OperatorClient {
  const ask = async <T>(...args: Parameters<Caller['call']>): Promise<T> => (await call(...args)) as T
  const nothing = m.empty.encode({})
  return {
    async confirmations() {
      type List = MessageValue<typeof m.confirmationList>
      const { confirmations, total } = await ask<List>('ListConfirmations', nothing)
      return { confirmations: confirmations.map(toConfirmation), total }
    },
    async answerConfirmation(id, approve, digest) {
      const answer = {
        id: hexBytes(id, EXECUTION_ID_BYTES, 'The id of a question', 'where it was listed'),
        approve,
        digest: hexBytes(digest, DIGEST_BYTES, 'A digest', 'where it was listed'),
      }
      return ask<Outcome>('AnswerConfirmation', m.confirmationAnswer.encode(answer))
    },
    async levels() {
      const { entries, incident } = await ask<m.LevelList>('ShowLevels', nothing)
      return { entries, incident }
    },
    setLevel({ scope, name = '', level, why = '', incident }) {
      return ask<Outcome>('SetLevel', m.levelChange.encode({ scope, name, level, why, incident }))
    },
    async penalties() {
      const { entries, total } = await ask<m.PenaltyList>('ListPenalties', nothing)
      const penalties = entries.map(({ source, seconds_left, is_active, reason }) => ({
        source,
        secondsLeft: seconds_left,
        isActive: is_active,
        reason,
      }))
      return { penalties, total }
    },
    clearPenalties: (source) => ask<Outcome>('ClearPenalties', m.penaltyClear.encode({ source })),
    explain: (sequence) => ask<s.Explanation>('Explain', s.whyRequest.encode({ seq: sequence })),
    purge(session) {
      const id = hexBytes(session, EXECUTION_ID_BYTES, 'The id of a session', 'where it was listed')
      return ask<Outcome>('Purge', m.purgeRequest.encode({ session_id: id }))
    },
    reload: () => ask<Outcome>('Reload', nothing),
    metrics: async () => (await ask<s.MetricsText>('ShowMetrics', nothing)).text,
    drain: () => ask<Outcome>('Drain', nothing),
    terminate: (instance) => ask<Outcome>('Terminate', termination.encode({ instance })),
    invite: (request) => ask<Invitation>('InviteAgent', inviteRequest.encode(request)),
  }
}
