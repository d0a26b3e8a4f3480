/**
 * Proposals of an agent to a device: what it would do, and why it may; the device decides, and does what it permits.
 * What comes back as content is a file of the device or the agent's own words: data to be judged.
 * Rules: docs/proposals.md; docs/protocol.md, section 3 (80).
 * @module
 */
import { encodeHex } from '../base/encoding/hex.ts'
import { encodeUtf8 } from '../base/encoding/utf8.ts'
import { misuse, SassError } from '../errors.ts'
import { PROPOSAL_BYTES } from '../wire/limits.ts'
import { type Decided, decideRequest } from '../wire/proposal-messages.ts'
import type { Caller } from './calls/caller.ts'

export type Proposal = {
  /** JSON of docs/proposals.md: the candidates, or their text. */
  readonly candidates: readonly object[] | string
  /** What it is an answer to: the `user_input` of the cycle. */
  readonly said?: string
  /** Tokens that were spent on it. */
  readonly tokens?: number
}

export type DecidedProposal = {
  readonly decision: 'ACTION' | 'REFUSE' | 'EXIT'
  readonly cycle: number
  /** The warrant, the refusal or the exit record: RFC 8785 JSON. */
  readonly artifact: string
  /** Hash of the run of this session up to here, hex. */
  readonly state: string
  /** What was read, or said to stdout. */
  readonly content: string | undefined
  /** Secrets that the device has hidden in it, and per mille of certainty that it gives orders to its reader. */
  readonly hidden: number
  readonly injection: number
}

export type ProposalClient = {
  /**
   * Resolves once what was permitted is done; a refusal resolves too. Rejects where the device's own rules do not permit
   * what the constitution does, with the code of a transfer, and with INTENT_REJECTED after an exit.
   */
  decide(proposal: Proposal): Promise<DecidedProposal>
}

/** The method of proposals over `call`. */
export function createProposalClient(call: Caller['call']): ProposalClient {
  return {
    async decide({ candidates, said, tokens }) {
      const text = typeof candidates === 'string' ? candidates : JSON.stringify({ candidates })
      const content = encodeUtf8(text)
      if (content.length === 0 || content.length > PROPOSAL_BYTES)
        throw misuse(
          `Proposals have 1 to ${PROPOSAL_BYTES} bytes, and these have ${content.length}: propose less at once.`,
        )
      const more = { ...(said === undefined ? {} : { said }), ...(tokens === undefined ? {} : { tokens }) }
      const decided = (await call('Decide', decideRequest.encode({ content, ...more }))) as Decided
      const { decision } = decided
      if (decision !== 'ACTION' && decision !== 'REFUSE' && decision !== 'EXIT')
        throw new SassError(
          'FRAME_MALFORMED',
          'The device has answered with a decision that there is none of.',
        )
      const { cycle, artifact, state, content: read, hidden, injection } = decided
      return { decision, cycle, artifact, state: encodeHex(state), content: read, hidden, injection }
    },
  }
}
