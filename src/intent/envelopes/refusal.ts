/**
 * Why an envelope is refused, closed: at which of the twelve checks, by which code, and which security ticket of SAOE
 * it is (checks 2, 7, 11 and 12 have one).
 * @module
 */

/** Which check gives which code; the numbers are those of SAOE context 2.2. */
const REFUSAL_STEPS = Object.freeze({
  FILE_SIZE_EXCEEDED: 1,
  ENVELOPE_MALFORMED: 2,
  DUPLICATE_KEY: 2,
  UNKNOWN_SENDER: 3,
  BAD_SIGNATURE: 3,
  /** After the signature, so that the time is one that its sender has signed. */
  STALE: 3,
  RECEIVER_MISMATCH: 4,
  TEMPLATE_UNRESOLVED: 5,
  TEMPLATE_MISMATCH: 6,
  DISPATCHER_SIGNATURE: 7,
  CAPABILITY_SET_UNRESOLVED: 8,
  CAPABILITY_SET_INTEGRITY: 9,
  PAYLOAD_SCHEMA: 10,
  CAPABILITY_CONSTRAINT: 11,
  REPLAY: 12,
} as const)
export type EnvelopeRefusalCode = keyof typeof REFUSAL_STEPS

export type Ticket = 'FT-001' | 'FT-002' | 'FT-004' | 'FT-005'
const TICKETS: ReadonlyMap<number, Ticket> = new Map([
  [2, 'FT-004'],
  [7, 'FT-001'],
  [11, 'FT-005'],
  [12, 'FT-002'],
])

export type EnvelopeRefusal = {
  /** 1 to 12. */
  readonly step: number
  readonly code: EnvelopeRefusalCode
  readonly ticket: Ticket | undefined
  /** Of the envelope; empty for the whole of it. */
  readonly field: string
  /** A clause that follows the field: `is not this receiver`. */
  readonly problem: string
}

/** A refusal with the step and the ticket that its code stands for. */
export function refusalOf(code: EnvelopeRefusalCode, field: string, problem: string): EnvelopeRefusal {
  const step = REFUSAL_STEPS[code]
  return { step, code, ticket: TICKETS.get(step), field, problem }
}

/** The sentence of a refusal. */
export function refusalText({ step, code, ticket, field, problem }: EnvelopeRefusal): string {
  // Nothing is wrong with it that its sender could put right: a new one would be done a second time.
  if (code === 'REPLAY')
    return `The envelope was refused by check ${step} (${code}, ${ticket}) because its id was accepted before: it is here already, and nothing was done a second time; see sass-edge intent inbox for what waits and sass-edge intent status for plans.`
  const where = field === '' ? 'the envelope' : `its field ${field}`
  const because = ticket === undefined ? code : `${code}, ${ticket}`
  return `The envelope was refused by check ${step} (${because}) because ${where} ${problem}: nothing of it was done; put that right and send it anew.`
}
