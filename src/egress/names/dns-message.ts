/**
 * DNS as the gate speaks it: one question in, one answer out, nothing ever sent on. A question is read from bytes and
 * refused where it is anything but a plain one: a response, another opcode, none or several questions, records with it
 * (but for what EDNS adds behind), a compressed name, labels beyond their bounds, bytes that are not there.
 * An answer repeats the question as it came and has at most one record.
 * Rules: RFC 1035, 4; RFC 6891, 6.1.1 (a server may leave EDNS out); RFC 6895 for numbers; RFC 9460 for HTTPS and SVCB.
 * @module
 */

import type { IpAddress } from '../../base/ip-address.ts'
import { ANSWER_TTL_SECONDS, LABEL_BYTES, QUESTION_BYTES } from '../limits.ts'
import { normalHostName } from './host-name.ts'

export const TYPE_A = 1
export const TYPE_AAAA = 28
const CLASS_IN = 1
const HEAD_BYTES = 12
const NAME_BYTES = 255
/** What may follow the question: EDNS, and a signature. */
const ADDITIONAL_MAX = 2

export const RCODE = Object.freeze({ ok: 0, malformed: 1, failed: 2, noName: 3, notServed: 4, refused: 5 })
export type Rcode = (typeof RCODE)[keyof typeof RCODE]

export interface Question {
  /** In normal form; undefined: it is no host name. */
  readonly name: string | undefined
  readonly type: number
  /** The message up to the end of its question. */
  readonly head: Uint8Array
}

export type QuestionResult =
  | { readonly kind: 'question'; readonly question: Question }
  /** To be answered with that and nothing else. */
  | { readonly kind: 'refused'; readonly rcode: Rcode; readonly head: Uint8Array }
  /** No question, or not enough of one to answer it. */
  | { readonly kind: 'dropped' }

/** The text of the name at `at`, with where it ends; undefined where it is not one. A dot in a label is no dot. */
function readName(
  bytes: Uint8Array,
  at: number,
): { readonly text: string; readonly end: number } | undefined {
  const labels: string[] = []
  let offset = at
  for (;;) {
    const length = bytes[offset]
    // A pointer has its two highest bits set, and is longer than any label.
    if (length === undefined || length > LABEL_BYTES || offset + 1 + length > bytes.length) return undefined
    if (offset + 1 - at > NAME_BYTES) return undefined
    if (length === 0) return { text: labels.join('.'), end: offset + 1 }
    const label = bytes.subarray(offset + 1, offset + 1 + length)
    // A name that has it would be another one as text.
    labels.push(label.includes(0x2e) ? '\0' : String.fromCharCode(...label))
    offset += 1 + length
  }
}

/** Reads one message that came to port 53. */
export function readQuestion(bytes: Uint8Array): QuestionResult {
  const word = (at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
  // To answer an answer could go on for ever.
  if (bytes.length < HEAD_BYTES || (word(2) & 0x8000) !== 0) return { kind: 'dropped' }
  const refused = (rcode: Rcode): QuestionResult => ({
    kind: 'refused',
    rcode,
    head: bytes.slice(0, HEAD_BYTES),
  })
  if (bytes.length > QUESTION_BYTES) return refused(RCODE.malformed)
  if ((word(2) & 0x7800) !== 0) return refused(RCODE.notServed)
  if (word(4) !== 1 || word(6) !== 0 || word(8) !== 0 || word(10) > ADDITIONAL_MAX)
    return refused(RCODE.malformed)
  const name = readName(bytes, HEAD_BYTES)
  if (name === undefined || name.end + 4 > bytes.length) return refused(RCODE.malformed)
  if (word(10) === 0 && name.end + 4 !== bytes.length) return refused(RCODE.malformed)
  if (word(name.end + 2) !== CLASS_IN) return refused(RCODE.refused)
  return {
    kind: 'question',
    question: {
      name: normalHostName(name.text),
      type: word(name.end),
      head: bytes.slice(0, name.end + 4),
    },
  }
}

/**
 * The answer to the question in `head`: with `address`, whose family is that of the question, or without a record.
 * A head alone, without a question, is answered in kind.
 */
export function answerBytes(head: Uint8Array, rcode: Rcode, address?: IpAddress): Uint8Array {
  const record = address === undefined ? [] : addressRecord(address)
  const answer = new Uint8Array(head.length + record.length)
  answer.set(head)
  answer.set(record, head.length)
  // QR, the opcode and RD as they came; RA.
  answer[2] = 0x80 | ((head[2] ?? 0) & 0x79)
  answer[3] = 0x80 | rcode
  answer.set([0, head.length > HEAD_BYTES ? 1 : 0, 0, address === undefined ? 0 : 1, 0, 0, 0, 0], 4)
  return answer
}

/** True where an answer that was made here has a record. */
export function answerHasAddress(answer: Uint8Array): boolean {
  return answer[7] !== 0
}

function addressRecord({ family, bytes }: IpAddress): readonly number[] {
  const type = family === 4 ? TYPE_A : TYPE_AAAA
  // The name is the question's, right behind the head.
  return [0xc0, HEAD_BYTES, 0, type, 0, CLASS_IN, 0, 0, 0, ANSWER_TTL_SECONDS, 0, bytes.length, ...bytes]
}
